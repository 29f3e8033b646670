"""The types of the specification: https://iceberg.apache.org/spec/#schemas-and-data-types

Values of a type are held everywhere in one physical form:

    boolean bool · int, long int · float, double float · decimal Decimal (exact scale) · string str · uuid uuid.UUID
    date int days · time int microseconds · timestamp, timestamptz int microseconds since the epoch
    timestamp_ns, timestamptz_ns int nanoseconds since the epoch · fixed, binary bytes · geometry, geography bytes (WKB)
    struct tuple in field order or dict · list list · map dict or list of pairs · unknown None
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar, Final

from floeberg.errors import InvalidInput

DEFAULT_CRS: Final = "OGC:CRS84"
DEFAULT_EDGE_ALGORITHM: Final = "spherical"
EDGE_ALGORITHMS: Final = ("spherical", "vincenty", "thomas", "andoyer", "karney")
MAX_DECIMAL_PRECISION: Final = 38


class _Unset:
    """The absence of a default, which is another thing than a default of null."""

    _instance: ClassVar[_Unset | None] = None

    def __new__(cls) -> _Unset:
        if cls._instance is None:
            cls._instance = super().__new__(cls)
        return cls._instance

    def __repr__(self) -> str:
        return "UNSET"

    def __bool__(self) -> bool:
        return False

    def __reduce__(self) -> str:
        return "UNSET"


UNSET: Final = _Unset()


@dataclass(frozen=True, slots=True)
class IcebergType:
    """Any type."""

    @property
    def is_primitive(self) -> bool:
        return isinstance(self, PrimitiveType)

    @property
    def is_nested(self) -> bool:
        return isinstance(self, NestedType)


@dataclass(frozen=True, slots=True)
class PrimitiveType(IcebergType):
    """A type without children. `str()` gives the specification's name, as in JSON."""

    name: ClassVar[str] = ""

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class NestedType(IcebergType):
    """A type with child fields."""

    @property
    def fields(self) -> tuple[NestedField, ...]:
        """The children: a struct's fields, a list's element, a map's key and value."""
        raise AssertionError("every nested type says what its fields are")


@dataclass(frozen=True, slots=True)
class BooleanType(PrimitiveType):
    """True or false."""

    name = "boolean"


@dataclass(frozen=True, slots=True)
class IntegerType(PrimitiveType):
    """32-bit signed integers."""

    name = "int"


@dataclass(frozen=True, slots=True)
class LongType(PrimitiveType):
    """64-bit signed integers."""

    name = "long"


@dataclass(frozen=True, slots=True)
class FloatType(PrimitiveType):
    """32-bit IEEE 754."""

    name = "float"


@dataclass(frozen=True, slots=True)
class DoubleType(PrimitiveType):
    """64-bit IEEE 754."""

    name = "double"


@dataclass(frozen=True, slots=True)
class DateType(PrimitiveType):
    """Days since 1970-01-01."""

    name = "date"


@dataclass(frozen=True, slots=True)
class TimeType(PrimitiveType):
    """Microseconds since midnight."""

    name = "time"


@dataclass(frozen=True, slots=True)
class TimestampType(PrimitiveType):
    """Microseconds, without time zone."""

    name = "timestamp"


@dataclass(frozen=True, slots=True)
class TimestamptzType(PrimitiveType):
    """Microseconds, a point in time, stored in UTC."""

    name = "timestamptz"


@dataclass(frozen=True, slots=True)
class TimestampNsType(PrimitiveType):
    """Nanoseconds, without time zone (v3)."""

    name = "timestamp_ns"


@dataclass(frozen=True, slots=True)
class TimestamptzNsType(PrimitiveType):
    """Nanoseconds, a point in time, stored in UTC (v3)."""

    name = "timestamptz_ns"


@dataclass(frozen=True, slots=True)
class StringType(PrimitiveType):
    """UTF-8 text."""

    name = "string"


@dataclass(frozen=True, slots=True)
class UuidType(PrimitiveType):
    """Universally unique identifiers, 16 bytes big-endian."""

    name = "uuid"


@dataclass(frozen=True, slots=True)
class BinaryType(PrimitiveType):
    """Byte arrays of any length."""

    name = "binary"


@dataclass(frozen=True, slots=True)
class UnknownType(PrimitiveType):
    """A column of nulls whose type is not known yet; never stored (v3)."""

    name = "unknown"


