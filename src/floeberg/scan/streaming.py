"""Streams over a table: offsets along the history of a branch, and the files between two of them.

A stream begins with all live rows of its start snapshot and goes on with what append snapshots add; a stream of changes goes on
with the rows that each snapshot inserts and deletes. An offset says how many parts of a snapshot were read, in the order of
their paths, so that every process finds the same parts between two offsets. A part is a file, or the files whose changes are
compared with each other. Of the parts that change a snapshot's rows, those that only delete come first and those that only
insert last, and those that do both are never apart: a key whose row moves from one part to another is deleted in an
earlier batch, or in the same one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

from floeberg.errors import InvalidInput, SnapshotNotFound, UnsupportedFeature
from floeberg.scan.changelog import plan_changelog
from floeberg.scan.changelog_tasks import ChangelogTask, ChangeType, independent_groups
from floeberg.scan.incremental import plan_appends
from floeberg.scan.manifest_frames import StoreFor
from floeberg.scan.plan import plan_files
from floeberg.scan.snapshot_choice import SnapshotChoice
from floeberg.scan.tasks import FileScanTask
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.snapshots.refs import MAIN_BRANCH
from floeberg.spec.snapshots.snapshot import Operation, Snapshot

Part: TypeAlias = tuple[FileScanTask, ...] | tuple[ChangelogTask, ...]

_INSERTS: Final = (ChangeType.INSERT,)
_DELETES_FIRST: Final = "deletes-first"
"""The key that tells offsets between parts in the order of today."""
_BOTH: Final = (ChangeType.DELETE, ChangeType.INSERT)
_ORDER: Final = {(ChangeType.DELETE,): 0, _BOTH: 1, _INSERTS: 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamOptions:
    """What a stream reads, and how much at once."""

    branch: str = MAIN_BRANCH
    from_snapshot_id: int | None = None
    from_timestamp_ms: int | None = None
    max_files: int | None = None
    max_rows: int | None = None
    skip_deletes: bool = False
    skip_overwrites: bool = False
    changes: bool = False
    """Whether deleted rows come too, and all rows with what happened to them."""
    resumes_at_oldest: bool = False
    """Whether a stream whose snapshot has expired goes on with the oldest one that is left; otherwise it fails."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamOffset:
    """How far a stream has read: `position` parts of a snapshot, all of them when `done`. `whole` is for the start snapshot,
    of which all live files count and not those that it added. Without a snapshot, the table had none. `ordinal` is the place
    of the snapshot among those whose changes the stream has read, from 0. `sequence_number` is the snapshot's, which tells one
    that expired from one that was rolled back and expired then; 0 where it is not known."""

    table_uuid: str | None
    snapshot_id: int | None = None
    position: int = 0
    whole: bool = False
    done: bool = True
    changes: bool = False
    ordinal: int = -1
    sequence_number: int = field(default=0, compare=False)

    def to_json(self) -> dict[str, Any]:
        return {
            "table-uuid": self.table_uuid or "",
            "snapshot-id": "" if self.snapshot_id is None else str(self.snapshot_id),
            "position": self.position,
            "whole": self.whole,
            "done": self.done,
            "changes": self.changes,
            "ordinal": self.ordinal,
            **({"sequence-number": self.sequence_number} if self.sequence_number else {}),
            **({_DELETES_FIRST: True} if self._is_among_changes else {}),
        }

    @property
    def _is_among_changes(self) -> bool:
        """Whether the stream stands between parts of one snapshot's changes, which are in an order of their own."""
        return self.changes and not self.done and self.position > 0

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> StreamOffset:
        """Raises InvalidInput for an offset of another source."""
        try:
            snapshot_id = document["snapshot-id"]
            found = cls(
                table_uuid=document["table-uuid"] or None,
                snapshot_id=int(snapshot_id) if snapshot_id else None,
                position=int(document["position"]),
                whole=bool(document["whole"]),
                done=bool(document["done"]),
                changes=bool(document.get("changes", False)),
                ordinal=int(document.get("ordinal", -1)),
                sequence_number=int(document.get("sequence-number", 0)),
            )
        except (KeyError, ValueError, TypeError):
            raise InvalidInput(f"the checkpoint is of another source: {dict(document)!r:.200} is no offset") from None
        if found._is_among_changes and not document.get(_DELETES_FIRST):
            raise InvalidInput(
                f"the checkpoint stands within the changes of snapshot {found.snapshot_id}, in an order in which they are not "
                "read any more; begin the stream with a new checkpoint"
            )
        return found


