"""Rewriting delete files: small position delete files are merged, become deletion vectors on v3, and equality deletes are
converted to deletes by position. No row changes. https://iceberg.apache.org/spec/#row-level-deletes"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from floeberg.arrow.formats.write_properties import write_properties
from floeberg.arrow.scan.execute import TableReader, table_reader
from floeberg.arrow.write.table_writer import TableWriter
from floeberg.commit.commit import commit_operations, proves_nothing_landed
from floeberg.commit.operation import SnapshotTarget
from floeberg.commit.pointer import TablePointer, TableState
from floeberg.commit.producer import branch_head
from floeberg.commit.remove_dangling_deletes import RemoveDanglingDeletes
from floeberg.commit.rewrite_files import RewriteFiles
from floeberg.commit.workspace import Workspace
from floeberg.effects.progress import Progress
from floeberg.errors import FileNotFound, InvalidInput, ValidationConflict
from floeberg.expr.bind import bind
from floeberg.expr.nodes import TRUE, Expression
from floeberg.maintenance.rewrite.engine import RewriteEngine
from floeberg.maintenance.rewrite.equality_deletes import converted_deletes
from floeberg.maintenance.rewrite.options import FileSizes, OptionReader
from floeberg.maintenance.rewrite.position_deletes import merged_deletes
from floeberg.row_changes.deletes import WrittenDeletes
from floeberg.row_changes.policy import refuse_encrypted
from floeberg.scan.plan import plan_files
from floeberg.scan.snapshot_choice import choose_snapshot
from floeberg.scan.tasks import FileScanTask
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.snapshots.manifest_entry import DataFile, FileContent, ManifestContent, ManifestEntry
from floeberg.spec.snapshots.refs import MAIN_BRANCH
from floeberg.spec.snapshots.snapshot import Snapshot

_MOST_RUNS: Final = 6
"""How often a rewrite is planned anew when other commits contradict it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteRewriteOptions:
    """Which position delete files are merged."""

    sizes: FileSizes
    min_input_files: int = 5
    rewrite_all: bool = False

    @classmethod
    def of(cls, metadata: TableMetadata, options: Mapping[str, str]) -> DeleteRewriteOptions:
        """The options laid over the table's properties. Raises InvalidInput for one that is unknown or makes no sense."""
        reader = OptionReader("rewrite_position_delete_files", options)
        parsed = cls(
            sizes=reader.sizes(write_properties(metadata.properties, deletes=True).target_file_bytes),
            min_input_files=reader.integer("min-input-files", 5, least=1),
            rewrite_all=reader.flag("rewrite-all"),
        )
        # One commit of small files needs neither groups nor parts: these are taken, and change nothing.
        reader.flag("partial-progress.enabled")
        reader.optional("partial-progress.max-commits", least=1)
        reader.optional("max-concurrent-file-group-rewrites", least=1)
        reader.optional("max-file-group-size-bytes", least=1)
        reader.choice("rewrite-job-order", "none", ("none", "bytes-asc", "bytes-desc", "files-asc", "files-desc"))
        reader.finish()
        return parsed


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteRewriteRequest:
    """What to rewrite. `where` chooses deletes that apply to data files that may hold matching rows."""

    where: Expression = TRUE
    options: Mapping[str, str] = field(default_factory=dict)
    branch: str = MAIN_BRANCH
    case_sensitive: bool = True
    engine_summary: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RewrittenDeletes:
    """The table after a rewrite of delete files, and what was done. Dangling files that were dropped count as rewritten."""

    state: TableState
    rewritten_delete_files: int = 0
    added_delete_files: int = 0
    rewritten_bytes: int = 0
    added_bytes: int = 0
    snapshots: tuple[Snapshot, ...] = ()

    def and_then(self, later: RewrittenDeletes) -> RewrittenDeletes:
        """What this rewrite and a later one did together."""
        return RewrittenDeletes(
            state=later.state,
            rewritten_delete_files=self.rewritten_delete_files + later.rewritten_delete_files,
            added_delete_files=self.added_delete_files + later.added_delete_files,
            rewritten_bytes=self.rewritten_bytes + later.rewritten_bytes,
            added_bytes=self.added_bytes + later.added_bytes,
            snapshots=(*self.snapshots, *later.snapshots),
        )


