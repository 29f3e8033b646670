"""Files of a store for pyarrow: mapped from local disk where they lie there, read in ranges through the store
elsewhere; and sinks that become durable, whole, when they are closed."""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final, Protocol

import pyarrow as pa
from fastavro.schema import SchemaParseException, UnknownType

from floeberg.effects.protocols import Store
from floeberg.errors import DataFileCorrupt, FileNotFound, FloebergError, StorageError
from floeberg.storage.input_file import local_path, open_input
from floeberg.storage.local import write_refused

_FOOTER_READ_BYTES: Final = 64 << 10
"""What pyarrow reads for a footer. A file that has no more is read once, not a second time for its columns."""


def open_source(store: Store, location: str, *, size_bytes: int | None = None) -> Any:
    """A pyarrow file for random access. `size_bytes`, where a manifest records it, saves asking the store.

    Raises FileNotFound.
    """
    path = local_path(store, location)
    if path is None and size_bytes is not None and 0 < size_bytes <= _FOOTER_READ_BYTES:
        return pa.BufferReader(store.read(location, offset=0, length=size_bytes))
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
        """The bytes that are held in memory."""
        ...

    def check(self) -> None:
        """Raises StorageError when some of what went to `stream` could not be written. The stream itself never raises:
        encoders in C++ end the process over an error of their output."""
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
    """Buffers the bytes and writes them to the store at the end; writers bound the memory by the size they roll at."""

    def __init__(self, store: Store, location: str) -> None:
        self._store = store
        self._location = location
        self.stream: Any = pa.BufferOutputStream()

    def tell(self) -> int:
        return int(self.stream.tell())

    @property
    def memory_bytes(self) -> int:
        return self.tell()

    def check(self) -> None:
        """Memory takes everything."""

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
        self.stream: Any = LocalStream(path)

    def tell(self) -> int:
        return int(self.stream.tell())

    @property
    def memory_bytes(self) -> int:
        return 0

    def check(self) -> None:
        if isinstance(self.stream.failure, OSError):
            raise write_refused(self._location, self.stream.failure) from self.stream.failure
        if self.stream.failure is not None:
            raise self.stream.failure

    def close(self) -> int:
        self.stream.sync()
        self.stream.close()
        self.check()
        return self.tell()

    def abort(self) -> None:
        self.stream.close()
        remove(self._store, self._location)


class LocalStream:
    """The output of an encoder, straight to a file. What fails is remembered, not raised, and nothing is written after."""

    def __init__(self, path: str) -> None:
        self.failure: BaseException | None = None
        self._size_bytes = 0
        self._descriptor = -1
        with self._remembering():
            self._descriptor = os.open(path, os.O_WRONLY | os.O_TRUNC)

    @property
    def closed(self) -> bool:
        return self._descriptor < 0

    def writable(self) -> bool:
        return True

    def readable(self) -> bool:
        return False

    def seekable(self) -> bool:
        return False

    def tell(self) -> int:
        return self._size_bytes

    def flush(self) -> None:
        """Nothing is buffered here."""

    def write(self, data: Any) -> int:
        view = memoryview(data)
        self._size_bytes += view.nbytes
        if self.failure is None:
            with self._remembering():
                left = view
                while left:
                    left = left[os.write(self._descriptor, left) :]
        return view.nbytes

    def sync(self) -> None:
        """Makes what was written durable."""
        if self.failure is None:
            with self._remembering():
                os.fsync(self._descriptor)

    def close(self) -> None:
        if self._descriptor >= 0:
            descriptor, self._descriptor = self._descriptor, -1
            with self._remembering():
                os.close(descriptor)

    @contextmanager
    def _remembering(self) -> Iterator[None]:
        try:
            yield
        except BaseException as error:
            self.failure = self.failure or error


def remove(store: Store, location: str) -> None:
    """Deletes a file that no commit knows. One that stays is an orphan; saying so must not hide why it is removed."""
    with suppress(StorageError):
        store.delete(location)
