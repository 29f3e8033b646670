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
from floeberg.spec.schema import MAX_SCHEMA_DEPTH, Schema
from floeberg.spec.schema_projection import IdCounter, assign_fresh_type_ids
from floeberg.spec.spark_literals import literal_text, take_default
from floeberg.spec.spark_tokens import Token, TokenStream, quote_name, quote_string
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
    tokens = TokenStream(text)
    if tokens.next_is_word("STRUCT") and tokens.peek(1).value == "<":
        struct = _take_type(tokens, 0)
    else:
        struct = StructType(tuple(_take_fields(tokens, 0, end="")))
    if tokens.peek().kind != "end":
        raise tokens.error("a comma or the end is expected")
    fresh = assign_fresh_type_ids(struct, IdCounter(0).next_id)
    assert isinstance(fresh, StructType)
    return Schema(*fresh.members)


def type_from_ddl(text: str) -> IcebergType:
    """The type of DDL text such as `ARRAY<INT>`, with fresh ids from 1. Raises InvalidInput with the position."""
    tokens = TokenStream(text)
    data_type = _take_type(tokens, 0)
    if tokens.peek().kind != "end":
        raise tokens.error("the end is expected")
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
    parts = [f"{quote_name(field.name)}{separator}{type_to_ddl(field.type, exact=exact)}"]
    if field.required:
        parts.append("NOT NULL")
    default = field.write_default
    if defaults and default is not UNSET and default is not None and not field.type.is_nested:
        parts.append(f"DEFAULT {literal_text(field.type, default, exact=exact)}")
    if field.doc is not None:
        parts.append(f"COMMENT {quote_string(field.doc)}")
    return " ".join(parts)


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


def _take_fields(tokens: TokenStream, depth: int, *, end: str) -> list[NestedField]:
    """The fields up to a closing symbol (not taken), or to the end of the text."""
    fields: list[NestedField] = []
    seen: set[str] = set()
    while True:
        token = tokens.peek()
        if not fields and token.value == end and token.kind in ("symbol", "end"):
            return fields
        field = _take_field(tokens, depth)
        if field.name in seen:
            raise tokens.error(f"the name {field.name!r} is used twice,", token)
        seen.add(field.name)
        fields.append(field)
        if not tokens.take_symbol(","):
            return fields


def _take_field(tokens: TokenStream, depth: int) -> NestedField:
    name = tokens.take()
    if name.kind not in ("word", "quoted") or not name.value:
        raise tokens.error("a column name is expected (other than letters, digits and _ only in backticks)", name)
    tokens.take_symbol(":")
    data_type = _take_type(tokens, depth)
    required, doc, default = False, None, UNSET  # type: tuple[bool, str | None, object]
    seen: set[str] = set()
    while tokens.peek().kind == "word":
        option = tokens.peek()
        if tokens.take_words("NOT", "NULL"):
            required = True
        elif tokens.take_words("COMMENT"):
            if tokens.peek().kind != "string":
                raise tokens.error("a quoted comment is expected")
            doc = tokens.take().value
        elif tokens.take_words("DEFAULT"):
            default = take_default(tokens, data_type)
        elif tokens.next_is_word("GENERATED"):
            raise tokens.error("generated columns have no place in an Iceberg schema")
        else:
            raise tokens.error("NOT NULL, DEFAULT, COMMENT, a comma or the end is expected")
        if option.value.upper() in seen:
            raise tokens.error(f"{option.value.upper()} is given twice", option)
        seen.add(option.value.upper())
    return NestedField(0, name.value, data_type, required=required, doc=doc, write_default=default)


def _take_type(tokens: TokenStream, depth: int) -> IcebergType:
    token = tokens.take()
    if token.kind != "word":
        raise tokens.error("a type is expected", token)
    if depth > MAX_SCHEMA_DEPTH:
        raise tokens.error(f"types nest deeper than {MAX_SCHEMA_DEPTH} levels", token)
    word = token.value.upper()
    if word in _PLAIN_TYPES:
        return _PLAIN_TYPES[word]
    if word in _PARAMETERISED:
        try:
            return _PARAMETERISED[word](tokens, token)
        except InvalidInput as error:
            if "position" in error.context:
                raise
            raise tokens.error(f"{error},", token) from error
    if word == "STRUCT":
        tokens.expect_symbol("<")
        members = _take_fields(tokens, depth + 1, end=">")
        tokens.expect_symbol(">")
        return StructType(tuple(members))
    if word == "ARRAY":
        tokens.expect_symbol("<")
        element = _take_type(tokens, depth + 1)
        tokens.expect_symbol(">")
        return ListType(0, element)
    if word == "MAP":
        tokens.expect_symbol("<")
        key = _take_type(tokens, depth + 1)
        tokens.expect_symbol(",")
        value = _take_type(tokens, depth + 1)
        tokens.expect_symbol(">")
        return MapType(0, key, 0, value)
    if word == "INTERVAL":
        raise tokens.error("Iceberg has no interval type", token)
    raise tokens.error(f"unknown type {token.value[:40]!r}", token)


