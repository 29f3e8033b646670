"""Streams over a table: offsets along the history of a branch, and the files between two of them.

A stream begins with all live rows of its start snapshot and goes on with what append snapshots add. An offset says how many of
a snapshot's files were read, in the order of their paths, so that every process finds the same files between two offsets.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from floeberg.errors import InvalidInput, SnapshotNotFound, UnsupportedFeature
from floeberg.scan.incremental import plan_appends
from floeberg.scan.manifest_frames import StoreFor
from floeberg.scan.plan import plan_files
from floeberg.scan.snapshot_choice import SnapshotChoice
from floeberg.scan.tasks import FileScanTask
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.snapshots.refs import MAIN_BRANCH
from floeberg.spec.snapshots.snapshot import Operation, Snapshot


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
    resumes_at_oldest: bool = False
    """Whether a stream whose snapshot has expired goes on with the oldest one that is left; otherwise it fails."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamOffset:
    """How far a stream has read: `position` files of a snapshot, all of them when `done`. `whole` is for the start snapshot,
    of which all live files count and not those that it added. Without a snapshot, the table had none."""

    table_uuid: str | None
    snapshot_id: int | None = None
    position: int = 0
    whole: bool = False
    done: bool = True

    def to_json(self) -> dict[str, Any]:
        return {
            "table-uuid": self.table_uuid or "",
            "snapshot-id": "" if self.snapshot_id is None else str(self.snapshot_id),
            "position": self.position,
            "whole": self.whole,
            "done": self.done,
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> StreamOffset:
        """Raises InvalidInput for an offset of another source."""
        try:
            snapshot_id = document["snapshot-id"]
            return cls(
                table_uuid=document["table-uuid"] or None,
                snapshot_id=int(snapshot_id) if snapshot_id else None,
                position=int(document["position"]),
                whole=bool(document["whole"]),
                done=bool(document["done"]),
            )
        except (KeyError, ValueError, TypeError):
            raise InvalidInput(f"the checkpoint is of another source: {dict(document)!r:.200} is no offset") from None


@dataclass(slots=True, kw_only=True)
class StreamPlanner:
    """Plans a stream on a table's state. `known` keeps what was planned of each snapshot between the states."""

    identifier: str
    metadata: TableMetadata
    options: StreamOptions
    store_for: StoreFor
    known: dict[tuple[int, bool], list[FileScanTask]] = field(default_factory=dict)

    @property
    def head(self) -> Snapshot | None:
        """The branch's newest snapshot. Raises RefNotFound."""
        if self.options.branch == MAIN_BRANCH:
            return self.metadata.current_snapshot
        return self.metadata.snapshot(self.metadata.ref(self.options.branch).snapshot_id)

    def initial(self) -> StreamOffset:
        """Where a new stream begins. Raises SnapshotNotFound, and InvalidInput for a snapshot outside the branch."""
        options, head = self.options, self.head
        uuid = self.metadata.table_uuid
        if head is None:
            return StreamOffset(table_uuid=uuid)
        history = list(self.metadata.ancestors(head.snapshot_id))
        if options.from_snapshot_id is not None:
            self.metadata.snapshot(options.from_snapshot_id)
            if options.from_snapshot_id not in {one.snapshot_id for one in history}:
                raise self._not_in_history(options.from_snapshot_id)
            return StreamOffset(table_uuid=uuid, snapshot_id=options.from_snapshot_id, whole=True, done=False)
        if options.from_timestamp_ms is not None:
            younger = [one for one in history if one.timestamp_ms >= options.from_timestamp_ms]
            if not younger:
                return StreamOffset(table_uuid=uuid, snapshot_id=head.snapshot_id)
            return StreamOffset(table_uuid=uuid, snapshot_id=younger[-1].snapshot_id, done=False)
        return StreamOffset(table_uuid=uuid, snapshot_id=history[-1].snapshot_id, whole=True, done=False)

    def advance(self, start: StreamOffset, *, until: int | None = None, limited: bool = True) -> StreamOffset:
        """The offset up to which the next batch reads: as far as the limits allow, and no further than a snapshot.

        Raises InvalidInput when the stream cannot go on from where it stands, UnsupportedFeature at a snapshot that deleted
        or overwrote rows, unless such are skipped."""
        goal = self.head if until is None else self.metadata.find_snapshot(until)
        max_files = self.options.max_files if limited else None
        max_rows = self.options.max_rows if limited else None
        reached, files, rows = start, 0, 0
        for snapshot, whole, first in self._steps(start, goal):
            tasks = self._tasks(snapshot, whole=whole)
            for position in range(first, len(tasks)):
                count = tasks[position].data_file.record_count
                is_full = max_files is not None and files >= max_files
                if is_full or (max_rows is not None and files and rows + count > max_rows):
                    return self._at(snapshot, position, whole=whole, done=False)
                files, rows = files + 1, rows + count
            reached = self._at(snapshot, len(tasks), whole=whole, done=True)
        return reached

    def between(self, start: StreamOffset, end: StreamOffset) -> list[FileScanTask]:
        """The files of a batch. Raises as `advance` does."""
        self.check_table(end)
        if start == end or end.snapshot_id is None:
            return []
        goal = self.metadata.find_snapshot(end.snapshot_id)
        if goal is None:
            raise self._expired(end.snapshot_id)
        found: list[FileScanTask] = []
        for snapshot, whole, first in self._steps(start, goal):
            is_last = snapshot.snapshot_id == end.snapshot_id
            found += self._tasks(snapshot, whole=whole)[first : end.position if is_last else None]
        return found

    def _steps(self, start: StreamOffset, goal: Snapshot | None) -> Iterator[tuple[Snapshot, bool, int]]:
        """The snapshots from an offset on, up to another: each with whether all of its files count, and the first that was not
        read yet."""
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
                yield history[begun], start.whole, start.position
            history = history[begun + 1 :]
        elif start.snapshot_id is not None and self.metadata.find_snapshot(start.snapshot_id) is not None:
            raise self._not_in_history(start.snapshot_id)
        elif not self.options.resumes_at_oldest and (
            # A snapshot that is gone is no loss when all of it was read and its child is there.
            history[0].parent_snapshot_id != start.snapshot_id or not start.done
        ):
            raise self._expired(start.snapshot_id)
        # Once the stream has begun, a snapshot counts whatever its time: a writer's clock may have gone back.
        oldest_ms = self.options.from_timestamp_ms
        last = None if start.snapshot_id is None else self.metadata.find_snapshot(start.snapshot_id)
        begun_already = oldest_ms is None or (last is not None and last.timestamp_ms >= oldest_ms)
        for snapshot in history:
            begun_already = begun_already or snapshot.timestamp_ms >= (oldest_ms or 0)
            if begun_already:
                yield snapshot, False, 0

    def _tasks(self, snapshot: Snapshot, *, whole: bool) -> list[FileScanTask]:
        key = (snapshot.snapshot_id, whole)
        if key not in self.known:
            self.known[key] = sorted(self._planned(snapshot, whole=whole), key=lambda task: task.data_file.file_path)
        return self.known[key]

    def _planned(self, snapshot: Snapshot, *, whole: bool) -> list[FileScanTask]:
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
            f"reads what appends add; pass over such with the option streaming-skip-{kind}-snapshots=true, or read the "
            "changes of a range of snapshots with SELECT … FROM table.changes",
            table=self.identifier,
            snapshot_id=snapshot.snapshot_id,
        )

    def _at(self, snapshot: Snapshot, position: int, *, whole: bool, done: bool) -> StreamOffset:
        uuid = self.metadata.table_uuid
        return StreamOffset(
            table_uuid=uuid, snapshot_id=snapshot.snapshot_id, position=position, whole=whole, done=done
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
            f"table {self.identifier}: snapshot {snapshot_id}, up to which the stream has read, has expired, and rows after it "
            "may be missed; start with a new checkpoint location, or go on with the oldest snapshot that is left by the option "
            "streaming-on-expired=oldest. Keep snapshots longer than queries stand still (history.expire.max-snapshot-age-ms)",
            table=self.identifier,
            snapshot_id=snapshot_id,
        )
