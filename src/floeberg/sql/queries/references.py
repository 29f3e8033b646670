"""Finds our tables in a statement by their place in the text, and puts other text there.

Spark parses the user's own SQL: nothing is written anew but the names of our tables, the qualifiers of columns that
spell a table's full name, and the names of our functions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from floeberg.errors import InvalidInput
from floeberg.sql.queries.one_row import has_one_row
from floeberg.sql.queries.query_nodes import Alias, Query, TableRelation, TimeTravel
from floeberg.sql.queries.query_parser import QueryParser
from floeberg.sql.queries.scopes import FunctionUse, QualifierUse, ScopeWalk
from floeberg.sql.queries.statement_scan import scan_statement
from floeberg.sql.text.cursor import Args, Cursor, UnresolvedIdentifier
from floeberg.sql.text.lexer import quote_name, words
from floeberg.sql.text.names import Names, Selector, TableIdentifier, split_selector

_NO_FUNCTION: Final = words(
    "ALL AND ANY AS BETWEEN BY CASE CROSS CUBE DISTINCT ELSE EXCEPT EXISTS FILTER FROM GROUP HAVING IN INNER INSERT INTERSECT "
    "JOIN LATERAL LIKE LIMIT MINUS NOT OFFSET ON OR OVER PIVOT RLIKE ROLLUP SELECT SETS SOME THEN UNION UNPIVOT USING VALUES "
    "WHEN WHERE WITH"
)
"""Words that a parenthesis may follow without a call."""


@dataclass(frozen=True, slots=True)
class TableReference:
    """One of our tables where it is read. `sql[start:end]` is its name with time travel and options.

    `alias_at` is where an alias goes when the text gives none; `form` is relation, table_query (`TABLE t`, replaced as
    a whole) or argument (a table given to a function, where no alias may stand).
    """

    start: int
    end: int
    alias_at: int
    parts: tuple[str, ...]
    identifier: TableIdentifier
    alias: Alias | None = None
    given_alias: str = ""
    time_travel: TimeTravel | None = None
    options: tuple[tuple[str, str], ...] = ()
    form: str = "relation"

    @property
    def selector(self) -> tuple[TableIdentifier, Selector] | None:
        """The table and the branch, tag, snapshot or metadata table of it that the name means when no table has the
        full name."""
        return split_selector(self.identifier)


@dataclass(frozen=True, slots=True)
class Rewrite:
    """Text to put in the place of `sql[start:end]`."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class FunctionReference:
    """A call of a function in one of our catalogs, such as `lake.system.bucket(…)`; the span is the name's."""

    start: int
    end: int
    identifier: TableIdentifier


@dataclass(frozen=True, slots=True)
class References:
    """What of a statement is ours. `query` is the skeleton when the whole statement is a query that we can follow.

    `relations` gives the skeleton's node of each table, in the tables' order, where there is one.
    """

    tables: tuple[TableReference, ...]
    qualifiers: tuple[Rewrite, ...]
    functions: tuple[FunctionReference, ...]
    query: Query | None
    relations: tuple[TableRelation, ...]
    cursor: Cursor
    walk: ScopeWalk

    def __bool__(self) -> bool:
        return bool(self.tables or self.functions)

    @property
    def has_row_query(self) -> bool:
        """Whether a query stands for a value, as in `x = (SELECT …)`, and may have more than one row, which is an error."""
        tokens = self.cursor.tokens
        return any(
            # A query in parentheses of its own is a value of the list.
            (tokens[query.first - 2].upper not in ("IN", "EXISTS") or tokens[query.first].upper == "(")
            and not has_one_row(query, self.cursor)
            for query in self.walk.subqueries
        )

    @property
    def called_functions(self) -> frozenset[str]:
        """The names before an opening parenthesis, as they are written: of functions, and of some types and tables."""
        cursor, found = self.cursor, set()
        for number, token in enumerate(cursor.tokens[:-1]):
            if not token.is_name or token.upper in _NO_FUNCTION or cursor.tokens[number + 1].upper != "(":
                continue
            first = number
            while first > 1 and cursor.tokens[first - 1].upper == "." and cursor.tokens[first - 2].is_name:
                first -= 2
            found.add(cursor.sql[cursor.tokens[first].start : token.end])
        return frozenset(found)


def find_references(
    sql: str,
    names: Names,
    *,
    args: Args = None,
    cursor: Cursor | None = None,
    span: tuple[int, int] | None = None,
    scope: Sequence[tuple[TableIdentifier, str]] = (),
    expression: bool = False,
) -> References:
    """What is ours in a query, or in a statement that holds queries.

    `span` limits the search to a part of the text. With `expression` that part is a condition or value: `scope` lists
    the tables that its columns come from, each with the alias that it will have. Raises InvalidInput when a name cannot
    be known (IDENTIFIER of what is no constant), UnsupportedFeature when the statement is a script that writes to us.
    """
    whole = cursor or Cursor(sql, args=args)
    part = whole if span is None else whole.within(*span)
    part.index = 0
    walk = ScopeWalk(part, names)
    query = None
    if expression:
        walk.expression_text(QueryParser(part), scope)
    else:
        query = _whole_query(part)
        if query is not None:
            walk.query(query)
        else:
            scan_statement(part, walk)
    return _references(part, walk, query)


