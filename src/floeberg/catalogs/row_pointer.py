"""One table of a catalog of pointer rows: the metadata file is written first, under a name that carries a uuid; then the
row is put if it still points where the commit began."""

from __future__ import annotations

import re
from typing import Final

from floeberg.catalogs.identifiers import Identifier
from floeberg.catalogs.metadata_files import (
    check_same_table,
    delete_dropped_metadata,
    discard,
    encode_metadata,
    is_other_table,
    metadata_folder,
    metadata_suffix,
    read_metadata,
)
from floeberg.catalogs.pointer_rows import TABLE, PointerRows
from floeberg.commit.pointer import TableState
from floeberg.effects.protocols import Effects, Store
from floeberg.errors import (
    CommitConflict,
    CommitUnknown,
    FileNotFound,
    FloebergError,
    InvalidInput,
    StorageError,
    TableAlreadyExists,
    TableNotFound,
    Throttled,
    Unavailable,
    WriteRefused,
)
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.storage.registry import Stores

_NUMBERED: Final = re.compile(r"([0-9]{1,18})-[0-9a-fA-F-]{36}\.")
_MAX_READS: Final = 20


class RowPointer:
    """A table that is a row pointing at a metadata file."""

    def __init__(
        self, identifier: Identifier, shown: str, *, rows: PointerRows, stores: Stores, effects: Effects
    ) -> None:
        self.identifier = shown
        self.effects = effects
        self.key = identifier
        self._rows = rows
        self._stores = stores
        self._known: TableMetadata | None = None

    @property
    def stores(self) -> Stores:
        return self._stores

    def store_for(self, location: str) -> Store:
        return self._stores.for_location(location)

    def refresh(self) -> TableState:
        before: str | None = None
        for _ in range(_MAX_READS):
            location = self._rows.get(self.key, TABLE)
            if location is None:
                raise TableNotFound(f"table {self.identifier} does not exist", table=self.identifier)
            try:
                metadata = read_metadata(self.store_for(location), location)
            except FileNotFound as missing:
                if location == before:
                    raise FileNotFound(
                        f"table {self.identifier} is in the catalog, but its metadata file is gone: {location}. Restore it, "
                        "or drop the table (without purge) and register another of its metadata files",
                        table=self.identifier,
                        location=location,
                    ) from missing
                before = location  # perhaps removed after a newer commit: look again
                continue
            if self._known is not None:
                check_same_table(self.identifier, self._known, metadata)
            self._known = metadata
            return TableState(self.identifier, metadata, location)
        raise Unavailable(
            f"table {self.identifier}: its metadata file changed {_MAX_READS} times before it could be read; try again",
            table=self.identifier,
        )

    def create(self, new: TableMetadata) -> TableState:
        """Publishes a new table. Raises TableAlreadyExists, CommitUnknown."""
        location = self.write_file(new, base_location=None)
        try:
            inserted = self._rows.insert(self.key, TABLE, location)
        except Unavailable as failed:
            inserted = self._settle(new, None, location, failed)
        except FloebergError:
            discard(self.store_for(location), location)
            raise
        if not inserted:
            discard(self.store_for(location), location)
            raise TableAlreadyExists(
                f"{self.identifier} was created by someone else meanwhile, as a table or a view", table=self.identifier
            )
        self._known = new
        return TableState(self.identifier, new, location)

    def swap(self, base: TableState, new: TableMetadata) -> TableState:
        expected = base.metadata_location
        if expected is None:
            raise InvalidInput(f"table {self.identifier}: the state to build on was never published")
        location = self.write_file(new, base_location=expected)
        try:
            swapped = self._rows.swap(self.key, TABLE, expected=expected, location=location)
        except WriteRefused:
            discard(self.store_for(location), location)
            raise
        except Throttled as refused:
            discard(self.store_for(location), location)
            raise CommitConflict(
                f"table {self.identifier}: the catalog refused for now: {refused}", table=self.identifier
            ) from refused
        except Unavailable as failed:
            swapped = self._settle(new, expected, location, failed)
        if not swapped:
            discard(self.store_for(location), location)
            raise CommitConflict(f"table {self.identifier}: another commit came first", table=self.identifier)
        self._known = new
        delete_dropped_metadata(self._stores, base.metadata, new)
        return TableState(self.identifier, new, location)

    def _settle(self, new: TableMetadata, expected: str | None, location: str, failed: Unavailable) -> bool:
        """After an error that does not say whether the row was put: what it points at decides. Raises CommitUnknown."""
        try:
            decided = self.became_current(new, expected=expected, location=location)
            if decided is not None:
                return decided
        except FloebergError as error:
            failed.add_note(f"reading the pointer failed too: {error}")
        raise CommitUnknown(
            f"table {self.identifier}: the catalog did not say whether {location} became current ({failed})",
            table=self.identifier,
        ) from failed

    def became_current(self, new: TableMetadata, *, expected: str | None, location: str) -> bool | None:
        """Whether a metadata file became the table's; None when that cannot be told. The expected pointer still being there
        proves nothing, because the change may yet arrive."""
        found = self._rows.get(self.key, TABLE)
        if found == location:
            return True
        if found is None or found == expected:
            return None
        return self._is_behind(found, new, expected=expected, location=location)

    def _is_behind(self, found: str, new: TableMetadata, *, expected: str | None, location: str) -> bool | None:
        """Whether the current table was built on our file; None when its log does not reach that far back."""
        metadata = read_metadata(self.store_for(found), found)
        if expected is None:
            return not is_other_table(new, metadata)
        files = [entry.metadata_file for entry in metadata.metadata_log]
        if location in files:
            return True
        return False if expected in files else None

    def write_file(self, metadata: TableMetadata, *, base_location: str | None) -> str:
        """Writes a metadata file under a unique name. A half-written file is removed. Raises WriteRefused: no row points at the
        file yet, so whatever the store said, nothing became visible."""
        number = 0 if base_location is None else number_of(base_location) + 1
        location = f"{metadata_folder(metadata)}/{number:05d}-{self.effects.ids.uuid()}{metadata_suffix(metadata)}"
        try:
            self.store_for(location).write(location, encode_metadata(metadata, location))
        except WriteRefused:
            discard(self.store_for(location), location)
            raise
        except StorageError as failed:
            discard(self.store_for(location), location)
            raise WriteRefused(
                f"table {self.identifier}: its metadata file was not written, so nothing was committed: {failed}",
                table=self.identifier,
                location=location,
            ) from failed
        return location


def number_of(location: str) -> int:
    """The version in a metadata file's name; 0 where another writer named it otherwise."""
    match = _NUMBERED.match(location.rpartition("/")[2])
    return int(match[1]) if match else 0
