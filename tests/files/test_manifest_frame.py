"""Manifests decode to the same columns whoever wrote them and whichever decoder reads them."""

from __future__ import annotations

import datetime as dt
import io
import json
from decimal import Decimal
from pathlib import Path

import fastavro
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from floeberg.errors import ManifestCorrupt
from floeberg.files import manifest_frame as frame_module
from floeberg.files.avro_container import read_block_groups, read_blocks, read_header, write_container
from floeberg.files.manifest import write_manifest
from floeberg.files.manifest_frame import COLUMN_NAMES, decode_manifest, inherit, manifest_frame, stored_partition_type
from floeberg.files.metric_columns import with_metric_columns
from floeberg.spec.snapshots.manifest_entry import ManifestContent, ManifestFile
from floeberg.spec.types import DATE, INT, LONG, STRING, TIMESTAMP, UNKNOWN, DecimalType, NestedField, StructType
from golden_collection.golden_files import GOLDEN
from strategies.data_files import SNAPSHOT_ID, manifests

MANIFESTS = sorted((GOLDEN / "manifests" / "manifests").glob("*.avro"))
EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def _physical(value: object) -> object:
    """What fastavro makes of a logical type, as Floeberg's physical value."""
    if isinstance(value, dt.datetime):
        value = value if value.tzinfo else value.replace(tzinfo=dt.UTC)
        return (value - EPOCH) // dt.timedelta(microseconds=1)
    return (value - EPOCH.date()).days if isinstance(value, dt.date) else value


def check_against_fastavro(data: bytes) -> None:
    """Every column of every entry equals what a general Avro reader finds under its name."""
    rows = list(fastavro.reader(io.BytesIO(data)))
    frame = decode_manifest(data)
    assert_frame_equal(frame, decode_manifest(data, decoder="fastavro"))
    found = frame.to_dicts()
    assert len(found) == len(rows)
    for ours, theirs in zip(found, rows, strict=True):
        file = {**theirs, **theirs["data_file"]}
        for name in set(COLUMN_NAMES) - {"partition", "content", "file_format"}:
            missing = 0 if name.endswith("sequence_number") and "sequence_number" not in theirs else None
            assert ours[name] == file.get(name, missing), name
        assert ours["content"] == file.get("content", 0)
        assert ours["file_format"] == file["file_format"].lower()
        assert list(ours["partition"].values()) == [_physical(value) for value in file["partition"].values()]


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.stem)
def test_a_golden_manifest_decodes_to_what_a_general_avro_reader_finds(path: Path) -> None:
    check_against_fastavro(path.read_bytes())


def test_a_golden_manifest_decodes_to_what_its_own_project_says() -> None:
    folder = GOLDEN / "manifests" / "icebird"
    (path,) = folder.glob("*-m0.avro")
    (expected,) = json.loads(path.with_suffix(".json").read_text())
    (found,) = decode_manifest(path.read_bytes()).to_dicts()
    file = expected["data_file"]
    for name in ("column_sizes", "value_counts", "null_value_counts", "split_offsets", "file_path", "sort_order_id"):
        assert found[name] == file[name], name
    for name in ("lower_bounds", "upper_bounds"):
        assert {pair["key"]: list(pair["value"]) for pair in found[name]} == {
            pair["key"]: pair["value"] for pair in file[name]
        }


@settings(max_examples=40)
@given(manifests(), st.sampled_from([2, 3]), st.sampled_from(["gzip", "snappy", "zstd", "uncompressed"]))
def test_both_decoders_give_the_same_frame(manifest, format_version: int, codec: str) -> None:
    schema, spec, content, listed = manifest
    if format_version == 2:
        listed = [entry for entry in listed if not entry.data_file.is_deletion_vector]
    data = write_manifest(
        listed, schema=schema, spec=spec, format_version=format_version, snapshot_id=SNAPSHOT_ID, content=content,
        codec=codec,
    ).data  # fmt: skip
    kind = spec.partition_type(schema)
    fast = decode_manifest(data, partition_type=kind, decoder="polars")
    assert_frame_equal(fast, decode_manifest(data, partition_type=kind, decoder="fastavro"))
    assert fast.height == len(listed)


def _avro(fields: list[dict[str, object]], rows: list[dict[str, object]], **metadata: str) -> bytes:
    out = io.BytesIO()
    schema = {"type": "record", "name": "manifest_entry", "fields": fields}
    fastavro.writer(out, fastavro.parse_schema(schema), rows, metadata=metadata)
    return out.getvalue()


