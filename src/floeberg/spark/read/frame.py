"""A table as a DataFrame: planned here, read by Spark."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from pyspark.sql import functions as F

from floeberg.catalogs.base import LoadedTable
from floeberg.errors import InvalidInput
from floeberg.expr.nodes import TRUE, Expression
from floeberg.scan.frame_cache import FrameCache
from floeberg.scan.incremental import plan_appends
from floeberg.scan.kept_plans import plan_again
from floeberg.scan.projection import projected_schema
from floeberg.scan.scan_plan import ScanPlan
from floeberg.scan.snapshot_choice import SnapshotChoice, choose_snapshot
from floeberg.scan.splits import SplitOptions
from floeberg.spark.host.calls.active_session import in_own_session
from floeberg.spark.host.calls.kept_frames import KeptFrames
from floeberg.spark.host.settings.ambiguous_names import refuse_patterns
from floeberg.spark.host.settings.changed_settings import SETTINGS
from floeberg.spark.host.settings.session_settings import setting_of
from floeberg.spark.host.types.exact_types import cut_name
from floeberg.spark.host.types.spark_types import frame_field
from floeberg.spark.read.arrow_scan import arrow_frame, table_files
from floeberg.spark.read.frame_registry import FrameScan, remember
from floeberg.spark.read.joins.key_values import JoinKey, key_reference
from floeberg.spark.read.joins.pruned_files import PrunedBy, pruned_by_keys
from floeberg.spark.read.joins.row_filter import RowKeys, row_keys
from floeberg.spark.read.native_scan import NativeScan
from floeberg.spark.read.options import FrameOptions
from floeberg.spark.read.parquet.field_names import floating_ids, planned_with_nan
from floeberg.spark.read.parquet.partition_columns import all_partition_sources, planned_unsure
from floeberg.spark.read.parquet.scan import FILE_NAME, frame_of_no_files
from floeberg.spark.read.reused_frames import apart_from_cached, frame_key, keep, planned_key, reused, with_keys
from floeberg.spark.read.routes import ColumnChoice, Routes, route
from floeberg.spark.read.snapshot_range import snapshot_range
from floeberg.spec.schemas.schema import Schema


@in_own_session
def table_frame(
    spark: Any,
    table: LoadedTable,
    *,
    snapshot_id: int | None = None,
    ref: str | None = None,
    as_of_ms: int | None = None,
    where: Expression = TRUE,
    select: Sequence[str] | None = None,
    metadata_columns: Sequence[str] = (),
    options: Mapping[str, object] | None = None,
    skips_row_groups: bool = True,
    keys: Sequence[JoinKey] = (),
    keeps_one: Callable[[], bool] = bool,
    cache: FrameCache | None = None,
    kept: KeptFrames | None = None,
) -> Any:
    """The rows of a table's snapshot as a DataFrame, which keeps that snapshot for its life.

    `where` only leaves out files (and rows, where that costs nothing) that cannot match: the caller must also apply the
    condition to the frame, and join it with whatever has the `keys`, which leave out files as well, all of them or all
    but one if `keeps_one` says so. The snapshot is given here or by an option. `kept` has frames that may be used again.
    Raises InvalidInput, SnapshotNotFound, RefNotFound, UnsupportedFeature, FormatError.
    """
    parsed = FrameOptions.of(options or {}, time_zone=setting_of(spark, "spark.sql.session.timeZone", "UTC"))
    metadata = table.state.metadata
    refuse_patterns(spark, metadata.current_schema, metadata.location)
    asked = _Asked(spark, table, where, select, metadata_columns, parsed, skips_row_groups, cache)
    if parsed.is_incremental:
        if (snapshot_id, as_of_ms) != (None, None):
            raise InvalidInput(f"table {metadata.location}: an incremental read takes no snapshot or time beside it")
        plan = _plan_appends(table, parsed, ref=ref, where=where, cache=cache)
        frame, scan = asked.planned(plan, schema=plan.schema)
        remember(frame, scan)
        return frame
    chosen = choose_snapshot(
        metadata,
        snapshot_id=_one(snapshot_id, parsed.snapshot_id, "snapshot-id"),
        ref=_one(ref, parsed.ref, "branch or tag"),
        as_of_ms=_one(as_of_ms, parsed.as_of_ms, "as-of-timestamp"),
    )
    return _snapshot_frame(asked, chosen, keys, keeps_one, kept)


@dataclass(frozen=True, slots=True)
class _Asked:
    """What is asked of a table, but for the snapshot."""

    spark: Any
    table: LoadedTable
    where: Expression
    select: Sequence[str] | None
    metadata_columns: Sequence[str]
    options: FrameOptions
    skips_row_groups: bool
    cache: FrameCache | None

    def planned(
        self,
        plan: ScanPlan,
        *,
        schema: Schema,
        chosen: SnapshotChoice | None = None,
        pruned_by: tuple[PrunedBy, ...] = (),
        keys: tuple[RowKeys, ...] = (),
    ) -> tuple[Any, FrameScan]:
        """The rows of planned files, and what is known of them."""
        spark, table, options = self.spark, self.table, self.options
        projection = projected_schema(
            table.state.metadata, schema, select=self.select, metadata_columns=list(self.metadata_columns)
        )
        with SETTINGS.resolving():
            frame, routes = planned_frame(
                spark,
                table,
                plan,
                schema=schema,
                projection=projection,
                options=options,
                skips_row_groups=self.skips_row_groups,
            )
        return frame, FrameScan(
            table=table,
            chosen=chosen,
            where=self.where,
            plan=plan,
            routes=routes,
            schema=schema,
            projection=projection,
            options=options,
            skips_row_groups=self.skips_row_groups,
            cache=self.cache,
            own_file_name=routes.is_plain,
            pruned_by=pruned_by,
            keys=keys,
        )


def _snapshot_frame(
    asked: _Asked,
    chosen: SnapshotChoice,
    keys: Sequence[JoinKey],
    keeps_one: Callable[[], bool],
    kept: KeptFrames | None,
) -> Any:
    """The rows of a snapshot, as a kept frame where there is one."""
    spark, where, options = asked.spark, asked.where, asked.options
    key: Hashable = None
    if kept is not None and asked.select is None:
        key = frame_key(
            spark,
            asked.table,
            chosen,
            where,
            metadata_columns=asked.metadata_columns,
            options=options,
            skips_row_groups=asked.skips_row_groups,
        )
        if not keys and (again := reused(spark, kept, key)) is not None:
            return again
    plan = _plan(asked.table, chosen, where=where, cache=asked.cache, options=options, keys=keys)
    plan, pruned_by = pruned_by_keys(plan, keys, asked.cache, keeps_one=keeps_one)
    of_rows = row_keys(plan, keys)
    if of_rows and keeps_one():
        of_rows = ()  # an error that is due without any row might not come where no row is left
    if key is not None and (pruned_by or of_rows):
        key = planned_key(key, plan, of_rows)
    if (
        kept is not None
        and key is not None
        and keys
        and (again := reused(spark, kept, key, pruned_by, of_rows)) is not None
    ):
        return again
    frame, scan = asked.planned(plan, schema=chosen.schema, chosen=chosen, pruned_by=pruned_by, keys=of_rows)
    return _for_use(spark, frame, scan, kept, key)


def _for_use(spark: Any, frame: Any, scan: FrameScan, kept: KeptFrames | None, key: Hashable) -> Any:
    """A new frame as the caller gets it. It is kept for later uses where it has a key."""
    if kept is not None and key is not None:
        if keep(kept, key, frame, scan):
            # Every use has a plan of the same form, the first one too.
            return reused(spark, kept, key, scan.pruned_by, scan.keys) or _with_keys(spark, frame, scan)
        frame = apart_from_cached(frame)
    return _with_keys(spark, frame, scan)


def _with_keys(spark: Any, frame: Any, scan: FrameScan) -> Any:
    found, known = with_keys(spark, frame, scan)
    remember(found, known)
    return found


def _plan_appends(
    table: LoadedTable, options: FrameOptions, *, ref: str | None, where: Expression, cache: FrameCache | None
) -> ScanPlan:
    """The plan of the files that were appended in the range of snapshots that the options name."""
    metadata = table.state.metadata
    first, last = snapshot_range(metadata, options, ref=_one(ref, options.ref, "branch or tag"))
    return plan_appends(
        metadata,
        store_for=table.pointer.store_for,
        from_snapshot_id=first,
        to_snapshot_id=last,
        where=where,
        cache=cache,
    )


def with_metadata_columns(spark: Any, scan: FrameScan, columns: Sequence[str]) -> Any:
    """The rows of a scan as another DataFrame, with these metadata columns after its own."""
    table = scan.table
    plan = scan.plan
    if scan.chosen is not None:
        # A scan that was narrowed by filters has a plan without the metrics that reading needs.
        plan = _plan(table, scan.chosen, where=scan.where, cache=scan.cache, options=scan.options)
    added = projected_schema(table.state.metadata, scan.schema, select=[], metadata_columns=list(columns))
    projection = Schema(*scan.projection.fields, *added.fields, schema_id=scan.projection.schema_id)
    frame, _ = planned_frame(
        spark,
        table,
        plan,
        schema=scan.schema,
        projection=projection,
        options=scan.options,
        skips_row_groups=scan.skips_row_groups,
    )
    return frame if scan.shown is None else scan.shown(frame)


def _plan(
    table: LoadedTable,
    chosen: SnapshotChoice,
    *,
    where: Expression,
    cache: FrameCache | None,
    options: FrameOptions,
    keys: Sequence[JoinKey] = (),
) -> ScanPlan:
    metadata = table.state.metadata
    references = [key_reference(key.column, chosen.schema) for key in keys]
    key_ids = frozenset(reference.field_id for reference in references if reference is not None)
    return plan_again(
        metadata,
        chosen,
        store_for=table.pointer.store_for,
        where=where,
        cache=cache,
        keep_metrics_of=floating_ids(chosen.schema) | all_partition_sources(metadata) | key_ids,
        ignore_scheme=options.ignore_scheme,
    )


def planned_frame(
    spark: Any,
    table: LoadedTable,
    plan: ScanPlan,
    *,
    schema: Schema,
    projection: Schema,
    options: FrameOptions,
    skips_row_groups: bool,
) -> tuple[Any, Routes]:
    """The rows of planned files as one DataFrame: each group of files read by its reader. A frame of several groups, or with
    deletes, has the name of a row's file beneath its columns, where a filter still finds it; one group without deletes has
    Spark's own hidden column for that."""
    files = table_files(table, schema, ignore_scheme=options.ignore_scheme, by_name=options.by_name)
    choice = ColumnChoice(spark, table.state.metadata, schema, with_nan=planned_with_nan(plan, schema))
    unsure = planned_unsure(plan)
    routes = route(spark, plan, files, projection=projection, columns=choice, unsure=unsure, engine=options.engine)
    mixed = not routes.is_plain and routes.is_native
    scan = NativeScan(
        spark=spark,
        files=files,
        projection=projection,
        choice=choice,
        where=plan.filter,
        names_files=mixed,
        skips_row_groups=skips_row_groups,
    )
    frames = _native(scan, routes)
    if routes.by_arrow:
        splits = SplitOptions.of(table.state.metadata.properties, target_size_bytes=options.split_size_bytes)
        found = arrow_frame(spark, routes.by_arrow, files, projection, splits=splits)
        described = _described(found, projection)
        frames.append(described.select("*", F.lit(None).cast("string").alias(FILE_NAME)) if mixed else described)
    frame = reduce(lambda one, other: one.union(other), frames) if frames else _empty(spark, projection)
    return frame.drop(FILE_NAME) if mixed else frame, routes


