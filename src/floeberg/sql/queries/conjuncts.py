"""Which conditions of a query hold for the rows that it needs of each table, so that planning can leave files out.

Spark applies every filter itself; what is found here may only be weaker than what the query asks. A condition comes from
WHERE or from the ON of a join, and goes to a table only where a row that fails it cannot change the result: not to the
side of an outer join that may be filled with nulls, not through LIMIT or windows, through an aggregate only on its keys and
through a UNION only where the column has one type in all branches. A common table expression that is read several times
gets what one of its uses asks for or another.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from floeberg.sql.conditions.condition_parser import parse_condition
from floeberg.sql.conditions.predicates import (
    AnyOf,
    Column,
    Condition,
    Matches,
    Unknown,
    all_of,
    conjuncts,
    weaken,
)
from floeberg.sql.queries.join_keys import ForRelation, JoinKeys, qualifiers
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
)
from floeberg.sql.queries.references import References
from floeberg.sql.queries.select_items import group_columns, output_columns
from floeberg.sql.queries.unions import union_branches, union_columns
from floeberg.sql.text.cursor import Cursor
from floeberg.sql.text.lexer import Span
from floeberg.sql.text.names import TableIdentifier


def table_conditions(
    references: References, given: Sequence[Condition] = (), *, joins: JoinKeys | None = None
) -> tuple[tuple[Condition, ...], ...]:
    """For each table of the references, in their order, the conditions that all its needed rows fulfil.

    `given` are conditions on the query's result. Columns are paths in the table, without qualifiers. With `joins`, Matches
    of columns of other tables are among them. Nothing is known of a table in a statement that is not one query.
    """
    if references.query is None:
        return tuple(() for _ in references.tables)
    push = _Push(references, joins)
    push.run(references.query, given)
    return tuple(tuple(push.found.get(id(relation), ())) for relation in references.relations)


def condition_of_target(
    cursor: Cursor,
    span: Span,
    *,
    target: TableIdentifier,
    alias: str | None,
    others: Sequence[str] = (),
    case_sensitive: bool = False,
) -> tuple[Condition, ...]:
    """The parts of a DELETE, UPDATE or MERGE condition that speak of the target alone; `others` are the names of the
    other relations in its scope. Where case tells names apart, `T.x` of a table `t` may be a field of a column `T`."""
    part = cursor.within(span.start, span.end)
    leaf = _Leaf(qualifiers(target.qualified, alias))
    leaves = [leaf, *(_Leaf(((other.lower(),),)) for other in others)]
    resolve = _single if case_sensitive else _Resolver(leaf, leaves).column
    condition = parse_condition(part, 0, len(part.tokens) - 1)
    return tuple(kept for piece in conjuncts(condition) if (kept := weaken(piece, resolve)) is not None)


def _single(column: Column) -> Column | None:
    return column if len(column) == 1 else None


@dataclass(frozen=True, slots=True, eq=False)
class _Leaf:
    """A relation that columns come from, with the qualifiers that mean it, in lower case; longer ones first."""

    qualifiers: tuple[tuple[str, ...], ...]
    relation: Relation | None = None


@dataclass(frozen=True, slots=True)
class _Resolver:
    """Says whether a column is one leaf's, among the leaves of its scope. `hidden` columns are another side's when they
    have no qualifier; `qualified_only` takes none without."""

    leaf: _Leaf
    leaves: Sequence[_Leaf]
    hidden: frozenset[str] = frozenset()
    qualified_only: bool = False

    def column(self, column: Column) -> Column | None:
        lowered = tuple(part.lower() for part in column)
        owners = [leaf for leaf in self.leaves if _width(lowered, leaf)]
        if owners:
            return column[_width(lowered, self.leaf) :] if owners == [self.leaf] else None
        if self.qualified_only or lowered[0] in self.hidden:
            return None
        return column


def _width(lowered: tuple[str, ...], leaf: _Leaf) -> int:
    """How many leading parts of a column are this leaf's qualifier; 0 when they are not."""
    for qualifier in leaf.qualifiers:
        if len(lowered) > len(qualifier) and lowered[: len(qualifier)] == qualifier:
            return len(qualifier)
    return 0


@dataclass(frozen=True, slots=True)
class _Filter:
    """Conditions on their way down, and the unqualified columns that belong elsewhere."""

    conditions: tuple[Condition, ...] = ()
    hidden: frozenset[str] = frozenset()
    qualified_only: bool = False
    among: tuple[Relation, ...] = ()
    """The relations that the conditions can name."""

    def plus(self, conditions: Sequence[Condition]) -> _Filter:
        return replace(self, conditions=(*self.conditions, *conditions))


_NOTHING = _Filter()

REACHES: Final = {
    "inner": ("both", "both"),
    "cross": ("both", "both"),
    "left": ("given", "on"),
    "right": ("on", "given"),
    "full": ("nothing", "nothing"),
    "semi": ("both", "on"),
    "anti": ("given", "on"),
}
"""Which conditions reach the left and the right side of a join: those on its result, those of its ON, both or nothing."""


