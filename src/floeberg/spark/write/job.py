"""The job that writes data files: rows go to Python workers as Arrow batches, files straight to their final place, and
descriptions of the files come back. Only what a successful task reported is ever committed."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol
from uuid import UUID

import pyarrow as pa
from msgspec import structs
from pyspark import TaskContext
from pyspark.errors import PySparkException

from floeberg.arrow.formats.write_properties import write_properties
from floeberg.arrow.write.data_files import RollingWriter
from floeberg.arrow.write.locations import DataLocations
from floeberg.catalogs.base import LoadedTable
from floeberg.errors import InvalidInput, StorageError
from floeberg.files.data_file_wire import decode_data_file, encode_data_file
from floeberg.spark.workers.arrow_values import from_spark
from floeberg.spark.workers.check import check_workers
from floeberg.spark.workers.in_workers import Work, collect_from_workers
from floeberg.spark.workers.stores import WorkerStores, worker_stores
from floeberg.spark.write.distribution import distributed
from floeberg.spark.write.options import WriteOptions
from floeberg.spec.metadata.partition_types import partition_type_of
from floeberg.spec.partitions.sort_orders import SortOrder
from floeberg.spec.partitions.specs import PartitionSpec
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.snapshots.manifest_entry import DataFile
from floeberg.spec.types import StructType
from floeberg.storage.registry import Stores

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

RESULT_SCHEMA: Final = "file binary"
_WORKER_ERROR: Final = re.compile(r"floeberg\.errors\.InvalidInput: (.+)")
logger = logging.getLogger("floeberg")
_RESULT: Final = pa.schema([pa.field("file", pa.binary())])


@dataclass(frozen=True, slots=True)
class WriterTask:
    """What a worker needs to write its rows. It travels with the job."""

    stores: WorkerStores
    location: str
    schema: Schema
    spec: PartitionSpec
    partition_type: StructType
    sort_order: SortOrder
    properties: Mapping[str, str]
    write_id: UUID
    clustered: bool

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        task = 0 if context is None else context.taskAttemptId()
        locations = DataLocations(self.location, self.properties, self.write_id, task=task)
        suffix = f".{write_properties(self.properties, deletes=False).file_format}"
        writer = RollingWriter(
            self.stores.for_location(locations.folder),
            self.schema,
            spec=self.spec,
            new_location=lambda path: locations.new_location(path, suffix=suffix),
            properties=self.properties,
            sort_order=None,
            clustered=self.clustered,
        )
        try:
            for batch in batches:
                if batch.num_rows:
                    writer.write(from_spark(batch, self.schema))
            files = writer.close()
        except BaseException:
            writer.abort()
            raise
        described = [encode_data_file(_sorted_as(file, self.sort_order), self.partition_type) for file in files]
        yield pa.RecordBatch.from_arrays([pa.array(described, pa.binary())], schema=_RESULT)


def write_data_files(
    frame: DataFrame,
    table: LoadedTable,
    *,
    stores: Stores | None = None,
    options: WriteOptions,
    schema: Schema | None = None,
) -> list[DataFile]:
    """Writes the rows of an aligned DataFrame as data files of a table and describes them. Nothing is committed.

    `schema` is the table's by default; with row lineage, rows keep the ids that they come with. `stores` are those of the
    table's pointer by default. Raises InvalidInput when a value does not fit its column, UnsupportedFeature when the
    workers lack what they need or cannot reach the table's store.
    """
    task = writer_task(table, stores=stores, options=options, schema=schema)
    order = task.sort_order
    rows = distributed(
        frame, schema=task.schema, spec=task.spec, order=order, mode=options.distribution, fanout=options.fanout
    )
    return run_writers(rows, table, task)


def writer_task(
    table: LoadedTable, *, stores: Stores | None = None, options: WriteOptions, schema: Schema | None = None
) -> WriterTask:
    """What the workers need to write data files of a table."""
    metadata = table.state.metadata
    spec = metadata.spec(options.spec_id)
    return WriterTask(
        stores=worker_stores(stores or table.pointer.stores, location=metadata.location),
        location=metadata.location,
        schema=schema or metadata.current_schema,
        spec=spec,
        partition_type=partition_type_of(metadata, spec.spec_id),
        sort_order=metadata.default_sort_order,
        properties=dict(options.properties),
        write_id=table.pointer.effects.ids.uuid(),
        clustered=not options.fanout,
    )


def run_writers(rows: DataFrame, table: LoadedTable, task: WriterTask, work: Work | None = None) -> list[DataFile]:
    """Runs a writer, or a task around one, over the distributed rows, and describes the written files."""
    results = run_work(rows, table, task, work or task, RESULT_SCHEMA)
    return [decode_data_file(bytes(row.file), task.partition_type) for row in results]


class WrittenNames(Protocol):
    """A write by the names of its files: the folder that they are in, and the id that each name has. It finds the files of a
    job that failed."""

    @property
    def location(self) -> str: ...
    @property
    def properties(self) -> Mapping[str, str]: ...
    @property
    def write_id(self) -> UUID: ...


def run_work(rows: DataFrame, table: LoadedTable, task: WrittenNames, work: Work, schema: str) -> list[Any]:
    """What work around a writer answers, as rows of a schema. What it wrote is removed when it fails."""
    check_workers(rows.sparkSession)
    try:
        return _collected(rows, work, schema, table)
    except BaseException:
        remove_written(task, table)
        raise


def remove_written(task: WrittenNames, table: LoadedTable) -> None:
    """Removes what tasks of a failed job wrote: their descriptions are lost with it, but their names carry the write's id. A
    task that is still being stopped may write one more file, which orphan removal finds."""
    folder = DataLocations(task.location, task.properties, task.write_id).folder
    store = table.pointer.store_for(folder)
    mark = f"-{task.write_id}-"
    try:
        found = [info.location for info in store.list(folder) if mark in info.location.rpartition("/")[2]]
        for location in found:
            store.delete(location)
    except StorageError as error:
        logger.warning("table %s: files of the failed write %s stay: %s", task.location, task.write_id, error)


def _collected(frame: DataFrame, work: Work, schema: str, table: LoadedTable) -> list[Any]:
    """Runs the job. What a worker found wrong with the rows comes back as the error that it raised there."""
    with worker_error(table.state.identifier):
        return collect_from_workers(frame, work, schema)


@contextmanager
def worker_error(table: str) -> Iterator[None]:
    """Raises InvalidInput, naming the table, for one that a worker raised."""
    try:
        yield
    except PySparkException as error:
        found = _WORKER_ERROR.search(str(error))
        if found is None:
            raise
        name = f"table {table}: "
        raise InvalidInput(name + found[1].strip().removeprefix(name)) from error


def _sorted_as(file: DataFile, order: SortOrder) -> DataFile:
    """Rows reach a task sorted by partition and then by the table's order, so each of its files is sorted."""
    return file if order.is_unsorted else structs.replace(file, sort_order_id=order.order_id)