def _odd_manifest(partition: list[dict[str, object]], values: dict[str, object], **extra: object) -> bytes:
    """A small v2 manifest with a partition of any Avro type, null last in its unions and columns no one knows."""
    members = [
        {"name": "later", "type": {"type": "map", "values": ["null", "long"]}, "field-id": 999},
        {"name": "file_path", "type": "string", "field-id": 100},
        {"name": "file_format", "type": "string", "field-id": 101},
        {"name": "partition", "type": {"type": "record", "name": "r102", "fields": partition}, "field-id": 102},
        {"name": "record_count", "type": "int", "field-id": 103},
        {"name": "file_size_in_bytes", "type": "long", "field-id": 104},
        {"name": "kind", "type": {"type": "enum", "name": "kinds", "symbols": ["A", "B"]}, "field-id": 998},
        {"name": "sorted_by", "type": [{"type": "array", "items": "int"}, "null"], "field-id": 132},
    ]
    fields = [
        {"name": "status", "type": "int", "field-id": 0},
        {"name": "snapshot", "type": ["long", "null"], "field-id": 1},
        {"name": "sequence_number", "type": ["null", "long"], "field-id": 3},
        {"name": "data_file", "type": {"type": "record", "name": "r2", "fields": members}, "field-id": 2},
    ]
    file = {"later": {"a": 1, "b": None}, "file_path": "p", "file_format": "PARQUET", "partition": values,
            "record_count": 7, "file_size_in_bytes": 9, "kind": "B", "sorted_by": [4], **extra}  # fmt: skip
    return _avro(fields, [{"status": 1, "snapshot": 5, "sequence_number": None, "data_file": file}])


def _partition(kind: object, **more: object) -> list[dict[str, object]]:
    return [{"name": "p", "type": ["null", kind], "default": None, "field-id": 1000, **more}]


def test_fields_are_found_by_id_and_unknown_ones_are_passed_over() -> None:
    for decoder in ("polars", "fastavro"):
        (row,) = decode_manifest(_odd_manifest([], {}), decoder=decoder).to_dicts()
        assert (row["snapshot_id"], row["split_offsets"], row["record_count"]) == (5, [4], 7)
        assert row["partition"] == {}


@pytest.mark.parametrize(
    ("avro", "value", "kind", "expected"),
    [
        ({"type": "int", "logicalType": "date"}, dt.date(1970, 1, 3), DATE, 2),
        ("int", 2, DATE, 2),
        ("int", 2, LONG, 2),
        ({"type": "int", "logicalType": "date"}, dt.date(1970, 1, 3), TIMESTAMP, 2 * 86_400_000_000),
        ("float", 0.5, NestedField, 0.5),
        ({"type": "long", "logicalType": "timestamp-nanos"}, 10**18, NestedField, 10**18),
        ({"type": "fixed", "name": "f", "size": 2, "logicalType": "decimal", "precision": 3, "scale": 2},
         Decimal("-1.23"), DecimalType(5, 2), Decimal("-1.23")),
        ({"type": "fixed", "name": "f", "size": 2}, b"\xff\x85", DecimalType(5, 2), Decimal("-1.23")),
        ("string", "x", UNKNOWN, "x"),
        ("int", 2**31 - 1, UNKNOWN, 2**31 - 1),
    ],
)  # fmt: skip
def test_partition_values_come_in_the_form_of_the_specs_type(avro, value, kind, expected) -> None:
    wanted = None if kind is NestedField else StructType((NestedField(1000, "p", kind),))
    data = _odd_manifest(_partition(avro), {"p": value})
    for decoder in ("polars", "fastavro"):
        (row,) = decode_manifest(data, partition_type=wanted, decoder=decoder).to_dicts()
        assert row["partition"] == {"1000": expected}


@pytest.mark.parametrize(
    ("avro", "value", "kind"), [("string", "x", INT), ("long", 2**40, INT), ("int", 1, STRING), ("bytes", b"", DATE)]
)
def test_a_partition_value_of_another_type_is_corrupt(avro, value, kind) -> None:
    with pytest.raises(ManifestCorrupt, match="partition field p"):
        decode_manifest(
            _odd_manifest(_partition(avro), {"p": value}), partition_type=StructType((NestedField(1000, "p", kind),))
        )


def test_a_partition_field_is_found_by_name_where_a_v1_writer_numbered_it_anew() -> None:
    data = _odd_manifest([*_partition("int"), {"name": "q", "type": "int", "field-id": 1001}], {"p": 1, "q": 2})
    wanted = StructType((NestedField(1005, "q", INT), NestedField(1006, "dropped", STRING)))
    (row,) = decode_manifest(data, partition_type=wanted).to_dicts()
    assert row["partition"] == {"1005": 2, "1006": None}


def test_the_stored_partition_type_fills_in_what_the_spec_no_longer_knows() -> None:
    data = _odd_manifest(_partition({"type": "int", "logicalType": "date"}), {"p": dt.date(2020, 1, 1)})
    spec_type = StructType((NestedField(1000, "p", UNKNOWN),))
    assert stored_partition_type(data, spec_type) == StructType((NestedField(1000, "p", DATE),))
    assert stored_partition_type(data) == StructType((NestedField(1000, "p", DATE),))


def _listed(**values: object) -> ManifestFile:
    return ManifestFile(**{"manifest_path": "m", "manifest_length": 1, "partition_spec_id": 3, "added_snapshot_id": 50,
                           "sequence_number": 9, **values})  # fmt: skip


