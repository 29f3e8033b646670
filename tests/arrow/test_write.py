"""Writers: what does not fit is refused before it is written, files roll by the bytes they have, partitions are kept
apart, sort orders are applied."""

from __future__ import annotations

import datetime
import math
import uuid
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from floeberg.arrow.columns.partition import sort_table, split_by_partition
from floeberg.arrow.columns.physical import physical_values
from floeberg.arrow.formats.open_file import read_file
from floeberg.arrow.formats.write_properties import write_properties
from floeberg.arrow.write.conform import conform
from floeberg.arrow.write.data_files import RollingWriter, stored_schema
from floeberg.effects.system import SystemClock, SystemIds
from floeberg.errors import InvalidInput, UnsupportedFeature
from floeberg.spec.partitions.sort_orders import build_sort_order
from floeberg.spec.partitions.specs import PartitionSpec, build_partition_spec
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.snapshots.manifest_entry import DataFile, FileContent, FileFormat
from floeberg.spec.types import (
    DATE,
    DOUBLE,
    INT,
    LONG,
    STRING,
    TIMESTAMP,
    TIMESTAMPTZ,
    UNKNOWN,
    UUID,
    VARIANT,
    DecimalType,
    FixedType,
    ListType,
    MapType,
    NestedField,
    StructType,
)
from floeberg.storage.local import LocalStore
from floeberg.storage.memory import MemoryStore
from models.sort_key import row_key
from strategies.arrow_rows import FILTER_TYPES, canonical, optional, table_of

UNPARTITIONED = PartitionSpec(0, ())


class Locations:
    def __init__(self, root: str = "memory://bucket") -> None:
        self.root = root
        self.count = 0

    def __call__(self, partition_path: str) -> str:
        self.count += 1
        return f"{self.root}/t/data/{partition_path or 'all'}/{self.count}"


def writer(store: MemoryStore, schema: Schema, **options: Any) -> RollingWriter:
    options.setdefault("spec", UNPARTITIONED)
    return RollingWriter(store, schema, new_location=Locations(), **options)


def read(store: MemoryStore, files: list[DataFile], schema: Schema) -> list[dict[str, Any]]:
    return [row for file in files for part in read_file(store, file, schema) for row in part.batch.to_pylist()]


def conformed(table: pa.Table, schema: Schema) -> list[dict[str, Any]]:
    return [row for batch in conform(table, schema) for row in batch.to_pylist()]


# ---------------------------------------------------------------------------------------------------- what fits

PERSON = Schema(
    NestedField(1, "id", LONG, required=True),
    NestedField(2, "name", STRING),
    NestedField(3, "place", StructType((NestedField(4, "x", INT, required=True), NestedField(5, "y", INT)))),
)


def test_columns_are_matched_by_name_at_any_depth_and_missing_ones_are_null() -> None:
    table = pa.table({"place": [{"y": 2, "x": 1}, None], "id": pa.array([1, 2], pa.int16())})
    assert conformed(table, PERSON) == [
        {"id": 1, "name": None, "place": {"x": 1, "y": 2}},
        {"id": 2, "name": None, "place": None},
    ]


def test_write_defaults_fill_what_the_caller_leaves_out() -> None:
    inner = StructType((NestedField(3, "x", INT, write_default=7),))
    schema = Schema(
        NestedField(1, "id", LONG, required=True, write_default=5),
        NestedField(2, "s", inner, write_default={}),
        NestedField(4, "d", DATE, write_default=1, initial_default=0),
    )
    table = pa.table({"s": [{}, None]}, schema=pa.schema([("s", pa.struct([]))]))
    assert conformed(table, schema) == [
        {"id": 5, "s": {"x": 7}, "d": datetime.date(1970, 1, 2)},
        {"id": 5, "s": None, "d": datetime.date(1970, 1, 2)},
    ]
    assert conformed(pa.table({"d": pa.array([None], pa.date32())}), schema)[0] == {"id": 5, "s": {"x": 7}, "d": None}


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ({"id": [1, None]}, "column 'id' is required and 1 of its values are null"),
        ({"name": ["x"]}, "column 'id' is required, has no write default"),
        ({"id": [1], "place": [{"x": None}]}, r"column 'place\.x' is required"),
        ({"id": [1], "place": [{"y": 1}]}, r"column 'place\.x' is required, has no write default"),
        ({"id": [1], "other": [1]}, "no column 'other'"),
        ({"id": [1], "place": [{"x": 1, "z": 1}]}, r"no column 'place\.z'"),
        ({"id": ["1"]}, "column 'id' is string in the data and cannot be written as long"),
        ({"id": [2**63]}, "column 'id' does not fit type long"),
        ({"id": [1.5]}, "cannot be written as long"),
        ({"id": [1], "name": [b"x"]}, "column 'name' is binary"),
        ({"id": [1], "place": [1]}, "column 'place' is int64"),
    ],
)
def test_what_does_not_fit_is_refused_with_the_column_s_name(rows: dict[str, list[Any]], message: str) -> None:
    arrays = {
        name: pa.array(values, pa.uint64()) if values == [2**63] else pa.array(values) for name, values in rows.items()
    }
    with pytest.raises(InvalidInput, match=message):
        conformed(pa.table(arrays), PERSON)


