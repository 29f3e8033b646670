"""Metrics of single columns are the same whether the maps of all records lie alike or not."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import fastavro
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from floeberg.errors import ManifestCorrupt
from floeberg.files import manifest_frame as frame_module
from floeberg.files import regular_metrics
from floeberg.files.avro_container import encode_long, read_blocks, read_header, write_container
from floeberg.files.manifest import write_manifest
from floeberg.files.manifest_frame import decode_manifest
from floeberg.files.metric_columns import METRIC_MAPS, metric_name, with_metric_columns
from floeberg.spec.partitions.specs import PartitionSpec
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.snapshots.manifest_entry import DataFile, EntryStatus, FileFormat, ManifestEntry
from floeberg.spec.types import LONG, NestedField
from golden_collection.golden_files import GOLDEN

MANIFESTS = sorted((GOLDEN / "manifests" / "manifests").glob("*.avro"))
MAPS = ("column_sizes", *METRIC_MAPS)
SNAPSHOT_ID = 7
Row = Mapping[str, Mapping[int, int | bytes] | None]


@pytest.fixture(autouse=True)
def _any_number_of_records(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regular_metrics, "FEWEST_RECORDS", 1)


def _manifest(rows: Sequence[Row]) -> bytes:
    files = [
        DataFile(
            file_path=f"f{place}", file_format=FileFormat.PARQUET, spec_id=0, partition=(), record_count=place + 1,
            file_size_in_bytes=100, **row,
        )
        for place, row in enumerate(rows)
    ]  # fmt: skip
    entries = [
        ManifestEntry(
            status=EntryStatus.ADDED, data_file=file, snapshot_id=SNAPSHOT_ID, data_sequence_number=None,
            file_sequence_number=None,
        )
        for file in files
    ]  # fmt: skip
    return write_manifest(
        entries, schema=Schema(NestedField(1, "a", LONG)), spec=PartitionSpec(0, ()), format_version=2, snapshot_id=7
    ).data


def _row(keys: Sequence[int], seed: int) -> Row:
    counts = {key: seed * 1_000 + key for key in keys}
    bounds = {key: bytes([seed % 256]) * key + b"\x02" for key in keys}
    return {name: bounds if name.endswith("bounds") else counts for name in MAPS}


def _check(data: bytes, rows: Sequence[Row], field_ids: Sequence[int]) -> None:
    frame = decode_manifest(data, select=["file_path"], metrics_of=field_ids)
    assert frame["file_path"].to_list() == [f"f{place}" for place in range(len(rows))]
    for name in METRIC_MAPS:
        for field_id in field_ids:
            found = frame[metric_name(name, field_id)].to_list()
            assert found == [(row[name] or {}).get(field_id) for row in rows], (name, field_id)
    assert not set(MAPS) & set(frame.columns)


def _takes(data: bytes, field_ids: Sequence[int]) -> bool:
    """Whether the maps are read as maps that lie alike."""
    header = read_header(data)
    records, body = read_blocks(data, header)
    plan = frame_module.layout_of(header, frame_module.DEFAULT_LIMITS).plan
    return regular_metrics.decode_regular(body, records, plan, select=["file_path"], metrics_of=field_ids) is not None


def test_records_with_the_same_columns_lie_alike() -> None:
    rows = [_row([1, 2, 3], seed) for seed in range(20)]
    data = _manifest(rows)
    assert _takes(data, [2])
    _check(data, rows, [2])
    _check(data, rows, [3, 1, 9])


def test_few_records_are_decoded_as_any(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [_row([1, 2, 3], seed) for seed in range(20)]
    monkeypatch.setattr(regular_metrics, "FEWEST_RECORDS", 21)
    assert not _takes(_manifest(rows), [2])
    _check(_manifest(rows), rows, [2])


@pytest.mark.parametrize("place", [0, 1, 10, 19])
@pytest.mark.parametrize(
    "other",
    [
        _row([1, 2], 99),
        _row([1, 2, 3, 4], 99),
        _row([2, 3, 1], 99),
        _row([], 99),
        dict.fromkeys(MAPS),
        {**_row([1, 2, 3], 99), "column_sizes": None},
        {**_row([1, 2, 3], 99), "lower_bounds": {1: b"x", 3: b""}, "upper_bounds": {1: b"y", 3: b""}},
        {**_row([1, 2, 3], 99), "upper_bounds": {}},
    ],
    ids=["fewer", "more", "order", "empty", "null", "sizes", "bounds", "one"],
)
def test_one_record_of_another_shape_is_read_rightly_and_quietly(
    place: int, other: Row, capfd: pytest.CaptureFixture[str]
) -> None:
    rows = [_row([1, 2, 3], seed) for seed in range(20)]
    rows[place] = other
    data = _manifest(rows)
    assert not _takes(data, [1])
    for field_ids in ([1], [3], [2, 3], [4]):
        _check(data, rows, field_ids)
    assert capfd.readouterr().err == ""


def test_a_field_that_the_first_record_lacks_is_found_in_others() -> None:
    rows = [_row([1, 2, 3], 1), _row([1, 2, 4], 2), _row([1, 2, 4], 3)]
    data = _manifest(rows)
    assert _takes(data, [1])
    assert not _takes(data, [4])
    _check(data, rows, [1])
    _check(data, rows, [4])
    _check(data, rows, [3])


def test_records_behind_a_part_of_another_shape_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [_row([1, 2, 3], seed) for seed in range(500)]
    rows[200] = _row([3], 5)
    monkeypatch.setattr(frame_module, "_METRICS_BYTES_AT_ONCE", 1)
    _check(_manifest(rows), rows, [1, 3])


_KEYS = st.lists(st.integers(0, 70), max_size=4, unique=True)
_LENGTH = st.integers(0, 3)


@st.composite
def _tables(draw: st.DrawFn) -> list[Row]:
    """Rows most of whose maps have the same keys, and some others."""
    usual = {name: draw(st.none() | _KEYS) for name in MAPS}
    rows: list[Row] = []
    for _ in range(draw(st.integers(1, 6))):
        row: dict[str, dict[int, Any] | None] = {}
        for name in MAPS:
            keys = usual[name] if draw(st.integers(0, 40)) else draw(st.none() | _KEYS)
            values = st.binary(max_size=3) if name.endswith("bounds") else st.integers(-(2**63), 2**63 - 1)
            row[name] = None if keys is None else {key: draw(values) for key in keys}
        rows.append(row)
    return rows


@settings(max_examples=150)
@given(_tables(), st.lists(st.integers(0, 70), min_size=1, max_size=3, unique=True))
def test_metrics_are_those_of_the_maps(rows: list[Row], others: list[int]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(regular_metrics, "FEWEST_RECORDS", 1)
        known = sorted({key for row in rows for pairs in row.values() for key in pairs or ()})
        data = _manifest(rows)
        _check(data, rows, others)
        for field_id in known:
            _check(data, rows, [field_id])


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.stem)
def test_metrics_of_golden_manifests_are_those_of_their_maps(path: Path) -> None:
    data = path.read_bytes()
    whole = decode_manifest(data, decoder="fastavro")
    field_ids = sorted({pair["key"] for pairs in whole["value_counts"].to_list() for pair in pairs or ()} | {999})
    for field_id in field_ids:
        expected = with_metric_columns(whole, [field_id]).drop(MAPS)
        found = decode_manifest(data, select=expected.columns, metrics_of=[field_id])
        assert_frame_equal(found.select(expected.columns), expected)


@pytest.mark.parametrize("in_blocks", ["sized", "two"])
def test_maps_in_blocks_of_another_kind_are_read(in_blocks: str) -> None:
    """An array may come in several blocks, and each may tell its size, of which the shape knows nothing."""
    row = _row([1, 2, 3], 4)
    data = _manifest([row, row, row])
    header = read_header(data)
    _, body = read_blocks(data, header)
    one = bytes(body[: len(body) // 3])
    pairs = b"".join(encode_long(key) + encode_long(4_000 + key) for key in (1, 2, 3))
    usual = encode_long(3) + pairs + b"\x00"
    assert one.count(usual) == 4
    if in_blocks == "sized":
        unusual = encode_long(-3) + encode_long(len(pairs)) + pairs + b"\x00"
    else:
        unusual = encode_long(3) + pairs + encode_long(1) + encode_long(9) + encode_long(1) + b"\x00"
    blocks = [(1, one), (1, one.replace(usual, unusual)), (1, one)]
    other = write_container(header.metadata["avro.schema"], blocks, metadata={}, codec="null")
    assert not _takes(other, [2])
    frame = decode_manifest(other, select=["file_path"], metrics_of=[2])
    assert frame["value_counts.2"].to_list() == [4_002] * 3


def test_of_a_key_that_stands_twice_the_last_value_counts() -> None:
    reader = fastavro.reader(io.BytesIO(_manifest([_row([1, 2, 3], seed) for seed in range(3)])))
    records: list[Any] = list(reader)
    for record in records:
        for name in MAPS:
            record["data_file"][name][2]["key"] = 1
    out = io.BytesIO()
    assert reader.writer_schema is not None
    fastavro.writer(out, reader.writer_schema, records)
    assert not _takes(out.getvalue(), [1])
    frame = decode_manifest(out.getvalue(), select=["file_path"], metrics_of=[1])
    assert frame["value_counts.1"].to_list() == [3, 1_003, 2_003]


@pytest.mark.parametrize("null_index", [None, 1])
def test_unions_in_any_order_and_none_are_read(null_index: int | None) -> None:
    rows = [_row([1, 2, 3], seed) for seed in range(5)]
    reader = fastavro.reader(io.BytesIO(_manifest(rows)))
    records, schema = list(reader), reader.writer_schema
    assert isinstance(schema, dict)
    (data_file,) = [field for field in schema["fields"] if field["name"] == "data_file"]
    for field in data_file["type"]["fields"]:
        if field["name"] in MAPS:
            field["type"] = field["type"][1] if null_index is None else [field["type"][1], "null"]
            field.pop("default", None)
    out = io.BytesIO()
    fastavro.writer(out, schema, records)
    assert _takes(out.getvalue(), [2])
    _check(out.getvalue(), rows, [2])


def test_damage_is_found_where_all_maps_lie_alike() -> None:
    rows = [_row([1, 2, 3], seed) for seed in range(50)]
    data = _manifest(rows)
    header = read_header(data)
    records, body = read_blocks(data, header)
    schema = header.metadata["avro.schema"]
    for damaged in (body + b"\x00", body[:-1], body[len(body) // 2 :]):
        with pytest.raises(ManifestCorrupt):
            decode_manifest(
                write_container(schema, [(records, bytes(damaged))], metadata={}, codec="null"), metrics_of=[1]
            )