def _frame(**columns: list[object]) -> pl.DataFrame:
    height = len(columns["status"])
    empty = {
        name: [None] * height for name in ("snapshot_id", "sequence_number", "file_sequence_number", "first_row_id")
    }
    values = {"content": [0] * height, "record_count": [10] * height, **empty, **columns}
    return pl.DataFrame(values, schema_overrides=dict.fromkeys(values, pl.Int64))


def test_snapshot_ids_are_inherited_whatever_the_status() -> None:
    out = inherit(_frame(status=[0, 1, 2], snapshot_id=[None, None, 7]), _listed())
    assert out["snapshot_id"].to_list() == [50, 50, 7]
    assert out["spec_id"].to_list() == [3, 3, 3]


def test_only_added_entries_inherit_sequence_numbers() -> None:
    out = inherit(_frame(status=[1, 1, 0, 2], sequence_number=[None, 4, None, None]), _listed())
    assert out["sequence_number"].to_list() == [9, 4, None, None]
    assert out["file_sequence_number"].to_list() == [9, 9, None, None]
    assert inherit(_frame(status=[0, 2]), _listed(sequence_number=0))["sequence_number"].to_list() == [0, 0]


def test_live_data_files_inherit_row_ids_by_the_rows_before_them() -> None:
    frame = _frame(status=[1, 2, 0, 1, 1], first_row_id=[None, None, 77, None, None], record_count=[10, 99, 5, 3, 4])
    out = inherit(frame, _listed(first_row_id=1000))
    assert out["first_row_id"].to_list() == [1000, None, 77, 1010, 1013]


@pytest.mark.parametrize(
    "manifest", [_listed(first_row_id=None), _listed(content=ManifestContent.DELETES, first_row_id=None)]
)
def test_without_a_manifests_first_row_id_no_file_has_one(manifest: ManifestFile) -> None:
    assert inherit(_frame(status=[1], first_row_id=[7]), manifest)["first_row_id"].to_list() == [None]


def test_sequence_numbers_of_a_v1_manifest_are_zero() -> None:
    frame = decode_manifest((GOLDEN / "manifests" / "manifests" / "impala_airports_parquet.avro").read_bytes())
    assert frame["sequence_number"].to_list() == frame["file_sequence_number"].to_list() == [0] * frame.height


def test_a_manifest_must_hold_the_files_that_its_list_says() -> None:
    data = (GOLDEN / "manifests" / "manifests" / "trino_timetravel.avro").read_bytes()
    with pytest.raises(ManifestCorrupt, match="listed as one of DELETES"):
        manifest_frame(data, _listed(content=ManifestContent.DELETES))


def test_selecting_columns_decodes_only_those_and_what_inheritance_needs() -> None:
    data = (GOLDEN / "manifests" / "manifests" / "trino_timetravel.avro").read_bytes()
    whole = decode_manifest(data)
    some = decode_manifest(data, select=["file_path", "partition"])
    assert set(some.columns) < set(whole.columns)
    assert_frame_equal(some, whole.select(some.columns))


@pytest.mark.parametrize("at_once", [1, 300, 5_000])
@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.stem)
def test_a_manifest_decoded_in_parts_is_the_same(path: Path, at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    data = _one_record_a_block(path.read_bytes())
    whole = decode_manifest(data)
    monkeypatch.setattr(frame_module, "_METRICS_BYTES_AT_ONCE", at_once)
    parts = decode_manifest(data, metrics_of=[1])
    assert_frame_equal(parts.select(whole.columns), whole)
    assert_frame_equal(parts, with_metric_columns(whole, [1]))


def test_damage_behind_the_first_part_of_a_manifest_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each part must end where its blocks' counts say, not only the last one."""
    data = max((_one_record_a_block(path.read_bytes()) for path in MANIFESTS), key=_records)
    header = read_header(data)
    schema = header.metadata["avro.schema"]
    blocks = [bytes(block) for _, block in read_block_groups(data, header, at_once=1)]
    assert len(blocks) == _records(data) > 1
    monkeypatch.setattr(frame_module, "_METRICS_BYTES_AT_ONCE", 1)
    for place in range(len(blocks)):
        damaged = [(1, block + b"\x00" * (number == place)) for number, block in enumerate(blocks)]
        with pytest.raises(ManifestCorrupt):
            decode_manifest(write_container(schema, damaged, metadata={}, codec="null"))


def _records(data: bytes) -> int:
    return read_blocks(data, read_header(data))[0]


def _one_record_a_block(data: bytes) -> bytes:
    """The manifest as PyIceberg would have blocked it."""
    reader = fastavro.block_reader(io.BytesIO(data))
    schema = reader.writer_schema
    assert schema is not None
    out = io.BytesIO()
    fastavro.writer(out, schema, [record for block in reader for record in block], codec="deflate", sync_interval=1)
    return out.getvalue()


@pytest.mark.parametrize(
    ("field", "value", "name"),
    [("record_count", -1, "record_count"), ("file_size_in_bytes", -5, "file_size_in_bytes")],
)
def test_negative_sizes_are_corrupt(field: str, value: int, name: str) -> None:
    with pytest.raises(ManifestCorrupt, match=name):
        decode_manifest(_odd_manifest([], {}, **{field: value}))