def test_required_elements_and_values_are_enforced_where_their_parent_is_not_null() -> None:
    schema = Schema(
        NestedField(1, "l", ListType(2, INT, element_required=True)),
        NestedField(3, "m", MapType(4, STRING, 5, INT, value_required=True)),
    )
    fine = pa.table({"l": [[1], None, []], "m": pa.array([[("a", 1)], None, []], pa.map_(pa.string(), pa.int32()))})
    assert len(conformed(fine, schema)) == 3
    with pytest.raises(InvalidInput, match=r"'l\.element' is required"):
        conformed(pa.table({"l": [[1, None]]}), schema)
    with pytest.raises(InvalidInput, match=r"'m\.value' is required"):
        conformed(pa.table({"m": pa.array([[("a", None)]], pa.map_(pa.string(), pa.int32()))}), schema)


def test_temporal_units_and_zones_convert_exactly_or_not_at_all() -> None:
    schema = Schema(NestedField(1, "ts", TIMESTAMP), NestedField(2, "tz", TIMESTAMPTZ))
    tokyo = pa.array([datetime.datetime(2024, 1, 1)], pa.timestamp("ms", "UTC")).cast(pa.timestamp("ms", "Asia/Tokyo"))
    (batch,) = conform(pa.table({"ts": pa.array([5], pa.timestamp("s")), "tz": tokyo}), schema)
    assert physical_values(batch.column(0), TIMESTAMP) == [5_000_000]
    assert physical_values(batch.column(1), TIMESTAMPTZ) == [1704067200000000]
    for column in (
        {"ts": pa.array([1], pa.timestamp("ns"))},
        {"ts": pa.array([1], pa.timestamp("us", "UTC"))},
        {"tz": pa.array([1], pa.timestamp("us"))},
    ):
        with pytest.raises(InvalidInput, match=r"column 't[sz]'"):
            conformed(pa.table(column), schema)


def test_other_arrow_layouts_of_the_same_values_are_taken() -> None:
    schema = Schema(
        NestedField(1, "s", STRING), NestedField(2, "u", UUID), NestedField(3, "l", ListType(4, LONG)), NestedField(5, "n", UNKNOWN),
        NestedField(6, "d", DecimalType(20, 2)),
    )  # fmt: skip
    one = uuid.UUID(int=1)
    table = pa.table(
        {
            "s": pa.array(["a", None, "a"]).dictionary_encode(),
            "u": pa.array([one.bytes] * 3, pa.uuid()),
            "l": pa.array([[1], None, []], pa.large_list(pa.int32())),
            "n": pa.nulls(3),
            "d": pa.array([1, 2, 3]),
        }
    )
    rows = conformed(table, schema)
    assert [row["s"] for row in rows] == ["a", None, "a"]
    assert [row["l"] for row in rows] == [[1], None, []]
    assert rows[0]["u"] == one.bytes
    text = conformed(pa.table({"u": [str(one)]}), schema)
    assert text[0]["u"] == one.bytes
    with pytest.raises(InvalidInput, match="nothing but nulls"):
        conformed(pa.table({"n": [1]}), schema)


def test_a_column_named_twice_is_refused() -> None:
    table = pa.table([pa.array([1]), pa.array([2])], names=["id", "id"])
    with pytest.raises(InvalidInput, match="twice"):
        conformed(table, PERSON)


