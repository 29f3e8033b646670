"""Procedures that move branches and list history.

https://iceberg.apache.org/docs/latest/spark-procedures/#snapshot-management
"""

from __future__ import annotations

from typing import Any

from floeberg.catalogs.base import LoadedTable
from floeberg.commit.cherry_pick import CherryPick, Publish, find_staged
from floeberg.commit.refs import FastForward, SetBranchSnapshot, snapshot_before
from floeberg.errors import InvalidInput, SnapshotNotFound
from floeberg.spark.host.execution import commit
from floeberg.spec.snapshots.refs import MAIN_BRANCH

Values = dict[str, Any]
Rows = list[tuple[Any, ...]]


def rollback_to_snapshot(table: LoadedTable, values: Values) -> Rows:
    return _set_current(table, values["snapshot_id"], must_be_ancestor=True)


def rollback_to_timestamp(table: LoadedTable, values: Values) -> Rows:
    """To the newest snapshot strictly before the time."""
    metadata, name = table.state.metadata, table.state.identifier
    goal = snapshot_before(metadata, values["timestamp"], branch=MAIN_BRANCH, identifier=name)
    return _set_current(table, goal, must_be_ancestor=True)


def set_current_snapshot(table: LoadedTable, values: Values) -> Rows:
    snapshot_id, ref = values["snapshot_id"], values["ref"]
    if (snapshot_id is None) == (ref is None):
        raise InvalidInput("CALL set_current_snapshot: give one of snapshot_id and ref")
    goal = table.state.metadata.ref(ref).snapshot_id if ref is not None else snapshot_id
    return _set_current(table, goal, must_be_ancestor=False)


def _set_current(table: LoadedTable, snapshot_id: int, *, must_be_ancestor: bool) -> Rows:
    previous = table.state.metadata.current_snapshot_id
    commit(table, SetBranchSnapshot(snapshot_id=snapshot_id, must_be_ancestor=must_be_ancestor))
    return [(previous, snapshot_id)]


def cherrypick_snapshot(table: LoadedTable, values: Values) -> Rows:
    committed = commit(table, CherryPick(snapshot_id=values["snapshot_id"]))
    return [(values["snapshot_id"], committed.state.metadata.current_snapshot_id)]


def publish_changes(table: LoadedTable, values: Values) -> Rows:
    source = find_staged(table.state.metadata, values["wap_id"], identifier=table.state.identifier)
    committed = commit(table, Publish(wap_id=values["wap_id"]))
    return [(source.snapshot_id, committed.state.metadata.current_snapshot_id)]


def fast_forward(table: LoadedTable, values: Values) -> Rows:
    branch = values["branch"]
    before = table.state.metadata.find_ref(branch)
    committed = commit(table, FastForward(branch=branch, to=values["to"]))
    after = committed.state.metadata.ref(branch)
    return [(branch, None if before is None else before.snapshot_id, after.snapshot_id)]


def ancestors_of(table: LoadedTable, values: Values) -> Rows:
    """Newest first, from the given snapshot or the current one."""
    metadata = table.state.metadata
    start = values["snapshot_id"]
    if start is None:
        start = metadata.current_snapshot_id
    if start is None:
        raise SnapshotNotFound(f"table {table.state.identifier} has no snapshot yet", table=table.state.identifier)
    metadata.snapshot(start)
    return [(one.snapshot_id, one.timestamp_ms) for one in metadata.ancestors(start)]
