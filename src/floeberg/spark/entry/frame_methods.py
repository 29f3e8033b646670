"""The methods of a DataFrame that resolve metadata columns, and their errors where there are none."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from pyspark.errors import PySparkException
from pyspark.sql import functions as F

from floeberg.errors import InvalidInput
from floeberg.expr.nodes import AlwaysTrue
from floeberg.scan.aggregates import row_count
from floeberg.spark.host.calls.originals import original
from floeberg.spark.host.session import session_of
from floeberg.spark.query.explain import remember_sources
from floeberg.spark.query.metadata_answers import AGGREGATE_PUSH_DOWN
from floeberg.spark.query.statement_keys import prunes_joins
from floeberg.spark.read.column_conditions import shown_column
from floeberg.spark.read.frame_registry import (
    TableFrame,
    is_connect,
    plan_id,
    remember_steps,
    scan_of,
    table_frame_of,
)
from floeberg.spark.read.hidden_frames import hidden_of, mentioned, step_of, widened
from floeberg.spark.read.joined_frames import pruned_sides
from floeberg.spark.read.parquet.file_log import is_file
from floeberg.spark.read.prune_frames import filtered, narrowed
from floeberg.spark.read.qualified_columns import qualifies, table_name, under_its_name, unqualified
from floeberg.spark.read.renamed_columns import HIDDEN_COLUMNS

Method = Callable[..., Any]

_UNRESOLVED: Final = ("UNRESOLVED_COLUMN", "NOT_NUMERIC_COLUMNS")
"""How Spark's conditions begin when a name is no column."""


def _table(frame: Any) -> TableFrame | None:
    found = table_frame_of(frame)
    return None if found is None or session_of(frame.sparkSession) is None else found


