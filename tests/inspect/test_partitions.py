"""The partitions table against a brute force over `files`, and the partition struct over several specs."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest

from floeberg.commit.append import Append
from floeberg.commit.delete_files import DeleteFiles
from floeberg.effects.system import SystemClock
from golden_collection.golden_tables import WHOLE, open_golden
from lakes.scan_tables import add_deletes, data_file, equality_delete, new_table, position_delete


def brute_force(table: Any) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for row in table.inspect.files().to_pylist():
        counts = found[str(row.get("partition"))]
        kind = {0: "", 1: "position_delete_", 2: "equality_delete_"}[row["content"]]
        counts[f"{kind}record_count"] += row["record_count"]
        counts[f"{kind}file_count"] += 1
        counts["total_data_file_size_in_bytes"] += row["file_size_in_bytes"] if row["content"] == 0 else 0
    return found


@pytest.mark.parametrize("name", WHOLE)
def test_partitions_count_the_files_of_each_tuple(name: str) -> None:
    table = open_golden(name)
    rows = table.inspect.partitions().to_pylist()
    wanted = brute_force(table)
    assert [str(row.get("partition")) for row in rows] == list(wanted)
    for row in rows:
        for key in row:
            if key.endswith(("_count", "_bytes")):
                assert row[key] == wanted[str(row.get("partition"))].get(key, 0), key


def test_deletes_count_beside_the_data_of_their_partition() -> None:
    table = new_table(partition_by=["data"])
    files = [data_file(table, f"f{n}", partition=("ab"[n % 2],), rows=n + 1) for n in range(3)]
    table._commit(Append(files=files))
    add_deletes(
        table,
        position_delete(table, "p", files[0], partition=("a",), rows=2),
        equality_delete(table, "e", "id", partition=("b",), rows=5),
    )
    rows = {row["partition"]["data"]: row for row in table.inspect.partitions().to_pylist()}
    assert rows["a"]["record_count"] == 4
    assert rows["a"]["file_count"] == 2
    assert rows["a"]["position_delete_record_count"] == 2
    assert rows["a"]["position_delete_file_count"] == 1
    assert rows["a"]["equality_delete_file_count"] == 0
    assert rows["b"]["equality_delete_record_count"] == 5
    assert rows["b"]["equality_delete_file_count"] == 1
    assert rows["a"]["last_updated_snapshot_id"] == table.metadata.current_snapshot_id


def test_the_last_update_is_the_newest_snapshot_that_added_a_live_file() -> None:
    table = new_table(partition_by=["data"])
    first = data_file(table, "first", partition=("a",))
    second = data_file(table, "second", partition=("a",))
    added = table._commit(Append(files=[first])).snapshots[0]
    table._commit(Append(files=[second]))
    table._commit(DeleteFiles(removed=[second]))
    row = table.inspect.partitions().to_pylist()[0]
    assert row["last_updated_snapshot_id"] == added.snapshot_id
    assert row["last_updated_at"].timestamp() * 1000 == pytest.approx(added.timestamp_ms)


def test_the_last_update_is_that_of_the_later_commit_of_one_millisecond(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SystemClock, "now_ms", lambda self: 1_700_000_000_000)
    table = new_table(partition_by=["data"])
    added = [data_file(table, name, partition=("a",)) for name in ("first", "second")]
    for file in added:
        table._commit(Append(files=[file]))
    add_deletes(table, position_delete(table, "p", added[0], partition=("a",)))
    row = table.inspect.partitions().to_pylist()[0]
    assert row["last_updated_snapshot_id"] == table.metadata.current_snapshot_id


def test_tuples_of_two_specs_stay_apart_although_they_look_alike() -> None:
    table = new_table(partition_by=["data"])
    table._commit(Append(files=[data_file(table, "old", partition=("a",))]))
    with table.update_spec() as update:
        update.add_field("bucket(4, id)")
    table._commit(Append(files=[data_file(table, "new", partition=("a", None))]))
    rows = table.inspect.partitions().to_pylist()
    assert [row["partition"] for row in rows] == [{"data": "a", "id_bucket_4": None}] * 2
    assert sorted(row["spec_id"] for row in rows) == [0, 1]


def test_a_partition_field_is_named_as_the_newest_spec_names_it_and_old_files_keep_their_values() -> None:
    table = new_table(partition_by=["data"])
    table._commit(Append(files=[data_file(table, "old", partition=("a",))]))
    with table.update_spec() as update:
        update.remove_field("data")
        update.add_field("day", name="on_day")
    table._commit(Append(files=[data_file(table, "new", partition=(19_000,))]))
    rows = {row["file_path"][-11:]: row["partition"] for row in table.inspect.files().to_pylist()}
    assert [list(row) for row in rows.values()] == [["data", "on_day"]] * 2
    assert {row["data"] for row in rows.values()} == {"a", None}


def test_a_partition_field_whose_source_was_dropped_is_left_out() -> None:
    table = new_table(partition_by=["data", "bucket(4, id)"])
    table._commit(Append(files=[data_file(table, "old", partition=("a", 2))]))
    with table.update_spec() as update:
        update.remove_field("data")
    with table.update_schema() as update:
        update.drop_column("data")
    (row,) = table.inspect.files().to_pylist()
    assert row["partition"] == {"id_bucket": 2}
    assert table.inspect.entries().to_pylist()[0]["data_file"]["partition"] == {"id_bucket": 2}
    assert [row["partition"] for row in table.inspect.partitions().to_pylist()] == [{"id_bucket": 2}]


def test_a_v1_field_made_void_keeps_the_type_of_its_values() -> None:
    table = new_table(format_version=1, partition_by=["bucket(4, data)"])
    table._commit(Append(files=[data_file(table, "old", partition=(3,))]))
    with table.update_spec() as update:
        update.remove_field("data_bucket")
    table._commit(Append(files=[data_file(table, "new", partition=(None,))]))
    rows = table.inspect.files().to_pylist()
    assert sorted((row["partition"] for row in rows), key=str) == sorted(
        [{"data_bucket": 3}, {"data_bucket": None}], key=str
    )


def test_zeros_of_both_signs_are_two_partitions() -> None:
    table = new_table(partition_by=["price"])
    table._commit(
        Append(files=[data_file(table, str(n), partition=(price,)) for n, price in enumerate((0.0, -0.0, 0.0))])
    )
    rows = table.inspect.partitions().to_pylist()
    assert [(str(row["partition"]["price"]), row["file_count"]) for row in rows] == [("0.0", 2), ("-0.0", 1)]