@dataclass(slots=True)
class _Push:
    """One walk over a query's skeleton; `found` is by the identity of a table's relation."""

    references: References
    joins: JoinKeys | None = None
    found: dict[int, list[Condition]] = field(default_factory=dict)
    uses: Counter[int] = field(default_factory=Counter)
    _asked: dict[int, list[list[Condition]]] = field(default_factory=dict)
    """The conditions of each use of a common table expression that is read several times."""
    _spoilt: set[int] = field(default_factory=set)

    def run(self, query: Query, given: Sequence[Condition]) -> None:
        walk = self.references.walk
        self.uses = Counter(id(cte) for cte in walk.cte_uses.values())
        self._query(query, given)
        for subquery in walk.subqueries:
            self._query(subquery, ())
        waiting = [cte for cte in walk.ctes if not self._single_use(id(cte))]
        while waiting:
            # One whose uses were all seen, or else the last one: the uses of a name come after it.
            cte = next((cte for cte in waiting if self._is_asked(cte)), waiting[-1])
            waiting.remove(cte)
            self._query(cte.query, self._of_any_use(cte))

    def _is_asked(self, cte: Cte) -> bool:
        return len(self._asked.get(id(cte), ())) == self.uses[id(cte)]

    def _of_any_use(self, cte: Cte) -> list[Condition]:
        """What every needed row of a common table expression fulfils: the conditions of one use, or of another."""
        uses = self._asked.get(id(cte), [])
        if not self._is_asked(cte) or cte.columns or id(cte) in self.references.walk.recursive:
            return []
        literal = [[one for one in use if not isinstance(one, Matches | ForRelation | Unknown)] for use in uses]
        if not literal or not all(literal):
            return []
        return [AnyOf(tuple(dict.fromkeys(all_of(use) for use in literal)))]

    def _single_use(self, cte: int) -> bool:
        return self.uses[cte] == 1 and cte not in self.references.walk.recursive

    def _query(self, query: Query, conditions: Sequence[Condition]) -> None:
        """Conditions are in terms of the query's output."""
        self._body(query.body, () if query.limited else conditions)

    def _body(self, body: Body, conditions: Sequence[Condition]) -> None:
        if isinstance(body, Query):
            self._query(body, conditions)
        elif isinstance(body, Select):
            self._select(body, conditions)
        elif isinstance(body, SetOperation):
            self._set_operation(body, conditions)
        elif isinstance(body, Pipe):
            self._body(body.source, ())
            for relation in body.relations:
                self._relation(relation, _NOTHING, [])
            for inner in body.queries:
                self._body(inner, ())
        elif isinstance(body, TableRelation):
            self._relation(body, _NOTHING, [])

    def _set_operation(self, body: SetOperation, conditions: Sequence[Condition]) -> None:
        """The branches of a UNION, with the conditions on columns that have one type in all of them."""
        branches = union_branches(body) if conditions and self.joins is not None else None
        if branches is None or self.joins is None:
            self._body(body.left, ())
            self._body(body.right, ())
            return
        columns = union_columns(self.references.cursor, branches, self.joins.column_type)
        for select, own in zip(branches, columns, strict=True):
            self._select_below(select, self._passing(select, conditions, own.source))

    def _select(self, select: Select, conditions: Sequence[Condition]) -> None:
        self._select_below(select, self._through(select, conditions))

    def _select_below(self, select: Select, inherited: Sequence[Condition]) -> None:
        """`inherited` are conditions in terms of the FROM clause."""
        below = [*inherited, *self._conditions(select.where)]
        leaves = list(_leaves(select.relations))
        if self.joins is not None:
            below += self.joins.of_where(select)
            below += self.joins.of_outer(select)
        if select.lateral_views:
            below = _without_nested(below, leaves)
        for relation in select.relations:
            self._relation(relation, _Filter(tuple(below), among=tuple(select.relations)), leaves)

    def _through(self, select: Select, conditions: Sequence[Condition]) -> list[Condition]:
        """Conditions on the output in terms of the FROM clause, where filtering before the SELECT is the same."""
        outputs = output_columns(self.references.cursor, select.items) if conditions else None
        return [] if outputs is None else self._passing(select, conditions, outputs.source)

    def _passing(
        self, select: Select, conditions: Sequence[Condition], source: Callable[[Column], Column | None]
    ) -> list[Condition]:
        """Conditions in terms of the FROM clause; `source` gives its column for one of the output. Those on a key of GROUP BY
        leave out whole groups."""
        if select.windowed or (select.having and not select.group_by):
            return []
        resolve = source
        if select.group_by is not None:
            keys = group_columns(self.references.cursor, select.group_by)
            if keys is None:
                return []
            conditions = [condition for condition in conditions if not isinstance(condition, Matches)]
            resolve = _on_keys(source, keys)
        return [kept for condition in conditions if (kept := weaken(condition, resolve)) is not None]

    def _conditions(self, expression: Expression | None) -> list[Condition]:
        if expression is None:
            return []
        return conjuncts(parse_condition(self.references.cursor, expression.first, expression.last))

    def _relation(self, relation: Relation, given: _Filter, leaves: Sequence[_Leaf]) -> None:
        if isinstance(relation, Join):
            self._join(relation, given, leaves)
        elif isinstance(relation, OpaqueRelation):
            for inner in relation.relations:
                self._relation(inner, _NOTHING, leaves)
        else:
            self._leaf(relation, given, leaves)

    def _join(self, join: Join, given: _Filter, leaves: Sequence[_Leaf]) -> None:
        if join.nearest:
            # Without one of its rows, others of the right side would be the nearest.
            self._relation(join.left, given, leaves)
            self._relation(join.right, _NOTHING, leaves)
            return
        on = self._conditions(join.on)
        if self.joins is not None:
            on += self.joins.of_join(join)
        both = given.plus(on)
        only_on = replace(given, conditions=tuple(on), among=(join.left, join.right))
        reached = {"both": both, "given": given, "on": only_on, "nothing": _NOTHING}
        left, right = (reached[name] for name in REACHES[self._effective_kind(join, given)])
        if join.using or join.natural:
            # A shared column comes from the side that is kept whole; for the other one it is a different value.
            shared = frozenset(name.lower() for name in join.using)
            if join.kind == "right":
                left = replace(left, hidden=left.hidden | shared, qualified_only=left.qualified_only or join.natural)
            else:
                right = replace(
                    right, hidden=right.hidden | shared, qualified_only=right.qualified_only or join.natural
                )
        self._relation(join.left, left, leaves)
        self._relation(join.right, right, leaves)

    def _effective_kind(self, join: Join, given: _Filter) -> str:
        """A join that fills in nulls is an inner one where such rows fail a condition on its result."""
        side = {"left": join.right, "right": join.left}.get(join.kind)
        if self.joins is None or side is None:
            return join.kind
        rejects = self.joins.rejects_nulls(given.conditions, side=side, among=given.among)
        return "inner" if rejects else join.kind

    def _leaf(self, relation: TableRelation | QueryRelation, given: _Filter, leaves: Sequence[_Leaf]) -> None:
        leaf = next((leaf for leaf in leaves if leaf.relation is relation), None)
        conditions: list[Condition] = []
        renamed = relation.alias is not None and bool(relation.alias.columns)
        if leaf is not None and not relation.sampled and not renamed:
            resolver = _Resolver(leaf, leaves, given.hidden, given.qualified_only)
            found = (weaken(condition, resolver.column) for condition in given.conditions)
            conditions = [condition for condition in found if condition is not None]
            conditions += [
                one.condition for one in given.conditions if isinstance(one, ForRelation) and one.relation is relation
            ]
        if isinstance(relation, QueryRelation):
            self._query(relation.query, () if relation.lateral else conditions)
            return
        cte = self.references.walk.cte_uses.get(id(relation))
        if cte is None:
            self._note(relation, conditions)
        elif self._single_use(id(cte)):
            self._query(cte.query, () if cte.columns else conditions)
        else:
            self._asked.setdefault(id(cte), []).append(conditions)

    def _note(self, relation: TableRelation, conditions: list[Condition]) -> None:
        """A relation that several SELECTs share is read for all of them, and so without conditions."""
        key = id(relation)
        if key in self.found or key in self._spoilt:
            self._spoilt.add(key)
            self.found.pop(key, None)
            return
        self.found[key] = conditions


