"""Several changes, one commit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import Protocol, Self

from floeberg.api.caches import Caches
from floeberg.api.row_writes import MakeChange, RowWrites, Txn
from floeberg.api.scan import ScanSource
from floeberg.api.update import ManageRefs, UpdateProperties, UpdateSchema, UpdateSortOrder, UpdateSpec
from floeberg.api.writing import Change, Planned
from floeberg.commit.commit import Committed, staged
from floeberg.commit.found_no_rows import FoundNoRows
from floeberg.commit.idempotence import AppTransaction
from floeberg.commit.operation import Operation
from floeberg.commit.pointer import TablePointer, TableState
from floeberg.commit.staging import preview
from floeberg.commit.table_changes import DEFINITION_CHANGES
from floeberg.commit.written_under import WrittenUnder
from floeberg.errors import FloebergError, InvalidInput
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.snapshots.snapshot import Snapshot


class TransactionTable(Protocol):
    """The table that a transaction commits to."""

    @property
    def metadata(self) -> TableMetadata: ...

    _pointer: TablePointer
    _state: TableState
    _caches: Caches

    def _apply(self, operations: list[Operation], once: AppTransaction | None = None) -> Committed: ...


class Transaction(RowWrites):
    """Collects changes and commits them together when its block ends; an error inside commits nothing.

    Each change sees the ones before it: a column that was added can be partitioned by, rows that were appended can be
    deleted.
    """

    def __init__(self, table: TransactionTable, *, once: AppTransaction | None = None) -> None:
        self._table = table
        self._once = once
        self._state = table._state  # the changes are planned on it, even if the table object is refreshed meanwhile
        self._operations: list[Operation] = []
        self._metadata = self._state.metadata
        self._written: list[Planned] = []
        self._ended = False

    def __enter__(self) -> Self:
        self._check_open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended = True
        if kind is not None:
            self._discard()
        elif self._changes_something or self._once is not None:
            self._commit()

    @property
    def _changes_something(self) -> bool:
        return any(not isinstance(operation, FoundNoRows) for operation in self._operations)

    def _commit(self) -> None:
        try:
            committed = self._table._apply(self._operations, self._once)
        except FloebergError as error:
            self._failed(error)
            raise
        if committed.skipped is not None:
            self._discard()

    def _discard(self) -> None:
        """Removes the files that were written: nothing refers to them."""
        for planned in self._written:
            planned.writer.discard()

    def _failed(self, error: FloebergError) -> None:
        """Removes the files that were written, where the error proves that no commit refers to them."""
        for planned in self._written:
            planned.failed(error)

    @property
    def metadata(self) -> TableMetadata:
        """The table's definition with the changes so far (snapshots come with the commit)."""
        return self._metadata

    def _apply(self, operations: list[Operation]) -> None:
        """Keeps what an update block collected."""
        self._check_open()
        self._metadata = preview(self._metadata, operations)
        self._operations += operations

    def _change(
        self, make: MakeChange, branch: str, snapshot_properties: Mapping[str, str] | None, txn: Txn | None
    ) -> Snapshot | None:
        """Keeps a change of rows; its snapshot comes with the commit."""
        self._check_open()
        if txn is not None:
            raise InvalidInput(
                "a transaction is committed as a whole: give txn to t.transaction(txn=…), not to its writes"
            )
        with self._planned_on() as metadata:
            planned = make(
                Change(
                    ScanSource(self._table._pointer, metadata, self._table._caches),
                    starting_snapshot_id=self._committed_head(metadata, branch),
                    branch=branch,
                    snapshot_properties=snapshot_properties,
                    uncommitted=frozenset().union(*(earlier.writer.written_paths for earlier in self._written)),
                )
            )
        if planned.operation is not None:
            self._operations += [WrittenUnder(start=self._state.metadata, planned=metadata), planned.operation]
            self._written.append(planned)
        elif planned.found_none is not None:
            self._operations.append(planned.found_none)
        return None

    def _committed_head(self, metadata: TableMetadata, branch: str) -> int | None:
        """The newest snapshot of a branch that this transaction did not make: later snapshots of others are concurrent
        changes. An earlier change of the transaction may have made the branch, or moved it."""
        head = metadata.snapshot_for_ref(branch)
        ancestors = metadata.ancestor_ids(None if head is None else head.snapshot_id)
        return next(
            (snapshot_id for snapshot_id in ancestors if self._state.metadata.snapshots.has_id(snapshot_id)), None
        )

    @contextmanager
    def _planned_on(self) -> Iterator[TableMetadata]:
        """The table with the changes so far."""
        if all(isinstance(operation, DEFINITION_CHANGES) for operation in self._operations):
            yield self._metadata
            return
        with staged(self._table._pointer, self._state, self._operations) as metadata:
            yield metadata

    def _check_open(self) -> None:
        if self._ended:
            raise InvalidInput("this transaction has ended: what is added to it now would be lost; begin another")

    def update_schema(self, *, case_sensitive: bool = True, allow_incompatible_changes: bool = False) -> UpdateSchema:
        return UpdateSchema(self, case_sensitive=case_sensitive, allow_incompatible_changes=allow_incompatible_changes)

    def update_spec(self, *, case_sensitive: bool = True) -> UpdateSpec:
        return UpdateSpec(self, case_sensitive=case_sensitive)

    def update_sort_order(self, *, case_sensitive: bool = True) -> UpdateSortOrder:
        return UpdateSortOrder(self, case_sensitive=case_sensitive)

    def update_properties(self) -> UpdateProperties:
        return UpdateProperties(self)

    def manage_refs(self) -> ManageRefs:
        return ManageRefs(self)
