"""Queries that stand for a value, as in `x = (SELECT …)`. More than one row of one is an error that Spark raises without any
row of the tables around it, so planning must not leave out such a query together with their files."""

from __future__ import annotations

from floeberg.spark.host.calls.own_functions import is_sparks_own
from floeberg.spark.host.execution import Execution
from floeberg.sql.queries.references import References


class RowQueries:
    """Whether a statement may have such a query: in its text, or in a view, DataFrame or SQL function that it uses. The
    functions are looked up when that is asked for the first time."""

    __slots__ = ("_execution", "_known", "_reads_views", "_references")

    def __init__(self, execution: Execution, references: References, *, reads_views: bool) -> None:
        self._execution = execution
        self._references = references
        self._reads_views = reads_views
        self._known: bool | None = None

    def __call__(self) -> bool:
        if self._known is None:
            self._known = self._look()
        return self._known

    def _look(self) -> bool:
        execution, references = self._execution, self._references
        if references.has_row_query or references.walk.others or self._reads_views or execution.has_row_query():
            return True
        if any(not isinstance(given, int | float | str) for given in execution.kwargs.values()):
            return True
        return any(not is_sparks_own(execution.spark, name) for name in sorted(references.called_functions))
