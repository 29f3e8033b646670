"""Changelog scans: which rows came and went with each snapshot, over copy-on-write and merge-on-read alike.

A change is planned as one data file with what it looked like before and after a snapshot: not there, or there with some
deletes. A row that was live before and is not after is a DELETE; one that is live after and was not before is an INSERT.
That covers every way to change a table:

    a file is added                  before None          after its deletes of the same commit
    a file is removed                before its deletes   after None
    delete files come or go          before some deletes  after others

Snapshots that replace files (compaction) change no row and are passed over. A copy-on-write rewrite copies rows that did not
change: they come as a DELETE and an INSERT of equal rows with one ordinal, and an engine that wants only true changes
cancels such pairs (per ordinal, as multisets of whole rows).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from floeberg.errors import SnapshotNotFound
from floeberg.expr.bind import bind
from floeberg.expr.nodes import TRUE, Expression
from floeberg.expr.residual import Residuals
from floeberg.scan.changelog_tasks import ChangelogTask
from floeberg.scan.delete_index import DeleteIndex
from floeberg.scan.frame_cache import FrameCache
from floeberg.scan.history import snapshots_between
from floeberg.scan.manifest_frames import DEFAULT_THREADS, FilesOfSpec, ManifestReader, StoreFor
from floeberg.scan.plan import LIVE, Planner, without_metric_columns
from floeberg.scan.scan_plan import DeletesByNumber, ResidualsOfSpec, entries_of
from floeberg.scan.tasks import DeleteFile
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.snapshots.manifest_entry import EntryStatus, ManifestContent, ManifestFile
from floeberg.spec.snapshots.snapshot import Operation, Snapshot


@dataclass(frozen=True, slots=True)
class ChangelogPlan:
    """The snapshots in order, each with its place (`_change_ordinal`), and their changes."""

    schema: Schema
    snapshots: tuple[Snapshot, ...]
    tasks: tuple[ChangelogTask, ...]


def plan_changelog(
    metadata: TableMetadata,
    *,
    store_for: StoreFor,
    from_snapshot_id: int | None = None,
    to_snapshot_id: int | None = None,
    where: Expression = TRUE,
    case_sensitive: bool = True,
    cache: FrameCache | None = None,
    threads: int = DEFAULT_THREADS,
) -> ChangelogPlan:
    """The changes after `from_snapshot_id` (exclusive; None: from the beginning) up to `to_snapshot_id` (None: now), read
    with the current schema. Raises InvalidInput when the first snapshot is no ancestor of the last, SnapshotNotFound when a
    parent snapshot is needed and expired."""
    changes = [
        snapshot
        for snapshot in snapshots_between(metadata, from_snapshot_id=from_snapshot_id, to_snapshot_id=to_snapshot_id)
        if snapshot.operation != Operation.REPLACE
    ]
    schema = metadata.current_schema
    kept = cache if cache is not None else FrameCache()  # each snapshot is read as parent and as child
    reader = ManifestReader(metadata, schema, store_for, cache=kept, threads=threads)
    bound = bind(where, schema, case_sensitive=case_sensitive)
    tasks: list[ChangelogTask] = []
    residuals: dict[int, ResidualsOfSpec] = {}
    for ordinal, snapshot in enumerate(changes):
        planner = Planner(metadata, schema, bound, reader=reader)
        for part, before, after in _SnapshotChanges(metadata, snapshot, planner, reader).parts():
            if part.spec.spec_id not in residuals:
                residuals[part.spec.spec_id] = ResidualsOfSpec(Residuals(part.spec, schema, bound))
            tasks += _tasks(part, before, after, residuals[part.spec.spec_id], ordinal, snapshot.snapshot_id)
    return ChangelogPlan(schema, tuple(changes), tuple(tasks))


@dataclass(frozen=True, slots=True)
class _State:
    """The deletes of each file of a frame at one snapshot."""

    numbers: pl.Series
    deletes: DeletesByNumber

    def of(self, place: int) -> tuple[DeleteFile, ...]:
        return tuple(self.deletes.get(number) for number in self.numbers[place])


class _SnapshotChanges:
    """What one snapshot did to data files and their deletes."""

    def __init__(self, metadata: TableMetadata, snapshot: Snapshot, planner: Planner, reader: ManifestReader) -> None:
        self._metadata = metadata
        self._snapshot = snapshot
        self._planner = planner
        self._reader = reader
        self._manifests = reader.manifests(snapshot)
        self._own = [m for m in self._manifests if m.added_snapshot_id == snapshot.snapshot_id]
        self._is_own = pl.col("snapshot_id") == snapshot.snapshot_id

    def parts(self) -> Iterator[tuple[FilesOfSpec, _State | None, _State | None]]:
        """Files, with their deletes before and after."""
        after = _Deletes(self._planner, _of(self._manifests, ManifestContent.DELETES))
        own_data = _of(self._own, ManifestContent.DATA)
        added = self._is_own & (pl.col("status") == EntryStatus.ADDED)
        removed = self._is_own & (pl.col("status") == EntryStatus.DELETED)
        for part in self._planner.data_files(own_data, entries=added, metrics_of=after.equality_ids):
            yield part, None, after.of(part)
        own_deletes = _of(self._own, ManifestContent.DELETES)
        changed = [
            self._planner.delete_index(self._planner.delete_files(own_deletes, entries=chosen))
            for chosen in (added, removed)
        ]
        gone = any(part.frame.height for part in self._planner.data_files(own_data, entries=removed))
        if not gone and not any(index.count for index in changed):
            return  # then the parent, which may be expired, is not needed
        before = _Deletes(self._planner, self._parent_deletes())
        ids = before.equality_ids | after.equality_ids | changed[0].equality_ids | changed[1].equality_ids
        for part in self._planner.data_files(own_data, entries=removed, metrics_of=ids):
            yield part, before.of(part), None
        if any(index.count for index in changed):
            yield from self._redeleted(changed, before, after, added, ids)

    def _redeleted(
        self, changed: Sequence[DeleteIndex], before: _Deletes, after: _Deletes, added: pl.Expr, ids: frozenset[int]
    ) -> Iterator[tuple[FilesOfSpec, _State, _State]]:
        """Files there before and after, to which other deletes apply now."""
        data = _of(self._manifests, ManifestContent.DATA)
        stayed = self._planner.data_files(data, entries=LIVE & ~added, metrics_of=ids)
        for part in stayed:
            touched = pl.Series([False]).new_from_index(0, part.frame.height)
            for index in changed:
                touched = touched | (index.match([part])[0].list.len() > 0)
            files = FilesOfSpec(part.spec, part.partition_type, part.frame.filter(touched))
            if files.frame.height:
                yield files, before.of(files), after.of(files)

    def _parent_deletes(self) -> list[ManifestFile]:
        parent_id = self._snapshot.parent_snapshot_id
        if parent_id is None:
            return []
        parent = self._metadata.find_snapshot(parent_id)
        if parent is None:
            raise SnapshotNotFound(
                f"table {self._metadata.location}: the changes of snapshot {self._snapshot.snapshot_id} cannot be told, "
                f"because its parent {parent_id} is expired; begin the changelog at a later snapshot",
                snapshot_id=parent_id,
            )
        return _of(self._reader.manifests(parent), ManifestContent.DELETES)


class _Deletes:
    """The live deletes of one snapshot."""

    def __init__(self, planner: Planner, manifests: Sequence[ManifestFile]) -> None:
        parts = planner.delete_files(manifests)
        self._index = planner.delete_index(parts)
        self._by_number = DeletesByNumber([without_metric_columns(part) for part in parts])

    @property
    def equality_ids(self) -> frozenset[int]:
        return self._index.equality_ids

    def of(self, part: FilesOfSpec) -> _State:
        return _State(self._index.match([part])[0], self._by_number)


def _of(manifests: Sequence[ManifestFile], content: ManifestContent) -> list[ManifestFile]:
    return [manifest for manifest in manifests if manifest.content is content]


def _tasks(
    part: FilesOfSpec,
    before: _State | None,
    after: _State | None,
    residuals: ResidualsOfSpec,
    ordinal: int,
    snapshot_id: int,
) -> Iterator[ChangelogTask]:
    files = entries_of(without_metric_columns(part).frame, part.partition_type)
    for place, entry in enumerate(files):
        earlier = None if before is None else before.of(place)
        later = None if after is None else after.of(place)
        if earlier is not None and later is not None and _identities(earlier) == _identities(later):
            continue
        yield ChangelogTask(
            change_ordinal=ordinal,
            commit_snapshot_id=snapshot_id,
            data_file=entry.data_file,
            data_sequence_number=entry.data_sequence_number or 0,
            file_sequence_number=entry.file_sequence_number,
            before=earlier,
            after=later,
            residual=residuals.of(entry.data_file.partition),
        )


def _identities(deletes: tuple[DeleteFile, ...]) -> set[tuple[str, int | None]]:
    return {delete.file.identity for delete in deletes}
