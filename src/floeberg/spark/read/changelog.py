"""Changelogs as DataFrames: which rows came and went between two snapshots.

Files are read by Spark's Python workers, those of one snapshot and partition in one task, which leaves out the rows that a
rewrite only carried over. Where rows of several tasks must be compared, Spark brings equal ones together: for net changes, and
for rewrites that are too large for one task, by the rows; for update images by the identifier columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from floeberg.arrow.scan.changelog import changelog_schema, read_changes
from floeberg.catalogs.base import LoadedTable
from floeberg.errors import InvalidInput
from floeberg.expr.nodes import TRUE, Expression
from floeberg.scan.change_form import ALL_CHANGES, TRUE_CHANGES, ChangeForm
from floeberg.scan.changelog import ChangelogPlan, plan_changelog
from floeberg.scan.changelog_tasks import ChangelogTask, independent_groups
from floeberg.scan.frame_cache import FrameCache
from floeberg.scan.projection import projected_schema
from floeberg.spark.host.types.spark_types import frame_schema
from floeberg.spark.read.arrow_scan import table_files
from floeberg.spark.read.local_frame import arrow_local_frame
from floeberg.spark.read.options import FrameOptions
from floeberg.spark.read.snapshot_range import snapshot_range
from floeberg.spark.workers.changelog import ChangeReader, SettledChanges
from floeberg.spark.workers.check import check_workers
from floeberg.spark.workers.in_workers import map_in_workers
from floeberg.spark.workers.scan import TableFiles
from floeberg.spark.workers.stores import WorkerStores
from floeberg.spec.schemas.metadata_columns import CHANGE_ORDINAL
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.types import UnknownType, VariantType
from floeberg.sql.text.lexer import quote_name

_MOST_IN_ONE_TASK_BYTES: Final = 256 << 20
"""Up to so many bytes of files are compared by one task; their rows take several times as much memory."""
_TASK_BYTES: Final = 16 << 20
_LEAST_TASKS: Final = 16
"""Groups are spread over so many tasks, or over one for each so many bytes."""


def changelog_frame(
    spark: Any,
    table: LoadedTable,
    *,
    where: Expression = TRUE,
    select: Sequence[str] | None = None,
    options: Mapping[str, object] | None = None,
    form: ChangeForm = TRUE_CHANGES,
    cache: FrameCache | None = None,
) -> Any:
    """The table's columns with `_change_type`, `_change_ordinal` and `_commit_snapshot_id`; the range is that of an
    incremental read (start-snapshot-id, end-snapshot-id, start-timestamp, end-timestamp), all by default.

    Raises InvalidInput, SnapshotNotFound.
    """
    parsed = FrameOptions.of(options or {}, time_zone=str(spark.conf.get("spark.sql.session.timeZone", "UTC")))
    metadata = table.state.metadata
    if parsed.snapshot_id is not None or parsed.as_of_ms is not None or parsed.ref is not None:
        raise InvalidInput("changes are of a range of snapshots; give start-snapshot-id and end-snapshot-id as options")
    first, last = snapshot_range(metadata, parsed, needs_start=False)
    plan = plan_changelog(
        metadata,
        store_for=table.pointer.store_for,
        from_snapshot_id=first,
        to_snapshot_id=last,
        where=where,
        cache=cache,
    )
    projection = projected_schema(metadata, plan.schema, select=select)
    files = table_files(table, plan.schema, ignore_scheme=parsed.ignore_scheme, by_name=parsed.by_name)
    if not isinstance(files.stores.stores, WorkerStores):
        batches = read_changes(plan.tasks, files.reader(), projection, form=form)
        return arrow_local_frame(spark, batches, changelog_schema(projection))
    check_workers(spark)
    return _in_workers(spark, plan, files, projection, form)


def _in_workers(spark: Any, plan: ChangelogPlan, files: TableFiles, projection: Schema, form: ChangeForm) -> Any:
    groups = tuple(independent_groups(plan.tasks))
    is_large = any(len(group) > 1 and _size_bytes(group) > _MOST_IN_ONE_TASK_BYTES for group in groups)
    if form.keep_carried_over or is_large:
        groups = tuple((task,) for task in plan.tasks)
    if form.keep_carried_over or not (is_large or form.joins_groups):
        return _read(spark, files, groups, projection, form)
    changes = _read(spark, files, groups, plan.schema, ALL_CHANGES if is_large else TRUE_CHANGES)
    together = changes.repartition(*_distribution(plan.schema, form))
    found = map_in_workers(together, SettledChanges(form=form), changes.schema)
    return found.select(*(quote_name(field.name) for field in changelog_schema(projection).fields))


def _read(
    spark: Any, files: TableFiles, groups: tuple[tuple[ChangelogTask, ...], ...], columns: Schema, form: ChangeForm
) -> Any:
    reader = ChangeReader(table=files, groups=groups, projection=columns, form=form)
    wanted = max(_LEAST_TASKS, sum(_size_bytes(group) for group in groups) // _TASK_BYTES)
    numbers = spark.range(0, len(groups), 1, max(1, min(len(groups), wanted)))
    return map_in_workers(numbers, reader, frame_schema(changelog_schema(columns)))


def _size_bytes(group: Sequence[ChangelogTask]) -> int:
    return sum(task.data_file.file_size_in_bytes for task in group)


def _distribution(schema: Schema, form: ChangeForm) -> list[Any]:
    """The columns by which rows that are compared come together: equal rows are equal in them. Spark has no hash of maps,
    and those of other nested values are not needed."""
    if form.identifier_columns:
        return [quote_name(name) for name in form.identifier_columns]
    flat = [
        quote_name(field.name)
        for field in schema.fields
        if field.type.is_primitive and not isinstance(field.type, (VariantType, UnknownType))
    ]
    ordinal = [] if form.net_changes else [CHANGE_ORDINAL.name]
    return [*flat, *ordinal] or [1]
