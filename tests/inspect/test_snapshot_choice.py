"""Metadata tables at a snapshot of the past, of a branch or tag, or at a time."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from floeberg.api.inspect import STREAMED, TABLES
from floeberg.errors import InvalidInput, RefNotFound, SnapshotNotFound
from floeberg.inspect.by_name import AT_A_SNAPSHOT
from golden_collection.golden_tables import open_golden
from lakes.scan_tables import new_table


@pytest.mark.parametrize("name", AT_A_SNAPSHOT)
def test_a_tag_a_snapshot_and_a_time_show_the_same(name: str) -> None:
    table = open_golden("gperov_test")
    show = getattr(table.inspect, name)
    snapshot = table.metadata.snapshot(table.refs["EOW-01"].snapshot_id)
    by_id = show(snapshot_id=snapshot.snapshot_id)
    assert by_id == show(ref="EOW-01")
    assert by_id == show(as_of=datetime.fromtimestamp(snapshot.timestamp_ms / 1000, UTC))
    if name not in ("delete_files", "position_deletes"):
        assert by_id != show()


@pytest.mark.parametrize("name", TABLES)
def test_an_empty_table_has_empty_metadata_tables_of_the_same_columns(name: str) -> None:
    table = getattr(new_table(partition_by=["day"]).inspect, name)()
    if name != "metadata_log_entries":
        assert table.num_rows == 0
    assert table.num_columns > 0


def test_the_past_before_a_files_addition_does_not_have_it() -> None:
    table = open_golden("gperov_test")
    first = table.snapshots[0].snapshot_id
    assert table.inspect.files(snapshot_id=first).num_rows == 0
    assert table.inspect.partitions(snapshot_id=first).num_rows == 0


def test_what_cannot_be_chosen_is_refused() -> None:
    inspect = open_golden("gperov_test").inspect
    with pytest.raises(SnapshotNotFound, match="no snapshot 17"):
        inspect.files(snapshot_id=17)
    with pytest.raises(RefNotFound, match="'nope'"):
        inspect.partitions(ref="nope")
    with pytest.raises(InvalidInput, match="only one of"):
        inspect.manifests(snapshot_id=1, ref="main")
    with pytest.raises(InvalidInput, match="time zone"):
        inspect.files(as_of=datetime(2024, 1, 1))
    with pytest.raises(InvalidInput, match="all snapshots"):
        inspect.batches("all_files", ref="main")
    with pytest.raises(InvalidInput, match="not a metadata table that is streamed"):
        inspect.batches("history")


def test_streams_give_what_the_tables_give() -> None:
    inspect = open_golden("deletion_vectors").inspect
    for name in STREAMED:
        assert inspect.batches(name).read_all() == getattr(inspect, name)()
