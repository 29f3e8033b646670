"""`readable_metrics`: the metrics of each column as values of its own type."""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl
import pyarrow as pa

from floeberg.arrow.columns.physical import array_of
from floeberg.errors import MetadataCorrupt
from floeberg.inspect.arrays import struct_array, to_array
from floeberg.inspect.columns import metric_columns
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.types import (
    LONG,
    BinaryType,
    DateType,
    DoubleType,
    FixedType,
    FloatType,
    GeographyType,
    GeometryType,
    IcebergType,
    IntegerType,
    LongType,
    StringType,
    StructType,
    TimestamptzNsType,
    TimestamptzType,
)
from floeberg.spec.values.single_value import from_bytes

COUNTS: Final = ("column_sizes", "value_counts", "null_value_counts", "nan_value_counts")
BOUNDS: Final = ("lower_bounds", "upper_bounds")
_WIDE: Final[dict[type[IcebergType], pl.DataType]] = {
    IntegerType: pl.Int32(),
    DateType: pl.Int32(),
    LongType: pl.Int64(),
    TimestamptzType: pl.Int64(),
    TimestamptzNsType: pl.Int64(),
    FloatType: pl.Float32(),
    DoubleType: pl.Float64(),
}
"""Types whose bounds are numbers of one width."""
_NARROW: Final[dict[type[IcebergType], pl.DataType]] = {LongType: pl.Int32(), DoubleType: pl.Float32()}
"""The narrower number that a file from before a promotion may hold."""
_RAW: Final = (BinaryType, GeometryType, GeographyType)


def readable_metrics_array(frame: pl.DataFrame, schema: Schema, metrics_type: StructType) -> pa.Array:
    """The `readable_metrics` of a frame's files. A bound that is no value of its column's type is null."""
    by_metric = {name: _Metric(frame.get_column(name)) for name in (*COUNTS, *BOUNDS)}
    columns = []
    for (_, column), member in zip(metric_columns(schema).items(), metrics_type.members, strict=True):
        assert isinstance(member.type, StructType)
        counts = [to_array(by_metric[name].of(column.field_id), LONG) for name in COUNTS]
        bounds = [bounds_array(by_metric[name].of(column.field_id), column.type) for name in BOUNDS]
        columns.append(struct_array([*counts, *bounds], member.type.members, frame.height))
    return struct_array(columns, metrics_type.members, frame.height)


class _Metric:
    """One of a file's maps, taken apart by column id once for all columns."""

    def __init__(self, maps: pl.Series) -> None:
        self._length = len(maps)
        inner = maps.dtype.inner.to_schema()["value"]  # type: ignore[attr-defined]
        self._none = pl.Series("value", [None], dtype=inner).new_from_index(0, self._length)
        flat = (
            pl.DataFrame({"row": pl.int_range(self._length, eager=True), "map": maps})
            .filter(pl.col("map").list.len() > 0)
            .explode("map")
            .unnest("map")
        )
        self._by_id = {key[0]: group for key, group in flat.partition_by("key", as_dict=True).items()}

    def of(self, field_id: int) -> pl.Series:
        """The values of one column, one for each file, null where the file has none."""
        group = self._by_id.get(field_id)
        if group is None:
            return self._none
        places = np.full(self._length, -1, dtype=np.int64)
        places[group.get_column("row").to_numpy()] = np.arange(group.height)
        at = pl.Series(places)
        return group.get_column("value").gather(at.set(at < 0, None))


def bounds_array(series: pl.Series, data_type: IcebergType) -> pa.Array:
    """Bounds in single-value binary form as values of a type."""
    if (wide := _WIDE.get(type(data_type))) is not None:
        return to_array(_numbers(series, wide, _NARROW.get(type(data_type))), data_type)
    if isinstance(data_type, _RAW):
        return to_array(series, data_type)
    if isinstance(data_type, StringType):
        try:
            return to_array(series.cast(pl.String), data_type)
        except pl.exceptions.PolarsError:
            return _one_by_one(series, data_type)
    return _one_by_one(series, data_type)


def _numbers(series: pl.Series, wide: pl.DataType, narrow: pl.DataType | None) -> pl.Series:
    sized = series.bin.size()
    out = _reinterpreted(series, sized == _width(wide), wide)
    if narrow is None:
        return out
    return out.zip_with(out.is_not_null(), _reinterpreted(series, sized == _width(narrow), narrow).cast(wide))


def _reinterpreted(series: pl.Series, fits: pl.Series, dtype: pl.DataType) -> pl.Series:
    empty = pl.Series([None], dtype=pl.Binary).new_from_index(0, len(series))
    return series.zip_with(fits.fill_null(False), empty).bin.reinterpret(dtype=dtype, endianness="little")


def _width(dtype: pl.DataType) -> int:
    return 4 if dtype in (pl.Int32(), pl.Float32()) else 8


def _one_by_one(series: pl.Series, data_type: IcebergType) -> pa.Array:
    return array_of([None if data is None else _value(data_type, data) for data in series.to_list()], data_type)


def _value(data_type: IcebergType, data: bytes) -> object:
    try:
        value = from_bytes(data_type, data)
    except MetadataCorrupt:
        return None  # the raw bytes stay visible beside it, and `check` reports them
    is_cut = isinstance(data_type, FixedType) and len(data) != data_type.length
    return None if is_cut else value