def test_what_cannot_be_stored_is_refused() -> None:
    with pytest.raises(UnsupportedFeature, match="'v': variants are written to Parquet and Avro files, not to ORC"):
        stored_schema(Schema(NestedField(1, "v", VARIANT)), FileFormat.ORC)
    with pytest.raises(InvalidInput, match="needs a column"):
        stored_schema(Schema(NestedField(1, "u", UNKNOWN)))
    with pytest.raises(InvalidInput, match="struct without any member"):
        stored_schema(Schema(NestedField(1, "s", StructType((NestedField(2, "u", UNKNOWN),)))))
    with pytest.raises(InvalidInput, match="list or map of unknown"):
        stored_schema(Schema(NestedField(1, "l", ListType(2, UNKNOWN))))


# --------------------------------------------------------------------------------------------------------- rolling

NUMBERS = Schema(NestedField(1, "x", LONG), NestedField(2, "t", STRING))


def incompressible(rows: int) -> pa.Table:
    values = [(i * 2654435761) % 2**61 for i in range(rows)]
    return pa.table({"x": pa.array(values, pa.int64()), "t": [f"{v:x}{v * 7919 % 2**60:x}" for v in values]})


@pytest.mark.parametrize("file_format", ["parquet", "avro", "orc"])
def test_files_roll_when_they_have_the_target_s_bytes(file_format: str) -> None:
    store = MemoryStore(SystemClock())
    target = 200_000
    properties = {
        "write.target-file-size-bytes": str(target),
        "write.format.default": file_format,
        "write.orc.stripe-size-bytes": "50000",
    }
    out = writer(store, NUMBERS, properties=properties)
    table = incompressible(60_000)
    for start in range(0, table.num_rows, 1000):
        out.write(table.slice(start, 1000))
    files = out.close()
    assert len(files) >= 4
    for file in files[:-1]:
        assert target * 0.8 <= file.file_size_in_bytes <= target * 2, [f.file_size_in_bytes for f in files]
    assert sum(file.record_count for file in files) == table.num_rows
    assert [row["x"] for row in read(store, files, NUMBERS)] == table.column("x").to_pylist()


def test_repetitive_rows_roll_by_encoded_size_not_by_memory() -> None:
    store = MemoryStore(SystemClock())
    out = writer(store, NUMBERS, properties={"write.target-file-size-bytes": "200000"})
    table = pa.table({"x": pa.array([7] * 100_000, pa.int64()), "t": ["same text again and again"] * 100_000})
    out.write(table)
    (file,) = out.close()
    assert file.record_count == 100_000


def test_no_rows_make_no_file_and_abort_leaves_none() -> None:
    store = MemoryStore(SystemClock())
    assert writer(store, NUMBERS).close() == []
    out = writer(store, NUMBERS, properties={"write.target-file-size-bytes": "100"})
    out.write(incompressible(5000))
    out.abort()
    assert list(store.list("memory://bucket/t")) == []


def test_an_aborted_local_file_is_gone(tmp_path: Path) -> None:
    store = LocalStore(SystemIds(), fsync=False)
    out = RollingWriter(store, NUMBERS, spec=UNPARTITIONED, new_location=Locations(str(tmp_path)))
    out.write(incompressible(10))
    assert len(list(store.list(str(tmp_path)))) == 1
    out.abort()
    assert list(store.list(str(tmp_path))) == []


def test_row_groups_have_the_size_that_the_property_asks_for() -> None:
    store = MemoryStore(SystemClock())
    out = writer(store, NUMBERS, properties={"write.parquet.row-group-size-bytes": "100000"})
    table = incompressible(50_000)
    for start in range(0, table.num_rows, 500):
        out.write(table.slice(start, 500))
    (file,) = out.close()
    metadata = pq.read_metadata(pa.BufferReader(store.read(file.file_path)))
    sizes = [
        sum(metadata.row_group(g).column(c).total_compressed_size for c in range(2))
        for g in range(metadata.num_row_groups)
    ]
    assert len(sizes) > 5
    assert all(40_000 < size < 200_000 for size in sizes[:-1])
    assert file.split_offsets == tuple(sorted(file.split_offsets or ()))
    assert len(file.split_offsets or ()) == len(sizes)


@pytest.mark.parametrize("codec", ["zstd", "gzip", "snappy", "uncompressed", "lz4", "brotli"])
def test_codecs_are_those_of_the_properties(codec: str) -> None:
    store = MemoryStore(SystemClock())
    properties = {} if codec == "zstd" else {"write.parquet.compression-codec": codec}
    out = writer(store, NUMBERS, properties=properties)
    out.write(incompressible(10))
    (file,) = out.close()
    chunk = pq.read_metadata(pa.BufferReader(store.read(file.file_path))).row_group(0).column(0)
    assert chunk.compression.lower().removesuffix("_raw") == codec


