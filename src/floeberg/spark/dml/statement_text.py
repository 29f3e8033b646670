"""Parts of a user's statement as parts of other queries: qualifiers keep their meaning there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from floeberg.errors import InvalidInput
from floeberg.spark.host.execution import Execution
from floeberg.spark.query.row_queries import RowQueries
from floeberg.spark.query.run import query_frame
from floeberg.sql.queries.references import (
    References,
    Rewrite,
    apply_rewrites,
    double_braces,
    find_references,
    single_braces,
)
from floeberg.sql.text.cursor import Cursor
from floeberg.sql.text.lexer import Span
from floeberg.sql.text.names import TableIdentifier

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(slots=True)
class StatementText:
    """One statement whose conditions and values are put into queries over DataFrames.

    `scope` has the tables that unqualified or fully qualified columns may come from, each with the alias that it has in
    those queries.
    """

    execution: Execution
    scope: Sequence[tuple[TableIdentifier, str]] = ()
    _cursor: Cursor = field(init=False)
    _expressions: dict[Span, References] = field(init=False, default_factory=dict)
    """What conditions and values that were asked for refer to."""

    def __post_init__(self) -> None:
        quoted = self.execution.session.double_quoted_identifiers
        self._cursor = Cursor(self.execution.sql, args=self.execution.args, double_quoted_identifiers=quoted)

    @property
    def cursor(self) -> Cursor:
        return self._cursor

    def expression(self, span: Span) -> str:
        """A condition or value, in parentheses."""
        text = self.execution.sql
        names = self.execution.session.names()
        found = find_references(
            text,
            names,
            args=self.execution.args,
            cursor=Cursor(text, tokens=self._cursor.tokens, args=self.execution.args),
            span=(span.start, span.end),
            scope=self.scope,
            expression=True,
        )
        self._expressions[span] = found
        return f"({self._written(span, found.qualifiers)})"

    def verbatim(self, span: Span | None) -> str:
        """A part as it stands: a relation, or the WITH clause before the statement. Nothing for None."""
        return "" if span is None else self._written(span, ())

    def frame(self, text: str, **frames: Any) -> DataFrame:
        """A query as a DataFrame; `{name}` in it stands for a frame given. Raises InvalidInput where the user gave one of the
        same name."""
        execution = self.execution
        if taken := sorted(frames.keys() & execution.kwargs.keys()):
            raise InvalidInput(f"{taken[0]} stands for rows of the statement's own; give the frame another name")
        if not frames and not execution.kwargs:
            # Without frames Spark takes the text as it is, not as a template.
            text = single_braces(text)
        part = replace(execution, sql=text, kwargs={**execution.kwargs, **frames})
        return query_frame(part, text)

    def has_row_query(self) -> bool:
        """Whether the conditions and values so far may have a query that stands for a value: more than one row of it is an
        error, though the changed table may have no row that needs it."""
        if self._cursor.tokens[0].upper == "WITH":
            return True
        return any(self._may_have_row_query(references) for references in self._expressions.values())

    def _may_have_row_query(self, references: References) -> bool:
        execution = self.execution
        reads_views = any(execution.resolve(table.identifier).table is None for table in references.tables)
        return RowQueries(execution, references, reads_views=reads_views)()

    def _written(self, span: Span, rewrites: Sequence[Rewrite]) -> str:
        # The user's text is a template only when `spark.sql` was given frames for it.
        escape = not self.execution.kwargs
        if escape:
            rewrites = [replace(one, text=double_braces(one.text)) for one in rewrites]
        return apply_rewrites(self.execution.sql, rewrites, escape_braces=escape, span=(span.start, span.end))