def _take_decimal(tokens: TokenStream, token: Token) -> IcebergType:
    if not tokens.take_symbol("("):
        return DecimalType(10, 0)
    precision = tokens.expect_int("a precision")
    scale = tokens.expect_int("a scale") if tokens.take_symbol(",") else 0
    tokens.expect_symbol(")")
    return DecimalType(precision, scale)


def _take_string(tokens: TokenStream, token: Token) -> IcebergType:
    if tokens.take_words("COLLATE"):
        collation = tokens.take()
        if collation.value.upper() != "UTF8_BINARY":
            raise tokens.error(f"Iceberg keeps no collation, so {collation.value[:40]!r} would be lost,", collation)
    return STRING


def _take_char(tokens: TokenStream, token: Token) -> IcebergType:
    tokens.expect_symbol("(")
    tokens.expect_int("a length")
    tokens.expect_symbol(")")
    return STRING


def _take_fixed(tokens: TokenStream, token: Token) -> IcebergType:
    tokens.expect_symbol("(")
    length = tokens.expect_int("a length")
    tokens.expect_symbol(")")
    return FixedType(length)


def _take_time(tokens: TokenStream, token: Token) -> IcebergType:
    precision = _take_precision(tokens)
    tokens.take_words("WITHOUT", "TIME", "ZONE")
    if precision is not None and precision > 6:
        raise tokens.error("Iceberg's time has microseconds, a precision of at most 6 is expected", token)
    return TIME


def _take_timestamp(tokens: TokenStream, token: Token) -> IcebergType:
    """`TIMESTAMP`, `_NTZ` and `_LTZ`, with precision 6 (the default) or 9, or with the zone in words."""
    precision = _take_precision(tokens)
    zoned = token.value.upper() != "TIMESTAMP_NTZ"
    if token.value.upper() == "TIMESTAMP" and tokens.take_words("WITHOUT", "TIME", "ZONE"):
        zoned = False
    else:
        tokens.take_words("WITH", "LOCAL", "TIME", "ZONE")
    if precision not in (None, 6, 9):
        raise tokens.error("timestamps have a precision of 6 (the default) or 9", token)
    if precision == 9:
        return TIMESTAMPTZ_NS if zoned else TIMESTAMP_NS
    return TIMESTAMPTZ if zoned else TIMESTAMP


def _take_precision(tokens: TokenStream) -> int | None:
    if not tokens.take_symbol("("):
        return None
    precision = tokens.expect_int("a precision")
    tokens.expect_symbol(")")
    return precision


def _take_geo(tokens: TokenStream, token: Token) -> IcebergType:
    geometry = token.value.upper() == "GEOMETRY"
    if not tokens.take_symbol("("):
        return GeometryType() if geometry else GeographyType()
    argument = tokens.peek()
    if argument.kind == "string":
        crs = tokens.take().value
    elif tokens.next_is_word("ANY"):
        raise tokens.error("a column of mixed SRIDs has no Iceberg type; name one SRID")
    else:
        srid = tokens.expect_int("an SRID or a quoted CRS")
        crs = next((known for known, number in _SRIDS.items() if number == srid), f"EPSG:{srid}")
    algorithm = DEFAULT_EDGE_ALGORITHM
    if not geometry and tokens.take_symbol(","):
        algorithm = tokens.take().value.lower()
    tokens.expect_symbol(")")
    return GeometryType(crs) if geometry else GeographyType(crs, algorithm)


_PARAMETERISED: Final[dict[str, Callable[[TokenStream, Token], IcebergType]]] = {
    **dict.fromkeys(("DECIMAL", "DEC", "NUMERIC"), _take_decimal),
    "STRING": _take_string,
    **dict.fromkeys(("CHAR", "CHARACTER", "VARCHAR"), _take_char),
    "FIXED": _take_fixed,
    "TIME": _take_time,
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMP_NTZ", "TIMESTAMP_LTZ"), _take_timestamp),
    **dict.fromkeys(("GEOMETRY", "GEOGRAPHY"), _take_geo),
}
