"""Files of a store for pyarrow: mapped from local disk where they lie there, read in ranges through the store
elsewhere; and sinks that become durable, whole, when they are closed."""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, Protocol

import pyarrow as pa
from fastavro.schema import SchemaParseException, UnknownType

from floeberg.effects.protocols import Store
from floeberg.errors import DataFileCorrupt, FileNotFound, FloebergError
from floeberg.storage.input_file import local_path, open_input


def open_source(store: Store, location: str, *, size_bytes: int | None = None) -> Any:
    """A pyarrow file for random access. `size_bytes`, where a manifest records it, saves asking the store.

    Raises FileNotFound.
    """
    path = local_path(store, location)
    if path is None:
        return pa.PythonFile(open_input(store, location, size_bytes=size_bytes), mode="r")
    try:
        return pa.memory_map(path) if store.size(location) else pa.BufferReader(b"")
    except FileNotFoundError as error:
        raise FileNotFound(f"{location} is not there", location=location) from error


_MALFORMED: Final = (
    pa.ArrowException, OSError, EOFError, ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError,
    MemoryError, struct.error, zlib.error, SchemaParseException, UnknownType,
)  # fmt: skip
"""What decoders raise over bytes that are not what they should be (a length of petabytes raises MemoryError)."""


@contextmanager
def reading(location: str) -> Iterator[None]:
    """Turns what pyarrow and fastavro raise about a file's bytes into DataFileCorrupt, naming the file."""
    try:
        yield
    except FloebergError:
        raise
    except _MALFORMED as error:
        raise DataFileCorrupt(f"{location} cannot be read: {error}", location=location) from error


class FileSink(Protocol):
    """A file being written through `stream`: durable and whole once `close` returns, gone after `abort`."""

    stream: Any

    def tell(self) -> int: ...

    @property
    def memory_bytes(self) -> int:
        """What of it lies in memory."""
        ...

    def close(self) -> int:
        """Its size in bytes."""
        ...

    def abort(self) -> None: ...


def open_sink(store: Store, location: str) -> FileSink:
    """A sink for a file whose name nobody else uses: straight to local disk, or by way of memory to other stores."""
    path = local_path(store, location)
    return MemorySink(store, location) if path is None else LocalSink(store, location, path)


class MemorySink:
    """Gathers the bytes and gives them to the store at the end; writers bound the memory by the size they roll at."""

    def __init__(self, store: Store, location: str) -> None:
        self._store = store
        self._location = location
        self.stream: Any = pa.BufferOutputStream()

    def tell(self) -> int:
        return int(self.stream.tell())

    @property
    def memory_bytes(self) -> int:
        return self.tell()

    def close(self) -> int:
        buffer = self.stream.getvalue()
        self._store.write(self._location, buffer.to_pybytes())
        return int(buffer.size)

    def abort(self) -> None:
        self.stream.close()


class LocalSink:
    """Writes in place: until a commit names it nobody looks there, and what a crash leaves is an orphan."""

    def __init__(self, store: Store, location: str, path: str) -> None:
        # The store makes the folder and the name durable; the content follows.
        store.write(location, b"")
        self._store = store
        self._location = location
        self._path = path
        self.stream: Any = pa.OSFile(path, mode="wb")

    def tell(self) -> int:
        return int(self.stream.tell())

    @property
    def memory_bytes(self) -> int:
        return 0

    def close(self) -> int:
        size_bytes = self.tell()
        self.stream.close()
        descriptor = os.open(self._path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        return size_bytes

    def abort(self) -> None:
        self.stream.close()
        self._store.delete(self._location)
