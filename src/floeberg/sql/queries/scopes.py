"""Walks a query's skeleton with the scopes that Spark resolves names in: which tables and qualifiers are ours."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from floeberg.sql.queries.expression_scan import ExpressionScan
from floeberg.sql.queries.query_nodes import (
    Body,
    Cte,
    Expression,
    Join,
    OpaqueRelation,
    Pipe,
    Query,
    QueryRelation,
    Relation,
    Select,
    SetOperation,
    TableRelation,
    Values,
)
from floeberg.sql.text.cursor import Cursor
from floeberg.sql.text.lexer import name_value
from floeberg.sql.text.names import Name, Names, TableIdentifier


@dataclass(slots=True, eq=False)
class TableUse:
    """A table of ours that is read at one place; `given_alias` is the alias that it gets when it has none."""

    relation: TableRelation
    identifier: TableIdentifier
    given_alias: str


@dataclass(frozen=True, slots=True)
class QualifierUse:
    """A column's qualifier that spells out a table's name, at its place in the text."""

    start: int
    end: int
    table: TableUse


@dataclass(frozen=True, slots=True)
class FunctionUse:
    """A call of one of our functions; the span is its name's."""

    start: int
    end: int
    identifier: TableIdentifier


@dataclass(slots=True)
class Scope:
    """The relations that one SELECT's columns come from, the scope around it, and the WITH names in sight."""

    outer: Scope | None
    ctes: dict[str, Cte]
    tables: list[TableUse] = field(default_factory=list)
    names: list[str] = field(default_factory=list)


