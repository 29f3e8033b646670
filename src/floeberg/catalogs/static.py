"""A table without a catalog: a metadata file, or a folder of them, to be read and not written."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from floeberg.catalogs.base import LoadedTable
from floeberg.catalogs.metadata_files import check_same_table, read_metadata
from floeberg.catalogs.versions import find_head
from floeberg.commit.pointer import TableState
from floeberg.effects.protocols import Capabilities, Effects, FileInfo, Store
from floeberg.errors import InvalidInput, TableNotFound, UnsupportedFeature
from floeberg.files.metadata_file import codec_of_name
from floeberg.spec.json.limits import DEFAULT_LIMITS, Limits
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.storage.input_file import local_path
from floeberg.storage.location import join
from floeberg.storage.registry import Stores
from floeberg.storage.relocation import Relocation

_NUMBER: Final = re.compile(r"[0-9]{1,18}")


class StaticPointer:
    """One table, read where it lies."""

    def __init__(
        self,
        location: str,
        *,
        stores: Stores,
        effects: Effects,
        relocate: Mapping[str, str] | None = None,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        self._location = location.rstrip("/")
        self._stores = stores
        self._relocation = Relocation.of(relocate or {})
        self._limits = limits
        self._known: TableMetadata | None = None
        self.effects = effects
        self.identifier = self._location

    @property
    def stores(self) -> Stores:
        return self._stores

    @property
    def relocation(self) -> Relocation:
        """How recorded locations become those of the files."""
        return self._relocation

    def store_for(self, location: str) -> Store:
        moved = self._relocation.apply(location)
        return RelocatedStore(self._stores, self._relocation, self._stores.for_location(moved))

    def refresh(self) -> TableState:
        location = self._metadata_location()
        metadata = read_metadata(self._stores.for_location(location), location, limits=self._limits)
        if self._known is not None:
            check_same_table(self.identifier, self._known, metadata)
        self._known = metadata
        return TableState(self.identifier, metadata, location)

    def swap(self, base: TableState, new: TableMetadata) -> TableState:
        raise UnsupportedFeature(
            f"table {self.identifier} was opened without a catalog and can only be read; load it through its catalog, or "
            "register it in one, to write",
            table=self.identifier,
        )

    def _metadata_location(self) -> str:
        if codec_of_name(self._location) is not None:
            return self._location
        folder = join(self._location, "metadata")
        store = self._stores.for_location(folder)
        head = find_head(store, folder)
        if head is not None:
            return join(folder, head.file_name)
        numbered = sorted(_numbered_metadata(store, folder))
        if not numbered:
            raise TableNotFound(
                f"{self._location} is no table: its metadata folder holds no metadata file. Name the metadata file itself, or "
                "the folder that holds metadata/",
                table=self._location,
            )
        if len(numbered) > 1 and numbered[-1][0] == numbered[-2][0]:
            raise InvalidInput(
                f"{self._location}: two metadata files have version {numbered[-1][0]}, and without a catalog it is not known "
                "which is the table; name one of them",
                table=self._location,
            )
        return numbered[-1][1]


def _numbered_metadata(store: Store, folder: str) -> Iterator[tuple[int, str]]:
    """`<V>-<uuid>.metadata.json` files directly in a folder, with their V."""
    start = f"{folder.rstrip('/')}/"
    for info in store.list(folder):
        name = info.location.removeprefix(start)
        number = name.partition("-")[0]
        if codec_of_name(name) is not None and _NUMBER.fullmatch(number):
            yield int(number), join(folder, name)


class RelocatedStore:
    """A store that finds files under their recorded names although they were moved. It only reads."""

    def __init__(self, stores: Stores, relocation: Relocation, store: Store) -> None:
        self._stores = stores
        self._relocation = relocation
        self._store = store

    @property
    def capabilities(self) -> Capabilities:
        return self._store.capabilities

    def moved(self, location: str) -> str:
        """Where a recorded location is now."""
        return self._relocation.apply(location)

    def local_path(self, location: str) -> str | None:
        """Its path, when it is on this machine."""
        return local_path(self._store, self.moved(location))

    def read(self, location: str, *, offset: int = 0, length: int | None = None) -> bytes:
        return self._store.read(self.moved(location), offset=offset, length=length)

    def read_ranges(self, location: str, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        return self._store.read_ranges(self.moved(location), ranges)

    def size(self, location: str) -> int:
        return self._store.size(self.moved(location))

    def exists(self, location: str) -> bool:
        return self._store.exists(self.moved(location))

    def write(self, location: str, content: bytes) -> None:
        raise self._read_only()

    def create(self, location: str, content: bytes) -> None:
        raise self._read_only()

    def replace(self, location: str, content: bytes) -> None:
        raise self._read_only()

    def delete(self, location: str) -> None:
        raise self._read_only()

    def delete_folder(self, location: str) -> None:
        raise self._read_only()

    def list(self, prefix: str) -> Iterator[FileInfo]:
        return self._store.list(self.moved(prefix))

    def list_folders(self, prefix: str) -> Iterator[str]:
        return self._store.list_folders(self.moved(prefix))

    def _read_only(self) -> UnsupportedFeature:
        return UnsupportedFeature("this table was opened without a catalog and can only be read")


def open_static(
    location: str,
    *,
    stores: Stores,
    effects: Effects,
    relocate: Mapping[str, str] | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> LoadedTable:
    """A table by its metadata file or folder. Raises TableNotFound, FileNotFound, MetadataCorrupt."""
    pointer = StaticPointer(location, stores=stores, effects=effects, relocate=relocate, limits=limits)
    return LoadedTable(pointer, pointer.refresh())
