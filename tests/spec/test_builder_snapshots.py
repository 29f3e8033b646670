"""Snapshots, refs and logs in the builder."""

from __future__ import annotations

import pytest

from floeberg.errors import CommitConflict, InvalidInput, SnapshotAlreadyExists, SnapshotNotFound
from floeberg.spec.changes import updates as u
from floeberg.spec.changes.table_builder import apply_updates
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.snapshots.refs import RefType, SnapshotRef
from strategies.metadata import NOW_MS, committed, new_table, next_snapshot, set_branch_snapshot


def apply(base: TableMetadata, *updates: u.MetadataUpdate, now_ms: int = NOW_MS) -> TableMetadata:
    return apply_updates(base, updates, now_ms=now_ms)


@pytest.mark.parametrize("version", [1, 2, 3])
def test_an_append_moves_main_and_is_logged(version: int) -> None:
    first = committed(new_table(version), 11, now_ms=NOW_MS + 5)
    second = committed(first, 12, now_ms=NOW_MS + 9)
    assert second.current_snapshot_id == 12
    assert second.snapshot(12).parent_snapshot_id == 11
    assert [(entry.snapshot_id, entry.timestamp_ms - NOW_MS) for entry in second.snapshot_log] == [(11, 5), (12, 9)]
    assert [entry.metadata_file for entry in second.metadata_log] == ["v11.metadata.json", "v12.metadata.json"]
    assert [entry.timestamp_ms - NOW_MS for entry in second.metadata_log] == [0, 5]
    assert second.last_sequence_number == (0 if version == 1 else 2)
    assert second.last_updated_ms == NOW_MS + 9


def test_hazard_23_a_snapshot_id_that_is_taken_raises() -> None:
    base = committed(new_table(), 11)
    with pytest.raises(SnapshotAlreadyExists, match="snapshot 11 already"):
        apply(base, u.AddSnapshot(next_snapshot(base, 11)))
    other = next_snapshot(base, 12)
    with pytest.raises(SnapshotAlreadyExists):
        apply(base, u.AddSnapshot(other), u.AddSnapshot(other))


def test_a_sequence_number_that_was_given_meanwhile_is_a_conflict() -> None:
    base = committed(new_table(), 11)
    planned = next_snapshot(base, 13)
    meanwhile = committed(base, 12)
    with pytest.raises(CommitConflict, match="sequence number 2"):
        apply(meanwhile, u.AddSnapshot(planned))


def test_a_new_snapshot_has_what_its_version_requires() -> None:
    one, two, three = new_table(1), new_table(2), new_table(3)
    for base, snapshot in (
        (one, next_snapshot(two, 1)),
        (three, next_snapshot(two, 1)),
        (two, next_snapshot(three, 1)),
        (two, next_snapshot(two, -5)),
        (two, next_snapshot(two, 2**63)),
    ):
        with pytest.raises(InvalidInput):
            apply(base, u.AddSnapshot(snapshot))


def test_a_staged_snapshot_is_there_and_not_current() -> None:
    staged = apply(committed(new_table(), 11), u.AddSnapshot(next_snapshot(committed(new_table(), 11), 12)))
    assert staged.snapshots.has_id(12)
    assert staged.current_snapshot_id == 11
    assert [entry.snapshot_id for entry in staged.snapshot_log] == [11]


def test_a_branch_is_created_moved_and_removed_without_touching_main() -> None:
    base = committed(new_table(), 11)
    ref = SnapshotRef(snapshot_id=11, min_snapshots_to_keep=2, max_ref_age_ms=5)
    branched = apply(base, u.SetSnapshotRef("audit", ref))
    snapshot = next_snapshot(branched, 12, parent=11)
    moved = apply(branched, *set_branch_snapshot(snapshot, "audit", ref=branched.ref("audit")))
    assert moved.ref("audit") == ref.at(12)
    assert (moved.current_snapshot_id, moved.last_sequence_number) == (11, 2)
    assert [entry.snapshot_id for entry in moved.snapshot_log] == [11]
    assert moved.is_ancestor(11, of=12)
    assert "audit" not in apply(moved, u.RemoveSnapshotRef("audit")).refs


def test_main_is_no_tag() -> None:
    base = committed(new_table(), 11)
    tag = SnapshotRef(snapshot_id=11, type=RefType.TAG)
    with pytest.raises(InvalidInput, match="main must be a branch"):
        apply(base, u.SetSnapshotRef("main", tag))