@dataclass(frozen=True, slots=True)
class LiveDeletes:
    """The live files of a branch as a rewrite of deletes needs them: every data file that has deletes, with all of them,
    and every delete file. `chosen` are the delete files that the condition asks for."""

    start: Snapshot
    tasks: Sequence[FileScanTask]
    entries: Sequence[ManifestEntry]
    chosen: frozenset[object]


def rewrite_position_deletes(
    pointer: TablePointer, state: TableState, request: DeleteRewriteRequest, *, progress: Progress | None = None
) -> RewrittenDeletes:
    """Merges position delete files of each partition, turns those of v3 tables into deletion vectors, and drops deletes that
    delete nothing. Raises InvalidInput before any work, ValidationConflict when other commits contradict it again and again."""
    options = DeleteRewriteOptions.of(state.metadata, request.options)

    def plan(found: LiveDeletes, reader: TableReader, writer: TableWriter) -> _Planned:
        merged = merged_deletes(
            found.tasks,
            [entry for entry in found.entries if entry.data_file.identity in found.chosen],
            reader=reader,
            writer=writer,
            is_worth=lambda files: _is_worth(files, options),
        )
        return _Planned(merged.deletes, merged.data_sequence_number)

    done = _run(pointer, state, request, plan, progress=progress)
    return _without_dangling(pointer, done, request)


def convert_equality_deletes(
    pointer: TablePointer,
    state: TableState,
    engine: RewriteEngine,
    request: DeleteRewriteRequest,
    *,
    progress: Progress | None = None,
) -> RewrittenDeletes:
    """Replaces equality deletes by position deletes (v2) or deletion vectors (v3) of the rows that they delete, in one
    commit. Raises as `rewrite_position_deletes`."""
    if request.options:
        raise InvalidInput(f"convert_equality_deletes takes no options: {min(request.options)!r:.60}")

    def plan(found: LiveDeletes, reader: TableReader, writer: TableWriter) -> _Planned:
        equality = [
            entry.data_file
            for entry in found.entries
            if entry.data_file.content is FileContent.EQUALITY_DELETES and entry.data_file.identity in found.chosen
        ]
        return _Planned(converted_deletes(found.tasks, equality, reader=reader, writer=writer, engine=engine))

    done = _run(pointer, state, request, plan, progress=progress)
    return _without_dangling(pointer, done, request)


@dataclass(frozen=True, slots=True)
class _Planned:
    deletes: WrittenDeletes
    data_sequence_number: int | None = None


_Plan = Callable[[LiveDeletes, TableReader, TableWriter], _Planned]


def _run(
    pointer: TablePointer,
    state: TableState,
    request: DeleteRewriteRequest,
    plan: _Plan,
    *,
    progress: Progress | None,
) -> RewrittenDeletes:
    """Plans, writes and commits, anew on the newest state when another commit contradicts it."""
    refuse_encrypted(state.metadata)
    bind(request.where, state.metadata.current_schema, case_sensitive=request.case_sensitive)
    branch_head(state.metadata, request.branch, Workspace(pointer))
    for run in range(1, _MOST_RUNS + 1):
        try:
            return _once(pointer, state, request, plan, progress=progress)
        except ValidationConflict as conflict:
            if run == _MOST_RUNS or conflict.context.get("retry_can_help") is not True:
                raise
            state = pointer.refresh()
        except FileNotFound:
            newest = (
                pointer.refresh()
            )  # another process may have removed the files that were planned, and their snapshots
            if run == _MOST_RUNS or newest.metadata_location == state.metadata_location:
                raise
            state = newest
    raise AssertionError("the last run returns or raises")


