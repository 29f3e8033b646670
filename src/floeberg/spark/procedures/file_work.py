"""Work on many files by Spark's Python workers, a bounded number of files in a job."""

from __future__ import annotations

import io
import pickle
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, TypeVar

import pyarrow as pa
from pyspark.errors import PySparkException

from floeberg import errors
from floeberg.arrow.scan.execute import TableReader
from floeberg.catalogs.base import LoadedTable
from floeberg.effects.protocols import Store
from floeberg.errors import FloebergError, UnsupportedFeature
from floeberg.maintenance.file_work import ITEMS_PER_TASK, THREADS, FileWork, ThreadedWork
from floeberg.maintenance.imports.folders import SourceFile
from floeberg.spark.read.arrow_scan import table_files, table_stores
from floeberg.spark.workers.check import check_workers
from floeberg.spark.workers.in_workers import collect_from_workers
from floeberg.spark.workers.scan import TableFiles, TableStores
from floeberg.spark.workers.stores import WorkerStores, worker_stores
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.schemas.schema import Schema

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")
R = TypeVar("R")

FEW_FILES: Final = 64
"""So many files are looked at by this process sooner than by a job."""
_FILES_PER_JOB: Final = 2048
_VALUE_TYPES: Final = frozenset({"numpy", "pyroaring", "datetime", "decimal", "uuid"})
_MAKERS: Final = frozenset(
    {("builtins", "set"), ("builtins", "frozenset"), ("builtins", "bytearray"), ("collections", "Counter")}
    | {(f"numpy.{core}.multiarray", name) for core in ("core", "_core") for name in ("_reconstruct", "scalar")}
    | {(f"numpy.{core}.numeric", "_frombuffer") for core in ("core", "_core")}
    | {("msgspec._utils", "rebuild")}
)
"""What else pickled values are made by."""
_WORKER_ERROR: Final = re.compile(r"floeberg\.errors\.(\w+): (.+)")
_RESULT: Final = pa.schema([("number", pa.int64()), ("result", pa.binary())])


def spark_work(spark: SparkSession, table: LoadedTable) -> FileWork:
    """Work by Spark's workers; by threads of this process where only this process reaches the table's store."""
    stores = table_stores(table)
    if not isinstance(stores.stores, WorkerStores):
        return ThreadedWork(table.pointer.store_for)
    check_workers(spark)
    return SparkWork(spark, table, stores)


def large_work(spark: SparkSession, table: LoadedTable) -> FileWork:
    """As `spark_work`, but few files are worked on by this process."""
    there, here = spark_work(spark, table), ThreadedWork(table.pointer.store_for)
    return LargeWork(here, there) if isinstance(there, SparkWork) else here


def import_work(spark: SparkSession, table: LoadedTable, files: Sequence[SourceFile], threads: int | None) -> FileWork:
    """Work on files that are to be imported: few of them in this process, and those that workers cannot reach."""
    here = ThreadedWork(table.pointer.store_for, threads or THREADS)
    if len(files) <= FEW_FILES:
        return here
    try:
        worker_stores(table.pointer.stores, location=files[0].location)
    except UnsupportedFeature:
        return here
    return spark_work(spark, table)


@dataclass(frozen=True, slots=True)
class SparkWork:
    """A Spark job for every so many files."""

    spark: SparkSession
    table: LoadedTable
    stores: TableStores

    def store_for(self, location: str) -> Store:
        return self.stores.store_for(location)

    def __reduce__(self) -> tuple[Any, ...]:
        """Work that holds `store_for` travels with the stores, not with the session."""
        return (_TravellingStores, (self.stores,))

    def each(self, work: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
        return self._run(work, items, ITEMS_PER_TASK)

    def _run(self, work: Callable[[T], R], items: Iterable[T], per_task: int) -> Iterator[R]:
        following = iter(items)
        while batch := tuple(islice(following, _FILES_PER_JOB)):
            tasks = -(-len(batch) // per_task)
            numbers = self.spark.range(0, len(batch), 1, tasks)
            try:
                found = collect_from_workers(numbers, _Each(work, batch), "number bigint, result binary")
            except PySparkException as error:
                raise _as_ours(error) from error
            for row in sorted(found, key=lambda row: row.number):
                yield _ResultReader(io.BytesIO(row.result)).load()

    def each_read(
        self,
        work: Callable[[TableReader, T], R],
        items: Iterable[T],
        metadata: TableMetadata,
        schema: Schema,
        *,
        per_task: int = ITEMS_PER_TASK,
    ) -> Iterator[R]:
        table = LoadedTable(self.table.pointer, replace(self.table.state, metadata=metadata))
        return self._run(_Reading(work, table_files(table, schema)), items, per_task)


@dataclass(frozen=True, slots=True)
class LargeWork:
    """Work by threads of this process where there are few items, and by Spark's workers where there are many."""

    here: ThreadedWork
    there: SparkWork

    def store_for(self, location: str) -> Store:
        return self.here.store_for(location)

    def __reduce__(self) -> tuple[Any, ...]:
        return self.there.__reduce__()

    def each(self, work: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
        given = list(items)
        return (self.here if len(given) <= FEW_FILES else self.there).each(work, given)

    def each_read(
        self,
        work: Callable[[TableReader, T], R],
        items: Iterable[T],
        metadata: TableMetadata,
        schema: Schema,
        *,
        per_task: int = ITEMS_PER_TASK,
    ) -> Iterator[R]:
        given = list(items)
        chosen = self.here if len(given) <= FEW_FILES else self.there
        return chosen.each_read(work, given, metadata, schema, per_task=per_task)


class _ResultReader(pickle.Unpickler):
    """Reads what workers answered: values and records of ours, and nothing that could run other code."""

    def find_class(self, module: str, name: str) -> Any:
        found = super().find_class(module, name) if "." not in name else None
        is_record = isinstance(found, type) and (module.startswith("floeberg.") or module in _VALUE_TYPES)
        if is_record or (module, name) in _MAKERS:
            return found
        raise pickle.UnpicklingError(f"{module}.{name} is no result of work on files")


def _as_ours(error: Exception) -> Exception:
    """The error that the work raised in a worker."""
    found = _WORKER_ERROR.search(str(error))
    kind = None if found is None else getattr(errors, found[1], None)
    if found is not None and isinstance(kind, type) and issubclass(kind, FloebergError):
        return kind(found[2].strip())
    return error


@dataclass(frozen=True, slots=True)
class _TravellingStores:
    """The stores of a table in a worker."""

    stores: TableStores

    def store_for(self, location: str) -> Store:
        return self.stores.store_for(location)


class _Reading:
    """Work with a reader of the table's rows, which is made once in each task. Travels to the workers."""

    def __init__(self, work: Callable[[TableReader, Any], Any], files: TableFiles) -> None:
        self._work = work
        self._files = files
        self._reader: TableReader | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return (_Reading, (self._work, self._files))

    def __call__(self, item: Any) -> Any:
        if self._reader is None:
            self._reader = self._files.reader()
        return self._work(self._reader, item)


@dataclass(frozen=True, slots=True)
class _Each:
    """Does the work for the items whose numbers come in. Travels to the workers."""

    work: Callable[[Any], Any]
    items: tuple[Any, ...]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                row = {"number": number, "result": pickle.dumps(self.work(self.items[number]))}
                yield pa.RecordBatch.from_pylist([row], schema=_RESULT)
