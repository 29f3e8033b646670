"""A commit over several tables of a REST catalog: one request, all or nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from floeberg.catalogs.base import TableSwap
from floeberg.catalogs.rest import endpoints as e
from floeberg.catalogs.rest.commits import Conflicts, Refuses, TableCommit, send_commit
from floeberg.catalogs.rest.pointer import RestPointer
from floeberg.catalogs.rest.session import RestSession
from floeberg.catalogs.rest.tables import RestTables
from floeberg.commit.pointer import TableState
from floeberg.errors import CommitConflict, CommitUnknown, FloebergError, InvalidInput, NotFound, WriteRefused


@dataclass(frozen=True, slots=True)
class _Part:
    """One table of the commit."""

    pointer: RestPointer
    base: TableState | None
    commit: TableCommit

    @property
    def only_holds(self) -> bool:
        return self.base is not None and self.commit.new is self.base.metadata

    def is_done(self, state: TableState) -> bool:
        return self.only_holds or self.commit.is_done_in(
            state, None if self.base is None else self.base.metadata_location
        )


def commit_transaction(session: RestSession, tables: RestTables, swaps: Sequence[TableSwap]) -> list[TableState]:
    """The states of the tables after a commit over all of them. Raises CommitConflict, CommitUnknown, WriteRefused, and
    UnsupportedFeature when the server does not offer it."""
    session.require(e.COMMIT_TRANSACTION, "commit to several tables at once")
    parts = [_part(tables.pointer(swap.identifier), swap) for swap in swaps]
    names = ", ".join(part.pointer.identifier for part in parts)
    if len({part.commit.identifier for part in parts}) != len(parts):
        raise InvalidInput(f"tables {names}: a commit over several tables names each of them once")
    subject = f"tables {names}"
    body = {"table-changes": [part.commit.to_json() for part in parts]}
    try:
        send_commit(session, f"{session.paths.root}/transactions/commit", body, subject=subject)
    except (Conflicts, Refuses) as told:
        return _look_first(parts, told)
    except CommitUnknown as unknown:
        return _settled(parts, unknown)
    return _states(parts, subject)


def _part(pointer: RestPointer, swap: TableSwap) -> _Part:
    if swap.base is not None and swap.only_holds:
        return _Part(pointer, swap.base, TableCommit.holding(pointer.key, swap.base.metadata))
    is_new = swap.base is None or swap.base.metadata_location is None
    base = None if swap.base is None or is_new else swap.base.metadata
    return _Part(pointer, swap.base, TableCommit.of(pointer.key, base, swap.new))


def _states(parts: Sequence[_Part], subject: str) -> list[TableState]:
    """The tables as they are after a commit that the server acknowledged."""
    try:
        return [part.pointer.refresh() for part in parts]
    except FloebergError as error:
        raise CommitUnknown(f"{subject}: committed, but the tables cannot be loaded: {error}") from error


def _look_first(parts: Sequence[_Part], told: Conflicts | Refuses) -> list[TableState]:
    """Whether the conflict is one with ourselves: only if every table shows its part of this very commit."""
    shown: list[bool] = []
    states: list[TableState] = []
    for part in parts:
        try:
            states.append(part.pointer.refresh())
        except NotFound:
            shown.append(False)
            continue
        except FloebergError as error:
            raise CommitUnknown(f"{told}; whether that is our own commit is not known: {error}") from error
        shown.append(part.only_holds or part.commit.shows_in(states[-1].metadata))
    if all(shown):
        return states
    with_proof = [was_there for was_there, part in zip(shown, parts, strict=True) if part.commit.snapshots]
    if any(with_proof):
        raise CommitUnknown(f"{told}; some of the tables show this commit and others do not: look at them") from told
    kind = WriteRefused if isinstance(told, Refuses) else CommitConflict
    raise kind(str(told)) from told


def _settled(parts: Sequence[_Part], unknown: CommitUnknown) -> list[TableState]:
    """After an unknown outcome: the tables when all of them show their part. Raises CommitUnknown."""
    try:
        states = [part.pointer.refresh() for part in parts]
    except FloebergError as error:
        unknown.add_note(f"loading the tables failed too: {error}")
        raise unknown from None
    if all(part.is_done(state) for part, state in zip(parts, states, strict=True)):
        return states
    raise unknown
