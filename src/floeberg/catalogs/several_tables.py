"""One commit over several tables: the operations of each are replayed on its newest state until all swaps succeed together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from floeberg.catalogs.base import CatalogBackend, LoadedTable, TableSwap
from floeberg.catalogs.identifiers import Identifier
from floeberg.commit.commit import Committed, _attempt, _replay
from floeberg.commit.found_no_rows import FoundNoRows
from floeberg.commit.operation import Operation
from floeberg.commit.pointer import TableState
from floeberg.commit.retry import Attempt, RetryPolicy, back_off
from floeberg.commit.workspace import Workspace
from floeberg.errors import CommitConflict, CommitUnknown, FloebergError
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.snapshots.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class TableOperations:
    """One table of the commit: as it was when its operations were planned, and these."""

    identifier: Identifier
    loaded: LoadedTable
    operations: Sequence[Operation]

    @property
    def is_read(self) -> bool:
        """Whether a change looked for rows under serializable isolation and found none: nobody may add them meanwhile."""
        return any(isinstance(one, FoundNoRows) and one.view.is_serializable for one in self.operations)


def commit_tables(catalog: CatalogBackend, tables: Sequence[TableOperations]) -> list[Committed]:
    """Commits the operations of every table, all or nothing.

    Raises CommitConflict, ValidationConflict and CommitUnknown as a commit of one table does; manifests that were written
    for attempts proved rejected are removed, after CommitUnknown nothing is.
    """
    return _Commit(catalog, tables).run()


@dataclass(frozen=True, slots=True)
class _Replayed:
    """A table's part of one attempt."""

    metadata: TableMetadata
    attempt: Attempt

    @property
    def snapshots(self) -> tuple[Snapshot, ...]:
        return tuple(self.metadata.snapshot(snapshot_id) for snapshot_id in self.attempt.snapshot_ids)


class _Commit:
    def __init__(self, catalog: CatalogBackend, tables: Sequence[TableOperations]) -> None:
        self._catalog = catalog
        self._tables = tables
        self._workspaces = [Workspace(table.loaded.pointer) for table in tables]
        self._states = [table.loaded.state for table in tables]
        self._policy = max(
            (RetryPolicy.from_properties(state.metadata.properties) for state in self._states),
            key=lambda policy: policy.num_retries,
        )
        self._swapping = False

    def run(self) -> list[Committed]:
        try:
            replayed, states = self._until_swapped()
        except FloebergError as error:
            if error.cleanup_safe or not self._swapping:
                for workspace in self._workspaces:
                    workspace.clean_up(keep=None)
            raise
        for workspace, one in zip(self._workspaces, replayed, strict=True):
            workspace.clean_up(keep=one.metadata)
        return [Committed(state, one.snapshots) for state, one in zip(states, replayed, strict=True)]

    def _until_swapped(self) -> tuple[list[_Replayed], list[TableState]]:
        attempt_number = 0
        refused: list[list[_Replayed]] = []
        while True:
            attempt_number += 1
            self._swapping = False
            replayed = [self._replayed(at, attempt_number) for at in range(len(self._tables))]
            self._swapping = True
            try:
                return replayed, self._swap(replayed)
            except CommitUnknown as unknown:
                return self._settle([*refused, replayed], unknown)
            except CommitConflict as conflict:
                refused.append(replayed)
                gives_up = attempt_number > self._policy.num_retries
                if attempt_number > 1 and not gives_up:
                    self._back_off(attempt_number - 1)
                self._states = [table.loaded.pointer.refresh() for table in self._tables]
                if (landed := self._first_landed(refused, self._states)) is not None:
                    return landed, self._states
                if gives_up:
                    raise CommitConflict(
                        f"{self._names()}: gave up after {attempt_number} attempts, other commits came first each time "
                        f"({conflict}); run the transaction again, or raise commit.retry.num-retries of one of them",
                        attempts=attempt_number,
                    ) from conflict

    def _replayed(self, at: int, attempt_number: int) -> _Replayed:
        workspace, state = self._workspaces[at], self._states[at]
        workspace.attempt_number = attempt_number
        metadata, made = _replay(state, self._tables[at].operations, workspace)
        return _Replayed(metadata, _attempt(state, metadata, made))

    def _swap(self, replayed: Sequence[_Replayed]) -> list[TableState]:
        """The states after the commit; a table that the operations leave as it is is not written. One in which a change
        found no rows must still be as it was looked at."""
        changed = [at for at, one in enumerate(replayed) if one.metadata is not self._states[at].metadata]
        held = [at for at, table in enumerate(self._tables) if at not in changed and table.is_read]
        taking_part = [*changed, *held] if changed else []
        swaps = [TableSwap(self._tables[at].identifier, self._states[at], replayed[at].metadata) for at in taking_part]
        swapped = dict(zip(taking_part, self._catalog.swap_tables(swaps) if swaps else [], strict=True))
        return [swapped.get(at, state) for at, state in enumerate(self._states)]

    def _landed(self, replayed: Sequence[_Replayed], states: Sequence[TableState]) -> bool:
        """Whether this very attempt took effect. All tables change together, so the snapshots of one prove it for all."""
        made = [
            one.attempt.landed_in(state)
            for one, state in zip(replayed, states, strict=True)
            if one.attempt.snapshot_ids
        ]
        return any(made)

    def _first_landed(
        self, attempts: Sequence[list[_Replayed]], states: Sequence[TableState]
    ) -> list[_Replayed] | None:
        """The attempt that the tables show: the last one, or one before it that was answered by a conflict and came late."""
        return next((replayed for replayed in attempts if self._landed(replayed, states)), None)

    def _settle(
        self, attempts: Sequence[list[_Replayed]], unknown: CommitUnknown
    ) -> tuple[list[_Replayed], list[TableState]]:
        replayed = attempts[-1]
        for check in range(1, self._policy.status_check_num_retries + 1):
            if check > 1:
                self._back_off(check - 1, checks=True)
            try:
                states = [table.loaded.pointer.refresh() for table in self._tables]
            except FloebergError as error:
                unknown.add_note(f"status check {check} failed: {error}")
                continue
            if (landed := self._first_landed(attempts, states)) is not None:
                return landed, states
        made = ", ".join(str(one) for part in replayed for one in part.attempt.snapshot_ids)
        raise CommitUnknown(
            f"{self._names()}: it is not known whether the commit took effect ({unknown}). Nothing was cleaned up. Before "
            f"you run the transaction again, look for {f'snapshots {made}' if made else 'its changes'} in the tables.",
            snapshot_ids=[one for part in replayed for one in part.attempt.snapshot_ids],
        ) from unknown

    def _back_off(self, number: int, *, checks: bool = False) -> None:
        policy = self._policy
        low_ms = policy.status_check_min_wait_ms if checks else policy.min_wait_ms
        high_ms = policy.status_check_max_wait_ms if checks else policy.max_wait_ms
        back_off(self._tables[0].loaded.pointer, number, low_ms=low_ms, high_ms=high_ms)

    def _names(self) -> str:
        return f"tables {', '.join(table.loaded.pointer.identifier for table in self._tables)}"
