"""Catalogs of a simulated world: the real pointers over simulated stores and rows, and the trace of what became current."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from floeberg.api.catalog import Catalog
from floeberg.catalogs.filesystem import FilesystemCatalog
from floeberg.catalogs.filesystem_pointer import FilesystemPointer
from floeberg.catalogs.identifiers import Identifier
from floeberg.catalogs.memory import MemoryRows
from floeberg.catalogs.metadata_files import decode_metadata
from floeberg.catalogs.pointer_rows import PointerSwap
from floeberg.catalogs.row_pointer import RowPointer
from floeberg.commit.pointer import TablePointer, TableState
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.storage.registry import FixedStores
from floeberg.testing.simulated import SimProcess, SimWorld

LOCATION: Final = "s3://lake/db/t"
IDENTIFIER: Final = Identifier(("db",), "t")
NAME: Final = "lake.db.t"
FILESYSTEM: Final = "filesystem"
ROWS: Final = "rows"
_VERSION: Final = re.compile(r"/metadata/v(\d+)\.(?:gz\.)?metadata\.json$")


def sim_lake(process: SimProcess) -> Catalog:
    """A filesystem catalog on the world's disk, as a process holds it."""
    stores = FixedStores(process.store)
    backend = FilesystemCatalog("lake", warehouse="s3://lake", stores=stores, effects=process.effects)
    return Catalog(backend)


class CreatesTable(TablePointer, Protocol):
    """A pointer that can also publish a new table."""

    def create(self, new: TableMetadata) -> TableState: ...


class SharedRows(MemoryRows):
    """The rows themselves."""

    def copied(self) -> SharedRows:
        other = SharedRows()
        other._pointers = dict(self._pointers)
        return other


class SimRows(MemoryRows):
    """Pointer rows as one process sees them: every statement can fail, be lost or arrive late."""

    def __init__(self, process: SimProcess, shared: MemoryRows, moved: Callable[[str], None]) -> None:
        super().__init__()
        self._process = process
        self._shared = shared
        self._moved = moved

    def get(self, identifier: Identifier, kind: str) -> str | None:
        return self._process.perform("read", f"row {identifier}", lambda: self._shared.get(identifier, kind))

    def insert(self, identifier: Identifier, kind: str, location: str) -> bool:
        def effect() -> bool:
            done = self._shared.insert(identifier, kind, location)
            if done:
                self._moved(location)
            return done

        return self._process.perform("write", f"row {identifier}", effect)

    def swap(self, identifier: Identifier, kind: str, *, expected: str, location: str) -> bool:
        def effect() -> bool:
            done = self._shared.swap(identifier, kind, expected=expected, location=location)
            if done:
                self._moved(location)
            return done

        return self._process.perform("write", f"row {identifier}", effect)

    def swap_all(self, swaps: Sequence[PointerSwap]) -> bool:
        def effect() -> bool:
            done = self._shared.swap_all(swaps)
            for one in swaps if done else ():
                self._moved(one.location)
            return done

        return self._process.perform("write", f"rows {', '.join(str(one.identifier) for one in swaps)}", effect)


class SimCatalog:
    """One table in a world, and every state that it was ever in."""

    def __init__(self, world: SimWorld, kind: str) -> None:
        self.kind = kind
        self._rows = SharedRows()
        self._contents: dict[str, bytes] = {}
        self._by_number: dict[int, str] = {}
        self._moves: list[str] = []
        self._decoded: dict[str, TableMetadata] = {}
        world.disk.watch = self._saw

    def copied(self, world: SimWorld) -> SimCatalog:
        """The same table, in a world whose disk holds the same files."""
        other = SimCatalog(world, self.kind)
        other._rows = self._rows.copied()
        other._contents = dict(self._contents)
        other._by_number = dict(self._by_number)
        other._moves = list(self._moves)
        return other

    def pointer(self, process: SimProcess) -> CreatesTable:
        """The table as a process holds it."""
        stores = FixedStores(process.store)
        if self.kind == FILESYSTEM:
            return FilesystemPointer(NAME, LOCATION, stores=stores, effects=process.effects)
        rows = SimRows(process, self._rows, self._moves.append)
        return RowPointer(IDENTIFIER, NAME, rows=rows, stores=stores, effects=process.effects)

    def count(self) -> int:
        """How many states there were so far."""
        return len(self._by_number) if self.kind == FILESYSTEM else len(self._moves)

    def states(self) -> list[TableState]:
        """Every state of the table, in order. On files: the first that was published under each number, because a name
        that is free again is taken by no one who counts."""
        uris = (
            [self._by_number[number] for number in sorted(self._by_number)] if self.kind == FILESYSTEM else self._moves
        )
        return [TableState(NAME, self._metadata(uri), uri) for uri in uris]

    def _metadata(self, uri: str) -> TableMetadata:
        known = self._decoded.get(uri)
        if known is None:
            known = self._decoded[uri] = decode_metadata(self._contents[uri], uri)
        return known

    def _saw(self, uri: str, content: bytes) -> None:
        if not uri.endswith(".metadata.json"):
            return
        match = _VERSION.search(uri)
        if match is None:
            self._contents[uri] = content
        elif int(match[1]) not in self._by_number:
            self._by_number[int(match[1])] = uri
            self._contents[uri] = content
