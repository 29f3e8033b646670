"""Arrow rows as commands show them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

import pyarrow as pa

from floeberg.cli.output import human
from floeberg.errors import InvalidInput, UnsupportedFeature
from floeberg.spec.values.temporal import format_timestamp


def row_dicts(batches: Iterator[pa.RecordBatch]) -> Iterator[dict[str, Any]]:
    """The rows as dicts, maps too (which Arrow gives as pairs)."""
    for batch in batches:
        columns = [_column(batch.column(at), batch.schema.field(at).type) for at in range(batch.num_columns)]
        for row in zip(*columns, strict=True):
            yield dict(zip(batch.schema.names, row, strict=True))


def _column(array: pa.Array, data_type: pa.DataType) -> list[Any]:
    try:
        values = array.to_pylist()
    except (ValueError, OverflowError):
        values = _exact(array)
    return [_dicts(value, data_type) for value in values]


def _exact(array: pa.Array) -> list[Any]:
    """Times that Python's own, which end at the year 9999 and at microseconds, do not hold: as text."""
    if pa.types.is_nested(array.type):
        raise UnsupportedFeature(
            "a nested column holds times that cannot be shown as text; --select other columns, or write with -o parquet"
        )
    if not pa.types.is_timestamp(array.type):
        return list(array.cast(pa.string()).to_pylist())
    zoned = array.type.tz is not None
    unit: Literal["us", "ns"] = "ns" if array.type.unit == "ns" else "us"
    ticks = array.view(pa.int64()).to_pylist()
    return [None if tick is None else format_timestamp(tick, unit=unit, zoned=zoned) for tick in ticks]


def _dicts(value: Any, data_type: pa.DataType) -> Any:
    if value is None:
        return None
    if pa.types.is_map(data_type):
        return {_hashable(key): _dicts(item, data_type.item_type) for key, item in value}
    if pa.types.is_struct(data_type):
        return {field.name: _dicts(value[field.name], field.type) for field in data_type}
    if pa.types.is_list(data_type) or pa.types.is_large_list(data_type):
        return [_dicts(item, data_type.value_type) for item in value]
    return value


def _hashable(key: Any) -> Any:
    return human(key) if isinstance(key, (dict, list)) else key


def partition_text(partition: Mapping[str, Any] | None) -> str | None:
    """A partition tuple as in paths: `day=2024-05-01/bucket=3`."""
    if partition is None:
        return None
    return "/".join(f"{name}={'null' if value is None else human(value)}" for name, value in partition.items())


def single(snapshot: int | None, ref: str | None, as_of: str | None) -> None:
    """Raises InvalidInput when several snapshots are asked for."""
    if sum(given is not None for given in (snapshot, ref, as_of)) > 1:
        raise InvalidInput("give only one of --snapshot, --ref and --as-of")
