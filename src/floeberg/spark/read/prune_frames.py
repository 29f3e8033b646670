"""Filters on a table's DataFrame prune files: a condition on the file's name is added to the user's condition.

The frame is never replaced, so that columns bound to it (`df.x`) keep resolving, and Spark still applies every filter. Files
that are read in Python workers cannot be pruned in this way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

from pyspark.sql import functions as F

from floeberg.expr.nodes import TRUE, AlwaysTrue, Expression, and_
from floeberg.scan.kept_plans import plan_again
from floeberg.scan.plan import plan_files
from floeberg.scan.scan_plan import ScanPlan
from floeberg.spark.host.kept_settings import ensure_field_ids
from floeberg.spark.host.settings.ambiguous_names import has_functions
from floeberg.spark.host.settings.coercion_rules import coercion_rules
from floeberg.spark.host.settings.session_settings import double_quoted_identifiers, setting_of
from floeberg.spark.read.column_conditions import conditions_of
from floeberg.spark.read.frame_registry import FrameScan, remember, scan_of
from floeberg.spark.read.joins.key_values import JoinKey, key_reference
from floeberg.spark.read.joins.pruned_files import pruned_by_keys
from floeberg.spark.read.parquet.paths import given_location
from floeberg.spark.read.parquet.scan import FILE_NAME, PlacedTask
from floeberg.spark.read.routes import Routes
from floeberg.spec.schemas.schema import walk_fields
from floeberg.sql.conditions.to_expression import to_expression

MAX_NAMES: Final = 10_000
"""More files than this are not named in a condition."""


def filtered(frame: Any, condition: Any, where: Callable[[Any, Any], Any]) -> Any:
    """`frame.where(condition)`, by the original method `where`, with files pruned if the frame is a table's own and the
    condition can be read; the result can be filtered again in the same way."""
    scan = scan_of(frame)
    if scan is not None and scan.routes.is_native:
        ensure_field_ids(frame.sparkSession)
    result = where(frame, condition)
    narrow = None if scan is None else narrowed(frame, scan, condition)
    if narrow is None:
        if scan is not None:
            # A join with the frame may read less by what its filters say, if they left out no file here.
            remember(result, replace(scan, where=and_(scan.where, _expression(frame, scan, condition))))
        return result
    fewer, names = narrow
    pruned = where(result, _condition(fewer, names))
    remember(pruned, fewer)
    return pruned


def _condition(scan: FrameScan, names: list[str]) -> Any:
    """The condition that a row's file is one of the names, or is not read by Spark's own reader."""
    if scan.own_file_name:
        # No file has an empty name. Spark would take `isin()` for false, and leave out what else the query asks: an error that
        # is due without any row, too.
        return F.col("_metadata.file_name").isin(names or [""])
    return F.col(FILE_NAME).isNull() | F.col(FILE_NAME).isin(names) if names else F.col(FILE_NAME).isNull()


def narrowed(frame: Any, scan: FrameScan, condition: Any) -> tuple[FrameScan, list[str]] | None:
    """The scan with the files that may hold rows for which the condition holds, and the names, as Spark has them, of those
    that Spark's own reader reads; None when no file is pruned."""
    if not scan.routes.is_native or scan.chosen is None:
        return None
    found = _expression(frame, scan, condition)
    if isinstance(found, AlwaysTrue):
        return None
    plan = plan_files(
        scan.table.state.metadata,
        scan.chosen,
        store_for=scan.table.pointer.store_for,
        where=and_(scan.where, found),
        cache=scan.cache,
    )
    return _with_files(frame, replace(scan, where=and_(scan.where, found)), plan)


def _expression(frame: Any, scan: FrameScan, condition: Any) -> Expression:
    """What planning takes from a condition on the frame."""
    spark = frame.sparkSession
    if scan.chosen is None or has_functions(spark, scan.chosen.schema):
        return TRUE
    columns = [field.name for field, _ in walk_fields(scan.chosen.schema.fields)]
    conditions = conditions_of(condition, columns, double_quoted=double_quoted_identifiers(spark))
    if not conditions:
        return TRUE
    return to_expression(conditions, scan.chosen.schema, **coercion_rules(partial(setting_of, spark)))


def matching(frame: Any, keys: Sequence[JoinKey], where: Callable[[Any, Any], Any]) -> Any:
    """The table's frame without files that hold none of the keys, by the original method `where`; for a use that needs rows
    with the keys alone."""
    scan = scan_of(frame)
    if scan is None or scan.chosen is None or not scan.routes.is_native:
        return frame
    references = [key_reference(key.column, scan.chosen.schema) for key in keys]
    plan = plan_again(
        scan.table.state.metadata,
        scan.chosen,
        store_for=scan.table.pointer.store_for,
        where=scan.where,
        cache=scan.cache,
        keep_metrics_of=frozenset(reference.field_id for reference in references if reference is not None),
        ignore_scheme=scan.options.ignore_scheme,
    )
    fewer, pruned_by = pruned_by_keys(plan, keys, scan.cache)
    narrow = _with_files(frame, scan, fewer) if pruned_by else None
    if narrow is None:
        return frame
    pruned = where(frame, _condition(*narrow))
    remember(pruned, replace(narrow[0], pruned_by=pruned_by))
    return pruned


def _with_files(frame: Any, scan: FrameScan, plan: ScanPlan) -> tuple[FrameScan, list[str]] | None:
    """The scan of the planned files, and the names, as Spark has them, of those that Spark's own reader reads; None when they
    are no fewer, or too many to name."""
    routes = _kept(scan.routes, plan.paths)
    if routes.files >= scan.routes.files or routes.files > MAX_NAMES:
        return None
    kept = {placed.location for placed in routes.native}
    listed = {given_location(text): text.rpartition("/")[2] for text in frame.inputFiles()}
    if not kept <= listed.keys():
        return None  # Spark reads the frame from its cache, where rows have no files
    names = {listed[location] for location in kept}
    return replace(scan, plan=plan, routes=routes), sorted(names)


def _kept(routes: Routes, paths: frozenset[str]) -> Routes:
    """The routes of the files of these paths; those in Python workers all stay."""

    def some(placed: list[PlacedTask]) -> list[PlacedTask]:
        return [one for one in placed if one.task.data_file.file_path in paths]

    return replace(
        routes,
        plain=some(routes.plain),
        with_position_deletes=some(routes.with_position_deletes),
        with_equality_deletes=some(routes.with_equality_deletes),
    )