def test_properties_that_make_no_sense_are_refused() -> None:
    for name, value in (
        ("write.parquet.compression-codec", "rar"),
        ("write.format.default", "csv"),
        ("write.target-file-size-bytes", "0"),
        ("write.parquet.row-group-size-bytes", "big"),
        ("write.parquet.compression-level", "high"),
    ):
        with pytest.raises(InvalidInput, match=r"write\.|level"):
            write_properties({name: value})


def test_delete_files_have_properties_of_their_own() -> None:
    properties = {
        "write.parquet.compression-codec": "gzip",
        "write.delete.parquet.compression-codec": "snappy",
        "write.format.default": "orc",
        "write.parquet.page-row-limit": "10",
    }
    found = write_properties(properties, deletes=True)
    assert (found.parquet_codec, found.page_rows, found.target_file_bytes) == ("SNAPPY", 10, 64 << 20)
    assert found.file_format is FileFormat.ORC


# --------------------------------------------------------------------------------------------- partitions and order

EVENTS = Schema(NestedField(1, "id", LONG), NestedField(2, "ts", TIMESTAMP), NestedField(3, "kind", STRING))


@pytest.mark.parametrize("clustered", [False, True])
def test_each_partition_has_files_of_its_own(clustered: bool) -> None:
    spec = build_partition_spec(EVENTS, ["days(ts)", "kind"], spec_id=3)
    store = MemoryStore(SystemClock())
    day = 86_400_000_000
    rows: list[tuple[Any, ...]] = [(i, (i % 3 - 1) * day, "ab"[i % 2]) for i in range(12)] + [(99, None, None)]
    out = writer(store, EVENTS, spec=spec, clustered=clustered)
    out.write(table_of(rows, EVENTS))
    files = out.close()
    assert {file.partition for file in files} == {(d, k) for d in (-1, 0, 1) for k in "ab"} | {(None, None)}
    assert all(file.spec_id == 3 for file in files)
    assert any("ts_day=1969-12-31/kind=a" in file.file_path for file in files)
    for file in files:
        for row in read(store, [file], EVENTS):
            seconds = (
                None if row["ts"] is None else math.floor(row["ts"].replace(tzinfo=datetime.UTC).timestamp() / 86400)
            )
            assert (seconds, row["kind"]) == file.partition
    assert sorted(row["id"] for row in read(store, files, EVENTS)) == sorted(row[0] for row in rows)


@settings(max_examples=70)
@given(data=st.data())
def test_splitting_by_partition_is_grouping_by_the_transforms(data: st.DataObject) -> None:
    kinds = [data.draw(st.sampled_from(FILTER_TYPES)) for _ in range(2)]
    schema = Schema(*(NestedField(i + 1, f"c{i}", kind) for i, kind in enumerate(kinds)))
    spec = build_partition_spec(schema, ["c0", "c1"])
    rows = data.draw(st.lists(st.tuples(*(optional(kind, required=False) for kind in kinds)), min_size=1, max_size=8))
    batch = table_of(rows, schema).to_batches()[0]
    found = []
    for partition, part in split_by_partition(batch, spec, schema):
        values = zip(*(physical_values(c, k) for c, k in zip(part.columns, kinds, strict=True)), strict=True)
        listed = [canonical(row) for row in values]
        assert all(row == canonical(partition) for row in listed)
        found.append((canonical(partition), len(listed)))
    counts: dict[str, int] = {}
    for row in rows:
        counts[repr(canonical(row))] = counts.get(repr(canonical(row)), 0) + 1
    assert sorted((repr(key), count) for key, count in found) == sorted(counts.items())


@settings(max_examples=80)
@given(data=st.data())
def test_sorting_equals_the_specification_s_order(data: st.DataObject) -> None:
    kinds = [data.draw(st.sampled_from(FILTER_TYPES)) for _ in range(2)]
    schema = Schema(*(NestedField(i + 1, f"c{i}", kind) for i, kind in enumerate(kinds)))
    direction = st.sampled_from(["asc nulls first", "asc nulls last", "desc nulls first", "desc nulls last"])
    order = build_sort_order(schema, [f"c{i} {data.draw(direction)}" for i in range(2)])
    rows = data.draw(st.lists(st.tuples(*(optional(kind, required=False) for kind in kinds)), max_size=8))
    table = sort_table(table_of(rows, schema), order, schema)
    columns = [physical_values(c.combine_chunks(), k) for c, k in zip(table.columns, kinds, strict=True)]
    found = [canonical(row) for row in zip(*columns, strict=True)]
    expected = sorted(rows, key=lambda row: row_key(order, schema, {1: row[0], 2: row[1]}))
    assert found == [canonical(row) for row in expected]


