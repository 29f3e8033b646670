"""Bounds decoded in columns against bounds decoded one by one."""

from __future__ import annotations

from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from floeberg.arrow.columns.physical import array_of
from floeberg.errors import MetadataCorrupt
from floeberg.inspect.readable_metrics import bounds_array
from floeberg.spec.types import (
    BINARY,
    BOOLEAN,
    DATE,
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
    UUID,
    DecimalType,
    FixedType,
    GeometryType,
    IcebergType,
)
from floeberg.spec.values.single_value import from_bytes

TYPES: tuple[IcebergType, ...] = (
    BINARY, BOOLEAN, DATE, DOUBLE, FLOAT, INT, LONG, STRING, TIME, TIMESTAMP, TIMESTAMP_NS, TIMESTAMPTZ, TIMESTAMPTZ_NS,
    UNKNOWN, UUID, DecimalType(9, 2), FixedType(4), GeometryType(),
)  # fmt: skip


def one_by_one(data_type: IcebergType, bound: bytes | None) -> object:
    if bound is None or (isinstance(data_type, FixedType) and len(bound) != data_type.length):
        return None
    try:
        return from_bytes(data_type, bound)
    except MetadataCorrupt:
        return None


def same(mine: Any, other: Any) -> bool:
    return mine == other or (mine != mine and other != other)


@pytest.mark.parametrize("data_type", TYPES, ids=str)
@settings(max_examples=25)
@given(
    bounds=st.lists(
        st.none() | st.binary(max_size=17) | st.binary(min_size=4, max_size=4) | st.binary(min_size=8, max_size=8)
    )
)
def test_any_bytes_give_the_value_or_null(data_type: IcebergType, bounds: list[bytes | None]) -> None:
    found = bounds_array(pl.Series(bounds, dtype=pl.Binary), data_type)
    wanted = array_of([one_by_one(data_type, bound) for bound in bounds], data_type)
    assert found.type == wanted.type
    assert len(found) == len(wanted)
    assert all(same(mine, other) for mine, other in zip(_plain(found), _plain(wanted), strict=True))


def _plain(array: pa.Array) -> list[Any]:
    """Physical values: Python's own dates end at the year 9999."""
    if pa.types.is_temporal(array.type):
        return list(array.view(pa.int32() if pa.types.is_date(array.type) else pa.int64()).to_pylist())
    return list(array.to_pylist())
