"""Metrics maps that lie alike in every record, decoded as if each of their pairs were two fields of the record.

The files of a table have mostly the same columns, so that their maps have the same keys in the same order. A decoder that is
told so builds only what is asked for of one column and steps over the pairs of the others. The first record says what to
expect; that every other record is so is checked, and where it is not, nothing is given.
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, TypeAlias

import fastavro
import msgspec
import numpy as np
import polars as pl

from floeberg.errors import ManifestCorrupt
from floeberg.files.avro_container import encode_long
from floeberg.files.avro_decode import FASTAVRO_ERRORS, DecodePlan, decode_columns, plan_decoding
from floeberg.files.avro_wire import WireType
from floeberg.files.metric_columns import ALL_MAPS, METRIC_MAPS, metric_name, missing_metric

FEWEST_RECORDS: Final = 256
"""Below so many records, to tell the decoder of each pair takes longer than to decode them all."""

_FIRST_BYTES: Final = 64 * 1024
"""How far the first record is looked for. What is behind it is not to be read record by record."""

_LOOKED_AT_ONCE: Final = 128 * 1024
"""So many bytes are compared at a time that what comes of it stays near the processor."""

_LONG: Final = WireType(kind="long")
_Keys: TypeAlias = tuple[int, ...] | None
"""The keys of a map in their order; None for a map that is null."""


@dataclass(frozen=True, slots=True)
class _Shape:
    """How the maps of every record are expected to lie, and how they are decoded then."""

    keys: Mapping[str, _Keys]
    plan: DecodePlan
    constants: Mapping[str, int]
    beginnings: Mapping[bytes, int]


def decode_regular(
    body: bytes | bytearray, records: int, plan: DecodePlan, *, select: Collection[str], metrics_of: Iterable[int]
) -> dict[str, pl.Series] | None:
    """As `decode_columns`, with the metrics of some fields as columns (`files.metric_columns`). None where the maps are
    not alike in all records, or the bytes are damaged. Of a key that stands twice in a map, which no writer may write, it
    may give either value."""
    shape = None if records < FEWEST_RECORDS else _expected(body, plan)
    if shape is None or not _begin_alike(body, records, shape.beginnings):
        return None
    expected = dict(shape.constants)
    found_in: dict[str, str | None] = {}
    for name in METRIC_MAPS:
        keys = shape.keys.get(name) or ()
        for field_id in metrics_of:
            there = field_id in keys
            expected |= {_key(name, key): key for key in keys if key == field_id or not there}
            found_in[metric_name(name, field_id)] = _value(name, field_id) if there else None
    wanted = {*select, *expected, *(value for value in found_in.values() if value is not None)}
    try:
        columns = decode_columns(body, records, shape.plan, select=wanted, decoder="polars")
    except ManifestCorrupt:
        return None
    if any((columns[name].to_numpy() != value).any() for name, value in expected.items()):
        return None
    metrics = {
        name: missing_metric(name, records) if source is None else columns[source].alias(name)
        for name, source in found_in.items()
    }
    return {name: column for name, column in columns.items() if name in select} | metrics


def _expected(body: bytes | bytearray, plan: DecodePlan) -> _Shape | None:
    """What the first record says of the others; None if it cannot be read, says too little, or has a key twice."""
    try:
        first: dict[str, Any] = fastavro.schemaless_reader(io.BytesIO(body[:_FIRST_BYTES]), _parsed(plan))
    except FASTAVRO_ERRORS:
        return None
    keys: list[tuple[str, _Keys]] = []
    for code, name in plan.codes.items():
        if name in ALL_MAPS:
            pairs = first[code]
            keys.append((name, None if pairs is None else tuple(pair["key"] for pair in pairs)))
    if any(found is not None and len(set(found)) < len(found) for _, found in keys):
        return None
    # Of a map without pairs nothing tells before it is decoded whether others are so too, unless one with pairs follows.
    return _shape(plan, tuple(keys)) if keys and keys[-1][1] else None


@lru_cache(maxsize=64)
def _parsed(plan: DecodePlan) -> Any:
    return fastavro.parse_schema(msgspec.json.decode(plan.schema_json))


@lru_cache(maxsize=64)
def _shape(plan: DecodePlan, maps: tuple[tuple[str, _Keys], ...]) -> _Shape:
    keys = dict(maps)
    columns: dict[str, WireType] = {}
    constants: dict[str, int] = {}
    beginnings: Counter[bytes] = Counter()

    def constant(name: str, value: int) -> bytes:
        columns[name], constants[name] = _LONG, value
        return encode_long(value)

    empty_before = b""
    for name, wire in plan.columns.items():
        if name not in keys:
            columns[name] = wire
            continue
        own, beginning = keys[name] or (), b""
        if wire.null_index is not None:
            beginning = constant(f"{name}/branch", wire.null_index if keys[name] is None else 1 - wire.null_index)
        if own:
            beginning += constant(f"{name}/count", len(own)) + encode_long(own[0])
            beginnings[beginning] += 1
            if empty_before:
                beginnings[empty_before + beginning] += 1
        assert wire.item is not None
        value = next(field.type for field in wire.item.fields if field.name == "value")
        for key in own:
            columns[_key(name, key)] = _LONG
            columns[_value(name, key)] = value
        if keys[name] is not None:
            beginning += constant(f"{name}/end", 0)
        empty_before = b"" if own else empty_before + beginning
    return _Shape(keys, plan_decoding(columns), constants, dict(beginnings))


def _begin_alike(body: bytes | bytearray, records: int, beginnings: Mapping[bytes, int]) -> bool:
    """Whether the bytes with which the maps begin are there as often as they must be. This proves nothing; it keeps
    records of another shape from a decoder that would complain of them on the terminal."""
    data = np.frombuffer(body, dtype=np.uint8)
    return all(_times(data, pattern) >= times * records for pattern, times in beginnings.items())


def _times(data: np.ndarray[Any, np.dtype[np.uint8]], pattern: bytes) -> int:
    """How often the pattern is there. As numpy has it, other threads work meanwhile."""
    found = 0
    for start in range(0, len(data) - len(pattern) + 1, _LOOKED_AT_ONCE):
        end = min(start + _LOOKED_AT_ONCE, len(data) - len(pattern) + 1)
        hits = data[start:end] == pattern[0]
        for place in range(1, len(pattern)):
            hits &= data[start + place : end + place] == pattern[place]
        found += int(np.count_nonzero(hits))
    return found


def _key(name: str, key: int) -> str:
    return f"{name}/key/{key}"


def _value(name: str, key: int) -> str:
    return f"{name}/value/{key}"