def test_a_sort_order_is_applied_and_recorded_when_a_file_is_sorted() -> None:
    order = build_sort_order(NUMBERS, ["x desc"], order_id=4)
    store = MemoryStore(SystemClock())
    out = writer(store, NUMBERS, sort_order=order)
    out.write(pa.table({"x": [1, 3, 2]}))
    (file,) = out.close()
    assert file.sort_order_id == 4
    assert [row["x"] for row in read(store, [file], NUMBERS)] == [3, 2, 1]
    out = writer(store, NUMBERS, sort_order=order)
    out.write(pa.table({"x": [1, 2]}))
    out.write(pa.table({"x": [9]}))
    (file,) = out.close()
    assert file.sort_order_id == 0


@pytest.mark.parametrize("local", [True, False])
def test_fan_out_is_bounded_in_memory(local: bool, tmp_path: Path) -> None:
    spec = build_partition_spec(NUMBERS, ["bucket(8, x)"])
    store: Any = LocalStore(SystemIds(), fsync=False) if local else MemoryStore(SystemClock())
    out = RollingWriter(
        store, NUMBERS, spec=spec, new_location=Locations(str(tmp_path) if local else "memory://bucket"),
        max_buffered_bytes=50_000,
    )  # fmt: skip
    table = incompressible(20_000)
    for start in range(0, table.num_rows, 1000):
        out.write(table.slice(start, 1000))
    files = out.close()
    assert len({file.partition for file in files}) == 8
    # On disk the rows are encoded early; elsewhere, where a whole file waits in memory, files are closed early.
    assert (len(files) == 8) == local
    assert not local or all(len(file.split_offsets or ()) > 1 for file in files)
    assert sorted(row["x"] for row in read(store, files, NUMBERS)) == sorted(table.column("x").to_pylist())


def test_equality_deletes_are_files_with_their_ids() -> None:
    keys = Schema(NestedField(1, "x", LONG))
    store = MemoryStore(SystemClock())
    out = writer(store, keys, content=FileContent.EQUALITY_DELETES, equality_ids=[1])
    out.write(pa.table({"x": [1, None]}))
    (file,) = out.close()
    assert (file.content, file.equality_ids, file.record_count) == (FileContent.EQUALITY_DELETES, (1,), 2)


def test_the_metrics_of_equality_deletes_are_those_of_their_keys() -> None:
    """A reader that rules delete files out by other columns (the Java library does) would bring deleted rows back."""
    schema = Schema(NestedField(1, "x", LONG), NestedField(2, "y", LONG))
    out = writer(MemoryStore(SystemClock()), schema, content=FileContent.EQUALITY_DELETES, equality_ids=[1])
    out.write(pa.table({"x": [1, 2]}))
    (file,) = out.close()
    assert file.lower_bounds is not None
    for told in (file.value_counts, file.null_value_counts, file.lower_bounds, file.upper_bounds):
        assert told is not None
        assert list(told) == [1]


def test_orc_refuses_times_that_it_could_not_read_back() -> None:
    schema = Schema(NestedField(1, "ts", TIMESTAMP))
    out = writer(MemoryStore(SystemClock()), schema, properties={"write.format.default": "orc"})
    with pytest.raises(InvalidInput, match="1677"):
        out.write(table_of([(-(2**62),)], schema))


def test_schemas_with_nested_identity_partitions_are_split() -> None:
    schema = Schema(NestedField(1, "s", StructType((NestedField(2, "p", FixedType(1)),))), NestedField(3, "d", DOUBLE))
    spec = build_partition_spec(schema, ["s.p"])
    store = MemoryStore(SystemClock())
    out = writer(store, schema, spec=spec)
    out.write(table_of([((b"a",), 1.0), (None, 2.0), ((b"a",), 3.0)], schema))
    assert {file.partition: file.record_count for file in out.close()} == {(b"a",): 2, (None,): 1}
