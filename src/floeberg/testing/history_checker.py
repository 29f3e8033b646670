"""Judges what writers did to a table: whether it equals a serial order of the commits that went through, and whether every
state in between was whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from floeberg.commit.pointer import TableState
from floeberg.errors import FloebergError
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.snapshots.manifest_entry import FileContent
from floeberg.spec.snapshots.refs import MAIN_BRANCH
from floeberg.spec.snapshots.snapshot import Snapshot
from floeberg.testing.model import NotPossible
from floeberg.testing.planning import TAG, Shared, Step
from floeberg.testing.sim_reader import Anomaly, SimReader, TableView
from floeberg.testing.sim_rows import Row


class Outcome(StrEnum):
    """What a writer was told of its commit."""

    COMMITTED = "committed"
    REJECTED = "rejected"
    UNKNOWN = "unknown"
    CRASHED = "crashed"


@dataclass(slots=True)
class Done:
    """A step and what became of it. `seen` is how many states there were when it was planned."""

    step: Step
    seen: int
    outcome: Outcome = Outcome.CRASHED
    error: FloebergError | None = None


class HistoryChecker:
    """Checks the states of a table against the model, one commit after the other. Raises Anomaly."""

    def __init__(self, reader: SimReader, shared: Shared) -> None:
        self._reader = reader
        self._shared = shared
        self._sequence_numbers: dict[int, int] = {}
        self.places: dict[str, int] = {}
        """Which state each step made, by its tag."""

    def check(self, states: Sequence[TableState], done: Sequence[Done]) -> None:
        """Raises Anomaly when an acknowledged change is not there, a rejected one is, one is there twice, or a state is
        not what the model says."""
        steps = {one.step.tag: one for one in done}
        first = states[0].metadata
        self._note_snapshots(first, ())
        self._shared.model.branches = {
            name: self._view(first, ref.snapshot_id).row_set() for name, ref in first.refs.items() if ref.is_branch
        }
        for place, (before, after) in enumerate(pairwise(states), start=1):
            tag = self._tag_of(before.metadata, after.metadata)
            if tag not in steps:
                raise Anomaly(f"state {place} was made by nobody: {tag}")
            if tag in self.places:
                raise Anomaly(f"{tag} took effect twice, in states {self.places[tag]} and {place}")
            self.places[tag] = place
            try:
                self._check_state(steps[tag].step, before, after)
            except (Anomaly, NotPossible) as error:
                raise Anomaly(f"state {place}, made by {steps[tag].step.name} {tag}: {error}") from error
        for one in done:
            self._check_outcome(one)
        self._read_again(states[-1].metadata)

    def _check_outcome(self, one: Done) -> None:
        is_there = one.step.tag in self.places
        what = f"{one.step.name} {one.step.tag}"
        if one.outcome is Outcome.COMMITTED and not is_there:
            raise Anomaly(f"{what} was acknowledged and is not there")
        if one.outcome is Outcome.REJECTED and is_there:
            raise Anomaly(f"{what} was rejected ({one.error}) and is there")

    def _tag_of(self, before: TableMetadata, after: TableMetadata) -> str:
        tags = {snapshot.summary.get(TAG, "?") for snapshot in self._new_snapshots(before, after)}
        tags |= {key.removeprefix(f"{TAG}.") for key in after.properties.keys() - before.properties.keys()
                 if key.startswith(f"{TAG}.")}  # fmt: skip
        if len(tags) != 1:
            raise Anomaly(f"a state was made by {sorted(tags) or 'nobody'}")
        return tags.pop()

    def _new_snapshots(self, before: TableMetadata, after: TableMetadata) -> list[Snapshot]:
        return [after.snapshot(one) for one in after.snapshots.ids() if not before.snapshots.has_id(one)]

    def _check_state(self, step: Step, before: TableState, after: TableState) -> None:
        old, new = before.metadata, after.metadata
        new_snapshots = self._new_snapshots(old, new)
        self._note_snapshots(new, new_snapshots)
        _check_counters(old, new)
        _check_log(before, new)
        for snapshot in new_snapshots:
            check_snapshot(self._reader.view(snapshot, new), snapshot, new)
        model = self._shared.model
        for name in {*old.refs, *new.refs}:
            is_target = name == step.branch and not step.staged
            if not is_target and old.refs.get(name) != new.refs.get(name) and name != f"tag-{step.tag}":
                raise Anomaly(f"reference {name} moved, though {step.name} is not about it")
        if step.staged:
            return
        if step.creates_branch is not None and step.creates_branch not in old.refs:
            model.branches[step.creates_branch] = self._created_from(step.creates_branch, new, new_snapshots)
        was = self._rows_before(step, old, new_snapshots)
        expected = model.apply(step.branch, step.change)
        ref = new.refs.get(step.branch)
        view = self._view(new, None if ref is None else ref.snapshot_id)
        found = view.row_set()
        if found != expected:
            raise Anomaly(f"rows differ: {sorted(found - expected)} too many, {sorted(expected - found)} missing")
        former = old.refs.get(step.branch)
        if ref is not None and former is not None and new.is_ancestor(former.snapshot_id, of=ref.snapshot_id):
            _check_row_ids(was, view, new)

    def _created_from(self, branch: str, new: TableMetadata, made: Sequence[Snapshot]) -> frozenset[Row]:
        """A branch that was made and written to in one commit begins with the rows of its first snapshot's parent."""
        first = made[0].parent_snapshot_id if made else new.refs[branch].snapshot_id
        return self._view(new, first).row_set()

    def _rows_before(self, step: Step, old: TableMetadata, made: Sequence[Snapshot]) -> TableView:
        ref = old.refs.get(step.branch)
        if ref is None and made:
            return self._view(old, made[0].parent_snapshot_id)
        return self._view(old, None if ref is None else ref.snapshot_id)

    def _view(self, metadata: TableMetadata, snapshot_id: int | None) -> TableView:
        return self._reader.view(None if snapshot_id is None else metadata.snapshot(snapshot_id), metadata)

    def _note_snapshots(self, metadata: TableMetadata, new: Sequence[Snapshot]) -> None:
        """Sequence numbers are given once, in the order of commits."""
        if metadata.format_version == 1:
            return
        for snapshot in new:
            number = snapshot.sequence_number
            if number and number in self._sequence_numbers:
                raise Anomaly(f"sequence number {number} was given twice")
            if number and self._sequence_numbers and number < max(self._sequence_numbers):
                raise Anomaly(f"sequence number {number} comes after {max(self._sequence_numbers)}")
            self._sequence_numbers[number] = snapshot.snapshot_id

    def _read_again(self, last: TableMetadata) -> None:
        """Every retained snapshot is still readable, file by file, and is what it was."""
        for snapshot in last.snapshots:
            self._reader.read_again(snapshot, last)


