"""Rewriting data files: small files become files of the target size, deletes are applied and rows laid out anew, beside
running writers. What writers delete meanwhile is carried over to the new files; a group that cannot be is redone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Final

from floeberg.commit.commit import commit_operations, staged
from floeberg.commit.operation import Operation, SnapshotTarget
from floeberg.commit.pointer import TablePointer, TableState
from floeberg.commit.producer import branch_head
from floeberg.commit.remove_dangling_deletes import RemoveDanglingDeletes
from floeberg.commit.rewrite_files import RewriteFiles
from floeberg.commit.workspace import Workspace
from floeberg.effects.progress import Progress
from floeberg.errors import (
    CommitConflict,
    CommitUnknown,
    FileNotFound,
    FloebergError,
    InvalidInput,
    ValidationConflict,
)
from floeberg.expr.bind import bind
from floeberg.expr.nodes import TRUE, Expression
from floeberg.maintenance.rewrite.carried_deletes import CarriedDeletes
from floeberg.maintenance.rewrite.engine import RewriteEngine, RewritePlan, RewrittenGroup
from floeberg.maintenance.rewrite.file_groups import FileGroup, plan_groups
from floeberg.maintenance.rewrite.layout import Layout, parse_layout
from floeberg.maintenance.rewrite.options import RewriteOptions
from floeberg.row_changes.policy import refuse_encrypted
from floeberg.scan.plan import plan_files
from floeberg.scan.snapshot_choice import choose_snapshot
from floeberg.scan.tasks import FileScanTask
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.snapshots.manifest_entry import DataFile
from floeberg.spec.snapshots.refs import MAIN_BRANCH
from floeberg.spec.snapshots.snapshot import Snapshot

_MOST_REDONE: Final = 5
"""How often the groups of one commit are rewritten again when others remove their files."""
_MOST_PLANS: Final = 6
"""How often a rewrite is planned when the files of its plan are gone before they are read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RewriteRequest:
    """What to rewrite. `where` chooses files that may hold matching rows; whole files are rewritten."""

    where: Expression = TRUE
    strategy: str | None = None
    sort_order: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    branch: str = MAIN_BRANCH
    case_sensitive: bool = True
    engine_summary: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewritten:
    """The table after a rewrite, and what was done."""

    state: TableState
    rewritten_data_files: int = 0
    added_data_files: int = 0
    rewritten_bytes: int = 0
    added_bytes: int = 0
    failed_data_files: int = 0
    removed_delete_files: int = 0
    carried_deletes: int = 0
    """Rows that were deleted while their files were rewritten, and whose deletes were carried over."""
    redone_groups: int = 0
    snapshots: tuple[Snapshot, ...] = ()


def rewrite_data_files(
    pointer: TablePointer,
    state: TableState,
    engine: RewriteEngine,
    request: RewriteRequest,
    *,
    progress: Progress | None = None,
) -> Rewritten:
    """Rewrites data files in one commit, or in several with `partial-progress.enabled`.

    Raises InvalidInput before any work for a condition, option or order that does not fit, ValidationConflict when other
    commits removed the files again and again. New files are removed when it is proved that no commit refers to them.
    """
    metadata = state.metadata
    refuse_encrypted(metadata)
    plan = RewritePlan(
        metadata=metadata,
        layout=_layout(metadata, request),
        options=RewriteOptions.of(metadata, request.options),
    )
    bind(request.where, metadata.current_schema, case_sensitive=request.case_sensitive)
    branch_head(metadata, request.branch, Workspace(pointer))
    rewrite = _Rewrite(pointer, engine, request, plan.layout, progress or _silent)
    return rewrite.run(state, plan.options)


def _layout(metadata: TableMetadata, request: RewriteRequest) -> Layout:
    return parse_layout(
        metadata, strategy=request.strategy, sort_order=request.sort_order, case_sensitive=request.case_sensitive
    )


def planned_tasks(pointer: TablePointer, metadata: TableMetadata, request: RewriteRequest) -> list[FileScanTask]:
    """The data files of a branch that may hold rows for which the condition is true, with all their deletes."""
    chosen = choose_snapshot(metadata, ref=request.branch)
    plan = plan_files(
        metadata,
        replace(chosen, schema=metadata.current_schema),
        store_for=pointer.store_for,
        where=request.where,
        case_sensitive=request.case_sensitive,
        all_deletes=True,
    )
    return list(plan)


@dataclass(slots=True, eq=False)
class _Batch:
    """Groups that were read from one snapshot and are committed together."""

    metadata: TableMetadata
    start: Snapshot
    groups: list[RewrittenGroup]


