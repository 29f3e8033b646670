"""What to do about columns that do not fit a table: the commonest causes are how pandas holds times and missing numbers."""

from __future__ import annotations

import pyarrow as pa

from floeberg.spec.types import (
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IcebergType,
    IntegerType,
    LongType,
    StringType,
    TimestampNsType,
    TimestampType,
    TimestamptzNsType,
    TimestamptzType,
    TimeType,
)

_TEMPORAL = (DateType, TimeType, TimestampType, TimestampNsType, TimestamptzType, TimestamptzNsType)
_ZONED = (TimestamptzType, TimestamptzNsType)
_ZONELESS = (TimestampType, TimestampNsType)
_MICROS = (TimestampType, TimestamptzType)


def advice(name: str, source: pa.DataType, target: IcebergType) -> str:
    """How to make a column of a type that is never written as the target be one that is."""
    types = pa.types
    if types.is_timestamp(source) and source.tz is None and isinstance(target, _ZONED):
        return (
            "its times have no zone, so say which one they are in: "
            f"df[{name!r}] = df[{name!r}].dt.tz_localize('UTC') (pandas), "
            f"pl.col({name!r}).dt.replace_time_zone('UTC') (polars) or pc.assume_timezone(column, 'UTC') (pyarrow)"
        )
    if types.is_timestamp(source) and source.tz is not None and isinstance(target, _ZONELESS):
        return (
            "its times are instants, so choose the zone whose local times are meant: "
            f"df[{name!r}] = df[{name!r}].dt.tz_convert('UTC').dt.tz_localize(None) (pandas), "
            f"pl.col({name!r}).dt.convert_time_zone('UTC').dt.replace_time_zone(None) (polars) "
            "or pc.local_timestamp(column) (pyarrow)"
        )
    if types.is_floating(source) and isinstance(target, (IntegerType, LongType)):
        kind = "Int32" if isinstance(target, IntegerType) else "Int64"
        return (
            "pandas makes floats of whole numbers where some are missing: "
            f"df[{name!r}] = df[{name!r}].astype({kind!r}) keeps them whole (polars: pl.col({name!r}).cast(pl.{kind}))"
        )
    is_text = types.is_string(source) or types.is_large_string(source) or types.is_string_view(source)
    if is_text and isinstance(target, _TEMPORAL):
        return f"read the texts as times first: df[{name!r}] = pd.to_datetime(df[{name!r}]) (pandas), then their zone or date"
    if is_text and isinstance(target, (IntegerType, LongType, FloatType, DoubleType)):
        return f"read the texts as numbers first: df[{name!r}] = pd.to_numeric(df[{name!r}]) (pandas)"
    if types.is_floating(source) and isinstance(target, DecimalType):
        decimal = f"pa.decimal128({target.precision}, {target.scale})"
        return f"floats are no exact decimals; round them yourself, as column.cast({decimal})"
    if isinstance(target, StringType):
        return f"write the values as text first: df[{name!r}] = df[{name!r}].astype(str) (pandas)"
    if types.is_timestamp(source) and isinstance(target, DateType):
        return f"take the day: df[{name!r}] = df[{name!r}].dt.date (pandas) or column.cast(pa.date32()) (pyarrow)"
    return "cast it first"


def advice_for_values(name: str, source: pa.DataType | None, target: IcebergType) -> str:
    """How to make values fit that do not, although the type does; nothing where the error says it all."""
    if source is not None and pa.types.is_timestamp(source) and source.unit == "ns" and isinstance(target, _MICROS):
        return (
            f"; the column keeps microseconds: df[{name!r}] = df[{name!r}].dt.floor('us') (pandas), or make it "
            "timestamp_ns (format version 3)"
        )
    return ""