def _once(
    pointer: TablePointer,
    state: TableState,
    request: DeleteRewriteRequest,
    plan: _Plan,
    *,
    progress: Progress | None,
) -> RewrittenDeletes:
    metadata = state.metadata
    found = live_deletes(pointer, metadata, request)
    if found is None:
        return RewrittenDeletes(state=state)
    writer = TableWriter(metadata, pointer.store_for, pointer.effects.ids.uuid())
    reader = table_reader(metadata, metadata.current_schema, store_for=pointer.store_for)
    try:
        planned = plan(found, reader, writer)
        removed, added = planned.deletes.removed, planned.deletes.added
        if not removed:
            return RewrittenDeletes(state=state)
        if progress is not None:
            progress("delete files rewritten", len(removed))
        operation = RewriteFiles(
            removed=removed,
            added=added,
            starting_snapshot_id=found.start.snapshot_id,
            deletes_data_sequence_number=planned.data_sequence_number,
            target=SnapshotTarget(branch=request.branch),
        )
        committed = commit_operations(pointer, state, [operation], engine_summary=request.engine_summary)
    except BaseException as error:
        if proves_nothing_landed(error):
            writer.discard()
        raise
    return RewrittenDeletes(
        state=committed.state,
        rewritten_delete_files=len(removed),
        added_delete_files=len(added),
        rewritten_bytes=sum(map(_size, removed)),
        added_bytes=sum(map(_size, added)),
        snapshots=committed.snapshots,
    )


def live_deletes(pointer: TablePointer, metadata: TableMetadata, request: DeleteRewriteRequest) -> LiveDeletes | None:
    """The data files of a branch that have deletes, and the delete files; None where there are no delete files."""
    chosen = replace(choose_snapshot(metadata, ref=request.branch), schema=metadata.current_schema)
    if chosen.snapshot is None:
        return None
    workspace = Workspace(pointer)
    entries = [
        entry
        for manifest in workspace.manifests(chosen.snapshot, metadata)
        if manifest.content is ManifestContent.DELETES
        for entry in workspace.live_entries(manifest, metadata)
    ]
    if not entries:
        return None
    everything = plan_files(metadata, chosen, store_for=pointer.store_for, all_deletes=True)
    asked = frozenset(entry.data_file.identity for entry in entries)
    if request.where is not TRUE:
        wanted = plan_files(
            metadata,
            chosen,
            store_for=pointer.store_for,
            where=request.where,
            case_sensitive=request.case_sensitive,
            all_deletes=True,
        )
        asked = frozenset(delete.file.identity for delete in wanted.delete_files)
    tasks = [task for task in everything if task.deletes]
    return LiveDeletes(start=chosen.snapshot, tasks=tasks, entries=entries, chosen=asked)


def _is_worth(files: Sequence[DataFile], options: DeleteRewriteOptions) -> bool:
    size = sum(map(_size, files))
    if options.rewrite_all:
        return True
    if len(files) > 1 and (len(files) >= options.min_input_files or size > options.sizes.target_bytes):
        return True
    return size > options.sizes.max_bytes


def _without_dangling(pointer: TablePointer, done: RewrittenDeletes, request: DeleteRewriteRequest) -> RewrittenDeletes:
    operation = RemoveDanglingDeletes(target=SnapshotTarget(branch=request.branch))
    committed = commit_operations(pointer, done.state, [operation], engine_summary=request.engine_summary)
    dropped = sum(int(one.summary.get("removed-delete-files", "0")) for one in committed.snapshots)
    return replace(
        done,
        state=committed.state,
        rewritten_delete_files=done.rewritten_delete_files + dropped,
        snapshots=(*done.snapshots, *committed.snapshots),
    )


def _size(file: DataFile) -> int:
    return file.content_size_in_bytes or file.file_size_in_bytes
