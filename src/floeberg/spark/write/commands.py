"""What a DataFrame writer or an INSERT does to a table: check, write files, commit; nothing is left when it fails."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from floeberg.catalogs.base import LoadedTable
from floeberg.commit.append import Append
from floeberg.commit.commit import Committed, commit_operations
from floeberg.commit.isolation import IsolationLevel, ReadView
from floeberg.commit.operation import Operation, Target
from floeberg.commit.overwrite import Overwrite
from floeberg.commit.replace_partitions import ReplacePartitions
from floeberg.commit.table_changes import ChangeSchema
from floeberg.errors import FloebergError, InvalidInput
from floeberg.expr.nodes import TRUE, Expression
from floeberg.spark.types import iceberg_schema_of
from floeberg.spark.write.align import Alignment, aligned
from floeberg.spark.write.job import write_data_files
from floeberg.spark.write.options import WriteOptions, write_options
from floeberg.spec.data_file import DataFile
from floeberg.storage.registry import Stores

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

WAP_ENABLED: Final = "write.wap.enabled"
WAP_ID: Final = "wap.id"


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """A DataFrame on its way into a table."""

    table: LoadedTable
    stores: Stores
    options: Mapping[str, str] = field(default_factory=dict)
    branch: str | None = None
    wap_id: str | None = None
    by_name: bool = True
    columns: Sequence[str] | None = None
    case_sensitive: bool = False
    engine_summary: Mapping[str, str] = field(default_factory=dict)


def append(frame: DataFrame, write: Write) -> Committed | None:
    """Adds rows. None when there are none to add."""
    return _run(frame, write, lambda files, target, view: Append(files=files, target=target) if files else None)


def overwrite(frame: DataFrame, write: Write, *, where: Expression = TRUE) -> Committed | None:
    """Replaces the rows that match (all by default) by those of the frame. Files that match in part are an error: the
    condition must select whole files, as partitions do."""

    def operation(files: list[DataFile], target: Target, view: ReadView | None) -> Operation:
        return Overwrite(
            added=files, row_filter=where, view=view, added_must_match_filter=where is not TRUE, target=target
        )

    return _run(frame, write, operation)


def overwrite_partitions(frame: DataFrame, write: Write) -> Committed | None:
    """Replaces every partition that the frame has rows for."""

    def operation(files: list[DataFile], target: Target, view: ReadView | None) -> Operation | None:
        return ReplacePartitions(files=files, view=view, target=target) if files else None

    return _run(frame, write, operation)


MakeOperation = Callable[[list[DataFile], Target, ReadView | None], Operation | None]


def _run(frame: DataFrame, write: Write, make: MakeOperation) -> Committed | None:
    table = write.table
    options = write_options(table.state.metadata, write.options, branch=write.branch)
    if options.merge_schema:
        table = _merged(frame, write)
    alignment = Alignment(
        table=table.state.identifier,
        schema=table.state.metadata.current_schema,
        by_name=write.by_name,
        case_sensitive=write.case_sensitive,
        given=write.columns,
    )
    rows = aligned(frame, alignment)
    files = write_data_files(rows, table, stores=write.stores, options=options)
    operation = make(files, _target(write, options, table), _view(options, table))
    if operation is None:
        return None
    try:
        return commit_operations(table.pointer, table.state, [operation], engine_summary=write.engine_summary)
    except FloebergError as error:
        if error.cleanup_safe or isinstance(error, InvalidInput):
            for file in files:
                table.pointer.store_for(file.file_path).delete(file.file_path)
        raise


def _merged(frame: DataFrame, write: Write) -> LoadedTable:
    """Adds the frame's new columns to the table first (mergeSchema)."""
    wanted = iceberg_schema_of(frame.schema)
    change = ChangeSchema(edit=lambda update: update.union_by_name(wanted), case_sensitive=write.case_sensitive)
    committed = commit_operations(write.table.pointer, write.table.state, [change])
    return replace(write.table, state=committed.state)


def _target(write: Write, options: WriteOptions, table: LoadedTable) -> Target:
    summary = dict(options.summary)
    staged = False
    if write.wap_id is not None:
        if table.state.metadata.properties.get(WAP_ENABLED, "false").lower() != "true":
            raise InvalidInput(f"table {table.state.identifier}: spark.wap.id is set, and {WAP_ENABLED} is not true")
        summary[WAP_ID] = write.wap_id
        staged = True
    return Target(branch=options.branch, stage_only=staged, summary=summary)


def _view(options: WriteOptions, table: LoadedTable) -> ReadView | None:
    """Overwrites are blind, as in the reference, unless an isolation level is asked for."""
    if options.isolation is None:
        return None
    start = options.validate_from_snapshot_id
    if start is None:
        head = table.state.metadata.snapshot_for_ref(options.branch)
        start = None if head is None else head.snapshot_id
    return ReadView(starting_snapshot_id=start, isolation=IsolationLevel(options.isolation))
