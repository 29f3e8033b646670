"""Metadata columns (`_file`, `_pos` …) in a query: hidden, as Spark hides them, from all that does not name them.

A DataFrame can hide no column. So a table whose metadata columns are named is given with them under names that no other
reference of the statement has: no join, set operation or name can meet them by chance. Each name that Spark would resolve
to a metadata column becomes that name, and every star that would see it leaves it out. (One struct for all of them would
keep their names, but Spark's optimizer mistakes members of structs below unions and semi joins.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Final

from floeberg.sql.queries.column_sources import ColumnSources
from floeberg.sql.queries.hidden_names import NameReader
from floeberg.sql.queries.hidden_pipes import PipeReader
from floeberg.sql.queries.hidden_scopes import Leaf, Scope, qualifiers_of, tables_beneath
from floeberg.sql.queries.hidden_uses import HiddenColumns, HiddenColumnUses, TableColumns
from floeberg.sql.queries.query_nodes import (
    Body,
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
from floeberg.sql.queries.references import References
from floeberg.sql.text.lexer import name_value

NOTHING: Final = HiddenColumns({}, {}, ())


def names_any(references: References, known: Iterable[str]) -> bool:
    """Whether a name of these stands anywhere in the text."""
    names = set(known)
    cursor = references.cursor
    return any(token.is_name and name_value(cursor.text(token)).lower() in names for token in cursor.tokens)


def hidden_columns(
    references: References,
    columns: Sequence[TableColumns],
    of_spark: Callable[[tuple[str, ...]], frozenset[str] | None],
) -> HiddenColumns:
    """Which metadata columns each reference is asked for; `columns` has those of each. Raises InvalidInput for a name that
    may be a column of several relations, UnsupportedFeature where a metadata column cannot be hidden."""
    walk = _Walk(references, columns, of_spark)
    for query in [references.query] if references.query is not None else references.walk.roots:
        walk.query(query, None)
    return walk.uses.result()


class _Walk:
    """Walks over the queries and relations of a statement, and reads every expression in its scope."""

    def __init__(
        self,
        references: References,
        columns: Sequence[TableColumns],
        of_spark: Callable[[tuple[str, ...]], frozenset[str] | None],
    ) -> None:
        self.references = references
        self.cursor = references.cursor
        self.columns = columns
        self.numbers = {id(relation): number for number, relation in enumerate(references.relations)}
        own = {id(relation): columns[number].own for number, relation in enumerate(references.relations)}
        self.sources = ColumnSources(references.cursor, own, references.walk.cte_uses, of_spark)
        self.uses = HiddenColumnUses(references, columns)
        self.names = NameReader(self.uses, self.sources)
        self.pipes = PipeReader(self, self.uses, self.sources)
        self.froms: dict[int, list[Leaf]] = {}

    def query(self, query: Query, outer: Scope | None) -> None:
        for cte in query.ctes:
            self.query(cte.query, None)
        if isinstance(query.body, Pipe):
            self.pipes.read(query, query.body, outer)
            scope = Scope((), outer)
        else:
            scope = self.body(query.body, outer)
        for expression in query.tail:
            self.expression(expression, scope)

    def body(self, body: Body, outer: Scope | None, *, piped: bool = False) -> Scope:
        """Walks a body; the scope that comes back is that of an ORDER BY after it."""
        if isinstance(body, Select):
            return self._select(body, outer, piped=piped)
        if isinstance(body, SetOperation):
            self.body(body.left, outer)
            self.body(body.right, outer)
        elif isinstance(body, Query):
            self.query(body, outer)
        elif isinstance(body, Values):
            self.expression(body.rows, Scope((), outer))
        return Scope((), outer)

    def _select(self, select: Select, outer: Scope | None, *, piped: bool) -> Scope:
        leaves = self._from(select.relations, outer)
        if not select.items and not piped:
            self.uses.leave_unhidden(leaves)
        scope = Scope(leaves, outer, self._view_columns(select))
        self.uses.note_items((item.first, item.last) for item in select.items)
        for expression in (*select.items, select.where, select.group_by, select.having, *select.others):
            if expression is not None:
                self.expression(expression, scope)
        return replace(scope, select=select if select.items else None)

    def expression(self, expression: Expression, scope: Scope, *, assigns: bool = False) -> None:
        self.names.read(expression, scope, assigns=assigns)
        for query in expression.subqueries:
            self.query(query, scope)

    def _view_columns(self, select: Select) -> frozenset[str]:
        """The known names that a LATERAL VIEW gives to its columns."""
        if not select.lateral_views:
            return frozenset()
        tokens = self.cursor.tokens
        aliased = (
            tokens[index]
            for one in select.others
            for index in range(one.first + 1, one.last)
            if tokens[index].is_name and tokens[index - 1].upper in ("AS", ",")
        )
        return frozenset(name_value(self.cursor.text(token)).lower() for token in aliased) & self.names.known

    def _from(self, relations: Sequence[Relation], outer: Scope | None) -> list[Leaf]:
        key = id(relations[0]) if relations else 0
        if key not in self.froms:  # several SELECTs may share one FROM
            leaves: list[Leaf] = []
            for relation in relations:
                leaves.extend(self._relation(relation, leaves, outer))
            self.froms[key] = leaves
        return self.froms[key] if relations else []

    def _relation(self, relation: Relation, before: Sequence[Leaf], outer: Scope | None) -> list[Leaf]:
        if isinstance(relation, TableRelation):
            return [self._table(relation)]
        if isinstance(relation, Join):
            left = self._relation(relation.left, before, outer)
            return self.joined(relation, left, before, outer)
        if isinstance(relation, QueryRelation):
            self.query(relation.query, Scope(before, outer) if relation.lateral else outer)
            return [self._leaf(relation)]
        return self._opaque(relation, before, outer)

    def joined(self, join: Join, left: list[Leaf], before: Sequence[Leaf], outer: Scope | None) -> list[Leaf]:
        right = self._relation(join.right, [*before, *left], outer)
        if join.on is not None:
            self.expression(join.on, Scope([*left, *right], outer))
        return left if join.kind in ("semi", "anti") else [*left, *right]

    def _leaf(self, relation: QueryRelation | OpaqueRelation | TableRelation, beneath: Sequence[Leaf] = ()) -> Leaf:
        name = relation.alias.name.lower() if relation.alias is not None else None
        return Leaf(
            ((name,),) if name is not None else (),
            lambda column: self.sources.relation(relation, column),
            beneath=tuple(tables_beneath(beneath)),
        )

    def _table(self, relation: TableRelation) -> Leaf:
        number = self.numbers.get(id(relation))
        renamed = relation.alias is not None and bool(relation.alias.columns)
        if number is None or relation.form != "relation" or renamed:
            leaf = self._leaf(relation)
            if relation.alias is None:
                leaf.qualifiers = qualifiers_of(relation.name.parts)
            return leaf
        reference = self.references.tables[number]
        alias = reference.alias
        qualifiers = ((alias.name.lower(),),) if alias is not None else qualifiers_of(reference.identifier.qualified)
        return Leaf(qualifiers, lambda column: column in self.columns[number].own, number, (number,))

    def _opaque(self, relation: OpaqueRelation, before: Sequence[Leaf], outer: Scope | None) -> list[Leaf]:
        kind = self.sources.kind(relation)
        if kind not in ("group", "pivot"):
            for inner in relation.relations:
                if isinstance(inner, QueryRelation):
                    self.query(inner.query, outer)
            for expression in relation.expressions:
                self.expression(expression, Scope(before, outer))
            return [self._leaf(relation)]
        leaves: list[Leaf] = []
        for inner in relation.relations:
            leaves.extend(self._relation(inner, [*before, *leaves], outer))
        if kind == "group":
            return leaves if relation.alias is None else [self._leaf(relation, leaves)]
        for expression in relation.expressions:
            self.expression(expression, Scope(leaves, outer, consumed=True))
        self.uses.leave_unhidden(leaves)
        return [self._leaf(relation)]
