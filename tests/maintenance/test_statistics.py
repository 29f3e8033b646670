"""Statistics of columns and partitions: the numbers, the files and what the table registers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import floeberg as fb
from floeberg.commit.row_delta import RowDelta
from floeberg.effects.system import SystemClock
from floeberg.errors import InvalidInput, SnapshotNotFound
from floeberg.files.puffin import read_blob, read_footer
from floeberg.files.theta_sketch import read_sketch
from floeberg.testing.table_builder import TableBuilder


def lake(folder: Path) -> fb.Catalog:
    return fb.catalog("lake", warehouse=str(folder))


@pytest.mark.parametrize("version", [2, 3])
def test_distinct_values_are_counted_over_live_rows_and_registered(version: int, tmp_path: Path) -> None:
    builder = TableBuilder(
        "id bigint, p int, v string, n struct<a int>",
        format_version=version,
        properties={"write.delete.mode": "merge-on-read"},
        in_catalog=lake(tmp_path),
    )
    for part in range(3):
        builder.append(*[(number, number % 4, f"v{number % 7}") for number in range(part * 10, part * 10 + 10)])
    builder.delete("id >= 25")
    done = builder.table.maintenance.compute_table_stats()
    assert done.distinct_values == {1: 25, 2: 4, 3: 7}
    assert done.file is not None
    (registered,) = builder.table.metadata.statistics
    assert registered == done.file
    assert registered.snapshot_id == builder.table.metadata.current_snapshot_id
    data = Path(registered.statistics_path).read_bytes()
    footer = read_footer(data)
    assert [(blob.type, blob.fields, blob.compression_codec) for blob in footer.blobs] == [
        ("apache-datasketches-theta-v1", (number,), "zstd") for number in (1, 2, 3)
    ]
    assert [read_sketch(read_blob(data, blob)).estimate for blob in footer.blobs] == [25, 4, 7]
    assert builder.table.maintenance.check().findings == ()


def test_chosen_columns_of_an_older_snapshot_replace_its_statistics(tmp_path: Path) -> None:
    builder = TableBuilder(in_catalog=lake(tmp_path)).append((1, 1, "a"), (2, 1, "b"))
    first = builder.table.metadata.current_snapshot_id
    builder.append((3, 1, "c"))
    assert builder.table.maintenance.compute_table_stats(snapshot_id=first).distinct_values == {1: 2, 2: 1, 3: 2}
    done = builder.table.maintenance.compute_table_stats(columns=["id"], snapshot_id=first)
    assert done.distinct_values == {1: 2}
    assert [one.snapshot_id for one in builder.table.metadata.statistics] == [first]
    builder.table.maintenance.compute_table_stats(columns=["v"])
    assert len(builder.table.metadata.statistics) == 2


def test_what_cannot_be_counted_is_refused(tmp_path: Path) -> None:
    builder = TableBuilder("id bigint, n struct<a int>", in_catalog=lake(tmp_path))
    assert builder.table.maintenance.compute_table_stats().file is None
    builder.append((1, {"a": 2}))
    for columns, said in (
        (["nope"], "no column 'nope'"),
        (["n"], "is nested"),
        (["n.a"], "is nested"),
        ([], "at least"),
    ):
        with pytest.raises(InvalidInput, match=said):
            builder.table.maintenance.compute_table_stats(columns=columns)
    with pytest.raises(SnapshotNotFound):
        builder.table.maintenance.compute_table_stats(snapshot_id=7)
    with pytest.raises(InvalidInput, match="not partitioned"):
        builder.table.maintenance.compute_partition_stats()


def statistics_rows(table: fb.Table) -> list[dict[str, Any]]:
    (registered,) = table.metadata.partition_statistics
    path = Path(registered.statistics_path)
    assert path.stat().st_size == registered.file_size_in_bytes
    found = pq.read_table(path)
    ids = [int(found.schema.field(at).metadata[b"PARQUET:field_id"]) for at in range(found.num_columns)]
    assert ids == list(range(1, 14 if table.format_version >= 3 else 13))
    return found.to_pylist()


def test_the_last_update_is_that_of_the_later_commit_of_one_millisecond(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(SystemClock, "now_ms", lambda self: 1_700_000_000_000)
    properties = {"write.delete.mode": "merge-on-read"}
    builder = TableBuilder(partition_by=["p"], properties=properties, in_catalog=lake(tmp_path))
    builder.append((1, 1, "a"), (2, 1, "b"), (3, 1, "c")).append((4, 1, "d")).delete("id = 1")
    newest = builder.table.metadata.current_snapshot_id
    builder.table.maintenance.compute_partition_stats()
    assert [row["last_updated_snapshot_id"] for row in statistics_rows(builder.table)] == [newest]


@pytest.mark.parametrize("version", [2, 3])
def test_partitions_are_counted_as_the_metadata_table_counts_them(version: int, tmp_path: Path) -> None:
    builder = TableBuilder(
        partition_by=["p"],
        format_version=version,
        properties={"write.delete.mode": "merge-on-read"},
        in_catalog=lake(tmp_path),
    )
    builder.append((1, 1, "a"), (2, None, "b"), (3, 2, "c")).append((4, 1, "d"), (5, 1, "e")).delete("id = 4")
    of_one = next(file for file in builder.data() if file.partition == (1,))
    builder.table._commit(RowDelta(added=[builder.equality_deletes((5,), of=of_one)]))
    with builder.table.update_spec() as spec:
        spec.add_field("bucket(4, id)")
    builder.append((6, 1, "f"))
    assert builder.table.maintenance.compute_partition_stats().file is not None
    rows = statistics_rows(builder.table)
    assert [(row["partition"]["p"], row["spec_id"]) for row in rows] == [(None, 0), (1, 0), (1, 1), (2, 0)]
    of_table = {(row["partition"]["p"], row["spec_id"]): row for row in builder.table.inspect.partitions().to_pylist()}
    for row in rows:
        other = of_table[row["partition"]["p"], row["spec_id"]]
        assert row["data_record_count"] == other["record_count"]
        assert row["data_file_count"] == other["file_count"]
        for same in ("total_data_file_size_in_bytes", "position_delete_record_count", "equality_delete_record_count",
                     "equality_delete_file_count", "last_updated_snapshot_id"):  # fmt: skip
            assert row[same] == other[same], same
        vectors = row.get("dv_count", 0)
        assert row["position_delete_file_count"] + vectors == other["position_delete_file_count"]
        assert row["last_updated_at"] == other["last_updated_at"].timestamp() * 1000
        assert row["total_record_count"] is None
    assert sum(row.get("dv_count", 0) for row in rows) == (1 if version == 3 else 0)


def test_statistics_go_with_their_snapshot_and_are_no_orphans(tmp_path: Path) -> None:
    builder = TableBuilder(partition_by=["p"], in_catalog=lake(tmp_path)).append((1, 1, "a"))
    table = builder.table
    files = [table.maintenance.compute_table_stats().file, table.maintenance.compute_partition_stats().file]
    assert table.maintenance.remove_orphans(older_than="2999-01-01T00:00:00Z", force=True).locations == ()
    builder.append((2, 1, "b"))
    expired = table.maintenance.expire_snapshots(older_than="2999-01-01T00:00:00Z")
    assert expired.deleted.statistics_files == 2
    assert not any(Path(file.statistics_path).exists() for file in files if file is not None)
    assert (list(table.metadata.statistics), list(table.metadata.partition_statistics)) == ([], [])


def test_a_damaged_sketch_is_found(tmp_path: Path) -> None:
    builder = TableBuilder(in_catalog=lake(tmp_path)).append((1, 1, "a"), (2, 1, "b"))
    done = builder.table.maintenance.compute_table_stats()
    assert done.file is not None
    path = Path(done.file.statistics_path)
    data = bytearray(path.read_bytes())
    data[6:12] = b"\xff" * 6
    path.write_bytes(bytes(data))
    (found,) = builder.table.maintenance.check().findings
    assert (found.problem, found.location) == ("unreadable", done.file.statistics_path)


def test_values_of_every_type_are_counted(tmp_path: Path) -> None:
    kinds = ["boolean", "int", "bigint", "float", "double", "date", "timestamp", "timestamp_ntz", "string", "binary"]
    columns = ", ".join(f"c{at} {kind}" for at, kind in enumerate([*kinds, "decimal(9,2)", "decimal(38,3)"]))
    made = TableBuilder(columns, in_catalog=lake(tmp_path)).table
    schema = made.scan().to_arrow().schema
    made.append(pa.table({name: _values(kind) for name, kind in zip(schema.names, schema.types, strict=True)}))
    assert set(made.maintenance.compute_table_stats().distinct_values.values()) == {2}


def _values(kind: pa.DataType) -> pa.Array:
    """A null and two distinct values, twice each."""
    if pa.types.is_temporal(kind):
        return pa.array([None, 0, 1, 1, 0], pa.int32() if pa.types.is_date32(kind) else pa.int64()).view(kind)
    texts = pa.array([None, "0", "1", "1", "0"])
    return texts.cast(pa.int8()).cast(kind) if pa.types.is_boolean(kind) else texts.cast(kind)