def _on_keys(source: Callable[[Column], Column | None], keys: frozenset[Column]) -> Callable[[Column], Column | None]:
    """The source of a column if it is among the keys, which are in lower case."""

    def found(column: Column) -> Column | None:
        path = source(column)
        return path if path is not None and tuple(part.lower() for part in path) in keys else None

    return found


def _without_nested(conditions: list[Condition], leaves: Sequence[_Leaf]) -> list[Condition]:
    """Without `a.b` that no relation's name explains: `a` may be the alias of a lateral view."""

    def known(column: Column) -> Column | None:
        lowered = tuple(part.lower() for part in column)
        return column if len(column) == 1 or any(_width(lowered, leaf) for leaf in leaves) else None

    return [kept for condition in conditions if (kept := weaken(condition, known)) is not None]


def _leaves(relations: Sequence[Relation]) -> Iterator[_Leaf]:
    """Every relation that a column of this FROM clause may come from."""
    for relation in relations:
        if isinstance(relation, Join):
            yield from _leaves([relation.left, relation.right])
        elif isinstance(relation, TableRelation):
            alias = relation.alias.name if relation.alias else None
            yield _Leaf(qualifiers(relation.name.parts, alias), relation)
        else:
            name = relation.alias.name if relation.alias else None
            yield _Leaf(((name.lower(),),) if name else (), relation)
            if isinstance(relation, OpaqueRelation) and name is None:
                yield from _leaves(relation.relations)
