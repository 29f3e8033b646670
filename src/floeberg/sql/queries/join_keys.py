"""Which rows of a table a query needs because they match a row of another table, as far as the text tells for certain.

`fact.k = dim.k` leaves out the rows of `fact` whose key no row of `dim` has, wherever a row of `fact` that fails the equality
with every row of `dim` cannot change the result: `conjuncts` says to which side of a join that goes. The key column of `dim` is
followed to the table that it comes from, through nothing but projections and filters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from floeberg.sql.conditions.join_conditions import ExistsQuery, InQuery, SameValue, ToRow, parse_join_condition
from floeberg.sql.conditions.predicates import Column, Compare, Condition, InList, IsNull, Keys, Matches
from floeberg.sql.queries.column_sources import ColumnSources, ends_operand
from floeberg.sql.queries.query_nodes import (
    Expression,
    Join,
    OpaqueRelation,
    Query,
    QueryRelation,
    Relation,
    Select,
    TableRelation,
)
from floeberg.sql.queries.references import References
from floeberg.sql.queries.select_items import OutputColumns, output_columns
from floeberg.sql.text.cursor import Cursor
from floeberg.sql.text.lexer import Kind


@dataclass(frozen=True, slots=True, eq=False)
class KeySource(Keys):
    """A column of a table or view at one place of the text."""

    relation: TableRelation
    column: str


@dataclass(frozen=True, slots=True)
class ForRelation(Condition):
    """A condition on the columns of one relation of a FROM clause."""

    relation: Relation
    condition: Condition


@dataclass(frozen=True, slots=True, eq=False)
class _Found:
    """The relation that a column belongs to, and its name there."""

    relation: Relation
    name: str


TableTypes = Callable[[TableRelation, str], object | None]
"""The type of a column of a table of ours, by its lower-case name; None when there is none."""


def _no_type(_: TableRelation, __: str) -> None:
    return None


def qualifiers(parts: tuple[str, ...], alias: str | None) -> tuple[tuple[str, ...], ...]:
    """What may stand before a column of a relation, in lower case; longer ones first."""
    if alias is not None:
        return ((alias.lower(),),)
    lowered = tuple(part.lower() for part in parts)
    return tuple(lowered[start:] for start in range(len(lowered)))


def visible(relation: Relation) -> Iterator[Relation]:
    """The relations whose columns can be named above this one: not the right side of a semi or anti join."""
    if isinstance(relation, Join):
        yield from visible(relation.left)
        if relation.kind not in ("semi", "anti"):
            yield from visible(relation.right)
    else:
        yield relation


class JoinKeys:
    """Reads the conditions of one statement. `sources` tells which columns relations have, `types` the type of a table's."""

    def __init__(self, references: References, sources: ColumnSources, types: TableTypes = _no_type) -> None:
        self._cursor: Cursor = references.cursor
        self._walk = references.walk
        self._sources = sources
        self._types = types
        self._of_outer: dict[int, list[Condition]] = {}

    def of_where(self, select: Select) -> list[Condition]:
        """What the WHERE of a SELECT says of matching rows."""
        if select.where is None or select.lateral_views:
            return []
        inside = {query.first: query for query in select.where.subqueries}
        found: list[Condition] = []
        for part in parse_join_condition(self._cursor, select.where.first, select.where.last):
            if isinstance(part, SameValue):
                found += self._same(part, select.relations)
            elif isinstance(part, InQuery) and part.first in inside:
                found += self._in_query(part, inside[part.first], select.relations)
            elif isinstance(part, ToRow) and part.first in inside:
                found += self._to_row(part, inside[part.first], select.relations)
            elif isinstance(part, ExistsQuery) and part.first in inside:
                found += self._exists(inside[part.first], select.relations)
        return found

    def of_outer(self, select: Select) -> list[Condition]:
        """What a SELECT that stands in an IN or EXISTS needs of its own relations: the rows that match one outside. Known once
        the query around it was read."""
        return self._of_outer.get(id(select), [])

    def column_type(self, select: Select, column: Column) -> object | None:
        """The type of a column of the FROM clause that is a table's own; None for any other."""
        found = self._resolve(column, select.relations)
        origin = None if found is None else self._origin(found)
        return None if origin is None else self._types(origin.relation, origin.column)

    def of_join(self, join: Join) -> list[Condition]:
        """What the ON or USING of a join says of matching rows."""
        sides = (join.left, join.right)
        found: list[Condition] = []
        if join.on is not None and not join.nearest:
            for part in parse_join_condition(self._cursor, join.on.first, join.on.last):
                if isinstance(part, SameValue):
                    found += self._same(part, sides)
        for name in join.using:
            left, right = (self._resolve((name,), [side]) for side in sides)
            found += self._pair(left, right)
        return found

    def rejects_nulls(self, conditions: Iterable[Condition], *, side: Relation, among: Sequence[Relation]) -> bool:
        """Whether a row whose columns of this side are all null fails the conditions, which see the relations `among`.
        Only a comparison with a literal, an IN list and IS NOT NULL count."""
        own = set(map(id, visible(side)))
        for condition in conditions:
            column = _null_rejecting_column(condition)
            found = None if column is None else self._resolve(column, among)
            if found is not None and id(found.relation) in own:
                return True
        return False

    def _same(self, part: SameValue, relations: Sequence[Relation]) -> list[Condition]:
        return self._pair(self._resolve(part.left, relations), self._resolve(part.right, relations))

    def _pair(self, one: _Found | None, other: _Found | None) -> list[Condition]:
        if one is None or other is None or one.relation is other.relation:
            return []
        return [*self._matches(one, self._origin(other)), *self._matches(other, self._origin(one))]

    def _matches(self, found: _Found, keys: KeySource | None) -> list[Condition]:
        return [] if keys is None else [ForRelation(found.relation, Matches((found.name,), keys))]

    def _in_query(self, part: InQuery, query: Query, relations: Sequence[Relation]) -> list[Condition]:
        found, select = self._resolve(part.column, relations), _plain_select(query)
        if found is None or select is None or len(select.items) != 1:
            return []
        path = self._plain_column(select.items[0])
        inner = None if path is None else self._resolve(path, select.relations)
        if inner is None:
            return []
        self._note_outer(select, inner, found)
        return self._matches(found, self._origin(inner))

    def _to_row(self, part: ToRow, query: Query, relations: Sequence[Relation]) -> list[Condition]:
        """The one row is among all rows that the query may have, so the column compares with one of those. The query itself
        keeps its rows."""
        found, select = self._resolve(part.column, relations), _plain_select(query)
        if found is None or select is None or len(select.items) != 1:
            return []
        item, added = self._without_added(select.items[0])
        path = self._plain_column(item)
        inner = None if path is None else self._resolve(path, select.relations)
        keys = None if inner is None else self._origin(inner)
        if keys is None:
            return []
        return [ForRelation(found.relation, Matches((found.name,), keys, part.op, added))]

    def _without_added(self, item: Expression) -> tuple[Expression, int]:
        """An item of the form `column + 1` or `column - 1` as the column and the number; any other with 0."""
        if item.last - item.first < 3:
            return item, 0
        before, sign, number = self._cursor.tokens[item.last - 3 : item.last]
        text = self._cursor.text(number)
        if sign.upper not in ("+", "-") or not text.isdecimal() or int(text) > _MAX_ADDED:
            return item, 0
        if not ends_operand(before):
            return item, 0  # the sign of the number, as in `column DIV +1`
        return Expression(item.first, item.last - 2), int(text) if sign.upper == "+" else -int(text)

    def _note_outer(self, select: Select, inner: _Found, outer: _Found) -> None:
        self._of_outer.setdefault(id(select), []).extend(self._matches(inner, self._origin(outer)))

    def _exists(self, query: Query, relations: Sequence[Relation]) -> list[Condition]:
        """An aggregate without groups has a row whatever it reads, so what the query selects must be plain."""
        select = _plain_select(query)
        if select is None or select.where is None or not all(self._is_plain(item) for item in select.items):
            return []
        found: list[Condition] = []
        for part in parse_join_condition(self._cursor, select.where.first, select.where.last):
            if not isinstance(part, SameValue):
                continue
            for inner, outer in ((part.left, part.right), (part.right, part.left)):
                own = self._resolve(inner, select.relations)
                if own is None or not self._is_outside(outer, select.relations):
                    continue
                needed = self._resolve(outer, relations)
                if needed is not None:
                    self._note_outer(select, own, needed)
                    found += self._matches(needed, self._origin(own))
        return found

    def _is_outside(self, column: Column, relations: Sequence[Relation]) -> bool:
        """Whether a column is certain to be none of these relations'."""
        leaves = [leaf for relation in relations for leaf in visible(relation)]
        lowered = tuple(part.lower() for part in column)
        if any(_may_be_named(leaf, lowered[:-1]) for leaf in leaves):
            return False
        return all(self._sources.relation(leaf, lowered[0]) is False for leaf in leaves)

    def _resolve(self, column: Column, relations: Sequence[Relation]) -> _Found | None:
        """The relation whose column this is, as Spark resolves names; None when that is not certain. A column without
        qualifier that a USING or NATURAL join merges is neither side's."""
        leaves = [leaf for relation in relations for leaf in visible(relation)]
        lowered = tuple(part.lower() for part in column)
        name = lowered[-1]
        if len(lowered) > 1:
            owners = [leaf for leaf in leaves if _is_qualified(lowered, leaf)]
            exact = len(owners) == 1 and lowered[:-1] in _qualifiers(owners[0])
            if not exact or self._sources.relation(owners[0], name) is not True:
                return None
            return _Found(owners[0], name)
        if any(_merges(relation, name) for relation in relations):
            return None
        having = [leaf for leaf in leaves if self._sources.relation(leaf, name) is True]
        return _Found(having[0], name) if len(having) == 1 else None

    def _origin(self, found: _Found) -> KeySource | None:
        """The table that a relation's column comes from as it is."""
        relation = found.relation
        if not isinstance(relation, TableRelation | QueryRelation) or _is_changed(relation):
            return None
        if isinstance(relation, QueryRelation):
            return self._of_query(relation.query, found.name)
        cte = self._walk.cte_uses.get(id(relation))
        if cte is not None:
            known = id(cte) not in self._walk.recursive and not cte.columns
            return self._of_query(cte.query, found.name) if known else None
        return KeySource(relation, found.name) if id(relation) in self._sources.tables else None

    def of_output(self, query: Query, name: str, *, names: Iterable[str]) -> KeySource | None:
        """The table that a column of a query's result comes from as it is; None where the result lacks one of the names."""
        if not all(self._sources.query(query, each.lower()) for each in names):
            return None
        return self._of_query(query, name.lower())

    def _of_query(self, query: Query, name: str) -> KeySource | None:
        select = _plain_select(query)
        outputs: OutputColumns | None = None if select is None else output_columns(self._cursor, select.items)
        path = None if outputs is None else outputs.source((name,))
        if select is None or path is None:
            return None
        found = self._resolve(path, select.relations)
        return None if found is None else self._origin(found)

    def _plain_column(self, item: Expression) -> Column | None:
        tokens = self._cursor.tokens
        while item.last - item.first > 2 and tokens[item.first].upper == "(" and tokens[item.last - 1].upper == ")":
            item = Expression(item.first + 1, item.last - 1)
        outputs = output_columns(self._cursor, [item])
        if outputs is None or outputs.star is not None or len(outputs.named) != 1:
            return None
        return next(iter(outputs.named.values()))

    def _is_plain(self, item: Expression) -> bool:
        """A star, a literal or a column."""
        tokens = self._cursor.tokens[item.first : item.last]
        return all(token.is_name or token.upper in (".", "*") or token.kind in _LITERALS for token in tokens)


