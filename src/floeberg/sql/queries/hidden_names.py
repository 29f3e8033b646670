"""Finds the names and stars in the expressions of a query, and what each means."""

from __future__ import annotations

from collections.abc import Sequence

from floeberg.errors import InvalidInput
from floeberg.sql.queries.column_sources import ColumnSources, any_known, ends_operand
from floeberg.sql.queries.hidden_scopes import Leaf, Scope
from floeberg.sql.queries.hidden_uses import HiddenColumnUses
from floeberg.sql.queries.query_nodes import Expression
from floeberg.sql.queries.references import Rewrite
from floeberg.sql.text.lexer import Token, line_and_column, name_value


class NameReader:
    """Looks up the names of metadata columns in expressions, and notes those that mean one."""

    def __init__(self, uses: HiddenColumnUses, sources: ColumnSources) -> None:
        self.cursor = uses.cursor
        self.columns = uses.columns
        self.known = frozenset(name for one in uses.columns for name in one.hidden)
        self.uses = uses
        self.sources = sources

    def read(self, expression: Expression, scope: Scope, *, assigns: bool = False) -> None:
        """Reads an expression but for its subqueries."""
        tokens = self.cursor.tokens
        skips = {query.first: query.last for query in expression.subqueries}
        bound = self._lambda_names(expression)
        index = expression.first
        while index < expression.last:
            token = tokens[index]
            if index in skips:
                index = skips[index]
            elif token.upper == "*" and self._is_star(index, expression.first):
                self.uses.note_star(index, scope, ())
                index = self.uses.past_star(index)
            elif token.is_name and (index == expression.first or tokens[index - 1].upper not in (".", ":")):
                index = self._chain(index, expression.first, scope, bound=bound, assigns=assigns)
            else:
                index += 1

    def _chain(self, first: int, start: int, scope: Scope, *, bound: frozenset[str], assigns: bool) -> int:
        """A dotted name; gives the index past it."""
        tokens = self.cursor.tokens
        last = first
        while tokens[last + 1].upper == "." and tokens[last + 2].is_name:
            last += 2
        parts = tuple(name_value(self.cursor.text(tokens[index])).lower() for index in range(first, last + 1, 2))
        after = tokens[last + 1].upper
        if after == "." and tokens[last + 2].upper == "*":
            self.uses.note_star(last + 2, scope, parts)
            return self.uses.past_star(last + 2)
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

    def _name(self, parts: tuple[str, ...], first: int, scope: Scope) -> None:
        """Finds what a dotted name with the name of a metadata column in it means: the nearest scope that has it."""
        current: Scope | None = scope
        while current is not None:
            found = [
                (leaf, width)
                for leaf in current.leaves
                if (width := leaf.qualifier_width(parts)) and parts[width] in self.known
            ]
            if found:
                self._qualified(parts, first, current, found)
                return
            if parts[0] in self.known and self._unqualified(parts[0], first, current):
                return
            current = current.outer

    def _qualified(self, parts: tuple[str, ...], first: int, scope: Scope, found: Sequence[tuple[Leaf, int]]) -> None:
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
            self.uses.rewrites.append(Rewrite(tokens[first].start, tokens[at].start, ""))
            return
        self.uses.use(leaf, parts[width], at, scope)

    def _unqualified(self, name: str, index: int, scope: Scope) -> bool:
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
        self.uses.use(owners[0], name, index, scope)
        return True

    def _ambiguous(self, name: str, index: int, one: Leaf, other: Leaf) -> InvalidInput:
        where = line_and_column(self.cursor.sql, self.cursor.tokens[index].start)
        return InvalidInput(
            f"{name} ({where}) may be a column of {one} or of {other}: write it with the relation's name, as in "
            f"{one}.{name}",
            column=name,
        )