def test_a_ref_to_an_unknown_snapshot_is_refused() -> None:
    with pytest.raises(SnapshotNotFound, match="snapshot 99"):
        apply(committed(new_table(), 11), u.SetSnapshotRef("x", SnapshotRef(snapshot_id=99)))


def test_a_ref_needs_a_name() -> None:
    with pytest.raises(InvalidInput, match="name"):
        apply(committed(new_table(), 11), u.SetSnapshotRef("", SnapshotRef(snapshot_id=11)))


def test_a_rollback_is_logged_at_the_time_it_happens() -> None:
    base = committed(committed(new_table(), 11), 12, now_ms=NOW_MS + 10)
    back = apply(base, u.SetSnapshotRef("main", SnapshotRef(snapshot_id=11)), now_ms=NOW_MS + 20)
    assert back.current_snapshot_id == 11
    assert [(entry.snapshot_id, entry.timestamp_ms - NOW_MS) for entry in back.snapshot_log][-1] == (11, 20)
    assert back.snapshot_id_as_of(NOW_MS + 15) == 12
    assert back.snapshot_id_as_of(NOW_MS + 20) == 11


def test_a_change_of_retention_alone_is_not_logged() -> None:
    base = committed(new_table(), 11)
    kept = apply(base, u.SetSnapshotRef("main", SnapshotRef(snapshot_id=11, min_snapshots_to_keep=3)))
    assert kept.ref("main").min_snapshots_to_keep == 3
    assert len(kept.snapshot_log) == 1


def test_a_snapshot_replaced_within_one_commit_was_never_current() -> None:
    base = committed(new_table(), 11)
    first = next_snapshot(base, 12)
    step = apply(base, *set_branch_snapshot(first))
    second = next_snapshot(step, 13)
    together = apply(base, *set_branch_snapshot(first), *set_branch_snapshot(second))
    assert [entry.snapshot_id for entry in together.snapshot_log] == [11, 13]
    assert [snapshot.snapshot_id for snapshot in together.snapshots] == [11, 12, 13]


def test_expiry_trims_the_log_before_the_last_gap() -> None:
    base = new_table()
    for snapshot_id in (11, 12, 13, 14):
        base = committed(base, snapshot_id)
    expired = apply(base, u.RemoveSnapshots((12,)))
    assert [snapshot.snapshot_id for snapshot in expired.snapshots] == [11, 13, 14]
    assert [entry.snapshot_id for entry in expired.snapshot_log] == [13, 14]
    assert expired.last_sequence_number == 4


@pytest.mark.parametrize("order", ["ref first", "snapshot first"])
def test_a_snapshot_that_a_ref_points_to_is_removed_only_with_the_ref(order: str) -> None:
    base = apply(committed(new_table(), 11), u.SetSnapshotRef("v1", SnapshotRef(snapshot_id=11, type=RefType.TAG)))
    base = committed(base, 12)
    with pytest.raises(InvalidInput, match="tag 'v1' points to it"):
        apply(base, u.RemoveSnapshots((11,)))
    updates = [u.RemoveSnapshotRef("v1"), u.RemoveSnapshots((11,))]
    expired = apply(base, *(updates if order == "ref first" else reversed(updates)))
    assert [snapshot.snapshot_id for snapshot in expired.snapshots] == [12]


def test_removing_main_leaves_a_table_without_a_current_snapshot() -> None:
    empty = apply(committed(new_table(), 11), u.RemoveSnapshotRef("main"))
    assert empty.current_snapshot is None
    assert empty.snapshots.has_id(11)


@pytest.mark.parametrize(("most", "kept"), [("3", 3), ("1", 1), ("0", 1), ("-4", 1)])
def test_the_metadata_log_keeps_previous_versions_max(most: str, kept: int) -> None:
    base = new_table(2, **{"write.metadata.previous-versions-max": most})
    for snapshot_id in range(11, 17):
        base = committed(base, snapshot_id)
    assert [entry.metadata_file for entry in base.metadata_log] == [f"v{n}.metadata.json" for n in range(17 - kept, 17)]


def test_the_metadata_log_keeps_a_hundred_by_default_and_wants_a_number() -> None:
    base = new_table()
    for snapshot_id in range(1, 105):
        base = committed(base, snapshot_id)
    assert len(base.metadata_log) == 100
    with pytest.raises(InvalidInput, match="previous-versions-max"):
        committed(new_table(2, **{"write.metadata.previous-versions-max": "many"}), 11)


def test_without_a_file_the_metadata_log_stays() -> None:
    base = committed(new_table(), 11)
    assert apply(base, u.SetProperties({"a": "b"})).metadata_log == base.metadata_log