@dataclass(frozen=True, slots=True)
class VariantType(PrimitiveType):
    """Semi-structured values (v3). Not a primitive in the specification's table, but it has no child fields."""

    name = "variant"


@dataclass(frozen=True, slots=True)
class FixedType(PrimitiveType):
    """Byte arrays of one length."""

    length: int

    def __post_init__(self) -> None:
        if self.length < 0:
            raise InvalidInput(f"fixed[{self.length}]: the length must not be negative")

    def __str__(self) -> str:
        return f"fixed[{self.length}]"


@dataclass(frozen=True, slots=True)
class DecimalType(PrimitiveType):
    """Fixed-point numbers."""

    precision: int
    scale: int

    def __post_init__(self) -> None:
        if not 1 <= self.precision <= MAX_DECIMAL_PRECISION:
            raise InvalidInput(
                f"decimal({self.precision}, {self.scale}): precision must be 1 to {MAX_DECIMAL_PRECISION}"
            )
        if not 0 <= self.scale <= self.precision:
            raise InvalidInput(f"decimal({self.precision}, {self.scale}): scale must be 0 to the precision")

    def __str__(self) -> str:
        return f"decimal({self.precision}, {self.scale})"


@dataclass(frozen=True, slots=True)
class GeometryType(PrimitiveType):
    """Geospatial features with planar edges, in WKB (v3)."""

    crs: str = DEFAULT_CRS

    def __str__(self) -> str:
        return "geometry" if self.crs == DEFAULT_CRS else f"geometry({self.crs})"


@dataclass(frozen=True, slots=True)
class GeographyType(PrimitiveType):
    """Geospatial features with geodesic edges, in WKB (v3)."""

    crs: str = DEFAULT_CRS
    algorithm: str = DEFAULT_EDGE_ALGORITHM

    def __post_init__(self) -> None:
        if self.algorithm not in EDGE_ALGORITHMS:
            raise InvalidInput(
                f"geography: unknown edge algorithm {self.algorithm!r}; one of {', '.join(EDGE_ALGORITHMS)}"
            )

    def __str__(self) -> str:
        if self.algorithm != DEFAULT_EDGE_ALGORITHM:
            return f"geography({self.crs}, {self.algorithm})"
        return "geography" if self.crs == DEFAULT_CRS else f"geography({self.crs})"


@dataclass(frozen=True, slots=True)
class NestedField:
    """A field of a struct, a list's element, or a map's key or value.

    Defaults are in the physical form of the field's type; UNSET means that the metadata gives none.
    """

    field_id: int
    name: str
    type: IcebergType
    required: bool = False
    doc: str | None = None
    initial_default: object = UNSET
    write_default: object = UNSET

    def __post_init__(self) -> None:
        """Metadata that hold something else in these places could not be read again."""
        number: object = self.field_id
        name: object = self.name
        kind: object = self.type
        doc: object = self.doc
        if not (isinstance(number, int) and isinstance(name, str) and (doc is None or isinstance(doc, str))):
            raise InvalidInput(
                f"a field has a number, and texts as its name and doc, not {number!r:.60}, {name!r:.60} and {doc!r:.60}"
            )
        if not isinstance(kind, IcebergType):
            raise InvalidInput(
                f"the type of field {name!r} is one of floeberg.types, such as floeberg.types.LONG, not {kind!r:.60}"
            )

    @property
    def optional(self) -> bool:
        return not self.required

    def __str__(self) -> str:
        need = "required" if self.required else "optional"
        doc = f" ({self.doc})" if self.doc else ""
        return f"{self.field_id}: {self.name}: {need} {self.type}{doc}"


@dataclass(frozen=True, slots=True)
class StructType(NestedType):
    """A tuple of named, typed values."""

    members: tuple[NestedField, ...]
    _by_id: dict[int, NestedField] = field(init=False, repr=False, compare=False, hash=False)
    _by_name: dict[str, NestedField] = field(init=False, repr=False, compare=False, hash=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "members", tuple(self.members))
        object.__setattr__(self, "_by_id", {member.field_id: member for member in self.members})
        object.__setattr__(self, "_by_name", {member.name: member for member in self.members})

    @property
    def fields(self) -> tuple[NestedField, ...]:
        return self.members

    def field(self, name_or_id: str | int) -> NestedField | None:
        """The direct member of that name or id."""
        if isinstance(name_or_id, int):
            return self._by_id.get(name_or_id)
        return self._by_name.get(name_or_id)

    def __str__(self) -> str:
        return f"struct<{', '.join(map(str, self.members))}>"

    def __len__(self) -> int:
        return len(self.members)

    def __iter__(self) -> Iterator[NestedField]:
        return iter(self.members)

    def __reduce__(self) -> tuple[object, ...]:
        return (StructType, (self.members,))