def _explained(target: Any, frame: Any, method: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """The original method; where a metadata column cannot be resolved, the error says what to do."""
    try:
        result = original(target, method)(*args, **kwargs)
        if is_connect(frame) and session_of(frame.sparkSession) is not None and mentioned((*args, *kwargs.values())):
            original(result, "schema")  # over Connect only this resolves names
    except PySparkException as error:
        unresolved = str(error.getCondition() or "").startswith(_UNRESOLVED)
        if not unresolved or session_of(frame.sparkSession) is None:
            raise
        own = {column.lower() for column in frame.columns}
        names = [name for name in mentioned((*args, *kwargs.values())) if name not in own]
        if not names:
            raise
        raise _not_here(names) from error
    return result


def _not_here(names: list[str]) -> InvalidInput:
    return InvalidInput(
        f"{', '.join(names)}: metadata columns are found on a table's DataFrame and on its where, orderBy, limit and alias. "
        f"After other methods they are gone: name them in SQL, spark.sql('SELECT {names[0]}, … FROM …'), or select them first",
        column=names[0],
    )


def _qualified(method: Method) -> Method:
    """A method that also finds columns which the table's name qualifies. A condition with such a column leaves out no files."""

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        found = _table(self)
        name = None if found is None else table_name(self, found)
        if found is None or name is None or not qualifies(name, (*args, *kwargs.values()), found):
            return method(self, *args, **kwargs)
        return method(_keeps_columns("alias")(self, name), *args, **kwargs)

    return call


def _select(self: Any, *cols: Any) -> Any:
    found = _table(self)
    items = cols[0] if len(cols) == 1 and isinstance(cols[0], list) else cols
    names = hidden_of(found, items) if found is not None else []
    if found is None or not names:
        return _explained(self, self, "select", cols, {})
    wide = widened(self, found, names)
    return original(wide.frame, "select")(*wide.items(items))


def _select_expr(self: Any, *expr: Any) -> Any:
    found = _table(self)
    items = expr[0] if len(expr) == 1 and isinstance(expr[0], list) else expr
    names = hidden_of(found, items) if found is not None else []
    if found is None or not names:
        return _explained(self, self, "selectExpr", expr, {})
    wide = widened(self, found, names)
    return original(wide.frame, "selectExpr")(*(wide.text(item) for item in items))


def _with_column(self: Any, colName: str, col: Any) -> Any:
    found = _table(self)
    names = hidden_of(found, [col]) if found is not None else []
    if found is None or not names:
        return _explained(self, self, "withColumn", (colName, col), {})
    wide = widened(self, found, names)
    return wide.narrow(original(wide.frame, "withColumn")(colName, *wide.given("withColumn", [col])), keep=[colName])


def _with_columns(self: Any, *colsMap: Any) -> Any:
    found = _table(self)
    names = hidden_of(found, colsMap) if found is not None else []
    if found is None or not names:
        return _explained(self, self, "withColumns", colsMap, {})
    wide = widened(self, found, names)
    return wide.narrow(original(wide.frame, "withColumns")(*wide.given("withColumns", colsMap)), keep=list(colsMap[0]))


def _filter(self: Any, condition: Any) -> Any:
    found = _table(self)
    if found is None:
        return _explained(self, self, "filter", (condition,), {})
    scan = scan_of(self)
    names = hidden_of(found, [condition])
    if names:
        narrow = None if scan is None else narrowed(self, scan, condition)
        if narrow is not None:
            found = TableFrame(narrow[0], found.plan_id, found.steps)
        wide = widened(self, found, names)
        result = wide.narrow(original(wide.frame, "filter")(*wide.given("filter", [condition])))
    elif scan is not None:
        result = filtered(self, condition, lambda frame, one: original(frame, "filter")(one))
        found = TableFrame(scan_of(result) or found.scan, found.plan_id, found.steps)
    else:
        result = original(self, "filter")(condition)
    return _stepped(result, found, "filter", (condition,), {})


def _count(self: Any) -> int:
    """The rows of a table's own DataFrame, from metadata where they are exact and Spark does not keep it in its cache."""
    found = None if is_connect(self) or self.is_cached else _table(self)
    session = None if found is None else session_of(self.sparkSession)
    if found is None or found.steps or session is None or session.setting(AGGREGATE_PUSH_DOWN, "true") != "true":
        return int(original(self, "count")())
    rows = row_count(found.scan.plan) if isinstance(found.scan.where, AlwaysTrue) and scan_of(self) else None
    return int(original(self, "count")()) if rows is None else rows


def _input_files(self: Any) -> list[str]:
    return [text for text in original(self, "inputFiles")() if is_file(text)]


def _keeps_columns(method: str) -> Method:
    """A method whose result has the same columns."""

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        found = _table(self)
        if found is None:
            return _explained(self, self, method, args, kwargs)
        names = hidden_of(found, args)
        if names:
            wide = widened(self, found, names)
            result = wide.narrow(original(wide.frame, method)(*wide.given(method, args), **kwargs))
        else:
            result = original(self, method)(*args, **kwargs)
        return _stepped(result, found, method, args, kwargs)

    return call


def _stepped(result: Any, found: TableFrame, method: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    step = step_of(method, args, kwargs, plan_id(result))
    remember_steps(result, TableFrame(found.scan, found.plan_id, (*found.steps, step)))
    return result


def _item(self: Any, item: Any) -> Any:
    named = isinstance(item, str) and item.lower() in HIDDEN_COLUMNS
    found = _table(self) if named or (isinstance(item, str) and "." in item) else None
    if found is not None and named and hidden_of(found, [item]):
        return F.col(item)
    if found is not None and not named and (name := table_name(self, found)) is not None:
        item = unqualified(name, item, found)
    return original(self, "__getitem__")(item)


def _attribute(self: Any, name: str) -> Any:
    found = _table(self) if name.lower() in HIDDEN_COLUMNS else None
    if found is not None and hidden_of(found, [name]):
        return F.col(name)
    return original(self, "__getattr__")(name)


def _groups(method: str) -> Method:
    def call(self: Any, *cols: Any) -> Any:
        found = _table(self)
        items = cols[0] if len(cols) == 1 and isinstance(cols[0], list) else cols
        whole = [one for one in items if (one if isinstance(one, str) else shown_column(one)).lower() in HIDDEN_COLUMNS]
        names = hidden_of(found, whole) if found is not None and whole else []
        if names:
            raise _not_here(names)
        return original(under_its_name(self, found), method)(*cols)

    return call


def _join(self: Any, other: Any, on: Any = None, how: str | None = None) -> Any:
    """A join of two tables' own frames reads no files that cannot match."""
    session = session_of(self.sparkSession)
    left, right = self, other
    if session is not None and prunes_joins(session):
        left, right = pruned_sides(
            self,
            other,
            on,
            how,
            kept=session.state.join_keys,
            where=lambda frame, one: original(frame, "filter")(one),
        )
    named = under_its_name(self, _table(self), left), under_its_name(other, _table(other), right)
    result = _explained(named[0], self, "join", (named[1], on, how), {})
    if left is not self or right is not other:
        remember_sources(result, [left, right])
    return result


def _explains(method: str) -> Method:
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        return _explained(self, self, method, args, kwargs)

    return call


def _explains_group(method: str) -> Method:
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        return _explained(self, self._df, method, args, kwargs)

    return call


METHODS: Final[dict[str, Method]] = {
    "select": _qualified(_select),
    "selectExpr": _qualified(_select_expr),
    "withColumn": _qualified(_with_column),
    "withColumns": _qualified(_with_columns),
    "filter": _qualified(_filter),
    "count": _count,
    "inputFiles": _input_files,
    **{name: _keeps_columns(name) for name in ("limit", "offset", "alias")},
    **{name: _qualified(_keeps_columns(name)) for name in ("sort", "orderBy")},
    "__getitem__": _item,
    "__getattr__": _attribute,
    **{name: _groups(name) for name in ("groupBy", "rollup", "cube")},
    "join": _join,
    "agg": _explains("agg"),
}
GROUP_METHODS: Final[dict[str, Method]] = {
    name: _explains_group(name) for name in ("agg", "avg", "max", "mean", "min", "sum")
}
