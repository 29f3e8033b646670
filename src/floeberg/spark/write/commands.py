"""Writes of DataFrame writers and INSERT: check, write files, commit; a failure leaves nothing behind."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from floeberg.catalogs.base import LoadedTable
from floeberg.commit.append import Append
from floeberg.commit.commit import Committed, commit_operations
from floeberg.commit.isolation import IsolationLevel, ReadView
from floeberg.commit.operation import Operation, SnapshotTarget
from floeberg.commit.overwrite import Overwrite
from floeberg.commit.replace_partitions import ReplacePartitions
from floeberg.errors import FloebergError, InvalidInput, NotFound
from floeberg.expr.nodes import TRUE, Expression
from floeberg.row_changes.policy import refuse_encrypted
from floeberg.row_changes.schema_evolution import evolve_schema
from floeberg.spark.host import destination as destinations
from floeberg.spark.host.calls.active_session import in_own_session
from floeberg.spark.host.destination import destination
from floeberg.spark.host.engine_summary import engine_summary
from floeberg.spark.host.types.spark_types import iceberg_schema_for
from floeberg.spark.write.align import Alignment, aligned
from floeberg.spark.write.geo_values import with_wkb
from floeberg.spark.write.job import write_data_files
from floeberg.spark.write.matching_files import matching_files
from floeberg.spark.write.once import once_of
from floeberg.spark.write.options import WriteOptions, names_txn, session_write_options, write_options
from floeberg.spec.snapshots.manifest_entry import DataFile
from floeberg.storage.registry import Stores

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

WAP_ENABLED: Final = destinations.WAP_ENABLED


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """A DataFrame to be written to a table. `stores` are those of the table's pointer by default; the session's settings for
    write-audit-publish apply whether or not `wap_id` is given."""

    table: LoadedTable
    stores: Stores | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    branch: str | None = None
    wap_id: str | None = None
    by_name: bool = True
    columns: Sequence[str] | None = None
    case_sensitive: bool = False
    engine_summary: Mapping[str, str] = field(default_factory=dict)
    content: str | None = None
    """Identifies what the version of the write's transaction holds, where it has one."""
    settings: Mapping[str, str] | None = None
    """The session's settings, where they are known already: to ask for them takes a hundred calls of the JVM."""


@in_own_session
def append(frame: DataFrame, write: Write) -> Committed | None:
    """Adds rows. None when there are none to add."""
    return _run(frame, write, lambda files, target, view: Append(files=files, target=target) if files else None)


@in_own_session
def overwrite(frame: DataFrame, write: Write, *, where: Expression = TRUE) -> Committed | None:
    """Replaces the rows that match (all by default) by those of the frame. Files that match in part are an error: the
    condition must select whole files, as partitions do."""

    def operation(files: list[DataFile], target: SnapshotTarget, view: ReadView | None) -> Operation:
        # Rows outside the condition are accepted, as in the reference implementation.
        return Overwrite(added=files, row_filter=where, view=view, target=target)

    return _run(frame, write, operation)


@in_own_session
def overwrite_matching(frame: DataFrame, write: Write, condition: Any) -> Committed | None:
    """Replaces the rows that match a condition of Spark's, which is evaluated on the table's rows: nothing is written when it
    matches a part of a file. Raises InvalidInput, and ValidationConflict when another commit came first."""
    asked = _in_session(frame, write)
    options = write_options(write.table.state.metadata, asked.options, branch=write.branch)
    where = destination(frame.sparkSession, write.table.state.metadata, branch=_branch(asked, options))
    found = matching_files(frame.sparkSession, write.table, condition, branch=where.read_branch)

    def operation(files: list[DataFile], target: SnapshotTarget, view: ReadView | None) -> Operation | None:
        if not files and not found.files:
            return None
        start = found.snapshot_id if options.validate_from_snapshot_id is None else options.validate_from_snapshot_id
        read = ReadView(starting_snapshot_id=start)
        return Overwrite(added=files, removed=found.files, view=read, target=target)

    return _run(frame, write, operation)


