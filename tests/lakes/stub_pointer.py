"""A pointer whose swaps do what a script says."""

from __future__ import annotations

from collections.abc import Callable

from floeberg.commit.pointer import TableState
from floeberg.errors import CommitConflict, CommitUnknown
from floeberg.spec.metadata.table_metadata import TableMetadata

Swap = Callable[[TableState, TableMetadata], TableState]


class StubPointer:
    """The table of a builder, seen through a catalog that answers as scripted: `ok`, `conflict` (nothing happened),
    `conflict after` (it happened, and the reply says conflict), `conflict late` (the reply says conflict, and it happens
    after the next refresh), `unknown` (nothing happened, nobody knows), `unknown after`, `storage` (an error of the store
    before anything happened). The last answer repeats."""

    def __init__(self, pointer, *answers: str) -> None:
        self.pointer = pointer
        self.answers = list(answers)
        self.swaps = 0
        self.refreshes = 0
        self.before_refresh: Callable[[], None] | None = None
        self._late: list[tuple[TableState, TableMetadata]] = []

    @property
    def identifier(self) -> str:
        return self.pointer.identifier

    @property
    def effects(self):
        return self.pointer.effects

    def store_for(self, location: str):
        return self.pointer.store_for(location)

    def refresh(self) -> TableState:
        self.refreshes += 1
        if self.before_refresh is not None:
            self.before_refresh()
        found = self.pointer.refresh()
        while self._late:
            self.pointer.swap(*self._late.pop())
        return found

    def swap(self, base: TableState, new: TableMetadata) -> TableState:
        self.swaps += 1
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        done = self.pointer.swap(base, new) if answer == "ok" or answer.endswith("after") else None
        if answer == "conflict late":
            self._late.append((base, new))
        if answer.startswith("conflict"):
            raise CommitConflict("the catalog says another came first")
        if answer.startswith("unknown"):
            raise CommitUnknown("the catalog did not answer")
        assert done is not None
        return done
