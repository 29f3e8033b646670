"""Files of a store for pyarrow: mapped from local disk where they lie there, read in ranges through the store
elsewhere; and sinks that become durable, whole, when they are closed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

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


@contextmanager
def reading(location: str) -> Iterator[None]:
    """Turns what pyarrow and fastavro raise about a file's bytes into DataFileCorrupt, naming the file."""
    try:
        yield
    except FloebergError:
        raise
    except (pa.ArrowException, OSError, EOFError, ValueError, TypeError, KeyError, IndexError) as error:
        raise DataFileCorrupt(f"{location} cannot be read: {error}", location=location) from error


class FileSink:
    """A file being written: bytes gather in memory and reach the store, durable, on `close`; nothing does on `abort`.

    Data files are written whole because their names are new and nobody may see half of one; the memory is bounded by
    the size at which writers roll.
    """

    def __init__(self, store: Store, location: str) -> None:
        self._store = store
        self.location = location
        self.stream: Any = pa.BufferOutputStream()

    def tell(self) -> int:
        return int(self.stream.tell())

    def close(self) -> pa.Buffer:
        """Writes the file; its content."""
        buffer = self.stream.getvalue()
        self._store.write(self.location, buffer.to_pybytes())
        return buffer

    def abort(self) -> None:
        self.stream.close()
