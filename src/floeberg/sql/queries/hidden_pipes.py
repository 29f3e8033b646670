"""Metadata columns in a pipe (`FROM t |> …`): the last step that uses them drops them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from floeberg.errors import UnsupportedFeature
from floeberg.sql.queries.column_sources import ColumnSources
from floeberg.sql.queries.hidden_scopes import Leaf, PipeState, Scope, tables_beneath
from floeberg.sql.queries.hidden_uses import HiddenColumnUses
from floeberg.sql.queries.query_nodes import Body, Expression, Join, Pipe, Query, Select
from floeberg.sql.text.lexer import name_value


class QueryWalk(Protocol):
    """The walk over the queries around a pipe and inside it."""

    def query(self, query: Query, outer: Scope | None) -> None: ...

    def body(self, body: Body, outer: Scope | None, *, piped: bool = False) -> Scope: ...

    def joined(self, join: Join, left: list[Leaf], before: Sequence[Leaf], outer: Scope | None) -> list[Leaf]: ...

    def expression(self, expression: Expression, scope: Scope, *, assigns: bool = False) -> None: ...


class PipeReader:
    """Reads the steps of pipes."""

    def __init__(self, walk: QueryWalk, uses: HiddenColumnUses, sources: ColumnSources) -> None:
        self.cursor = uses.cursor
        self.walk = walk
        self.uses = uses
        self.sources = sources

    def read(self, query: Query, pipe: Pipe, outer: Scope | None) -> None:
        """`FROM t |> …`: metadata columns are dropped after the last step that uses them."""
        source = pipe.source
        assert isinstance(source, Query)
        for cte in source.ctes:
            self.walk.query(cte.query, None)
        if isinstance(source.body, Pipe):
            raise UnsupportedFeature("metadata columns in a pipe over a pipe: put the first one into parentheses")
        state = PipeState()
        opened = isinstance(source.body, Select) and not source.body.items
        scope = self.walk.body(source.body, outer, piped=True)
        for expression in source.tail:
            self.walk.expression(expression, scope)
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
                self.walk.body(next(bodies), outer)
                leaves = []
            elif not steps:
                join = next(joins)
                assert isinstance(join, Join)
                leaves = self.walk.joined(join, leaves, (), outer)
            elif word == "AS":
                named = ((name_value(self.cursor.text(self.cursor.tokens[start + 2])).lower(),),)
                leaves = [replace(leaf, qualifiers=named) for leaf in leaves]
            elif word in ("PIVOT", "UNPIVOT"):
                leaves = []
            elif word != "DROP":
                if word in ("SELECT", "EXTEND", "AGGREGATE"):
                    self.uses.note_items(self._step_items(start + 2, end))
                self.walk.expression(inside, Scope(leaves, outer, extra), assigns=word == "SET")
                if word in ("SELECT", "AGGREGATE"):
                    leaves = []
                elif word == "EXTEND":
                    names = (self.sources.item_name(*item) for item in self.sources.items(start + 2, end))
                    extra = extra | {name for name in names if name is not None}
            self._note_uses(state, leaves, dropped, end)
        self.uses.drops.extend(dropped.items())

    def _note_uses(self, state: PipeState, leaves: Sequence[Leaf], dropped: dict[int, int], end: int) -> None:
        """After a step: what it used and leaves in its output is dropped at its end, unless a later step uses it."""
        for number in tables_beneath(leaves):
            if self.uses.pipes.setdefault(number, state) is state and number in self.uses.renamed:
                state.last_use.setdefault(number, state.step)
        for number, step in state.last_use.items():
            if step == state.step:
                dropped.pop(number, None)
                if number in tables_beneath(leaves):
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

    def _steps(self, query: Query) -> list[int]:
        """The tokens `|>` of a query, outside of parentheses."""
        depth, found = 0, []
        for index in range(query.first, query.last):
            upper = self.cursor.tokens[index].upper
            depth += (upper in ("(", "[")) - (upper in (")", "]"))
            if upper == "|>" and not depth:
                found.append(index)
        return found
