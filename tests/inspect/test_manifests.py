"""manifests and all_manifests."""

from __future__ import annotations

import pytest

from floeberg.commit.append import Append
from golden_collection.golden_tables import WHOLE, open_golden, records
from lakes.scan_tables import add_deletes, data_file, equality_delete, new_table


@pytest.mark.parametrize("name", [name for name in WHOLE if name != "v1_deprecated"])
def test_manifests_are_those_of_the_list(name: str) -> None:
    table = open_golden(name)
    assert table.current_snapshot is not None
    assert table.current_snapshot.manifest_list is not None
    rows = table.inspect.manifests().to_pylist()
    for row, raw in zip(rows, records(name, table.current_snapshot.manifest_list), strict=True):
        kind, other = ("delete", "data") if raw["content"] else ("data", "delete")
        assert row["path"] == raw["manifest_path"]
        assert row["length"] == raw["manifest_length"]
        assert row["partition_spec_id"] == raw["partition_spec_id"]
        assert row["added_snapshot_id"] == raw["added_snapshot_id"]
        for status in ("added", "existing", "deleted"):
            counts = raw.get(f"{status}_files_count", raw.get(f"{status}_data_files_count"))
            assert row[f"{status}_{kind}_files_count"] == counts
            assert row[f"{status}_{other}_files_count"] == 0


def test_partition_summaries_are_read_by_people() -> None:
    (row,) = open_golden("spark_rename_column").inspect.manifests().to_pylist()
    assert row["partition_summaries"] == [
        {"contains_null": False, "contains_nan": False, "lower_bound": "0", "upper_bound": "3"},
        {"contains_null": True, "contains_nan": False, "lower_bound": "2022-01-01", "upper_bound": "2022-01-02"},
    ]


def test_a_v1_snapshot_without_a_list_has_manifests_whose_counts_nobody_recorded() -> None:
    (row,) = open_golden("v1_deprecated").inspect.manifests().to_pylist()
    assert row["content"] == 0
    assert row["added_data_files_count"] is None
    assert row["added_delete_files_count"] == 0
    assert row["partition_summaries"] is None


def test_all_manifests_has_a_row_for_each_snapshot_that_refers_to_one() -> None:
    table = new_table()
    table._commit(Append(files=[data_file(table, "a")]))
    add_deletes(table, equality_delete(table, "e", "id"))
    rows = table.inspect.all_manifests().to_pylist()
    by_snapshot = {
        snapshot.snapshot_id: sorted(
            row["path"] for row in rows if row["reference_snapshot_id"] == snapshot.snapshot_id
        )
        for snapshot in table.snapshots
    }
    for snapshot in table.snapshots:
        own = table.inspect.manifests(snapshot_id=snapshot.snapshot_id)
        assert sorted(own.column("path").to_pylist()) == by_snapshot[snapshot.snapshot_id]
    assert [len(paths) for paths in by_snapshot.values()] == [1, 2]
