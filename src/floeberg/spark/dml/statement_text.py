"""Parts of a user's statement as parts of other queries: qualifiers and parameters keep their meaning there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from floeberg.spark.host.execution import Execution
from floeberg.spark.query.run import query_frame
from floeberg.sql.queries.references import Rewrite, apply_rewrites, double_braces, find_references
from floeberg.sql.text.cursor import Cursor
from floeberg.sql.text.lexer import Span
from floeberg.sql.text.names import TableIdentifier

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_PARAMETER: Final = "floeberg_parameter_"


@dataclass(slots=True)
class StatementText:
    """One statement whose conditions and values are put into queries over DataFrames.

    `scope` has the tables that unqualified or fully qualified columns may come from, each with the alias that it has in
    those queries. A `?` becomes a named parameter, because the order of the parts changes.
    """

    execution: Execution
    scope: Sequence[tuple[TableIdentifier, str]] = ()
    _cursor: Cursor = field(init=False)
    _marks: dict[int, Rewrite] = field(init=False)

    def __post_init__(self) -> None:
        self._cursor = Cursor(self.execution.sql, args=self.execution.args)
        places = [token for token in self._cursor.tokens if token.upper == "?"]
        self._marks = {
            token.start: Rewrite(token.start, token.end, f":{_PARAMETER}{number}")
            for number, token in enumerate(places)
        }

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
            cursor=Cursor(text, args=self.execution.args),
            span=(span.start, span.end),
            scope=self.scope,
            expression=True,
        )
        return f"({self._written(span, found.qualifiers)})"

    def verbatim(self, span: Span | None) -> str:
        """A part as it stands: a relation, or the WITH clause before the statement. Nothing for None."""
        return "" if span is None else self._written(span, ())

    def frame(self, text: str, **frames: Any) -> DataFrame:
        """A query as a DataFrame; `{name}` in it stands for a frame given."""
        execution = self.execution
        part = replace(execution, sql=text, args=self._arguments(), kwargs={**execution.kwargs, **frames})
        return query_frame(part, text)

    def _written(self, span: Span, rewrites: Sequence[Rewrite]) -> str:
        inside = [mark for start, mark in self._marks.items() if span.start <= start < span.end]
        # The user's text is a template only when `spark.sql` was given frames for it.
        escape = not self.execution.kwargs
        return apply_rewrites(
            self.execution.sql, [*rewrites, *inside], escape_braces=escape, span=(span.start, span.end)
        )

    def _arguments(self) -> Mapping[str, Any] | None:
        given = self.execution.args
        if isinstance(given, Sequence) and not isinstance(given, str):
            return {f"{_PARAMETER}{number}": value for number, value in enumerate(given)} or None
        assert given is None or isinstance(given, Mapping)
        return given


def literal_name(name: str) -> str:
    """A name as text between quotes, in a template."""
    escaped = name.replace("\\", "\\\\").replace("'", "\\'")
    return double_braces(f"'{escaped}'")
