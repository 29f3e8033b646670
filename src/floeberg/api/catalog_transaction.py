"""Changes of several tables, one commit."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Self

from floeberg.api.catalog_namespaces import Name
from floeberg.api.table import Table
from floeberg.api.transaction import Transaction
from floeberg.catalogs.base import CatalogBackend, LoadedTable
from floeberg.catalogs.identifiers import Identifier
from floeberg.catalogs.several_tables import TableOperations, commit_tables
from floeberg.errors import FloebergError, InvalidInput, UnsupportedFeature


class TransactionPart(Transaction):
    """One table of a transaction over several: what is changed here is committed when that one ends."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing ends with this block."""


class CatalogTransaction:
    """Collects changes of any tables of a catalog and commits them together when its block ends; an error inside commits
    nothing, and a conflict in one table leaves all as they were.

    A table is seen as it is when it is first named. What a transaction only scans may be changed by others meanwhile; rows that
    a change of it looked for and did not find may not be added.
    """

    def __init__(
        self, backend: CatalogBackend, *, identify: Callable[[Name], Identifier], load: Callable[[Name], Table]
    ) -> None:
        if not backend.capabilities.several_tables:
            raise UnsupportedFeature(
                f"catalog {backend.name} cannot commit several tables at once; use a transaction for each table "
                "(t.transaction()), or a SQL catalog",
                catalog=backend.name,
            )
        self._backend = backend
        self._identify = identify
        self._load = load
        self._tables: dict[Identifier, tuple[Table, TransactionPart]] = {}
        self._ended = False

    def __enter__(self) -> Self:
        self._check_open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended = True
        transactions = [transaction for _, transaction in self._tables.values()]
        for transaction in transactions:
            transaction._ended = True
        if kind is not None:
            for transaction in transactions:
                transaction._discard()
            return
        try:
            self._commit()
        except FloebergError as failed:
            for transaction in transactions:
                transaction._failed(failed)
            raise

    def _commit(self) -> None:
        if not any(transaction._changes_something for _, transaction in self._tables.values()):
            return
        # A table in which changes found no rows takes part: the others depend on that.
        changed = [(name, *pair) for name, pair in self._tables.items() if pair[1]._operations]
        parts = [
            TableOperations(name, LoadedTable(table._pointer, transaction._state), transaction._operations)
            for name, table, transaction in changed
        ]
        for (_, table, _), committed in zip(changed, commit_tables(self._backend, parts), strict=True):
            table._state = committed.state

    def table(self, name: Name) -> TransactionPart:
        """A table to change: `tx.table("db.a").append(rows)`. The same object for the same name. Raises TableNotFound."""
        self._check_open()
        identifier = self._identify(name)
        if identifier not in self._tables:
            table = self._load(identifier)
            self._tables[identifier] = (table, TransactionPart(table))
        return self._tables[identifier][1]

    def _check_open(self) -> None:
        if self._ended:
            raise InvalidInput("this transaction has ended: what is added to it now would be lost; begin another")
