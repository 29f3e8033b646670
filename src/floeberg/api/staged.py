"""Tables whose data is written before they exist (CTAS, RTAS): one commit publishes both, or nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any, Final, Self

from floeberg.api.caches import Caches
from floeberg.api.scan import ScanSource
from floeberg.api.table import Table
from floeberg.api.writing import Change
from floeberg.catalogs.base import CatalogBackend, LoadedTable
from floeberg.catalogs.identifiers import Identifier
from floeberg.catalogs.metadata_files import discard, table_roots
from floeberg.catalogs.new_table import TableDefinition
from floeberg.catalogs.purge import delete_empty_folders
from floeberg.commit.commit import Committed, commit_operations
from floeberg.commit.operation import Operation
from floeberg.commit.pointer import TableState
from floeberg.errors import AlreadyExists, FloebergError, FormatError, InvalidInput, NotFound, ValidationConflict
from floeberg.spec.changes.table_builder import apply_updates
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.partitions.sort_orders import SortOrder
from floeberg.spec.partitions.specs import PartitionSpec
from floeberg.spec.schemas.schema import Schema

_NOTHING_DONE: Final = (AlreadyExists, NotFound, InvalidInput, FormatError)
"""Errors that a commit raises before it swaps anything, or when another commit came first."""


class StagedTable:
    """A table that does not exist yet: `append` writes its rows, and `commit` publishes table and rows at once.

    As a context manager it is abandoned when its block ends without a commit: the written files are deleted. After an
    unknown outcome nothing is.
    """

    def __init__(
        self,
        loaded: LoadedTable,
        *,
        identifier: Identifier,
        first: tuple[Operation, ...] = (),
        caches: Caches | None = None,
    ) -> None:
        self._caches = Caches() if caches is None else caches
        self._pointer = loaded.pointer
        self._base = loaded.state
        self._first = first
        self._added: list[Operation] = []
        self._files: list[str] = []
        self._ended = False
        self.identifier = identifier
        self.metadata: TableMetadata = _preview(loaded.state, first)

    @classmethod
    def _of_new(
        cls, catalog: CatalogBackend, identifier: Identifier, metadata: TableMetadata, *, caches: Caches | None = None
    ) -> Self:
        """A table that its commit will create."""
        return cls(catalog.stage_table(identifier, metadata), identifier=identifier, caches=caches)

    @classmethod
    def _of_replaced(
        cls, loaded: LoadedTable, identifier: Identifier, definition: TableDefinition, *, caches: Caches | None = None
    ) -> Self:
        """A table that its commit will replace; its history stays."""
        planned = _preview(loaded.state, (definition.replacement(),))
        return cls(loaded, identifier=identifier, first=(definition.replacement(staged=planned),), caches=caches)

    def __repr__(self) -> str:
        return f"StagedTable({self.name}, {self.metadata.location})"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._ended:
            self.abandon()

    @property
    def name(self) -> str:
        return self._pointer.identifier

    @property
    def schema(self) -> Schema:
        return self.metadata.current_schema

    @property
    def spec(self) -> PartitionSpec:
        return self.metadata.default_spec

    @property
    def sort_order(self) -> SortOrder:
        return self.metadata.default_sort_order

    @property
    def properties(self) -> Mapping[str, str]:
        return self.metadata.properties

    def append(self, data: Any, *, snapshot_properties: Mapping[str, str] | None = None) -> None:
        """Writes rows (a pyarrow Table, RecordBatch or RecordBatchReader, a polars or pandas frame) that `commit`
        publishes."""
        self._refuse_ended()
        source = ScanSource(self._pointer, self.metadata, self._caches)
        planned = Change(source, starting_snapshot_id=None, snapshot_properties=snapshot_properties).append(data)
        self._track(planned.writer.written_paths)
        if planned.operation is not None:
            self._added.append(planned.operation)

    def _track(self, locations: Iterable[str]) -> None:
        """Remembers files that were written for this table alone, to delete them when it is abandoned. Raises PathEscape
        for a file outside the table's folders."""
        roots = table_roots(self.metadata)
        self._files += [roots.guard(location) for location in locations]

    def commit(self) -> Table:
        """Publishes the table with its rows, in one commit.

        Raises AlreadyExists when the name was taken meanwhile, ValidationConflict and CommitConflict as every commit; the
        written files are deleted then. Raises CommitUnknown when the outcome is not known; nothing is deleted then.
        """
        self._refuse_ended()
        self._ended = True  # from here on only a proof of rejection allows to delete anything
        try:
            committed = self._commit((*self._first, *self._added))
        except FloebergError as error:
            if error.cleanup_safe or isinstance(error, _NOTHING_DONE):
                self.abandon()
            raise
        return Table(LoadedTable(self._pointer, committed.state), identifier=self.identifier, caches=self._caches)

    def _refuse_ended(self) -> None:
        if self._ended:
            raise InvalidInput(f"table {self.name}: this staged table was committed or abandoned already")

    def _commit(self, operations: tuple[Operation, ...]) -> Committed:
        try:
            committed = commit_operations(self._pointer, self._base, operations)
            if committed.state.metadata_location is None:  # nothing was added to the new table: it is published empty
                state = self._pointer.swap(self._base, committed.state.metadata)
                committed = Committed(state, ())
        except ValidationConflict as conflict:
            if isinstance(conflict.__cause__, AlreadyExists | NotFound):
                raise conflict.__cause__ from None
            raise
        return committed

    def abandon(self) -> None:
        """Gives the table up and deletes the written files."""
        self._ended = True
        for location in self._files:
            discard(self._pointer.store_for(location), location)
        root = self.metadata.location
        delete_empty_folders(self._pointer.store_for(root), root, self._files)


def _preview(state: TableState, operations: Iterable[Operation]) -> TableMetadata:
    metadata = state.metadata
    for operation in operations:
        updates = operation.updates(metadata, state)  # type: ignore[arg-type]
        metadata = apply_updates(metadata, updates, now_ms=metadata.last_updated_ms)
    return metadata
