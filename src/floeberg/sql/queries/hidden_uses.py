"""Which metadata columns a query uses, and what to change in its text so that they stay hidden."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from floeberg.errors import UnsupportedFeature
from floeberg.spec.schemas.rules import ENGINE_PREFIX
from floeberg.sql.queries.hidden_scopes import Leaf, PipeState, Scope, tables_beneath
from floeberg.sql.queries.references import References, Rewrite
from floeberg.sql.text.lexer import quote_name
from floeberg.sql.text.names import display_name
from floeberg.sql.text.query_starts import starts_query

PREFIX: Final = f"{ENGINE_PREFIX}hidden_"
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


def statement_name(reference: int, column: str) -> str:
    """The name of a metadata column in a statement."""
    return f"{PREFIX}{reference}{column}"


@dataclass(frozen=True, slots=True)
class _Star:
    """A star: its token, the references that it would meet, and the step of each one's pipe at which it stands."""

    index: int
    tables: tuple[tuple[int, int], ...]


class HiddenColumnUses:
    """Collects the uses of metadata columns and the stars of one statement."""

    def __init__(self, references: References, columns: Sequence[TableColumns]) -> None:
        self.references = references
        self.cursor = references.cursor
        self.columns = columns
        self.renamed: dict[int, dict[str, None]] = {}
        self.plain: dict[int, dict[str, None]] = {}
        self.rewrites: list[Rewrite] = []
        self.stars: list[_Star] = []
        self.unhideable: set[int] = set()
        self.pipes: dict[int, PipeState] = {}
        self.drops: list[tuple[int, int]] = []
        self.item_starts: set[int] = set()
        self.item_ends: set[int] = set()

    def use(self, leaf: Leaf, name: str, index: int, scope: Scope) -> None:
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

    def note_star(self, index: int, scope: Scope, qualifier: tuple[str, ...]) -> None:
        current: Scope | None = scope
        while current is not None:
            leaves = [leaf for leaf in current.leaves if not qualifier or qualifier in leaf.qualifiers]
            if leaves or not qualifier:
                steps = (
                    (number, self.pipes[number].step if number in self.pipes else 0)
                    for number in tables_beneath(leaves)
                )
                self.stars.append(_Star(index, tuple(steps)))
                return
            current = current.outer

    def note_items(self, items: Iterable[tuple[int, int]]) -> None:
        for first, last in items:
            self.item_starts.add(first)
            self.item_ends.add(last)

    def past_star(self, star: int) -> int:
        """Past a star and the columns that it leaves out."""
        tokens = self.cursor.tokens
        excepts = tokens[star + 1].upper == "EXCEPT" and tokens[star + 2].upper == "("
        if not excepts or starts_query(self.cursor, star + 2):
            return star + 1
        return self.cursor.closing(star + 2) + 1

    def leave_unhidden(self, leaves: Iterable[Leaf]) -> None:
        """Notes references whose metadata columns no rewrite can hide."""
        self.unhideable |= set(tables_beneath(leaves))

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
        if self.past_star(star) > star + 1:
            at = tokens[star + 2].end
            return Rewrite(at, at, f"{names}, ")
        return Rewrite(tokens[star].end, tokens[star].end, f" EXCEPT ({names})")

    def _dropped(self, number: int, before: int) -> Rewrite:
        at = self.cursor.tokens[before - 1].end
        return Rewrite(at, at, f" |> DROP {self._names([number])}")
