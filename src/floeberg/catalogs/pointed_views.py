"""Views of a catalog of pointer rows."""

from __future__ import annotations

from floeberg.catalogs.base import LoadedView, shown_name
from floeberg.catalogs.identifiers import Identifier
from floeberg.catalogs.metadata_files import discard, encode_view_metadata, read_view_metadata
from floeberg.catalogs.pointer_rows import VIEW, PointerRows
from floeberg.catalogs.row_pointer import number_of
from floeberg.effects.protocols import Effects
from floeberg.errors import (
    CommitConflict,
    CommitUnknown,
    FloebergError,
    InvalidInput,
    StorageError,
    Throttled,
    Unavailable,
    ViewAlreadyExists,
    ViewNotFound,
    WriteRefused,
)
from floeberg.spec.metadata.view_metadata import ViewMetadata
from floeberg.storage.guard import Roots
from floeberg.storage.registry import Stores


class PointedViews:
    """Views that are rows pointing at metadata files."""

    def __init__(self, catalog: str, *, rows: PointerRows, stores: Stores, effects: Effects) -> None:
        self._catalog = catalog
        self._rows = rows
        self._stores = stores
        self._effects = effects

    def create(self, identifier: Identifier, metadata: ViewMetadata) -> LoadedView:
        """Raises ViewAlreadyExists, CommitUnknown."""
        location = self._write(metadata, base_location=None)
        try:
            inserted = self._rows.insert(identifier, VIEW, location)
        except Unavailable as failed:
            inserted = self._settle(identifier, location, failed)
        except FloebergError:
            self._discard(location)
            raise
        if not inserted:
            self._discard(location)
            raise ViewAlreadyExists(
                f"{self._shown(identifier)} was created by someone else meanwhile, as a view or a table"
            )
        return LoadedView(identifier, metadata, location)

    def load(self, identifier: Identifier) -> LoadedView:
        """Raises ViewNotFound."""
        location = self._rows.get(identifier, VIEW)
        if location is None:
            raise self._missing(identifier)
        return LoadedView(identifier, read_view_metadata(self._stores.for_location(location), location), location)

    def swap(self, base: LoadedView, new: ViewMetadata) -> LoadedView:
        """Raises CommitConflict, CommitUnknown."""
        if base.metadata_location is None:
            raise InvalidInput(f"view {self._shown(base.identifier)} was never published")
        location = self._write(new, base_location=base.metadata_location)
        try:
            swapped = self._rows.swap(base.identifier, VIEW, expected=base.metadata_location, location=location)
        except WriteRefused:
            self._discard(location)
            raise
        except Throttled as refused:
            self._discard(location)
            raise CommitConflict(
                f"view {self._shown(base.identifier)}: the catalog refused for now: {refused}"
            ) from refused
        except Unavailable as failed:
            swapped = self._settle(base.identifier, location, failed)
        if not swapped:
            self._discard(location)
            raise CommitConflict(f"view {self._shown(base.identifier)}: another change came first")
        return LoadedView(base.identifier, new, location)

    def drop(self, identifier: Identifier) -> None:
        """Removes the view and its metadata file, which nothing else refers to. Raises ViewNotFound."""
        location = self._rows.get(identifier, VIEW)
        if location is None or not self._rows.delete(identifier, VIEW):
            raise self._missing(identifier)
        try:
            metadata = read_view_metadata(self._stores.for_location(location), location)
        except FloebergError:
            return  # a view whose metadata cannot be read is dropped all the same
        if Roots([metadata.location]).contains(location):
            self._discard(location)

    def _settle(self, identifier: Identifier, location: str, failed: Unavailable) -> bool:
        """After an error that does not say whether the row was put. A pointer elsewhere proves nothing: a view has no log."""
        try:
            if self._rows.get(identifier, VIEW) == location:
                return True
        except FloebergError as error:
            failed.add_note(f"reading the pointer failed too: {error}")
        raise CommitUnknown(
            f"view {self._shown(identifier)}: the catalog did not say whether {location} became current ({failed})"
        ) from failed

    def _write(self, metadata: ViewMetadata, *, base_location: str | None) -> str:
        number = 0 if base_location is None else number_of(base_location) + 1
        name = f"{number:05d}-{self._effects.ids.uuid()}.metadata.json"
        location = f"{metadata.location.rstrip('/')}/metadata/{name}"
        try:
            self._stores.for_location(location).write(location, encode_view_metadata(metadata))
        except StorageError:
            self._discard(location)
            raise
        return location

    def _discard(self, location: str) -> None:
        discard(self._stores.for_location(location), location)

    def _missing(self, identifier: Identifier) -> ViewNotFound:
        return ViewNotFound(f"view {self._shown(identifier)} does not exist", view=str(identifier))

    def _shown(self, identifier: Identifier) -> str:
        return shown_name(self._catalog, identifier)
