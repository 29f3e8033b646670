"""Metadata columns (`_file`, `_pos` …) in a query: hidden, as Spark hides them, from all that does not name them.

A DataFrame can hide no column. So a table whose metadata columns are named is given with them under names that no other
reference of the statement has: no join, set operation or name can meet them by chance. Each name that Spark would resolve
to a metadata column becomes that name, and every star that would see it leaves it out. (One struct for all of them would
keep their names, but Spark's optimizer mistakes members of structs below unions and semi joins.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from floeberg.errors import InvalidInput, UnsupportedFeature
from floeberg.sql.queries.column_sources import ColumnSources, Known, any_known, ends_operand
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
from floeberg.sql.queries.references import References, Rewrite
from floeberg.sql.text.lexer import Token, line_and_column, name_value, quote_name
from floeberg.sql.text.names import display_name
from floeberg.sql.text.query_starts import starts_query

PREFIX: Final = "__floeberg_hidden_"
"""What the name of a metadata column begins with in a statement; the number of the reference and its own name follow."""


@dataclass(frozen=True, slots=True)
class TableColumns:
    """The columns of a table of ours: those that a star gives, in lower case, and those that it can give when named."""

    own: frozenset[str]
    hidden: frozenset[str]


@dataclass(frozen=True, slots=True)
class HiddenColumns:
    """By the number of a reference, the metadata columns to give under other names, or as they are (under a PIVOT, which
    consumes them); and what to change in the text."""

    renamed: Mapping[int, tuple[str, ...]]
    plain: Mapping[int, tuple[str, ...]]
    rewrites: tuple[Rewrite, ...]

    def of(self, reference: int) -> tuple[str, ...]:
        return self.renamed.get(reference) or self.plain.get(reference) or ()


NOTHING: Final = HiddenColumns({}, {}, ())


def statement_name(reference: int, column: str) -> str:
    """The name of a metadata column in a statement."""
    return f"{PREFIX}{reference}{column}"


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
    return walk.result()


@dataclass(slots=True, eq=False)
class _Leaf:
    """What columns come from. `table` is the number of a reference whose metadata columns can be named here, `beneath` are
    the references that a star over it meets."""

    qualifiers: tuple[tuple[str, ...], ...]
    has: Callable[[str], Known]
    table: int | None = None
    beneath: tuple[int, ...] = ()


@dataclass(slots=True, eq=False)
class _Scope:
    """The relations that names are looked up in. `select` is set for the ORDER BY of a SELECT, whose output comes first;
    `consumed` for a PIVOT."""

    leaves: Sequence[_Leaf]
    outer: _Scope | None
    extra: frozenset[str] = frozenset()
    select: Select | None = None
    consumed: bool = False


@dataclass(frozen=True, slots=True)
class _Star:
    """A star: its token, the references that it would meet, and the step of each one's pipe at which it stands."""

    index: int
    tables: tuple[tuple[int, int], ...]


@dataclass(slots=True)
class _PipeState:
    """The steps of a pipe: the one that is read now, and the last one that uses each reference's metadata columns."""

    last_use: dict[int, int] = field(default_factory=dict)
    step: int = -1