@dataclass(frozen=True, slots=True)
class ListType(NestedType):
    """Values of one type."""

    element_id: int
    element_type: IcebergType
    element_required: bool = False

    @property
    def element(self) -> NestedField:
        return NestedField(self.element_id, "element", self.element_type, self.element_required)

    @property
    def fields(self) -> tuple[NestedField, ...]:
        return (self.element,)

    def __str__(self) -> str:
        return f"list<{self.element_type}>"


@dataclass(frozen=True, slots=True)
class MapType(NestedType):
    """Keys and their values; keys are always required."""

    key_id: int
    key_type: IcebergType
    value_id: int
    value_type: IcebergType
    value_required: bool = False

    @property
    def key(self) -> NestedField:
        return NestedField(self.key_id, "key", self.key_type, required=True)

    @property
    def value(self) -> NestedField:
        return NestedField(self.value_id, "value", self.value_type, self.value_required)

    @property
    def fields(self) -> tuple[NestedField, ...]:
        return (self.key, self.value)

    def __str__(self) -> str:
        return f"map<{self.key_type}, {self.value_type}>"


BOOLEAN: Final = BooleanType()
INT: Final = IntegerType()
LONG: Final = LongType()
FLOAT: Final = FloatType()
DOUBLE: Final = DoubleType()
DATE: Final = DateType()
TIME: Final = TimeType()
TIMESTAMP: Final = TimestampType()
TIMESTAMPTZ: Final = TimestamptzType()
TIMESTAMP_NS: Final = TimestampNsType()
TIMESTAMPTZ_NS: Final = TimestamptzNsType()
STRING: Final = StringType()
UUID: Final = UuidType()
BINARY: Final = BinaryType()
UNKNOWN: Final = UnknownType()
VARIANT: Final = VariantType()

_BY_NAME: Final[dict[str, PrimitiveType]] = {
    t.name: t
    for t in (
        BOOLEAN, INT, LONG, FLOAT, DOUBLE, DATE, TIME, TIMESTAMP, TIMESTAMPTZ, TIMESTAMP_NS, TIMESTAMPTZ_NS,
        STRING, UUID, BINARY, UNKNOWN, VARIANT,
    )
}  # fmt: skip

# The reference implementation accepts any case and blanks around the numbers, and so do tables found in the wild.
_FIXED = re.compile(r"fixed\s*\[\s*(\d{1,10})\s*\]", re.IGNORECASE)
_DECIMAL = re.compile(r"decimal\s*\(\s*(\d{1,3})\s*,\s*(\d{1,3})\s*\)", re.IGNORECASE)
_GEOMETRY = re.compile(r"geometry\s*(?:\(\s*([^)]*?)\s*\))?", re.IGNORECASE)
_GEOGRAPHY = re.compile(r"geography\s*(?:\(\s*([^,)]*?)\s*(?:,\s*(\w*)\s*)?\))?", re.IGNORECASE)

V3_TYPES: Final = (TimestampNsType, TimestamptzNsType, UnknownType, VariantType, GeometryType, GeographyType)


def primitive_from_string(text: str) -> PrimitiveType:
    """The primitive type of that name, as JSON writes it. Raises InvalidInput."""
    if known := _BY_NAME.get(text) or _BY_NAME.get(text.lower()):
        return known
    if match := _DECIMAL.fullmatch(text):
        return DecimalType(int(match[1]), int(match[2]))
    if match := _FIXED.fullmatch(text):
        return FixedType(int(match[1]))
    if match := _GEOMETRY.fullmatch(text):
        return GeometryType(match[1] or DEFAULT_CRS)
    if match := _GEOGRAPHY.fullmatch(text):
        return GeographyType(match[1] or DEFAULT_CRS, (match[2] or DEFAULT_EDGE_ALGORITHM).lower())
    raise InvalidInput(f"unknown type {text[:100]!r}; the types are {', '.join(_BY_NAME)}, decimal(P, S), fixed[L], "
                       "geometry(C), geography(C, A), struct, list and map", type=text[:100])  # fmt: skip
