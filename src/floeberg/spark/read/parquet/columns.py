"""Columns of a table as requested of Spark's Parquet reader: a field of the read schema, and the expression over it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from pyspark.sql import functions as F
from pyspark.sql import types as st

from floeberg.spark.host.types.exact_types import MICROSECOND, NANOSECOND
from floeberg.spark.host.types.spark_types import FIELD_ID_KEY, NS_TYPES, spark_type
from floeberg.spec.schemas.rules import ENGINE_PREFIX
from floeberg.spec.types import (
    UNSET,
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampNsType,
    TimestampType,
    TimestamptzNsType,
    TimestamptzType,
    TimeType,
    UnknownType,
    UuidType,
)
from floeberg.sql.ddl.default_values import literal_text
from floeberg.sql.text.lexer import quote_name

EXISTS_DEFAULT: Final = "EXISTS_DEFAULT"

_SAME: Final = (
    BooleanType, IntegerType, LongType, FloatType, DoubleType, DecimalType, DateType, TimestampType, TimestamptzType,
    StringType, BinaryType,
)  # fmt: skip
_CONVERTED: Final[dict[type[IcebergType], st.DataType]] = {
    UuidType: st.BinaryType(),
    FixedType: st.BinaryType(),
    TimeType: st.LongType(),
    TimestampNsType: st.LongType(),
    TimestamptzNsType: st.LongType(),
}
"""Types that are read as another one, which only top-level columns can be made from."""
_MADE: Final = frozenset({UuidType, TimestampNsType, TimestamptzNsType})
"""Types whose values are made from what is read."""


@dataclass(frozen=True, slots=True)
class NativeColumn:
    """A column of the frame: `read` is the field requested of Parquet (None for a column that no file holds)."""

    field: NestedField
    read: st.StructField | None

    def exact(self) -> Any:
        """The value with its nanoseconds, without a name."""
        if self.read is None or not isinstance(self.field.type, NS_TYPES):
            return self.made()
        raw = own_column(self.read.name)
        rest = F.pmod(raw, F.lit(1000)).cast("smallint")
        return F.when(raw.isNotNull(), F.struct(self.made().alias(MICROSECOND), rest.alias(NANOSECOND)))

    def text(self) -> str | None:
        """The column as users see it, as SQL, where it is taken as it is; None where it is made, or has a comment. What no
        function gave would keep the reader's own metadata, and the optimizer leaves nothing of this one."""
        if self.read is None or self.field.doc or type(self.field.type) in _MADE:
            return None
        return f"coalesce({quote_name(self.read.name)}) AS {quote_name(self.field.name)}"

    @property
    def is_as_stored(self) -> bool:
        """Whether it is read under its own name and shown as it is read. Not one with a default, nor a nested one: where Spark
        reads a part of a struct, it takes defaults and field ids from the columns that a query names."""
        if self.read is None or self.field.type.is_nested or type(self.field.type) in _MADE:
            return False
        return self.read.name == self.field.name and EXISTS_DEFAULT not in (self.read.metadata or {})

    def made(self) -> Any:
        """The value, without a name."""
        if self.read is None:
            return F.lit(None)
        column = own_column(self.read.name)
        match self.field.type:
            case UuidType():
                return _uuid_text(column)
            case TimestamptzNsType():
                return F.timestamp_micros(_microseconds(column))
            case TimestampNsType():
                return F.timestamp_add("MICROSECOND", _microseconds(column), F.expr("TIMESTAMP_NTZ '1970-01-01'"))
        return column


def own_column(name: str) -> Any:
    """A column by its exact name."""
    return F.col(quote_name(name))


def native_column(field: NestedField, *, own_name: bool, changed: frozenset[int]) -> NativeColumn | None:
    """How a top-level column is requested of Parquet, under its own name or a unique one; None where only the Arrow engine
    can read it. `changed` are the fields whose type was, or may have been, promoted."""
    if isinstance(field.type, UnknownType):
        return NativeColumn(field, None)
    kind = _read_type(field, changed)
    if kind is None:
        return None
    metadata: dict[str, object] = {FIELD_ID_KEY: field.field_id}
    if field.initial_default is not UNSET and field.initial_default is not None:
        text = _default_text(field)
        if text is None:
            return None
        metadata[EXISTS_DEFAULT] = text
    name = field.name if own_name else f"{ENGINE_PREFIX}{field.field_id}"
    return NativeColumn(field, st.StructField(name, kind, True, metadata))


