"""Which row groups of a Parquet file can hold a row that a filter keeps, by the statistics in its footer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from uuid import UUID

import pyarrow as pa

from floeberg.arrow.columns.filter import referenced_ids
from floeberg.arrow.formats.file_schema import FileField
from floeberg.arrow.formats.read_parquet import RowGroupFilter
from floeberg.errors import FloebergError
from floeberg.expr.metrics_eval import may_contain_match
from floeberg.expr.nodes import AlwaysTrue, Expression
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.snapshots.manifest_entry import DataFile, FileFormat
from floeberg.spec.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
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
    UuidType,
)
from floeberg.spec.values.physical import decimal_from_unscaled
from floeberg.spec.values.single_value import to_bytes

_TIMESTAMPS = (TimestampType, TimestamptzType, TimestampNsType, TimestamptzNsType)
_TICKS_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def row_group_filter(expression: Expression, schema: Schema) -> RowGroupFilter | None:
    """A test that is false only for row groups without any row for which the bound expression is true."""
    if isinstance(expression, AlwaysTrue):
        return None
    ids = sorted(referenced_ids(expression))

    def may_match(row_group: Any, fields: Sequence[FileField]) -> bool:
        return may_contain_match(expression, row_group_as_data_file(row_group, fields, schema, ids))

    return may_match


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkStatistics:
    """What a row group's footer says of a column outside lists: values in physical form, None where it says nothing."""

    value_count: int
    null_count: int | None = None
    lower: Any = None
    upper: Any = None


def chunk_statistics(row_group: Any, field: FileField, target: IcebergType) -> ChunkStatistics:
    """The statistics of a primitive column, as values of the type that it is read as."""
    chunk = row_group.column(field.leaves[0])
    statistics = chunk.statistics if chunk.is_stats_set else None
    if statistics is None or chunk.num_values != row_group.num_rows:
        return ChunkStatistics(value_count=row_group.num_rows)
    lower = upper = None
    if statistics.has_min_max:
        lower = _value(statistics.min_raw, field.type, target, up=False)
        upper = _value(statistics.max_raw, field.type, target, up=True)
    nulls = statistics.null_count if statistics.has_null_count else None
    return ChunkStatistics(value_count=chunk.num_values, null_count=nulls, lower=lower, upper=upper)


def row_group_as_data_file(row_group: Any, fields: Sequence[FileField], schema: Schema, ids: list[int]) -> DataFile:
    """A row group's statistics in the form of a manifest entry's."""
    values: dict[int, int] = {}
    nulls: dict[int, int] = {}
    lower: dict[int, bytes] = {}
    upper: dict[int, bytes] = {}
    for field_id in ids:
        field = find_leaf(fields, schema.path_to(field_id))
        target = schema.find(field_id)
        if field is None or target is None:
            continue
        found = chunk_statistics(row_group, field, target.type)
        values[field_id] = found.value_count
        if found.null_count is not None:
            nulls[field_id] = found.null_count
        _bound(lower, field_id, found.lower, target.type)
        _bound(upper, field_id, found.upper, target.type)
    return DataFile(
        file_path="row group",
        file_format=FileFormat.PARQUET,
        record_count=row_group.num_rows,
        file_size_in_bytes=row_group.total_byte_size,
        value_counts=values,
        null_value_counts=nulls,
        lower_bounds=lower,
        upper_bounds=upper,
    )


def find_leaf(fields: Sequence[FileField], path: tuple[int, ...]) -> FileField | None:
    """The primitive column at a path of ids through structs."""
    found: FileField | None = None
    for field_id in path:
        if found is not None and not found.is_struct:
            return None
        found = next((field for field in fields if field.field_id == field_id), None)
        if found is None:
            return None
        fields = found.children
    return found if found is not None and not found.children else None


def _bound(bounds: dict[int, bytes], field_id: int, value: object, data_type: IcebergType) -> None:
    if value is None:
        return
    try:
        bounds[field_id] = to_bytes(data_type, value)
    except FloebergError:
        # A statistic outside the type's range (of a value that cannot be read either) says nothing here.
        return


def _value(raw: Any, source: pa.DataType, target: IcebergType, *, up: bool) -> object:
    """A raw statistic as a physical value of the column's type; None when it says nothing certain."""
    match target:
        case BooleanType() if isinstance(raw, bool):
            return raw
        case IntegerType() | LongType() if pa.types.is_signed_integer(source):
            return raw
        case DateType() if pa.types.is_date32(source):
            return raw
        case FloatType() | DoubleType() if isinstance(raw, float):
            return _float(raw, up=up)
        case TimeType() if pa.types.is_time(source):
            return _ticks(raw, source.unit, "us", up=up)
        case _ if isinstance(target, _TIMESTAMPS) and pa.types.is_timestamp(source) and isinstance(raw, int):
            unit = "ns" if isinstance(target, (TimestampNsType, TimestamptzNsType)) else "us"
            return _ticks(raw, source.unit, unit, up=up)
        case DecimalType() if pa.types.is_decimal(source) and source.scale == target.scale:
            return _decimal(raw, target)
        case StringType() if isinstance(raw, bytes):
            return _text(raw)
        case BinaryType() | FixedType() if isinstance(raw, bytes):
            return raw
        case UuidType() if isinstance(raw, bytes) and len(raw) == 16:
            return _uuid(raw)
    return None


def _float(value: float, *, up: bool) -> float | None:
    """Writers do not agree on which zero they record, so that a zero stands for both."""
    if math.isnan(value):
        return None
    return (0.0 if up else -0.0) if value == 0 else value


def _ticks(value: int, unit: str, wanted: str, *, up: bool) -> int:
    numerator, denominator = _TICKS_PER_SECOND[wanted], _TICKS_PER_SECOND[unit]
    scaled = value * numerator
    return -(-scaled // denominator) if up else scaled // denominator


def _decimal(raw: Any, target: DecimalType) -> Decimal:
    unscaled = int.from_bytes(raw, "big", signed=True) if isinstance(raw, bytes) else raw
    return decimal_from_unscaled(unscaled, target.scale)


def _text(raw: bytes) -> str | None:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return None


def _uuid(raw: bytes) -> object:
    return UUID(bytes=raw)
