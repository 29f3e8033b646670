"""Temporary views of DataFrames: made anew at each use, over the table or view that they were derived from as it is now."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from pyspark.sql.types import StructType

from floeberg.errors import InvalidInput
from floeberg.spark.host.calls.gateway import has_variable
from floeberg.spark.host.calls.own_functions import is_temporary_function
from floeberg.spark.host.execution import Execution
from floeberg.spark.host.name_resolution import Resolved
from floeberg.spark.host.view_settings import changed_settings, under
from floeberg.spark.host.views import FrameView
from floeberg.spark.query.condition_expression import condition_expression
from floeberg.spark.query.evolved_columns import changed_columns, evolved_frame, needed_change
from floeberg.spark.query.explain import remember_sources
from floeberg.spark.query.statement_keys import keys_of
from floeberg.spark.query.view_columns import columns_as_they_are, view_frame
from floeberg.spark.query.view_scope import view_text
from floeberg.spark.read.derived_frames import DerivedOrigin, TableOrigin, ViewOrigin, origin_of, replayed, source_of
from floeberg.spark.read.frame_registry import TableFrame, plan_id, remember_steps, scan_of
from floeberg.spark.read.named_tables import frame_of, on_wap_branch, selected_schema
from floeberg.spec.schemas.schema import Schema
from floeberg.sql.conditions.predicates import Condition

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MAX_DEPTH: Final = 4
"""Each view of a DataFrame in another one may double the plan: Columns hold in it that are bound to the DataFrame as it was."""
_CALLED: Final = re.compile(r"(\w+)`?\s*\(")
ViewRows: TypeAlias = Callable[[Execution, Resolved, Sequence[Condition]], "DataFrame"]


def catalogs_of_origin(frame: Any) -> frozenset[str] | None:
    """The catalogs that a DataFrame's table or view is read from; None for a DataFrame of which neither is known."""
    source = source_of(frame)
    if isinstance(source, ViewOrigin) and source.resolved.remembered is not None:
        return source.resolved.remembered.catalogs
    return None if source is None else frozenset({source.identifier.catalog})


def reads_tables_alone(execution: Execution, resolved: Resolved) -> bool:
    """Whether a view goes on to mean what it means now: it is a DataFrame's, or its text names no other view and nothing of
    Spark's. A DataFrame keeps what such names meant when it was made, and a view of it as well."""
    if isinstance(resolved.remembered, FrameView):
        return True
    text = view_text(execution, resolved)
    if text.references.walk.others:
        return False
    return all(text.execution.resolve(table.identifier).table is not None for table in text.references.tables)


def is_of_its_time(execution: Execution, frame: Any) -> bool:
    """Whether a DataFrame has the value of a session variable, or a text of its methods calls a temporary function: at the next
    use the names may mean others. Over Spark Connect neither is known."""
    spark = execution.spark
    called: set[str] = set()
    origin = origin_of(frame)
    while isinstance(origin, DerivedOrigin):
        called.update(name for text in origin.texts() for name in _CALLED.findall(text))
        origin = origin_of(origin.parent)
    return any(is_temporary_function(spark, name) for name in sorted(called)) or has_variable(frame)


class FrameViewReader:
    """One use of a view by a statement. `view_rows` gives the rows of another view that it was derived from."""

    def __init__(self, execution: Execution, name: str, view: FrameView, view_rows: ViewRows) -> None:
        self._execution = execution
        self._session = execution.session
        self._name = name
        self._view = view
        self._view_rows = view_rows
        self._changed: dict[int, str] = {}
        """What to say of the table's columns that are not the same field any more."""

    def rows(self, conditions: Sequence[Condition] = ()) -> DataFrame:
        """The view's rows now, of which those are needed that fulfil the conditions. Raises InvalidInput when a column that it
        needs has changed."""
        frame = self._view.frame
        origin = origin_of(frame)
        assert origin is not None
        if isinstance(origin, DerivedOrigin):
            with under(self._session, changed_settings(self._session, self._view.settings)):
                found = self._bound(frame, replayed(self._session, frame, self._base))
            refused = needed_change(found, self._changed.values()) if self._changed else None
        else:
            now, _ = self._now(origin, conditions)
            refused = next(iter(self._changed.values()), None)
            found = now if refused is not None else self._bound(frame, now)
            if found is not now:
                remember_sources(found, [now])
        if refused is not None:
            raise InvalidInput(refused)
        return found

    def _now(
        self, origin: TableOrigin | ViewOrigin, conditions: Sequence[Condition] = ()
    ) -> tuple[DataFrame, Schema | None]:
        """The rows of the table or view as it is now, and the schema of a table."""
        execution, session = self._execution, self._session
        if isinstance(origin, ViewOrigin):
            if execution.frame_views >= MAX_DEPTH:
                raise InvalidInput(f"view {self._name}: views of DataFrames are nested deeper than {MAX_DEPTH}")
            inside = replace(execution, frame_views=execution.frame_views + 1)
            return self._view_rows(inside, origin.resolved, conditions), None
        loaded = execution.resolve(origin.identifier).table
        if loaded is None:
            raise InvalidInput(f"view {self._name}: {origin.identifier} was a table when it was made and is a view now")
        execution.read.add(origin.identifier)
        selection = on_wap_branch(session, loaded, origin.selection)
        if selection.metadata_table is not None:
            return frame_of(session, loaded, selection), None
        schema = selected_schema(loaded, selection)
        same_table = origin.table_uuid == loaded.state.metadata.table_uuid
        if origin.schema is not None and same_table:
            self._changed.update(changed_columns(self._name, origin.schema, schema))
        frame = frame_of(
            session,
            loaded,
            selection,
            where=condition_expression(session, conditions, schema),
            skips_row_groups=not execution.has_invalid_utf8,
            keys=keys_of(conditions),
            keeps_one=execution.has_row_query,
        )
        return frame, schema if same_table else None

    def _bound(self, frame: Any, now: DataFrame, *, own: int | None = None) -> DataFrame:
        """The rows with the columns that the DataFrame has; columns after so many of their own stay after them."""
        columns = columns_as_they_are(frame)
        if own is not None and (more := now.schema.fields[own:]):
            names = (*columns.query_names, *(field.name for field in more))
            columns = replace(columns, query_names=names, schema=StructType([*columns.schema.fields, *more]))
        return view_frame(self._session, self._name, columns, now)

    def _base(self, origin: TableOrigin | ViewOrigin, frame: Any) -> DataFrame:
        """The rows of the table or view now in the place of the DataFrame that it gave then."""
        now, schema = self._now(origin)
        shown: Callable[[Any], Any] = partial(self._bound, frame, own=len(now.columns))
        if self._changed and isinstance(origin, TableOrigin) and origin.schema is not None and schema is not None:
            shown = partial(evolved_frame, frame, origin.schema, schema, self._changed)
        found: DataFrame = shown(now)
        scan = scan_of(now)
        if found is not now and scan is not None:
            # Metadata columns that later steps name are read beneath the columns shown.
            remember_steps(found, TableFrame(replace(scan, shown=shown), plan_id(found)))
        return found