class _Rewrite:
    def __init__(
        self, pointer: TablePointer, engine: RewriteEngine, request: RewriteRequest, layout: Layout, progress: Progress
    ) -> None:
        self._pointer = pointer
        self._engine = engine
        self._request = request
        self._layout = layout
        self._progress = progress
        self._done = 0

    def run(self, state: TableState, options: RewriteOptions) -> Rewritten:
        result = self._planned_and_done(state, options)
        if options.remove_dangling_deletes:
            result = self._without_dangling(result)
        return result

    def _planned_and_done(self, state: TableState, options: RewriteOptions) -> Rewritten:
        """Plans anew when another process removed files of the plan, and their snapshots, before they were read."""
        for run in range(1, _MOST_PLANS + 1):
            start = self._head(state.metadata)
            if start is None:
                break
            groups = plan_groups(planned_tasks(self._pointer, state.metadata, self._request), options)
            plan = RewritePlan(metadata=state.metadata, layout=self._layout, options=options)
            result = Rewritten(state=state)
            if options.partial_progress:
                return self._in_parts(result, start, groups, plan)
            try:
                return self._at_once(result, start, groups, plan) if groups else result
            except FileNotFound:
                newest = self._pointer.refresh()
                if run == _MOST_PLANS or newest.metadata_location == state.metadata_location:
                    raise
                state = newest
        return Rewritten(state=state)

    def _at_once(self, result: Rewritten, start: Snapshot, groups: Sequence[FileGroup], plan: RewritePlan) -> Rewritten:
        written: list[RewrittenGroup] = []
        try:
            written += self._rewritten(groups, plan)
        except BaseException:
            self._discard(written)
            raise
        return self._commit(result, [_Batch(plan.metadata, start, written)], plan)

    def _in_parts(
        self, result: Rewritten, start: Snapshot, groups: Sequence[FileGroup], plan: RewritePlan
    ) -> Rewritten:
        """Commits after every so many groups. A group or commit that fails is counted, and the rest goes on."""
        size = -(-len(groups) // plan.options.max_commits) if groups else 1
        failed_commits = 0
        for first in range(0, len(groups), size):
            part = groups[first : first + size]
            try:
                result = self._at_once(result, start, part, plan)
            except CommitUnknown:
                raise
            except FloebergError as error:
                failed_commits += 1
                if isinstance(error, InvalidInput) or failed_commits > plan.options.max_failed_commits:
                    raise
                failed = result.failed_data_files + sum(len(group.tasks) for group in part)
                result = replace(result, failed_data_files=failed)
        return result

    def _rewritten(self, groups: Sequence[FileGroup], plan: RewritePlan) -> Iterator[RewrittenGroup]:
        if not self._engine.runs_groups_at_once or len(groups) == 1:
            for group in groups:
                yield self._tell(self._engine.rewrite(group, plan))
            return
        with ThreadPoolExecutor(min(len(groups), plan.options.max_concurrent_groups)) as pool:
            waiting = [pool.submit(self._engine.rewrite, group, plan) for group in groups]
            try:
                while waiting:
                    yield self._tell(waiting[0].result())
                    waiting.pop(0)
            except BaseException:
                self._discard([one.result() for one in waiting if not one.cancel() and one.exception() is None])
                raise

    def _tell(self, rewritten: RewrittenGroup) -> RewrittenGroup:
        self._check_whole(rewritten)
        self._done += len(rewritten.group.tasks)
        self._progress("data files rewritten", self._done)
        return rewritten

    def _check_whole(self, rewritten: RewrittenGroup) -> None:
        """A last safeguard: files without deletes give as many rows as their manifests say. Raises InvalidInput."""
        tasks = rewritten.group.tasks
        before, after = (sum(one.record_count for one in files) for files in (_data_files(tasks), rewritten.files))
        if before == after or any(task.deletes for task in tasks):
            return
        self._discard([rewritten])
        raise InvalidInput(
            f"table {self._pointer.identifier}: {len(tasks)} data files without deletes have {before} rows by their manifests, "
            f"and {after} were read; nothing was committed for them. Look at the table with `check`",
            table=self._pointer.identifier,
            files=[task.data_file.file_path for task in tasks],
        )

    # committing

    def _commit(self, result: Rewritten, batches: list[_Batch], plan: RewritePlan) -> Rewritten:
        """Commits batches, each read from a snapshot of its own; groups that conflict are redone on the newest state."""
        redone = 0
        while True:
            batches = [batch for batch in batches if batch.groups]
            if not batches:
                return result
            carriers = [CarriedDeletes(self._pointer, batch.metadata, batch.groups) for batch in batches]
            operations = [self._operation(*each, plan) for each in zip(batches, carriers, strict=True)]
            try:
                committed = commit_operations(
                    self._pointer, result.state, operations, engine_summary=self._request.engine_summary
                )
            except (ValidationConflict, CommitConflict) as conflict:
                self._discard_carried(carriers)
                may_redo = isinstance(conflict, ValidationConflict) and conflict.context.get("retry_can_help") is True
                if redone >= _MOST_REDONE or not may_redo:
                    self._discard([group for batch in batches for group in batch.groups])
                    raise
                state = self._pointer.refresh()
                result = replace(result, state=state)
                batches, count = self._redo_conflicting(state, batches, plan)
                result = replace(result, redone_groups=result.redone_groups + count)
                redone += 1
                continue
            except FloebergError as error:
                if error.cleanup_safe or isinstance(error, InvalidInput):
                    self._discard_carried(carriers)
                    self._discard([group for batch in batches for group in batch.groups])
                raise
            for carrier in carriers:
                carrier.discard_unused(committed=True)
            return _added(result, committed.state, committed.snapshots, batches, carriers)

    def _operation(self, batch: _Batch, carrier: CarriedDeletes, plan: RewritePlan) -> RewriteFiles:
        keeps_age = plan.options.use_starting_sequence_number
        return RewriteFiles(
            removed=[task.data_file for one in batch.groups for task in one.group.tasks],
            added=[file for one in batch.groups for file in one.files],
            starting_snapshot_id=batch.start.snapshot_id,
            data_sequence_number=batch.start.sequence_number if keeps_age else None,
            carrier=carrier,
            target=SnapshotTarget(branch=self._request.branch),
        )

    def _redo_conflicting(
        self, state: TableState, batches: Sequence[_Batch], plan: RewritePlan
    ) -> tuple[list[_Batch], int]:
        """The batches with the groups that still fit, and one more with those that did not, rewritten on the newest state."""
        kept: list[_Batch] = []
        again: list[RewrittenGroup] = []
        for batch in batches:
            fits = [one for one in batch.groups if self._still_fits(state, replace_groups(batch, [one]), plan)]
            again += [one for one in batch.groups if one not in fits]
            kept.append(replace_groups(batch, fits))
        self._discard(again)
        start = self._head(state.metadata)
        tasks = {task.data_file.file_path: task for task in planned_tasks(self._pointer, state.metadata, self._request)}
        groups = []
        for one in again:
            left = tuple(tasks[path] for task in one.group.tasks if (path := task.data_file.file_path) in tasks)
            if left:
                groups.append(FileGroup(one.group.partition, left))
        if start is not None and groups:
            newest = replace(plan, metadata=state.metadata)
            try:
                kept.append(_Batch(state.metadata, start, list(self._rewritten(groups, newest))))
            except BaseException:
                self._discard([one for batch in kept for one in batch.groups])
                raise
        return kept, len(again)

    def _still_fits(self, state: TableState, batch: _Batch, plan: RewritePlan) -> bool:
        carrier = CarriedDeletes(self._pointer, batch.metadata, batch.groups)
        operation: Operation = self._operation(batch, carrier, plan)
        try:
            with staged(self._pointer, state, [operation]):
                return True
        except ValidationConflict:
            return False
        finally:
            carrier.discard_unused(committed=False)

    def _without_dangling(self, result: Rewritten) -> Rewritten:
        operation = RemoveDanglingDeletes(target=SnapshotTarget(branch=self._request.branch))
        committed = commit_operations(
            self._pointer, result.state, [operation], engine_summary=self._request.engine_summary
        )
        removed = sum(int(one.summary.get("removed-delete-files", "0")) for one in committed.snapshots)
        return replace(
            result,
            state=committed.state,
            removed_delete_files=result.removed_delete_files + removed,
            snapshots=(*result.snapshots, *committed.snapshots),
        )

    def _head(self, metadata: TableMetadata) -> Snapshot | None:
        return choose_snapshot(metadata, ref=self._request.branch).snapshot

    def _discard(self, groups: Sequence[RewrittenGroup]) -> None:
        self._engine.discard([file for one in groups for file in one.files])

    def _discard_carried(self, carriers: Sequence[CarriedDeletes]) -> None:
        for carrier in carriers:
            carrier.discard_unused(committed=False)


def _data_files(tasks: Sequence[FileScanTask]) -> list[DataFile]:
    return [task.data_file for task in tasks]


def replace_groups(batch: _Batch, groups: list[RewrittenGroup]) -> _Batch:
    """The batch with other groups."""
    return _Batch(batch.metadata, batch.start, groups)


def _added(
    result: Rewritten,
    state: TableState,
    snapshots: Sequence[Snapshot],
    batches: Sequence[_Batch],
    carriers: Sequence[CarriedDeletes],
) -> Rewritten:
    """The result with what one more commit did."""
    groups = [one for batch in batches for one in batch.groups]
    files = [file for one in groups for file in one.files]
    return replace(
        result,
        state=state,
        rewritten_data_files=result.rewritten_data_files + sum(len(one.group.tasks) for one in groups),
        added_data_files=result.added_data_files + len(files),
        rewritten_bytes=result.rewritten_bytes + sum(one.group.size_bytes for one in groups),
        added_bytes=result.added_bytes + sum(file.file_size_in_bytes for file in files),
        removed_delete_files=result.removed_delete_files
        + sum(int(one.summary.get("removed-delete-files", "0")) for one in snapshots),
        carried_deletes=result.carried_deletes + sum(carrier.rows_carried for carrier in carriers),
        snapshots=(*result.snapshots, *snapshots),
    )


def _silent(what: str, done: int) -> None:
    return