class ScopeWalk:
    """Collects `tables`, `qualifiers` and `functions` of one statement."""

    def __init__(self, cursor: Cursor, names: Names) -> None:
        self.cursor = cursor
        self.names = names
        self.tables: list[TableUse] = []
        self.others: list[TableRelation] = []  # tables and views of Spark's own
        self.qualifiers: list[QualifierUse] = []
        self.functions: list[FunctionUse] = []
        self.ctes: list[Cte] = []
        self.recursive: set[int] = set()
        self.cte_uses: dict[int, Cte] = {}  # by the identity of the relation that reads it
        self.subqueries: list[Query] = []
        self.roots: list[Query] = []  # of a statement that is no query itself
        self.joins_after_commas = False  # taken to join all before them, too
        self.computes_by_queries = False  # whether a query stands elsewhere than in a WHERE, HAVING or ON
        self._seen: set[int] = set()
        self._tells_case: bool | None = None  # asked for at the first WITH

    def query(self, query: Query, outer: Scope | None = None) -> None:
        ctes = self._ctes(query, outer.ctes if outer else {})
        scope = self._body(query.body, Scope(outer, ctes))
        for expression in query.tail:
            self._expression(expression, scope)

    def _ctes(self, query: Query, ctes: dict[str, Cte]) -> dict[str, Cte]:
        """Walks the WITH clause; gives what is in sight after it."""
        for cte in query.ctes:
            self.ctes.append(cte)
            if query.recursive:
                self.recursive.add(id(cte))
            seen = ctes | {self._cte_key(cte.name): cte}
            self.query(cte.query, Scope(None, seen if query.recursive else ctes))
            ctes = seen
        return ctes

    def _cte_key(self, name: str) -> str:
        if self._tells_case is None:
            self._tells_case = self.names.tells_case()
        return name if self._tells_case else name.lower()

    def _body(self, body: Body, scope: Scope) -> Scope:
        """Walks a body; the scope that comes back is the one that an ORDER BY after it sees."""
        if isinstance(body, Select):
            self._select(body, scope)
        elif isinstance(body, SetOperation):
            first = self._body(body.left, Scope(scope.outer, scope.ctes))
            self._body(body.right, Scope(scope.outer, scope.ctes))
            return first
        elif isinstance(body, Pipe):
            self._pipe(body, scope)
        elif isinstance(body, Values):
            self._expression(body.rows, scope)
        elif isinstance(body, TableRelation):
            self._relation(body, scope)
        else:
            self.query(body, scope)
        return scope

    def _select(self, select: Select, scope: Scope) -> None:
        for relation in select.relations:
            self._relation(relation, scope)
        for expression in (*select.items, select.where, select.group_by, select.having, *select.others):
            if expression is not None:
                self._expression(expression, scope)
        computed = (*select.items, select.group_by, *select.others)
        self._note_computed(one for one in computed if one is not None)

    def _note_computed(self, expressions: Iterable[Expression]) -> None:
        self.computes_by_queries = self.computes_by_queries or any(one.subqueries for one in expressions)

    def _pipe(self, pipe: Pipe, scope: Scope) -> None:
        source = pipe.source
        if isinstance(source, Query):
            scope.ctes = self._ctes(source, scope.ctes)
            self._body(source.body, scope)
            for expression in source.tail:
                self._expression(expression, scope)
        for relation in pipe.relations:
            self._relation(relation, scope)
        for body in pipe.queries:
            self._body(body, Scope(scope.outer, scope.ctes))
        for step in pipe.steps:
            self._expression(step, scope)
        self._note_computed(pipe.steps)

    def _relation(self, relation: Relation, scope: Scope) -> None:
        if isinstance(relation, TableRelation):
            self._table(relation, scope)
        elif isinstance(relation, QueryRelation):
            self.query(relation.query, Scope(scope if relation.lateral else scope.outer, scope.ctes))
            self._note_alias(relation.alias.name if relation.alias else None, scope)
        elif isinstance(relation, Join):
            self.joins_after_commas = self.joins_after_commas or relation.comma
            self._relation(relation.left, scope)
            self._relation(relation.right, scope)
            if relation.on is not None:
                self._expression(relation.on, scope)
        else:
            self._opaque(relation, scope)

    def _opaque(self, relation: OpaqueRelation, scope: Scope) -> None:
        for inner in relation.relations:
            self._relation(inner, scope)
        for expression in relation.expressions:
            self._expression(expression, scope)
        self._note_alias(relation.alias.name if relation.alias else None, scope)

    def _note_alias(self, name: str | None, scope: Scope) -> None:
        if name is not None:
            scope.names.append(name.lower())

    def _table(self, relation: TableRelation, scope: Scope) -> None:
        parts = relation.name.parts
        shown = relation.alias.name if relation.alias else parts[-1]
        scope.names.append(shown.lower())
        cte = scope.ctes.get(self._cte_key(parts[0])) if len(parts) == 1 and scope.ctes else None
        if cte is not None:
            self.cte_uses.setdefault(id(relation), cte)
            return
        if relation.start in self._seen:
            return
        self._seen.add(relation.start)
        identifier = self.names.table(parts)
        if identifier is None:
            self.others.append(relation)
            return
        use = TableUse(relation, identifier, shown)
        self.tables.append(use)
        if relation.alias is None:
            scope.tables.append(use)

    def single(self, relation: TableRelation) -> None:
        """A table outside of any query that can be read."""
        self._table(relation, Scope(None, {}))

    def expression_text(self, scan: ExpressionScan, tables: Sequence[tuple[TableIdentifier, str]]) -> None:
        """Walks the whole of the cursor's tokens as one expression, over tables that stand outside of it."""
        scope = Scope(None, {})
        nowhere = Name((), -1, -1)
        for identifier, alias in tables:
            scope.tables.append(TableUse(TableRelation(nowhere, -1, -1, -1), identifier, alias))
        cursor = self.cursor
        whole = Expression(0, len(cursor.tokens) - 1)
        while cursor.index < whole.last:
            if cursor.at("("):
                scan.parenthesis(whole)
            else:
                cursor.advance()
        self._expression(whole, scope)

    def _expression(self, expression: Expression, scope: Scope) -> None:
        """Qualifiers and functions outside of the queries within, and then those queries."""
        skips = {query.first: query.last for query in expression.subqueries}
        tokens = self.cursor.tokens
        index = expression.first
        while index < expression.last:
            if index in skips:
                index = skips[index]
            elif tokens[index].is_name and (index == 0 or tokens[index - 1].upper not in (".", ":")):
                index = self._chain(index, scope)
            else:
                index += 1
        for query in expression.subqueries:
            self.subqueries.append(query)
            self.query(query, scope)

    def _chain(self, first: int, scope: Scope) -> int:
        """A dotted name in an expression; gives the index past it."""
        tokens = self.cursor.tokens
        last = first
        while tokens[last + 1].upper == "." and tokens[last + 2].is_name:
            last += 2
        after = tokens[last + 1].upper
        if last > first:
            parts = tuple(name_value(self.cursor.text(tokens[index])) for index in range(first, last + 1, 2))
            if after == "(":
                self._function(parts, first, last)
            else:
                starred = after == "." and tokens[last + 2].upper == "*"
                self._qualifier(parts if not starred else (*parts, "*"), first, scope)
        return last + 1

    def _function(self, parts: tuple[str, ...], first: int, last: int) -> None:
        identifier = self.names.table(parts) if parts[-2].lower() == "system" else None
        if identifier is not None and len(identifier.path) == 2:
            tokens = self.cursor.tokens
            self.functions.append(FunctionUse(tokens[first].start, tokens[last].end, identifier))

    def _qualifier(self, parts: tuple[str, ...], first: int, scope: Scope) -> None:
        lowered = tuple(part.lower() for part in parts)
        current: Scope | None = scope
        while current is not None:
            for use in current.tables:
                width = _qualifier_width(lowered, use.identifier)
                if not width:
                    continue
                tokens = self.cursor.tokens
                end = tokens[first + 2 * (width - 1)].end
                self.qualifiers.append(QualifierUse(tokens[first].start, end, use))
                if current.names.count(use.given_alias.lower()) > 1:
                    use.given_alias = f"{use.given_alias}__{self.tables.index(use) + 1}"
                return
            current = current.outer


def _qualifier_width(lowered: tuple[str, ...], identifier: TableIdentifier) -> int:
    """How many leading parts name the table, from its catalog or namespace on; 0 when they do not, or only by name."""
    qualified = tuple(part.lower() for part in identifier.qualified)
    for width in range(min(len(qualified), len(lowered) - 1), 1, -1):
        if lowered[:width] == qualified[-width:]:
            return width
    return 0