@dataclass(frozen=True, slots=True)
class _Step:
    """A snapshot of a stream: whether all of its files count, the first part that was not read yet, and its ordinal."""

    snapshot: Snapshot
    whole: bool
    first: int
    ordinal: int


@dataclass(slots=True, kw_only=True)
class StreamPlanner:
    """Plans a stream on a table's state. `known` keeps what was planned of each snapshot between the states."""

    identifier: str
    metadata: TableMetadata
    options: StreamOptions
    store_for: StoreFor
    known: dict[tuple[int, bool], list[Part]] = field(default_factory=dict)

    @property
    def head(self) -> Snapshot | None:
        """The branch's newest snapshot. Raises RefNotFound."""
        if self.options.branch == MAIN_BRANCH:
            return self.metadata.current_snapshot
        return self.metadata.snapshot(self.metadata.ref(self.options.branch).snapshot_id)

    def initial(self) -> StreamOffset:
        """Where a new stream begins. Raises SnapshotNotFound, and InvalidInput for a snapshot outside the branch."""
        options, head = self.options, self.head
        nothing = StreamOffset(table_uuid=self.metadata.table_uuid, changes=options.changes)
        if head is None:
            return nothing
        history = list(self.metadata.ancestors(head.snapshot_id))
        if options.from_snapshot_id is not None:
            chosen = self.metadata.snapshot(options.from_snapshot_id)
            if chosen.snapshot_id not in {one.snapshot_id for one in history}:
                raise self._not_in_history(chosen.snapshot_id)
            return self._beginning(chosen, whole=True, ordinal=0)
        if options.from_timestamp_ms is not None:
            younger = [one for one in history if one.timestamp_ms >= options.from_timestamp_ms]
            if not younger:
                return replace(nothing, snapshot_id=head.snapshot_id, sequence_number=head.sequence_number)
            first = younger[-1]
            return self._beginning(first, whole=False, ordinal=-1 if first.operation == Operation.REPLACE else 0)
        return self._beginning(history[-1], whole=True, ordinal=0)

    def _beginning(self, snapshot: Snapshot, *, whole: bool, ordinal: int) -> StreamOffset:
        """Nothing of a snapshot is read yet."""
        return self._at(_Step(snapshot, whole, 0, ordinal), 0, done=False)

    def advance(self, start: StreamOffset, *, until: int | None = None, limited: bool = True) -> StreamOffset:
        """The offset up to which the next batch reads: as far as the limits allow, and no further than a snapshot.

        Raises InvalidInput when the stream cannot go on from where it stands, UnsupportedFeature at a snapshot that deleted
        or overwrote rows, unless such are skipped."""
        goal = self.head if until is None else self.metadata.find_snapshot(until)
        max_files = self.options.max_files if limited else None
        max_rows = self.options.max_rows if limited else None
        reached, files, rows = start, 0, 0
        for step in self._steps(start, goal):
            parts = self._parts(step)
            for first, end in _inseparable(parts, step.first):
                own_files = sum(len(part) for part in parts[first:end])
                own_rows = sum(_rows(part) for part in parts[first:end])
                is_full = max_files is not None and files + own_files > max_files
                if files and (is_full or (max_rows is not None and rows + own_rows > max_rows)):
                    return self._at(step, first, done=False)
                files, rows = files + own_files, rows + own_rows
            reached = self._at(step, len(parts), done=True)
        return reached

    def between(self, start: StreamOffset, end: StreamOffset) -> list[Part]:
        """The parts of a batch. Raises as `advance` does."""
        self.check_table(end)
        if start == end or end.snapshot_id is None:
            return []
        goal = self.metadata.find_snapshot(end.snapshot_id)
        if goal is None:
            raise self._expired(end.snapshot_id)
        found: list[Part] = []
        for step in self._steps(start, goal):
            is_last = step.snapshot.snapshot_id == end.snapshot_id
            found += self._parts(step)[step.first : end.position if is_last else None]
        return found

    def forget_before(self, offset: StreamOffset) -> None:
        """Forgets what was planned of snapshots before that of an offset, which the stream has read. Spark says so when
        the next batch, of snapshots after it, is planned already."""
        reached = None if offset.snapshot_id is None else self.metadata.find_snapshot(offset.snapshot_id)
        for key in [key for key in self.known if key[0] != offset.snapshot_id]:
            planned = self.metadata.find_snapshot(key[0])
            if reached is None or planned is None or planned.sequence_number <= reached.sequence_number:
                del self.known[key]

    def _steps(self, start: StreamOffset, goal: Snapshot | None) -> Iterator[_Step]:
        """The snapshots from an offset on, up to another."""
        self.check_table(start)
        if goal is None:
            if start.snapshot_id is not None:
                raise self._not_in_history(start.snapshot_id)
            return
        history = list(self.metadata.ancestors(goal.snapshot_id))[::-1]
        ids = [snapshot.snapshot_id for snapshot in history]
        if start.snapshot_id in ids:
            begun = ids.index(start.snapshot_id)
            if not start.done:
                yield _Step(history[begun], start.whole, start.position, start.ordinal)
            history = history[begun + 1 :]
        elif start.snapshot_id is not None and self._has_left(start, history[0]):
            raise self._not_in_history(start.snapshot_id)
        elif not self.options.resumes_at_oldest and (
            # A snapshot that is gone is no loss when all of it was read and its child is there.
            history[0].parent_snapshot_id != start.snapshot_id or not start.done
        ):
            raise self._expired(start.snapshot_id)
        # Once the stream has begun, a snapshot counts whatever its time: a writer's clock may have gone back.
        oldest_ms, ordinal = self.options.from_timestamp_ms, start.ordinal
        last = None if start.snapshot_id is None else self.metadata.find_snapshot(start.snapshot_id)
        begun_already = oldest_ms is None or (last is not None and last.timestamp_ms >= oldest_ms)
        for snapshot in history:
            begun_already = begun_already or snapshot.timestamp_ms >= (oldest_ms or 0)
            if begun_already:
                ordinal += snapshot.operation != Operation.REPLACE
                yield _Step(snapshot, False, 0, ordinal)

    def _has_left(self, start: StreamOffset, oldest: Snapshot) -> bool:
        """Whether the snapshot of an offset is surely not among the ancestors of the oldest one of the branch. A tag may keep
        an ancestor while the snapshots between them have expired. Version 1 has no sequence numbers, only times."""
        snapshot = None if start.snapshot_id is None else self.metadata.find_snapshot(start.snapshot_id)
        if snapshot is None:
            return start.sequence_number > oldest.sequence_number
        reached = (snapshot.sequence_number, snapshot.timestamp_ms)
        return oldest.parent_snapshot_id is None or reached > (oldest.sequence_number, oldest.timestamp_ms)

    def _parts(self, step: _Step) -> list[Part]:
        key = (step.snapshot.snapshot_id, step.whole)
        if key not in self.known:
            if self.options.changes:
                parts: list[Part] = list(independent_groups(self._changes(step)))
            else:
                parts = [(task,) for task in self._files(step.snapshot, whole=step.whole)]
            self.known[key] = sorted(parts, key=_place)
        return self.known[key]

    def _changes(self, step: _Step) -> list[ChangelogTask]:
        snapshot = step.snapshot
        if step.whole:
            return [
                ChangelogTask(
                    change_ordinal=step.ordinal,
                    commit_snapshot_id=snapshot.snapshot_id,
                    data_file=task.data_file,
                    data_sequence_number=task.data_sequence_number,
                    file_sequence_number=task.file_sequence_number,
                    before=None,
                    after=task.deletes,
                    residual=task.residual,
                )
                for task in self._files(snapshot, whole=True)
            ]
        parent_id = snapshot.parent_snapshot_id
        try:
            planned = plan_changelog(
                self.metadata,
                store_for=self.store_for,
                from_snapshot_id=parent_id,
                to_snapshot_id=snapshot.snapshot_id,
            )
        except SnapshotNotFound:
            if not self.options.resumes_at_oldest:
                raise self._expired(parent_id) from None
            return []
        return [replace(task, change_ordinal=step.ordinal) for task in planned.tasks]

    def _files(self, snapshot: Snapshot, *, whole: bool) -> list[FileScanTask]:
        if whole:
            return list(
                plan_files(
                    self.metadata, SnapshotChoice(snapshot, self.metadata.current_schema), store_for=self.store_for
                )
            )
        if snapshot.operation == Operation.APPEND:
            return list(
                plan_appends(
                    self.metadata,
                    store_for=self.store_for,
                    from_snapshot_id=snapshot.parent_snapshot_id,
                    to_snapshot_id=snapshot.snapshot_id,
                )
            )
        passed_over = {
            Operation.REPLACE: True,  # compaction changes no row
            Operation.DELETE: self.options.skip_deletes,
            Operation.OVERWRITE: self.options.skip_overwrites,
        }
        if any(snapshot.operation == operation and passes for operation, passes in passed_over.items()):
            return []
        kind = "delete" if snapshot.operation == Operation.DELETE else "overwrite"
        raise UnsupportedFeature(
            f"table {self.identifier}: snapshot {snapshot.snapshot_id} is of operation {snapshot.operation!r}, and a stream "
            f"reads what appends add; pass over such with the option streaming-skip-{kind}-snapshots=true, or read "
            "deleted and inserted rows as changes with streaming-changes=true and a new checkpoint location",
            table=self.identifier,
            snapshot_id=snapshot.snapshot_id,
        )

    def _at(self, step: _Step, position: int, *, done: bool) -> StreamOffset:
        return StreamOffset(
            table_uuid=self.metadata.table_uuid,
            snapshot_id=step.snapshot.snapshot_id,
            position=position,
            whole=step.whole,
            done=done,
            changes=self.options.changes,
            ordinal=step.ordinal,
            sequence_number=step.snapshot.sequence_number,
        )

    def check_table(self, offset: StreamOffset) -> None:
        """Raises InvalidInput for an offset of another table."""
        if offset.table_uuid != self.metadata.table_uuid:
            raise InvalidInput(
                f"table {self.identifier}: the checkpoint is of another table (uuid {offset.table_uuid}, this one has "
                f"{self.metadata.table_uuid}): it was dropped and created anew, or the query reads another table; start with a "
                "new checkpoint location",
                table=self.identifier,
            )
        if offset.changes != self.options.changes:
            read = "changes" if offset.changes else "appended rows"
            raise InvalidInput(
                f"table {self.identifier}: the checkpoint is of a stream of {read}; streaming-changes cannot be changed for a "
                "query: start with a new checkpoint location",
                table=self.identifier,
            )

    def _not_in_history(self, snapshot_id: int) -> InvalidInput:
        return InvalidInput(
            f"table {self.identifier}: snapshot {snapshot_id} is not in the history of branch {self.options.branch} (it was "
            "rolled back, or the branch was replaced), so that it is not known what is new since; start with a new checkpoint "
            "location",
            table=self.identifier,
            snapshot_id=snapshot_id,
        )

    def _expired(self, snapshot_id: int | None) -> SnapshotNotFound:
        return SnapshotNotFound(
            f"table {self.identifier}: snapshot {snapshot_id}, up to which the stream has read, or its child has expired, and "
            "rows after it may be missed; start with a new checkpoint location, or go on with the oldest snapshot that is left "
            "by the option streaming-on-expired=oldest. Keep snapshots longer than queries stand still "
            "(history.expire.max-snapshot-age-ms)",
            table=self.identifier,
            snapshot_id=snapshot_id,
        )


def _rows(part: Part) -> int:
    return sum(task.data_file.record_count for task in part)


def _kinds(part: Part) -> tuple[ChangeType, ...]:
    """What may happen to rows of a part: they are deleted, or inserted, or both."""
    found = {kind for task in part for kind in (task.change_types if isinstance(task, ChangelogTask) else _INSERTS)}
    return tuple(sorted(found))


def _place(part: Part) -> tuple[int, str]:
    """The place of a part among those of its snapshot: deletes, then what deletes and inserts, then inserts, each by path."""
    return _ORDER[_kinds(part)], min(task.data_file.file_path for task in part)


def _inseparable(parts: Sequence[Part], first: int) -> Iterator[tuple[int, int]]:
    """(first, end) of the parts from one on that one batch must hold: all that delete and insert together, each other alone."""
    while first < len(parts):
        end = first + 1
        while _kinds(parts[first]) == _BOTH and end < len(parts) and _kinds(parts[end]) == _BOTH:
            end += 1
        yield first, end
        first = end