_LITERALS = (Kind.NUMBER, Kind.STRING)
_MAX_ADDED = 1_000_000
"""A literal up to this is an int: it makes no column wider."""


def _plain_select(query: Query) -> Select | None:
    """The SELECT of a query whose rows are those of its FROM clause, filtered and projected."""
    body = query.body
    if query.limited:
        return None
    if isinstance(body, Query):
        return _plain_select(body)
    if not isinstance(body, Select) or body.group_by or body.having or body.windowed or body.lateral_views:
        return None
    return body


def _is_changed(relation: TableRelation | QueryRelation) -> bool:
    """Whether a relation is other rows or columns than its table or query: a sample, under other names, or lateral."""
    renamed = relation.alias is not None and bool(relation.alias.columns)
    return renamed or relation.sampled or (isinstance(relation, QueryRelation) and relation.lateral)


def _qualifiers(relation: Relation) -> tuple[tuple[str, ...], ...]:
    assert not isinstance(relation, Join)
    alias = relation.alias.name if relation.alias else None
    if isinstance(relation, TableRelation):
        return qualifiers(relation.name.parts, alias)
    return ((alias.lower(),),) if alias else ()


def _is_qualified(lowered: tuple[str, ...], relation: Relation) -> bool:
    """Whether the leading parts of a column may be a relation's name."""
    return any(lowered[: len(each)] == each for each in _qualifiers(relation) if len(lowered) > len(each))


def _may_be_named(relation: Relation, parts: tuple[str, ...]) -> bool:
    """Whether one of the parts before a column's name may be a relation's, or that of one in parentheses. A table without alias
    can be named by more parts than the text gives it."""
    if isinstance(relation, Join):
        return _may_be_named(relation.left, parts) or _may_be_named(relation.right, parts)
    if relation.alias is not None:
        return relation.alias.name.lower() in parts
    if isinstance(relation, TableRelation):
        return relation.name.parts[-1].lower() in parts
    inner = relation.relations if isinstance(relation, OpaqueRelation) else ()
    return any(_may_be_named(each, parts) for each in inner)


def _merges(relation: Relation, name: str) -> bool:
    """Whether a join merges columns of this name into one."""
    if not isinstance(relation, Join):
        return False
    own = relation.natural or name in {each.lower() for each in relation.using}
    return own or _merges(relation.left, name) or _merges(relation.right, name)


def _null_rejecting_column(condition: Condition) -> Column | None:
    match condition:
        case Compare(column=column, op=op) if op != "<=>":
            return column
        case InList(column=column, negated=False) | IsNull(column=column, negated=True):
            return column
    return None
