"""Work on many files, one after the other or at the same time: by threads of this process, or by Spark's workers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from typing import Final, Protocol, TypeVar

from floeberg.arrow.scan.execute import TableReader, table_reader
from floeberg.effects.protocols import Store
from floeberg.scan.manifest_frames import StoreFor
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.schemas.schema import Schema

T = TypeVar("T")
R = TypeVar("R")

THREADS: Final = 8
ITEMS_PER_TASK: Final = 32
_AHEAD: Final = 256


class FileWork(Protocol):
    """Does the same with each of many files. The work and its results may travel to other processes."""

    def store_for(self, location: str) -> Store:
        """The store of a location, where the work is done."""
        ...

    def each(self, work: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
        """The results of the work, in the order of the items."""
        ...

    def each_read(
        self,
        work: Callable[[TableReader, T], R],
        items: Iterable[T],
        metadata: TableMetadata,
        schema: Schema,
        *,
        per_task: int = ITEMS_PER_TASK,
    ) -> Iterator[R]:
        """The same for work that reads rows of the table as of a schema; `per_task` items share a reader."""
        ...


@dataclass(frozen=True, slots=True)
class ThreadedWork:
    """Threads of this process, a bounded number of items ahead."""

    stores: StoreFor
    threads: int = THREADS

    def store_for(self, location: str) -> Store:
        return self.stores(location)

    def each(self, work: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
        following = iter(items)
        with ThreadPoolExecutor(self.threads, thread_name_prefix="floeberg-files") as executor:
            while ahead := list(islice(following, _AHEAD)):
                yield from executor.map(work, ahead)

    def each_read(
        self,
        work: Callable[[TableReader, T], R],
        items: Iterable[T],
        metadata: TableMetadata,
        schema: Schema,
        *,
        per_task: int = ITEMS_PER_TASK,
    ) -> Iterator[R]:
        reader = table_reader(metadata, schema, store_for=self.stores)
        for item in items:
            yield work(reader, item)
