"""Data files as seekable Python files, which is what pyarrow reads from."""

from __future__ import annotations

import io
from typing import Protocol, runtime_checkable

from floeberg.effects.protocols import Store
from floeberg.errors import InvalidInput
from floeberg.storage.local import LocalStore

DEFAULT_BUFFER_BYTES = 1 << 16


class InputFile(io.RawIOBase):
    """One file of a store, read in ranges; its size is asked for once, or given when a manifest records it."""

    def __init__(self, store: Store, location: str, *, size_bytes: int | None = None) -> None:
        super().__init__()
        self._store = store
        self._position = 0
        self.location = location
        self.size_bytes = store.size(location) if size_bytes is None else size_bytes

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def size(self) -> int:
        return self.size_bytes

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self.size_bytes}.get(whence)
        if base is None or base + offset < 0:
            raise InvalidInput(f"cannot seek to {offset} (whence {whence}) in {self.location}")
        self._position = base + offset
        return self._position

    def read(self, size: int | None = -1, /) -> bytes:
        left = max(0, self.size_bytes - self._position)
        wanted = left if size is None or size < 0 else min(size, left)
        if wanted == 0:
            return b""
        content = self._store.read(self.location, offset=self._position, length=wanted)
        self._position += len(content)
        return content

    def readall(self) -> bytes:
        return self.read()

    def readinto(self, buffer: object, /) -> int:
        view = memoryview(buffer).cast("B")  # type: ignore[arg-type]  # io.RawIOBase types it as a buffer
        content = self.read(len(view))
        view[: len(content)] = content
        return len(content)

    def read_ranges(self, ranges: list[tuple[int, int]]) -> list[bytes]:
        """Several (offset, length) at once; the position stays."""
        return self._store.read_ranges(self.location, ranges)


def open_input(store: Store, location: str, *, size_bytes: int | None = None) -> InputFile:
    """The file for reading by position. Raises FileNotFound at once, unless the size is given."""
    return InputFile(store, location, size_bytes=size_bytes)


@runtime_checkable
class FindsLocalPaths(Protocol):
    """A store over another one, that knows where files of this machine lie."""

    def local_path(self, location: str) -> str | None: ...


def local_path(store: Store, location: str) -> str | None:
    """The path of a file on this machine, for readers that map it into memory; None when it is elsewhere."""
    if isinstance(store, LocalStore):
        return store.path(location)
    return store.local_path(location) if isinstance(store, FindsLocalPaths) else None
