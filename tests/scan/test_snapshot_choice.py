"""A scan reads the snapshot it was told, with the schema that goes with it."""

from __future__ import annotations

import pytest

from floeberg.api.table import Table
from floeberg.commit.append import Append
from floeberg.errors import InvalidInput, RefNotFound, SnapshotNotFound
from floeberg.scan.snapshot_choice import choose_snapshot
from lakes.scan_tables import data_file, new_table


def evolved_table() -> tuple[Table, list[int]]:
    """Two snapshots, a tag and a branch at the first, and a column more since."""
    table = new_table()
    ids = []
    for name in ("a", "b"):
        table._commit(Append(files=[data_file(table, name)]))
        current = table.current_snapshot
        assert current is not None
        ids.append(current.snapshot_id)
        if name == "a":
            with table.manage_refs() as refs:
                refs.create_tag("q1")
                refs.create_branch("dev")
    with table.update_schema() as update:
        update.add_column("more", "int")
    return table, ids


def test_the_current_snapshot_and_a_branch_are_read_with_the_current_schema() -> None:
    table, (first, second) = evolved_table()
    for chosen, expected in (
        (choose_snapshot(table.metadata), second),
        (choose_snapshot(table.metadata, ref="main"), second),
        (choose_snapshot(table.metadata, ref="dev"), first),
    ):
        assert chosen.snapshot is not None
        assert chosen.snapshot.snapshot_id == expected
        assert chosen.schema == table.schema


def test_a_snapshot_a_tag_and_a_time_are_read_with_the_schema_they_had() -> None:
    table, (first, second) = evolved_table()
    later = table.metadata.snapshot(second).timestamp_ms + 1_000
    for chosen, expected in (
        (choose_snapshot(table.metadata, snapshot_id=first), first),
        (choose_snapshot(table.metadata, ref="q1"), first),
        (choose_snapshot(table.metadata, as_of_ms=later), second),
    ):
        assert chosen.snapshot is not None
        assert chosen.snapshot.snapshot_id == expected
        assert "more" not in [field.name for field in chosen.schema.fields]


def test_more_than_one_choice_is_refused() -> None:
    table, (first, _) = evolved_table()
    with pytest.raises(InvalidInput, match="snapshot_id, ref"):
        choose_snapshot(table.metadata, snapshot_id=first, ref="main")


def test_what_is_not_there_is_named() -> None:
    table, _ = evolved_table()
    with pytest.raises(SnapshotNotFound, match="12345"):
        choose_snapshot(table.metadata, snapshot_id=12345)
    with pytest.raises(RefNotFound, match="q9"):
        choose_snapshot(table.metadata, ref="q9")
    with pytest.raises(SnapshotNotFound, match="at or before 5 ms"):
        choose_snapshot(table.metadata, as_of_ms=5)


def test_a_table_without_snapshots_has_none_to_read() -> None:
    table = new_table()
    assert choose_snapshot(table.metadata).snapshot is None
    assert choose_snapshot(table.metadata, ref="main").snapshot is None
