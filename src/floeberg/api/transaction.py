"""Several changes, one commit."""

from __future__ import annotations

from types import TracebackType
from typing import Protocol, Self

from floeberg.api.update import ManageRefs, UpdateProperties, UpdateSchema, UpdateSortOrder, UpdateSpec
from floeberg.commit.operation import Operation
from floeberg.commit.staging import preview
from floeberg.errors import InvalidInput
from floeberg.spec.metadata import TableMetadata


class TransactionTable(Protocol):
    """The table that a transaction commits to."""

    @property
    def metadata(self) -> TableMetadata: ...

    def take(self, operations: list[Operation]) -> None: ...


class Transaction:
    """Collects changes and commits them together when its block ends; an error inside commits nothing.

    Each change sees the ones before it: a column that was added can be partitioned by.
    """

    def __init__(self, table: TransactionTable) -> None:
        self._table = table
        self._operations: list[Operation] = []
        self._metadata = table.metadata
        self._ended = False

    def __enter__(self) -> Self:
        self._check_open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended = True
        if kind is None and self._operations:
            self._table.take(self._operations)

    @property
    def metadata(self) -> TableMetadata:
        """The table's definition with the changes so far (snapshots come with the commit)."""
        return self._metadata

    def take(self, operations: list[Operation]) -> None:
        """Keeps what an update block collected."""
        self._check_open()
        self._metadata = preview(self._metadata, operations)
        self._operations += operations

    def add(self, *operations: Operation) -> None:
        """Adds operations (`floeberg.commit`), for engines and tools."""
        self._check_open()
        self._operations += operations

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
