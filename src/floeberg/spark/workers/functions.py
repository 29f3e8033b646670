"""The partition transforms as they run in Spark's Python workers: Arrow in, Arrow out."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from floeberg.arrow.columns.transforms import transform_array
from floeberg.arrow.columns.types import iceberg_type
from floeberg.spec.partitions.transforms import BucketTransform, Transform, TruncateTransform, parse_transform
from floeberg.spec.types import BINARY, STRING, IcebergType


def temporal(kind: str) -> Callable[[pa.Array], pa.Array]:
    """year, month, day or hour of dates and timestamps."""
    transform = parse_transform(kind)

    def apply(values: pa.Array) -> pa.Array:
        return transform_array(transform, _source_type(values), values)

    return apply


def bucket(numbers: pa.Array, values: pa.Array) -> pa.Array:
    return _wide(lambda number: BucketTransform(number), numbers, values)


def truncate(numbers: pa.Array, values: pa.Array) -> pa.Array:
    return _wide(lambda number: TruncateTransform(number), numbers, values)


def _wide(make: Callable[[int], Transform], numbers: pa.Array, values: pa.Array) -> pa.Array:
    """A transform whose number comes as a column: almost always one for all rows."""
    kind = _source_type(values)
    distinct = numbers.unique().to_pylist()
    if len(distinct) == 1 and distinct[0] is not None:
        return transform_array(make(distinct[0]), kind, values)
    parts = [
        transform_array(make(number), kind, values.slice(row, 1))[0].as_py() if number is not None else None
        for row, number in enumerate(numbers.to_pylist())
    ]
    return pa.array(parts)


def _source_type(values: pa.Array) -> IcebergType:
    if pa.types.is_large_string(values.type):
        return STRING
    return BINARY if pa.types.is_large_binary(values.type) else iceberg_type(values.type)