def _whole_query(cursor: Cursor) -> Query | None:
    """The skeleton when the text is one query, EXPLAIN before it allowed."""
    skip_explain(cursor)
    at = cursor.index
    try:
        query = QueryParser(cursor).query()
    except UnresolvedIdentifier:
        raise
    except InvalidInput:
        query = None
    if query is not None and cursor.at_end():
        return query
    cursor.index = at
    return None


def skip_explain(cursor: Cursor) -> None:
    """Past EXPLAIN or DESCRIBE QUERY in front of a statement."""
    if cursor.accept("EXPLAIN"):
        cursor.accept_any("LOGICAL", "FORMATTED", "EXTENDED", "CODEGEN", "COST")
    elif cursor.at_any("DESCRIBE", "DESC") and cursor.peek().upper in ("QUERY", "SELECT", "WITH", "VALUES", "FROM"):
        cursor.advance()
        cursor.accept("QUERY")


def _references(cursor: Cursor, walk: ScopeWalk, query: Query | None) -> References:
    found = sorted(walk.tables, key=lambda use: use.relation.start)
    tables = tuple(
        TableReference(
            start=use.relation.start,
            end=use.relation.end,
            alias_at=use.relation.alias_at,
            parts=use.relation.name.parts,
            identifier=use.identifier,
            alias=use.relation.alias,
            given_alias=use.given_alias,
            time_travel=use.relation.time_travel,
            options=use.relation.options,
            form=use.relation.form,
        )
        for use in found
    )
    return References(
        tables,
        tuple(_qualifier(use) for use in walk.qualifiers),
        tuple(_function(use) for use in walk.functions),
        query,
        tuple(use.relation for use in found),
        cursor,
        walk,
    )


def _qualifier(use: QualifierUse) -> Rewrite:
    return Rewrite(use.start, use.end, quote_name(use.table.given_alias))


def _function(use: FunctionUse) -> FunctionReference:
    return FunctionReference(use.start, use.end, use.identifier)


def replace_references(
    sql: str,
    references: References,
    table_text: Callable[[TableReference], str],
    *,
    function_text: Callable[[FunctionReference], str] | None = None,
    escape_braces: bool = False,
    span: tuple[int, int] | None = None,
    more: Sequence[Rewrite] = (),
) -> str:
    """The text with each table's place taken by what `table_text` gives, and `more` in their places, the rest as written.

    A reference without alias gets its own name as alias, so that its columns keep resolving. `escape_braces` doubles
    the braces of the user's text for `spark.sql("… {x} …", x=frame)`; leave it off when that text is a template
    itself.
    """
    as_written: Callable[[str], str] = double_braces if escape_braces else str
    rewrites = [*(Rewrite(use.start, use.end, as_written(use.text)) for use in (*references.qualifiers, *more))]
    for table in references.tables:
        rewrites.extend(_table_rewrites(table, table_text(table), as_written(quote_name(table.given_alias))))
    if function_text is not None:
        rewrites.extend(Rewrite(use.start, use.end, function_text(use)) for use in references.functions)
    return apply_rewrites(sql, rewrites, escape_braces=escape_braces, span=span)


def _table_rewrites(table: TableReference, text: str, given_alias: str) -> list[Rewrite]:
    if table.form == "table_query":
        return [Rewrite(table.start, table.end, f"SELECT * FROM {text} AS {given_alias}")]
    if table.alias is not None or table.form == "argument":
        return [Rewrite(table.start, table.end, text)]
    alias = f" AS {given_alias}"
    if table.alias_at == table.end:
        return [Rewrite(table.start, table.end, text + alias)]
    return [Rewrite(table.start, table.end, text), Rewrite(table.alias_at, table.alias_at, alias)]


def apply_rewrites(
    sql: str, rewrites: Sequence[Rewrite], *, escape_braces: bool = False, span: tuple[int, int] | None = None
) -> str:
    """The text, or the part of it that `span` gives, with the rewrites in their places."""
    position, end = span or (0, len(sql))
    pieces: list[str] = []
    for rewrite in sorted(rewrites, key=lambda r: (r.start, r.end)):
        kept = sql[position : rewrite.start]
        pieces.append(double_braces(kept) if escape_braces else kept)
        pieces.append(rewrite.text)
        position = rewrite.end
    kept = sql[position:end]
    pieces.append(double_braces(kept) if escape_braces else kept)
    return "".join(pieces)


def single_braces(text: str) -> str:
    """What a template gives for text without places to fill in."""
    return text.replace("{{", "{").replace("}}", "}")


def double_braces(text: str) -> str:
    """Braces doubled, so that a format template gives them back."""
    return text.replace("{", "{{").replace("}", "}}")
