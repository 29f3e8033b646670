"""Schemas to and from Spark DDL text, without Spark: `id BIGINT NOT NULL COMMENT 'key', s STRUCT<a: INT, b: DATE>`

Reading: `TIMESTAMP` and `TIMESTAMP_LTZ` are timestamptz, `TIMESTAMP_NTZ` is timestamp, `TINYINT` and `SMALLINT` are
int, `CHAR(n)` and `VARCHAR(n)` are string (their length is not kept), `VOID` is unknown. A `DEFAULT` becomes the
column's write default: the initial default exists only for columns added later, and is set by adding them.

What Spark has no type for, and how it is written for Spark:

    uuid STRING · fixed[L] BINARY · timestamp_ns TIMESTAMP_NTZ · timestamptz_ns TIMESTAMP (values lose nanoseconds)
    geometry, geography: GEOMETRY(srid), GEOGRAPHY(srid) where Spark knows the CRS, else BINARY (the WKB)
    time TIME(6): Spark has it since 4.1, off by default

With `exact=True` they are written under their own names, which only this reader understands: UUID, FIXED(L), TIME,
TIMESTAMP_NS, TIMESTAMPTZ_NS, GEOMETRY('crs'), GEOGRAPHY('crs', 'algorithm'). DDL text never holds field ids, initial
defaults, defaults of nested types, nor that list elements or map values are required.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from floeberg.errors import InvalidInput
from floeberg.spec.schemas.projection import IdCounter, assign_fresh_type_ids
from floeberg.spec.schemas.schema import MAX_SCHEMA_DEPTH, Schema
from floeberg.spec.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DEFAULT_CRS,
    DEFAULT_EDGE_ALGORITHM,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    STRING,
    TIME,
    TIMESTAMP,
    TIMESTAMP_NS,
    TIMESTAMPTZ,
    TIMESTAMPTZ_NS,
    UNKNOWN,
    UNSET,
    UUID,
    VARIANT,
    DecimalType,
    FixedType,
    GeographyType,
    GeometryType,
    IcebergType,
    ListType,
    MapType,
    NestedField,
    StructType,
)
from floeberg.sql.ddl.default_values import literal_text, take_default
from floeberg.sql.text.cursor import Cursor
from floeberg.sql.text.lexer import Kind, Token, name_value, needs_quotes, quote_name, quote_string

MAX_DDL_CHARS: Final = 16 * 1024 * 1024

_PLAIN_TYPES: Final[dict[str, IcebergType]] = {
    "BOOLEAN": BOOLEAN, "TINYINT": INT, "BYTE": INT, "SMALLINT": INT, "SHORT": INT, "INT": INT, "INTEGER": INT,
    "BIGINT": LONG, "LONG": LONG, "FLOAT": FLOAT, "REAL": FLOAT, "DOUBLE": DOUBLE, "DATE": DATE, "BINARY": BINARY,
    "VARIANT": VARIANT, "VOID": UNKNOWN, "UNKNOWN": UNKNOWN, "UUID": UUID, "TIMESTAMP_NS": TIMESTAMP_NS,
    "TIMESTAMPTZ": TIMESTAMPTZ, "TIMESTAMPTZ_NS": TIMESTAMPTZ_NS,
}  # fmt: skip

_TEXT: Final[dict[str, str]] = {
    "boolean": "BOOLEAN", "int": "INT", "long": "BIGINT", "float": "FLOAT", "double": "DOUBLE", "date": "DATE",
    "time": "TIME(6)", "timestamp": "TIMESTAMP_NTZ", "timestamptz": "TIMESTAMP", "string": "STRING", "binary": "BINARY",
    "unknown": "VOID", "variant": "VARIANT", "uuid": "STRING", "timestamp_ns": "TIMESTAMP_NTZ",
    "timestamptz_ns": "TIMESTAMP",
}  # fmt: skip
_EXACT_TEXT: Final = {
    "uuid": "UUID",
    "time": "TIME",
    "timestamp_ns": "TIMESTAMP_NS",
    "timestamptz_ns": "TIMESTAMPTZ_NS",
}

# The coordinate reference systems that Spark knows.
_SRIDS: Final = {DEFAULT_CRS: 4326, "EPSG:3857": 3857, "SRID:0": 0}


def schema_from_ddl(text: str) -> Schema:
    """The schema of DDL text (a column list, or one STRUCT<…>), with fresh ids from 1. Raises InvalidInput with the
    position."""
    ddl = _cursor(text)
    struct = _take_type(ddl, 0) if ddl.at("STRUCT", "<") else StructType(tuple(_take_fields(ddl, 0, end="")))
    if not ddl.at_kind(Kind.END):
        raise ddl.error("a comma or the end is expected")
    fresh = assign_fresh_type_ids(struct, IdCounter(0).next_id)
    assert isinstance(fresh, StructType)
    return Schema(*fresh.members)


def type_from_ddl(text: str) -> IcebergType:
    """The type of DDL text such as `ARRAY<INT>`, with fresh ids from 1. Raises InvalidInput with the position."""
    ddl = _cursor(text)
    data_type = _take_type(ddl, 0)
    if not ddl.at_kind(Kind.END):
        raise ddl.error("the end is expected")
    return assign_fresh_type_ids(data_type, IdCounter(0).next_id)


def schema_to_ddl(schema: Schema, *, exact: bool = False, defaults: bool = False) -> str:
    """The schema as DDL text; see the top of this module for what that leaves out. Spark takes `DEFAULT` in CREATE
    TABLE and not where a schema is expected, so it is written only with `defaults` (for columns) or `exact` (for all)."""
    return ", ".join(
        _field_to_ddl(field, exact=exact, defaults=defaults or exact, separator=" ") for field in schema.fields
    )


def type_to_ddl(data_type: IcebergType, *, exact: bool = False) -> str:
    """The type as DDL text."""
    if isinstance(data_type, StructType):
        members = ", ".join(
            _field_to_ddl(member, exact=exact, defaults=exact, separator=": ") for member in data_type.members
        )
        return f"STRUCT<{members}>"
    if isinstance(data_type, ListType):
        return f"ARRAY<{type_to_ddl(data_type.element_type, exact=exact)}>"
    if isinstance(data_type, MapType):
        key, value = type_to_ddl(data_type.key_type, exact=exact), type_to_ddl(data_type.value_type, exact=exact)
        return f"MAP<{key}, {value}>"
    if isinstance(data_type, DecimalType):
        return f"DECIMAL({data_type.precision},{data_type.scale})"
    if isinstance(data_type, FixedType):
        return f"FIXED({data_type.length})" if exact else "BINARY"
    if isinstance(data_type, (GeometryType, GeographyType)):
        return _geo_to_ddl(data_type, exact=exact)
    name = str(data_type)
    return (exact and _EXACT_TEXT.get(name)) or _TEXT[name]


def _field_to_ddl(field: NestedField, *, exact: bool, defaults: bool, separator: str) -> str:
    name = quote_name(field.name) if needs_quotes(field.name) else field.name
    parts = [f"{name}{separator}{type_to_ddl(field.type, exact=exact)}"]
    if field.required:
        parts.append("NOT NULL")
    default = field.write_default
    if defaults and default is not UNSET and default is not None and not field.type.is_nested:
        parts.append(f"DEFAULT {literal_text(field.type, default, exact=exact)}")
    if field.doc is not None:
        parts.append(f"COMMENT {quote_string(field.doc)}")
    return " ".join(parts)


def crs_of(srid: int) -> str:
    """The CRS that Spark means by the number of a GEOMETRY or GEOGRAPHY type."""
    return next((known for known, number in _SRIDS.items() if number == srid), f"EPSG:{srid}")


def _geo_to_ddl(data_type: GeometryType | GeographyType, *, exact: bool) -> str:
    kind = "GEOMETRY" if isinstance(data_type, GeometryType) else "GEOGRAPHY"
    algorithm = data_type.algorithm if isinstance(data_type, GeographyType) else DEFAULT_EDGE_ALGORITHM
    if exact:
        more = f", {quote_string(algorithm)}" if kind == "GEOGRAPHY" else ""
        return f"{kind}({quote_string(data_type.crs)}{more})"
    srid = _SRIDS.get(data_type.crs)
    if srid is None or algorithm != DEFAULT_EDGE_ALGORITHM or (kind == "GEOGRAPHY" and srid != 4326):
        return "BINARY"
    return f"{kind}({srid})"


def _cursor(text: str) -> Cursor:
    if len(text) > MAX_DDL_CHARS:
        raise InvalidInput(f"the DDL text has {len(text)} characters, more than {MAX_DDL_CHARS}")
    return Cursor(text)


def _take_fields(ddl: Cursor, depth: int, *, end: str) -> list[NestedField]:
    """The fields up to a closing symbol (not taken), or to the end of the text."""
    fields: list[NestedField] = []
    seen: set[str] = set()
    while True:
        token = ddl.token
        if not fields and (ddl.at_kind(Kind.END) if not end else ddl.at(end)):
            return fields
        field = _take_field(ddl, depth)
        if field.name in seen:
            raise ddl.error(f"the name {field.name!r} is used twice", token=token)
        seen.add(field.name)
        fields.append(field)
        if not ddl.accept(","):
            return fields


def _take_field(ddl: Cursor, depth: int) -> NestedField:
    name = _take_name(ddl)
    ddl.accept(":")
    data_type = _take_type(ddl, depth)
    required, doc, default = False, None, UNSET  # type: tuple[bool, str | None, object]
    seen: set[str] = set()
    while ddl.at_kind(Kind.WORD):
        option = ddl.token
        if ddl.accept("NOT", "NULL"):
            required = True
        elif ddl.accept("COMMENT"):
            if not ddl.at_kind(Kind.STRING):
                raise ddl.error("a quoted comment is expected")
            doc = "".join(ddl.strings())
        elif ddl.accept("DEFAULT"):
            default = take_default(ddl, data_type)
        elif ddl.at("GENERATED"):
            raise ddl.error("generated columns have no place in an Iceberg schema")
        else:
            raise ddl.error("NOT NULL, DEFAULT, COMMENT, a comma or the end is expected")
        if option.upper in seen:
            raise ddl.error(f"{option.upper} is given twice", token=option)
        seen.add(option.upper)
    return NestedField(0, name, data_type, required=required, doc=doc, write_default=default)


def _take_name(ddl: Cursor) -> str:
    token = ddl.token
    name = name_value(ddl.text(token)) if token.is_name else ""
    if not name:
        raise ddl.error("a column name is expected (other than letters, digits and _ only in backticks)")
    ddl.advance()
    return name


def _take_type(ddl: Cursor, depth: int) -> IcebergType:
    token = ddl.advance()
    if token.kind is not Kind.WORD:
        raise ddl.error("a type is expected", token=token)
    if depth > MAX_SCHEMA_DEPTH:
        raise ddl.error(f"types nest deeper than {MAX_SCHEMA_DEPTH} levels", token=token)
    word = token.upper
    if word in _PLAIN_TYPES:
        return _PLAIN_TYPES[word]
    if word in _PARAMETERISED:
        try:
            return _PARAMETERISED[word](ddl, token)
        except InvalidInput as error:
            if "position" in error.context:
                raise
            raise ddl.error(str(error), token=token) from error
    if word in ("STRUCT", "ARRAY", "MAP"):
        return _take_nested(ddl, word, depth + 1)
    if word == "INTERVAL":
        raise ddl.error("Iceberg has no interval type", token=token)
    unknown = ddl.error(f"unknown type {ddl.text(token)[:40]!r}", token=token)
    unknown.context["condition"] = "UNSUPPORTED_DATATYPE"
    raise unknown


def _take_nested(ddl: Cursor, word: str, depth: int) -> IcebergType:
    if word == "STRUCT" and ddl.accept("<>"):  # one token
        return StructType(())
    _expect(ddl, "<")
    if word == "STRUCT":
        nested: IcebergType = StructType(tuple(_take_fields(ddl, depth, end=">")))
    elif word == "ARRAY":
        nested = ListType(0, _take_type(ddl, depth))
    else:
        key = _take_type(ddl, depth)
        _expect(ddl, ",")
        nested = MapType(0, key, 0, _take_type(ddl, depth))
    _expect(ddl, ">")
    return nested


def _expect(ddl: Cursor, symbol: str) -> None:
    if not ddl.accept(symbol):
        raise ddl.error(f"{symbol!r} is expected")


def _expect_int(ddl: Cursor, what: str) -> int:
    digits = ddl.text(ddl.token)
    if not ddl.at_kind(Kind.NUMBER) or not digits.isdigit() or len(digits) > 10:
        raise ddl.error(f"{what} is expected, a whole number")
    ddl.advance()
    return int(digits)


def _take_decimal(ddl: Cursor, token: Token) -> IcebergType:
    if not ddl.accept("("):
        return DecimalType(10, 0)
    precision = _expect_int(ddl, "a precision")
    scale = _expect_int(ddl, "a scale") if ddl.accept(",") else 0
    _expect(ddl, ")")
    return DecimalType(precision, scale)


def _take_string(ddl: Cursor, token: Token) -> IcebergType:
    if ddl.accept("COLLATE"):
        collation = ddl.advance()
        if collation.upper != "UTF8_BINARY":
            raise ddl.error(
                f"Iceberg keeps no collation, so {ddl.text(collation)[:40]!r} would be lost", token=collation
            )
    return STRING


def _take_char(ddl: Cursor, token: Token) -> IcebergType:
    _expect(ddl, "(")
    _expect_int(ddl, "a length")
    _expect(ddl, ")")
    return STRING


def _take_fixed(ddl: Cursor, token: Token) -> IcebergType:
    _expect(ddl, "(")
    length = _expect_int(ddl, "a length")
    _expect(ddl, ")")
    return FixedType(length)


def _take_time(ddl: Cursor, token: Token) -> IcebergType:
    precision = _take_precision(ddl)
    ddl.accept("WITHOUT", "TIME", "ZONE")
    if precision is not None and precision > 6:
        raise ddl.error("Iceberg's time has microseconds, a precision of at most 6 is expected", token=token)
    return TIME


def _take_timestamp(ddl: Cursor, token: Token) -> IcebergType:
    """`TIMESTAMP`, `_NTZ` and `_LTZ`, with precision 6 (the default) or 9, or with the zone in words."""
    precision = _take_precision(ddl)
    zoned = token.upper != "TIMESTAMP_NTZ"
    if token.upper == "TIMESTAMP" and ddl.accept("WITHOUT", "TIME", "ZONE"):
        zoned = False
    else:
        ddl.accept("WITH", "LOCAL", "TIME", "ZONE")
    if precision not in (None, 6, 9):
        raise ddl.error("timestamps have a precision of 6 (the default) or 9", token=token)
    if precision == 9:
        return TIMESTAMPTZ_NS if zoned else TIMESTAMP_NS
    return TIMESTAMPTZ if zoned else TIMESTAMP


def _take_precision(ddl: Cursor) -> int | None:
    if not ddl.accept("("):
        return None
    precision = _expect_int(ddl, "a precision")
    _expect(ddl, ")")
    return precision


def _take_geo(ddl: Cursor, token: Token) -> IcebergType:
    geometry = token.upper == "GEOMETRY"
    if not ddl.accept("("):
        return GeometryType() if geometry else GeographyType()
    if ddl.at_kind(Kind.STRING):
        crs = "".join(ddl.strings())
    elif ddl.at("ANY"):
        raise ddl.error("a column of mixed SRIDs has no Iceberg type; name one SRID")
    else:
        srid = _expect_int(ddl, "an SRID or a quoted CRS")
        crs = crs_of(srid)
    algorithm = DEFAULT_EDGE_ALGORITHM
    if not geometry and ddl.accept(","):
        algorithm = ("".join(ddl.strings()) or ddl.text(ddl.advance())).lower()
    _expect(ddl, ")")
    return GeometryType(crs) if geometry else GeographyType(crs, algorithm)


_PARAMETERISED: Final[dict[str, Callable[[Cursor, Token], IcebergType]]] = {
    **dict.fromkeys(("DECIMAL", "DEC", "NUMERIC"), _take_decimal),
    "STRING": _take_string,
    **dict.fromkeys(("CHAR", "CHARACTER", "VARCHAR"), _take_char),
    "FIXED": _take_fixed,
    "TIME": _take_time,
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMP_NTZ", "TIMESTAMP_LTZ"), _take_timestamp),
    **dict.fromkeys(("GEOMETRY", "GEOGRAPHY"), _take_geo),
}
