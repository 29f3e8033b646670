"""One statement in execution: its text and parameters, the session, and the tables it has loaded so far."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from floeberg.catalogs.base import LoadedTable
from floeberg.commit.commit import Committed, commit_operations
from floeberg.commit.operation import Operation
from floeberg.spark.host.calls.originals import spark_sql
from floeberg.spark.host.name_resolution import Resolved
from floeberg.spark.host.session import AttachedSession
from floeberg.spark.host.views import ViewScope
from floeberg.sql.queries.references import single_braces
from floeberg.sql.text.cursor import Args
from floeberg.sql.text.names import SessionNames, TableIdentifier, split_selector

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(slots=True)
class Execution:
    """A statement's text with the arguments of `spark.sql`; its parameters have names. A table is loaded once, so that all
    its references in one statement see one state."""

    session: AttachedSession
    sql: str
    args: Args = None
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    loaded: dict[TableIdentifier, Resolved] = field(default_factory=dict)
    read: set[TableIdentifier] = field(default_factory=set)
    """The tables and views that queries in the statement read so far; not the table that it changes, unless they read that
    too."""
    scope: ViewScope | None = None
    """For the text of a view: what its names mean."""
    inside: tuple[TableIdentifier, ...] = ()
    """The views that the text is part of, the outermost first."""
    has_invalid_utf8: bool = False
    """Whether a constant may be a string that is not UTF-8."""
    frame_views: int = 0
    """In how many views of DataFrames the text stands, one inside another."""
    has_row_query: Callable[[], bool] = bool
    """Whether the statement, or one that this is a part of, may have a query that stands for a value."""

    @property
    def spark(self) -> SparkSession:
        return self.session.spark

    def names(self) -> SessionNames:
        return self.session.names(scope=self.scope)

    def resolve(self, identifier: TableIdentifier) -> Resolved:
        if self.kwargs:
            # The text is a template, in which names have their braces doubled.
            path = tuple(single_braces(part) for part in identifier.path)
            identifier = TableIdentifier(identifier.catalog, path)
        if self.scope is not None and len(identifier.path) == 2 and split_selector(identifier) is not None:
            return self.session.resolve(identifier, self.scope.place)  # `t.files` is another table in another namespace
        known = self.loaded.get(identifier)
        if known is None:
            known = self.loaded[identifier] = self.session.resolve(identifier)
        return known

    def of(self, sql: str) -> Execution:
        """The same for another text, which has the same parameters."""
        return replace(self, sql=sql)

    def pass_on(self) -> DataFrame:
        """Spark's answer to the statement as it is."""
        return spark_sql(self.spark, self.sql, self.args, **self.kwargs)

    def value(self, text: str, *, within: str = "{}") -> Any:
        """The value of a constant expression of the statement, computed by Spark; it replaces the braces of `within`."""
        expression = within.replace("{}", f"({text})")
        frame = spark_sql(self.spark, f"SELECT {expression} AS value", self.args)
        return frame.collect()[0][0]


def commit(table: LoadedTable, *operations: Operation) -> Committed:
    """Commits changes of a table's definition or references."""
    return commit_operations(table.pointer, table.state, operations)