def _native(scan: NativeScan, routes: Routes) -> list[Any]:
    """The frames of the groups that Spark's reader can read; a group whose deletes are too large goes to Arrow."""
    frames = []
    if routes.plain:
        frames.append(scan.plain(routes.plain))
    for tasks, make in (
        (routes.with_position_deletes, scan.with_position_deletes),
        (routes.with_equality_deletes, scan.with_equality_deletes),
    ):
        found = make(tasks) if tasks else None
        if found is not None:
            frames.append(found)
        else:
            for placed in tasks:
                routes.arrow(placed.task, "many position deletes")
            tasks.clear()
    return frames


def _described(frame: Any, projection: Schema) -> Any:
    """The frame's columns with their comments; names may occur twice, so columns are taken by position."""
    names = [cut_name(field) or f"c{number}" for number, field in enumerate(projection.fields)]
    fields = [frame_field(field) for field in projection.fields]
    return frame.toDF(*names).select(
        *(
            F.col(name).alias(field.name, metadata=field.metadata or {})
            for name, field in zip(names, fields, strict=True)
        )
    )


def _empty(spark: Any, projection: Schema) -> Any:
    """A scan of no files. Spark must not know beforehand that there are no rows: it would leave out what depends on them, and
    with it an error that is due without any row, as that of more than one row of `(SELECT …)`."""
    return _described(frame_of_no_files(spark, [frame_field(field) for field in projection.fields]), projection)


def _one(argument: Any, option: Any, name: str) -> Any:
    if argument is not None and option is not None and argument != option:
        raise InvalidInput(f"{name} is given twice: {argument} and {option}")
    return option if argument is None else argument