@in_own_session
def overwrite_partitions(frame: DataFrame, write: Write) -> Committed | None:
    """Replaces every partition that the frame has rows for."""

    def operation(files: list[DataFile], target: SnapshotTarget, view: ReadView | None) -> Operation | None:
        return ReplacePartitions(files=files, view=view, target=target) if files else None

    return _run(frame, write, operation)


MakeOperation = Callable[[list[DataFile], SnapshotTarget, ReadView | None], Operation | None]


def _run(frame: DataFrame, write: Write, make: MakeOperation) -> Committed | None:
    base = write.table
    session = None if names_txn(write.options) else frame.sparkSession
    write = _in_session(frame, write)
    refuse_encrypted(base.state.metadata)
    options = write_options(base.state.metadata, write.options, branch=write.branch)
    where = destination(frame.sparkSession, base.state.metadata, branch=_branch(write, options))
    once = once_of(where, options.txn, session=session, content=write.content)
    if once is not None and (skipped := once.skip(base.pointer)) is not None:
        return skipped
    first: list[Operation] = [*where.operations_before]
    table = base
    if options.merge_schema:
        table, changes = _merged(frame, write)
        first += changes
        options = write_options(table.state.metadata, write.options, branch=write.branch)
    schema = table.state.metadata.current_schema
    names = None if write.by_name else write.columns or [field.name for field in schema.fields]
    rows = aligned(
        with_wkb(frame, schema, names=names, table=table.state.identifier),
        Alignment(
            table=table.state.identifier,
            schema=schema,
            by_name=write.by_name,
            case_sensitive=write.case_sensitive,
            given=write.columns,
            fills=options.merge_schema or options.accepts_any_schema,
            new_ids={field.field_id for field in schema.fields} - base.state.metadata.current_schema.by_id.keys(),
        ),
    )
    files = write_data_files(rows, table, stores=write.stores, options=options)
    operation = make(files, where.snapshot_target(dict(options.summary)), _view(options, table))
    operations = [*first, *([] if operation is None else [operation])]
    if not operations and once is None:
        return None
    summary = {**engine_summary(frame.sparkSession), **write.engine_summary}
    transaction = None if once is None else once.transaction
    try:
        committed = commit_operations(base.pointer, base.state, operations, engine_summary=summary, once=transaction)
    except FloebergError as error:
        if error.cleanup_safe or isinstance(error, InvalidInput | NotFound):
            for file in files:
                base.pointer.store_for(file.file_path).delete(file.file_path)
        raise
    return committed if once is None else once.ended(committed, written=files, pointer=base.pointer)


def _in_session(frame: DataFrame, write: Write) -> Write:
    """The write with the options that the session's settings give every write."""
    settings = frame.sparkSession.conf.getAll if write.settings is None else write.settings
    return replace(write, options=session_write_options(settings, write.options))


def _branch(write: Write, options: WriteOptions) -> str | None:
    """The branch that the write itself names, if any."""
    named = write.branch is not None or any(key.lower() == "branch" for key in write.options)
    return options.branch if named else None


def _merged(frame: DataFrame, write: Write) -> tuple[LoadedTable, list[Operation]]:
    """The table with the frame's new columns (mergeSchema), and the operations that add them in the commit of the rows."""
    state = write.table.state
    rows = iceberg_schema_for(frame.schema, state.metadata.current_schema, case_sensitive=write.case_sensitive)
    evolved = evolve_schema(state.metadata, rows, case_sensitive=write.case_sensitive)
    return LoadedTable(write.table.pointer, replace(state, metadata=evolved.metadata)), [*evolved.operations]


def _view(options: WriteOptions, table: LoadedTable) -> ReadView | None:
    """Overwrites are blind, as in the reference, unless an isolation level is asked for."""
    if options.isolation is None:
        return None
    start = options.validate_from_snapshot_id
    if start is None:
        head = table.state.metadata.snapshot_for_ref(options.branch)
        start = None if head is None else head.snapshot_id
    return ReadView(starting_snapshot_id=start, isolation=IsolationLevel(options.isolation))