class _Walk:
    def __init__(
        self,
        references: References,
        columns: Sequence[TableColumns],
        of_spark: Callable[[tuple[str, ...]], frozenset[str] | None],
    ) -> None:
        self.references = references
        self.cursor = references.cursor
        self.columns = columns
        self.known = frozenset(name for one in columns for name in one.hidden)
        self.numbers = {id(relation): number for number, relation in enumerate(references.relations)}
        own = {id(relation): columns[number].own for number, relation in enumerate(references.relations)}
        self.sources = ColumnSources(references.cursor, own, references.walk.cte_uses, of_spark)
        self.renamed: dict[int, dict[str, None]] = {}
        self.plain: dict[int, dict[str, None]] = {}
        self.rewrites: list[Rewrite] = []
        self.stars: list[_Star] = []
        self.unhideable: set[int] = set()
        self.froms: dict[int, list[_Leaf]] = {}
        self.pipes: dict[int, _PipeState] = {}
        self.drops: list[tuple[int, int]] = []
        self.item_starts: set[int] = set()
        self.item_ends: set[int] = set()

    def result(self) -> HiddenColumns:
        for number in self.renamed.keys() & (self.plain.keys() | self.unhideable):
            names = ", ".join(self.renamed[number])
            raise UnsupportedFeature(
                f"{names} of {display_name(self.references.tables[number].parts)} cannot be hidden here; put the table into a "
                f"subquery that names them: (SELECT *, {names} FROM …)"
            )
        self.rewrites.extend(self._dropped(number, before) for number, before in self.drops)
        for star in self.stars:
            numbers = [
                number for number, step in star.tables if number in self.renamed and self._is_there(number, step)
            ]
            if numbers:
                self.rewrites.append(self._without(star.index, numbers))
        return HiddenColumns(
            {number: tuple(names) for number, names in self.renamed.items()},
            {number: tuple(names) for number, names in self.plain.items()},
            tuple(self.rewrites),
        )

    def _is_there(self, number: int, step: int) -> bool:
        """Whether a reference's metadata columns were not dropped before that step of its pipe."""
        return number not in self.pipes or self.pipes[number].last_use[number] >= step

    def _names(self, numbers: Iterable[int]) -> str:
        return ", ".join(
            quote_name(statement_name(number, column)) for number in numbers for column in self.renamed[number]
        )

    def _without(self, star: int, numbers: Sequence[int]) -> Rewrite:
        tokens = self.cursor.tokens
        names = self._names(numbers)
        if self._past_star(star) > star + 1:
            at = tokens[star + 2].end
            return Rewrite(at, at, f"{names}, ")
        return Rewrite(tokens[star].end, tokens[star].end, f" EXCEPT ({names})")

    # Queries

    def query(self, query: Query, outer: _Scope | None) -> None:
        for cte in query.ctes:
            self.query(cte.query, None)
        if isinstance(query.body, Pipe):
            self._pipe(query, query.body, outer)
            scope = _Scope((), outer)
        else:
            scope = self._body(query.body, outer)
        for expression in query.tail:
            self._expression(expression, scope)

    def _body(self, body: Body, outer: _Scope | None, *, piped: bool = False) -> _Scope:
        """Walks a body; the scope that comes back is that of an ORDER BY after it."""
        if isinstance(body, Select):
            return self._select(body, outer, piped=piped)
        if isinstance(body, SetOperation):
            self._body(body.left, outer)
            self._body(body.right, outer)
        elif isinstance(body, Query):
            self.query(body, outer)
        elif isinstance(body, Values):
            self._expression(body.rows, _Scope((), outer))
        return _Scope((), outer)

    def _select(self, select: Select, outer: _Scope | None, *, piped: bool) -> _Scope:
        leaves = self._from(select.relations, outer)
        if not select.items and not piped:
            self.unhideable |= {number for leaf in leaves for number in leaf.beneath}
        scope = _Scope(leaves, outer, self._view_columns(select))
        self._note_items((item.first, item.last) for item in select.items)
        for expression in (*select.items, select.where, select.group_by, select.having, *select.others):
            if expression is not None:
                self._expression(expression, scope)
        return replace(scope, select=select if select.items else None)

    def _note_items(self, items: Iterable[tuple[int, int]]) -> None:
        for first, last in items:
            self.item_starts.add(first)
            self.item_ends.add(last)

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
        return frozenset(name_value(self.cursor.text(token)).lower() for token in aliased) & self.known

    # Relations

    def _from(self, relations: Sequence[Relation], outer: _Scope | None) -> list[_Leaf]:
        key = id(relations[0]) if relations else 0
        if key not in self.froms:  # several SELECTs may share one FROM
            leaves: list[_Leaf] = []
            for relation in relations:
                leaves.extend(self._relation(relation, leaves, outer))
            self.froms[key] = leaves
        return self.froms[key] if relations else []

    def _relation(self, relation: Relation, before: Sequence[_Leaf], outer: _Scope | None) -> list[_Leaf]:
        if isinstance(relation, TableRelation):
            return [self._table(relation)]
        if isinstance(relation, Join):
            left = self._relation(relation.left, before, outer)
            return self._joined(relation, left, before, outer)
        if isinstance(relation, QueryRelation):
            self.query(relation.query, _Scope(before, outer) if relation.lateral else outer)
            return [self._leaf(relation)]
        return self._opaque(relation, before, outer)

    def _joined(self, join: Join, left: list[_Leaf], before: Sequence[_Leaf], outer: _Scope | None) -> list[_Leaf]:
        right = self._relation(join.right, [*before, *left], outer)
        if join.on is not None:
            self._expression(join.on, _Scope([*left, *right], outer))
        return left if join.kind in ("semi", "anti") else [*left, *right]

    def _leaf(self, relation: QueryRelation | OpaqueRelation | TableRelation, beneath: Sequence[_Leaf] = ()) -> _Leaf:
        name = relation.alias.name.lower() if relation.alias is not None else None
        return _Leaf(
            ((name,),) if name is not None else (),
            lambda column: self.sources.relation(relation, column),
            beneath=tuple(number for leaf in beneath for number in leaf.beneath),
        )

    def _table(self, relation: TableRelation) -> _Leaf:
        number = self.numbers.get(id(relation))
        renamed = relation.alias is not None and bool(relation.alias.columns)
        if number is None or relation.form != "relation" or renamed:
            leaf = self._leaf(relation)
            if relation.alias is None:
                leaf.qualifiers = _suffixes(relation.name.parts)
            return leaf
        reference = self.references.tables[number]
        alias = reference.alias
        qualifiers = ((alias.name.lower(),),) if alias is not None else _suffixes(reference.identifier.qualified)
        return _Leaf(qualifiers, lambda column: column in self.columns[number].own, number, (number,))

    def _opaque(self, relation: OpaqueRelation, before: Sequence[_Leaf], outer: _Scope | None) -> list[_Leaf]:
        kind = self.sources.kind(relation)
        if kind not in ("group", "pivot"):
            for inner in relation.relations:
                if isinstance(inner, QueryRelation):
                    self.query(inner.query, outer)
            for expression in relation.expressions:
                self._expression(expression, _Scope(before, outer))
            return [self._leaf(relation)]
        leaves: list[_Leaf] = []
        for inner in relation.relations:
            leaves.extend(self._relation(inner, [*before, *leaves], outer))
        if kind == "group":
            return leaves if relation.alias is None else [self._leaf(relation, leaves)]
        for expression in relation.expressions:
            self._expression(expression, _Scope(leaves, outer, consumed=True))
        self.unhideable |= {number for leaf in leaves for number in leaf.beneath}
        return [self._leaf(relation)]

    # Pipes

    def _pipe(self, query: Query, pipe: Pipe, outer: _Scope | None) -> None:
        """`FROM t |> …`: metadata columns are dropped after the last step that uses them."""
        source = pipe.source
        assert isinstance(source, Query)
        for cte in source.ctes:
            self.query(cte.query, None)
        if isinstance(source.body, Pipe):
            raise UnsupportedFeature("metadata columns in a pipe over a pipe: put the first one into parentheses")
        state = _PipeState()
        opened = isinstance(source.body, Select) and not source.body.items
        scope = self._body(source.body, outer, piped=True)
        for expression in source.tail:
            self._expression(expression, scope)
        leaves = list(scope.leaves) if opened else []
        starts = self._steps(query)
        dropped: dict[int, int] = {}
        self._note_uses(state, leaves, dropped, starts[0])
        extra: frozenset[str] = frozenset()
        joins, bodies = iter(pipe.relations), iter(pipe.queries)
        for number, (start, end) in enumerate(zip(starts, [*starts[1:], query.last], strict=True)):
            state.step = number
            word = self.cursor.tokens[start + 1].upper
            steps = [one for one in pipe.steps if start < one.first < end]
            inside = Expression(start + 2, end, [sub for one in steps for sub in one.subqueries])
            if word in ("UNION", "EXCEPT", "MINUS", "SETMINUS", "INTERSECT"):
                self._body(next(bodies), outer)
                leaves = []
            elif not steps:
                join = next(joins)
                assert isinstance(join, Join)
                leaves = self._joined(join, leaves, (), outer)
            elif word == "AS":
                named = ((name_value(self.cursor.text(self.cursor.tokens[start + 2])).lower(),),)
                leaves = [replace(leaf, qualifiers=named) for leaf in leaves]
            elif word in ("PIVOT", "UNPIVOT"):
                leaves = []
            elif word != "DROP":
                if word in ("SELECT", "EXTEND", "AGGREGATE"):
                    self._note_items(self._step_items(start + 2, end))
                self._expression(inside, _Scope(leaves, outer, extra), assigns=word == "SET")
                if word in ("SELECT", "AGGREGATE"):
                    leaves = []
                elif word == "EXTEND":
                    names = (self.sources.item_name(*item) for item in self.sources.items(start + 2, end))
                    extra = extra | {name for name in names if name is not None}
            self._note_uses(state, leaves, dropped, end)
        self.drops.extend(dropped.items())

    def _note_uses(self, state: _PipeState, leaves: Sequence[_Leaf], dropped: dict[int, int], end: int) -> None:
        """After a step: what it used and leaves in its output is dropped at its end, unless a later step uses it."""
        for number in _tables(leaves):
            if self.pipes.setdefault(number, state) is state and number in self.renamed:
                state.last_use.setdefault(number, state.step)
        for number, step in state.last_use.items():
            if step == state.step:
                dropped.pop(number, None)
                if number in _tables(leaves):
                    dropped[number] = end

    def _step_items(self, first: int, last: int) -> list[tuple[int, int]]:
        """The items of a step, those of its GROUP BY too."""
        tokens = self.cursor.tokens
        at = next(
            (one for one in range(first, last - 1) if tokens[one].upper == "GROUP" and tokens[one + 1].upper == "BY"),
            None,
        )
        if at is None:
            return list(self.sources.items(first, last))
        return [*self.sources.items(first, at), *self.sources.items(at + 2, last)]

    def _dropped(self, number: int, before: int) -> Rewrite:
        at = self.cursor.tokens[before - 1].end
        return Rewrite(at, at, f" |> DROP {self._names([number])}")

    def _steps(self, query: Query) -> list[int]:
        """The tokens `|>` of a query, outside of parentheses."""
        depth, found = 0, []
        for index in range(query.first, query.last):
            upper = self.cursor.tokens[index].upper
            depth += (upper in ("(", "[")) - (upper in (")", "]"))
            if upper == "|>" and not depth:
                found.append(index)
        return found

    # Names

    def _expression(self, expression: Expression, scope: _Scope, *, assigns: bool = False) -> None:
        tokens = self.cursor.tokens
        skips = {query.first: query.last for query in expression.subqueries}
        bound = self._lambda_names(expression)
        index = expression.first
        while index < expression.last:
            token = tokens[index]
            if index in skips:
                index = skips[index]
            elif token.upper == "*" and self._is_star(index, expression.first):
                self._note_star(index, scope, ())
                index = self._past_star(index)
            elif token.is_name and (index == expression.first or tokens[index - 1].upper not in (".", ":")):
                index = self._chain(index, expression.first, scope, bound=bound, assigns=assigns)
            else:
                index += 1
        for query in expression.subqueries:
            self.query(query, scope)

    def _chain(self, first: int, start: int, scope: _Scope, *, bound: frozenset[str], assigns: bool) -> int:
        """A dotted name; gives the index past it."""
        tokens = self.cursor.tokens
        last = first
        while tokens[last + 1].upper == "." and tokens[last + 2].is_name:
            last += 2
        parts = tuple(name_value(self.cursor.text(tokens[index])).lower() for index in range(first, last + 1, 2))
        after = tokens[last + 1].upper
        if after == "." and tokens[last + 2].upper == "*":
            self._note_star(last + 2, scope, parts)
            return self._past_star(last + 2)
        assigned = assigns and after == "=" and (first == start or tokens[first - 1].upper == ",")
        aliased = first > start and (tokens[first - 1].upper == "AS" or ends_operand(tokens[first - 1]))
        if not (assigned or aliased or after in ("(", "=>", "->") or parts[0] in bound) and self.known & set(parts):
            self._name(parts, first, scope)
        return last + 1

    def _lambda_names(self, expression: Expression) -> frozenset[str]:
        """The parameters of lambda functions."""
        tokens = self.cursor.tokens
        found: list[Token] = []
        for index in range(expression.first + 1, expression.last):
            if tokens[index].upper == "->":
                at = index - 1
                while at >= expression.first and (tokens[at].is_name or tokens[at].upper in ("(", ")", ",")):
                    found.append(tokens[at])
                    if tokens[at].upper == "(" or tokens[index - 1].is_name:
                        break
                    at -= 1
        return frozenset(name_value(self.cursor.text(token)).lower() for token in found if token.is_name)

    def _is_star(self, index: int, first: int) -> bool:
        tokens = self.cursor.tokens
        before = tokens[index - 1].upper
        if index != first and before not in ("(", ",", "DISTINCT", "ALL"):
            return False
        counted = before == "(" and tokens[index - 2].upper == "COUNT" and tokens[index + 1].upper == ")"
        return not counted

    def _past_star(self, star: int) -> int:
        """Past a star and the columns that it leaves out."""
        tokens = self.cursor.tokens
        excepts = tokens[star + 1].upper == "EXCEPT" and tokens[star + 2].upper == "("
        if not excepts or starts_query(self.cursor, star + 2):
            return star + 1
        return self.cursor.closing(star + 2) + 1

    def _note_star(self, index: int, scope: _Scope, qualifier: tuple[str, ...]) -> None:
        current: _Scope | None = scope
        while current is not None:
            leaves = [leaf for leaf in current.leaves if not qualifier or qualifier in leaf.qualifiers]
            if leaves or not qualifier:
                steps = ((number, self.pipes[number].step if number in self.pipes else 0) for number in _tables(leaves))
                self.stars.append(_Star(index, tuple(steps)))
                return
            current = current.outer

    def _name(self, parts: tuple[str, ...], first: int, scope: _Scope) -> None:
        """Finds what a dotted name with the name of a metadata column in it means: the nearest scope that has it."""
        current: _Scope | None = scope
        while current is not None:
            found = [
                (leaf, width)
                for leaf in current.leaves
                if (width := _width(parts, leaf)) and parts[width] in self.known
            ]
            if found:
                self._qualified(parts, first, current, found)
                return
            if parts[0] in self.known and self._unqualified(parts[0], first, current):
                return
            current = current.outer

    def _qualified(self, parts: tuple[str, ...], first: int, scope: _Scope, found: Sequence[tuple[_Leaf, int]]) -> None:
        owners = [(leaf, width) for leaf, width in found if leaf.table is not None and not leaf.has(parts[width])]
        if len(owners) != len(found) or not owners:
            return
        if len(owners) > 1:
            raise self._ambiguous(parts[owners[0][1]], first, owners[0][0], owners[1][0])
        leaf, width = owners[0]
        at = first + 2 * width
        select = scope.select
        if select is not None and select.distinct and self.sources.select(select, parts[width]):
            tokens = self.cursor.tokens
            self.rewrites.append(Rewrite(tokens[first].start, tokens[at].start, ""))
            return
        self._use(leaf, parts[width], at, scope)

    def _unqualified(self, name: str, index: int, scope: _Scope) -> bool:
        """Whether the name ends its search in this scope."""
        if scope.select is not None and self.sources.select(scope.select, name):
            return True
        has = any_known((name in scope.extra, *(leaf.has(name) for leaf in scope.leaves)))
        if has:
            return True
        owners = [leaf for leaf in scope.leaves if leaf.table is not None and name in self.columns[leaf.table].hidden]
        if not owners:
            return has is None
        if has is None or len(owners) > 1:
            other = next((leaf for leaf in scope.leaves if leaf.has(name) is None), owners[-1])
            raise self._ambiguous(name, index, owners[0], other)
        self._use(owners[0], name, index, scope)
        return True

    def _use(self, leaf: _Leaf, name: str, index: int, scope: _Scope) -> None:
        number = leaf.table
        assert number is not None
        if name not in self.columns[number].hidden:
            return
        if scope.consumed:
            self.plain.setdefault(number, {})[name] = None
            return
        self.renamed.setdefault(number, {})[name] = None
        if number in self.pipes:
            self.pipes[number].last_use[number] = self.pipes[number].step
        token = self.cursor.tokens[index]
        text = quote_name(statement_name(number, name))
        if self._names_output(index):
            text += f" AS {self.cursor.text(token)}"
        self.rewrites.append(Rewrite(token.start, token.end, text))

    def _names_output(self, index: int) -> bool:
        """Whether a column gets its name from this token, because it is a whole item of a list of columns or of struct()."""
        tokens = self.cursor.tokens
        first = index
        while first > 1 and tokens[first - 1].upper == "." and tokens[first - 2].is_name:
            first -= 2
        ends = (index + 1) in self.item_ends or tokens[index + 1].upper in (",", ")")
        if first in self.item_starts:
            return ends
        return ends and tokens[first - 1].upper in ("(", ",") and self._called(first) == "STRUCT"

    def _called(self, index: int) -> str:
        """The function whose argument begins at a token."""
        tokens = self.cursor.tokens
        depth = 0
        for at in range(index - 1, 0, -1):
            upper = tokens[at].upper
            depth += (upper in (")", "]")) - (upper in ("(", "["))
            if depth < 0:
                return tokens[at - 1].upper
        return ""

    def _ambiguous(self, name: str, index: int, one: _Leaf, other: _Leaf) -> InvalidInput:
        where = line_and_column(self.cursor.sql, self.cursor.tokens[index].start)
        names = [
            ".".join(leaf.qualifiers[0]) if leaf.qualifiers else "a relation without a name" for leaf in (one, other)
        ]
        return InvalidInput(
            f"{name} ({where}) may be a column of {names[0]} or of {names[1]}: write it with the relation's name, as in "
            f"{names[0]}.{name}",
            column=name,
        )


def _suffixes(parts: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    lowered = tuple(part.lower() for part in parts)
    return tuple(lowered[start:] for start in range(len(lowered)))


def _width(parts: tuple[str, ...], leaf: _Leaf) -> int:
    """How many leading parts are the leaf's qualifier; 0 when they are not."""
    for qualifier in leaf.qualifiers:
        if len(parts) > len(qualifier) and parts[: len(qualifier)] == qualifier:
            return len(qualifier)
    return 0


def _tables(leaves: Iterable[_Leaf]) -> list[int]:
    return [number for leaf in leaves for number in leaf.beneath]
