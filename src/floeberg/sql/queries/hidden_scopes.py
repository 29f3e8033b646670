"""What names in a query can mean: the relations of a FROM, scopes within scopes, and the steps of a pipe."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from floeberg.sql.queries.column_sources import Known
from floeberg.sql.queries.query_nodes import Select


@dataclass(slots=True, eq=False)
class Leaf:
    """A relation that columns come from. `table` is the number of a reference whose metadata columns can be named here,
    `beneath` are the references that a star over it meets."""

    qualifiers: tuple[tuple[str, ...], ...]
    has: Callable[[str], Known]
    table: int | None = None
    beneath: tuple[int, ...] = ()

    def qualifier_width(self, parts: tuple[str, ...]) -> int:
        """How many leading parts are the relation's qualifier; 0 when they are not."""
        for qualifier in self.qualifiers:
            if len(parts) > len(qualifier) and parts[: len(qualifier)] == qualifier:
                return len(qualifier)
        return 0

    def __str__(self) -> str:
        return ".".join(self.qualifiers[0]) if self.qualifiers else "a relation without a name"


@dataclass(slots=True, eq=False)
class Scope:
    """The relations that names are looked up in. `select` is set for the ORDER BY of a SELECT, whose output comes first;
    `consumed` for a PIVOT."""

    leaves: Sequence[Leaf]
    outer: Scope | None
    extra: frozenset[str] = frozenset()
    select: Select | None = None
    consumed: bool = False


@dataclass(slots=True)
class PipeState:
    """The steps of a pipe: the current one, and the last one that uses each reference's metadata columns."""

    last_use: dict[int, int] = field(default_factory=dict)
    step: int = -1


def tables_beneath(leaves: Iterable[Leaf]) -> list[int]:
    """The numbers of the references that a star over these relations meets."""
    return [number for leaf in leaves for number in leaf.beneath]


def qualifiers_of(parts: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """The ways to qualify a column with a multipart name: the whole name, and it without leading parts."""
    lowered = tuple(part.lower() for part in parts)
    return tuple(lowered[start:] for start in range(len(lowered)))
