"""One statement on its way: its text and parameters, the session, and the tables it has loaded so far."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from floeberg.catalogs.base import LoadedTable
from floeberg.commit.commit import Committed, commit_operations
from floeberg.commit.operation import Operation
from floeberg.spark.host.originals import spark_sql
from floeberg.spark.host.session import AttachedSession, Resolved
from floeberg.sql.text.cursor import Args, Cursor
from floeberg.sql.text.names import TableIdentifier

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(slots=True)
class Execution:
    """A statement's text with what `spark.sql` was given for it. A table is loaded once, so that all its references in
    one statement see one state."""

    session: AttachedSession
    sql: str
    args: Args = None
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    loaded: dict[TableIdentifier, Resolved] = field(default_factory=dict)
    read: set[TableIdentifier] = field(default_factory=set)
    """The tables that queries in the statement read so far; not the one that it changes, unless they read that too."""

    @property
    def spark(self) -> SparkSession:
        return self.session.spark

    def resolve(self, identifier: TableIdentifier) -> Resolved:
        known = self.loaded.get(identifier)
        if known is None:
            known = self.loaded[identifier] = self.session.resolve(identifier)
        return known

    def of(self, sql: str) -> Execution:
        """The same for another text, which has the same parameters."""
        return Execution(self.session, sql, self.args, self.kwargs, self.loaded, self.read)

    def pass_on(self) -> DataFrame:
        """Spark's answer to the statement as it is."""
        return spark_sql(self.spark, self.sql, self.args, **self.kwargs)

    def value(self, text: str, *, start: int | None = None, within: str = "{}") -> Any:
        """What Spark makes of a constant expression of the statement, put in the place of the braces of `within`; `start`
        is its place in the statement, which tells the number of a `?` in it."""
        expression = within.replace("{}", f"({text})")
        frame = spark_sql(self.spark, f"SELECT {expression} AS value", self.args_within(text, start))
        return frame.collect()[0][0]

    def args_within(self, text: str, start: int | None) -> Args:
        """The parameters of a part of the statement."""
        if not isinstance(self.args, list) or start is None:
            return self.args
        tokens = Cursor(self.sql).tokens
        before = sum(1 for token in tokens if token.upper == "?" and token.start < start)
        inside = sum(1 for token in tokens if token.upper == "?" and start <= token.start < start + len(text))
        return self.args[before : before + inside] or None


def commit(table: LoadedTable, *operations: Operation) -> Committed:
    """Commits changes of a table's definition or references."""
    return commit_operations(table.pointer, table.state, operations)
