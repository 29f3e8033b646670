"""A store in memory, for tests and for tables that need not last."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence

from floeberg.effects.protocols import Capabilities, Clock, FileInfo
from floeberg.errors import FileNotFound, PreconditionFailed
from floeberg.storage.location import parse


class MemoryStore:
    """Objects in a dictionary; takes locations of every scheme. Each instance is a world of its own."""

    capabilities = Capabilities(create_if_absent=True, atomic_rename=True, list_consistent=True)

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._objects: dict[str, tuple[bytes, int]] = {}

    def read(self, location: str, *, offset: int = 0, length: int | None = None) -> bytes:
        content = self._content(location)
        return content[offset:] if length is None else content[offset : offset + length]

    def read_ranges(self, location: str, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        content = self._content(location)
        return [content[offset : offset + length] for offset, length in ranges]

    def size(self, location: str) -> int:
        return len(self._content(location))

    def exists(self, location: str) -> bool:
        return parse(location).uri in self._objects

    def write(self, location: str, content: bytes) -> None:
        self._put(parse(location).uri, content)

    def create(self, location: str, content: bytes) -> None:
        uri = parse(location).uri
        with self._lock:
            if uri in self._objects:
                raise PreconditionFailed(f"{location} is there already", location=location)
            self._objects[uri] = (bytes(content), self._clock.now_ms())

    def replace(self, location: str, content: bytes) -> None:
        self._put(parse(location).uri, content)

    def delete(self, location: str) -> None:
        with self._lock:
            self._objects.pop(parse(location).uri, None)

    def delete_folder(self, location: str) -> None:
        """A folder is only a part of names here: it goes with its last file."""

    def list(self, prefix: str) -> Iterator[FileInfo]:
        folder = parse(prefix)
        for below, content, modified_ms in self._below(folder.uri):
            yield FileInfo(f"{folder.text.rstrip('/')}/{below}", len(content), modified_ms)

    def list_folders(self, prefix: str) -> Iterator[str]:
        names = {below.split("/")[0] for below, _, _ in self._below(parse(prefix).uri) if "/" in below}
        yield from sorted(names)

    def _put(self, uri: str, content: bytes) -> None:
        with self._lock:
            self._objects[uri] = (bytes(content), self._clock.now_ms())

    def _content(self, location: str) -> bytes:
        found = self._objects.get(parse(location).uri)
        if found is None:
            raise FileNotFound(f"{location} is not there", location=location)
        return found[0]

    def _below(self, folder_uri: str) -> Sequence[tuple[str, bytes, int]]:
        """What follows the folder, content and time of each object below it, by name."""
        start = folder_uri.rstrip("/") + "/"
        with self._lock:
            return sorted(
                (uri[len(start) :], content, modified_ms)
                for uri, (content, modified_ms) in self._objects.items()
                if uri.startswith(start)
            )