def check_snapshot(view: TableView, snapshot: Snapshot, metadata: TableMetadata) -> None:
    """A snapshot is whole: no file twice, totals right, row ids unique. Raises Anomaly."""
    identities = [entry.data_file.identity for entry in (*view.data, *view.deletes)]
    if len(identities) != len(set(identities)):
        raise Anomaly(f"snapshot {snapshot.snapshot_id} has a file twice")
    kinds = [entry.data_file for entry in view.deletes]
    totals = {
        "total-data-files": len(view.data),
        "total-delete-files": len(view.deletes),
        "total-records": sum(entry.data_file.record_count for entry in view.data),
        "total-position-deletes": sum(f.record_count for f in kinds if f.content is FileContent.POSITION_DELETES),
        "total-equality-deletes": sum(f.record_count for f in kinds if f.content is FileContent.EQUALITY_DELETES),
    }
    for key, number in totals.items():
        if snapshot.summary.get(key) != str(number):
            raise Anomaly(f"snapshot {snapshot.snapshot_id} says {key} {snapshot.summary.get(key)}, it is {number}")
    for entry in (*view.data, *view.deletes):
        if (entry.data_sequence_number or 0) > snapshot.sequence_number:
            raise Anomaly(f"{entry.data_file.file_path} is younger than its snapshot")
    if metadata.format_version >= 3 and snapshot.first_row_id is not None:
        ids = list(view.row_ids().values())
        if None in ids or len(ids) != len(set(ids)):
            raise Anomaly(f"snapshot {snapshot.snapshot_id} has rows without a row id, or two with the same")
        if any(one is not None and one >= metadata.next_row_id for one in ids):
            raise Anomaly(f"snapshot {snapshot.snapshot_id} has row ids beyond the table's next-row-id")


def _check_counters(old: TableMetadata, new: TableMetadata) -> None:
    if new.last_sequence_number < old.last_sequence_number or new.next_row_id < old.next_row_id:
        raise Anomaly("a counter of the table went back")
    if new.last_updated_ms < old.last_updated_ms - 60_000:
        raise Anomaly("the table's time went back by more than a minute")
    if new.current_snapshot_id != (new.refs[MAIN_BRANCH].snapshot_id if MAIN_BRANCH in new.refs else None):
        raise Anomaly("the current snapshot is not that of main")


def _check_log(before: TableState, new: TableMetadata) -> None:
    if not new.metadata_log or new.metadata_log[-1].metadata_file != before.metadata_location:
        raise Anomaly("the metadata log does not end with the state before")


def _check_row_ids(was: TableView, now: TableView, metadata: TableMetadata) -> None:
    """A row that stays keeps its id."""
    if metadata.format_version < 3:
        return
    before, after = was.row_ids(), now.row_ids()
    for row in before.keys() & after.keys():
        if before[row] is not None and before[row] != after[row]:
            raise Anomaly(f"the row id of {row} changed from {before[row]} to {after[row]}")