def _read_type(field: NestedField, changed: frozenset[int]) -> st.DataType | None:
    converted = _CONVERTED.get(type(field.type))
    if converted is not None:
        # A date that became a timestamp of nanoseconds would be read as a number of days.
        may_be_date = isinstance(field.type, NS_TYPES) and field.field_id in changed
        return None if may_be_date else converted
    return _nested_type(field.type, changed, depth=0)


def _nested_type(data_type: IcebergType, changed: frozenset[int], *, depth: int) -> st.DataType | None:
    if isinstance(data_type, _SAME):
        return spark_type(data_type)
    if isinstance(data_type, StructType):
        members = [_member(member, changed, depth=depth + 1) for member in data_type.members]
        fields = [member for member in members if member is not None]
        return st.StructType(fields) if fields and len(fields) == len(members) else None
    if isinstance(data_type, ListType):
        element = _member(data_type.element, changed, depth=depth + 1)
        return None if element is None else st.ArrayType(element.dataType, True)
    if isinstance(data_type, MapType):
        key = _member(data_type.key, changed, depth=depth + 1)
        value = _member(data_type.value, changed, depth=depth + 1)
        return None if key is None or value is None else st.MapType(key.dataType, value.dataType, True)
    return None


def _member(field: NestedField, changed: frozenset[int], *, depth: int) -> st.StructField | None:
    """A nested field; None when Spark's reader cannot read it: with a default, or a promoted type."""
    if field.field_id in changed or field.initial_default not in (UNSET, None):
        return None
    kind = _nested_type(field.type, changed, depth=depth)
    return None if kind is None else st.StructField(field.name, kind, True, {FIELD_ID_KEY: field.field_id})


def _default_text(field: NestedField) -> str | None:
    """The initial default as Spark reads it from the metadata of a field; None where there is no literal for it."""
    value = field.initial_default
    match field.type:
        case UuidType() | FixedType() | BinaryType():
            return None  # Spark's vectorised reader does not accept a default of type binary
        case TimestampNsType() | TimestamptzNsType() | TimeType():
            return f"{value}L" if isinstance(value, int) and value >= 0 else f"CAST('{value}' AS BIGINT)"
        case StringType():
            return f"CAST(X'{str(value).encode().hex()}' AS STRING)"
        case FloatType() | DoubleType():
            return f"CAST('{_float_text(float(str(value)))}' AS {field.type})"
        case DecimalType():
            return f"CAST('{value:f}' AS {spark_type(field.type).simpleString()})"
        case IntegerType() | LongType():
            return f"CAST('{value}' AS {spark_type(field.type).simpleString()})"
        case StructType() | ListType() | MapType():
            return None
    return literal_text(field.type, value)


def _float_text(value: float) -> str:
    if value != value:
        return "NaN"
    return repr(value) if abs(value) != float("inf") else ("Infinity" if value > 0 else "-Infinity")


def _uuid_text(column: Any) -> Any:
    digits = F.lower(F.hex(column))
    parts = [F.substring(digits, start, length) for start, length in ((1, 8), (9, 4), (13, 4), (17, 4), (21, 12))]
    dashed = [piece for part in parts for piece in (part, F.lit("-"))][:-1]
    return F.concat(*dashed)


def _microseconds(column: Any) -> Any:
    """Nanoseconds truncated to microseconds, also before 1970, by integer arithmetic."""
    is_inside = (column < F.lit(0)) & (F.pmod(column, F.lit(1000)) != F.lit(0))
    return F.call_function("div", column, F.lit(1000)) - F.when(is_inside, F.lit(1)).otherwise(F.lit(0))


def read_schema(columns: Sequence[NativeColumn]) -> st.StructType:
    """The schema that Parquet is read with."""
    return st.StructType([column.read for column in columns if column.read is not None])
