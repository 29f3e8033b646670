"""What runs in Spark's Python workers to read splits of a table: no polars, no SQL parser, no catalog."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa

from floeberg.arrow.formats.open_file import ReadOptions
from floeberg.arrow.scan.deletes import DeleteLoader
from floeberg.arrow.scan.execute import TableReader, read_tasks
from floeberg.catalogs.static import RelocatedStore
from floeberg.effects.protocols import Store
from floeberg.scan.tasks import FileScanTask
from floeberg.spark.workers.arrow_values import spark_arrow_schema, to_spark
from floeberg.spark.workers.stores import WorkerStores
from floeberg.spec.partitions.specs import PartitionSpec
from floeberg.spec.schemas.name_mapping import NameMapping
from floeberg.spec.schemas.schema import Schema
from floeberg.storage.registry import Stores
from floeberg.storage.relocation import Relocation

NEEDED_MODULES = (
    "pyarrow", "numpy", "polars", "pyroaring", "msgspec", "fastavro", "cramjam", "deflate",
    *(() if sys.version_info >= (3, 14) else ("backports.zstd",)), "floeberg",
)  # fmt: skip
"""What an executor's Python must have: what reading loads there, and writing, which loads more."""
BATCH_ROWS = 1 << 14
_READ_AHEAD = 2


@dataclass(frozen=True, slots=True)
class TableStores:
    """The stores of one table, made where they are used; `relocation` where the table was moved."""

    stores: WorkerStores | Stores
    relocation: Relocation | None = None

    def store_for(self, location: str) -> Store:
        if self.relocation is None:
            return self.stores.for_location(location)
        moved = self.relocation.apply(location)
        return RelocatedStore(self.stores, self.relocation, self.stores.for_location(moved))


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFiles:
    """What a reader must know of a table; travels to the workers."""

    stores: TableStores
    schema: Schema
    schemas: tuple[Schema, ...]
    """The schema that is read, then the table's others from the newest to the oldest."""
    specs: Mapping[int, PartitionSpec]
    name_mapping: NameMapping | None
    ignore_scheme: bool = False

    def reader(self) -> TableReader:
        loader = DeleteLoader(
            self.stores.store_for, self.schemas, name_mapping=self.name_mapping, ignore_scheme=self.ignore_scheme
        )
        return TableReader(
            store_for=self.stores.store_for,
            schema=self.schema,
            specs=self.specs,
            loader=loader,
            name_mapping=self.name_mapping,
            options=ReadOptions(batch_rows=BATCH_ROWS),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitReader:
    """Groups of tasks, one for each partition of a DataFrame."""

    table: TableFiles
    groups: tuple[tuple[FileScanTask, ...], ...]
    projection: Schema
    exact: bool = False

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows of the groups whose numbers come in, as Spark takes them."""
        schema = spark_arrow_schema(self.projection, exact=self.exact)
        reader = self.table.reader()
        for batch in batches:
            for number in batch.column(0).to_pylist():
                rows = read_tasks(self.groups[number], reader, self.projection, threads=_READ_AHEAD)
                for found in rows:
                    yield to_spark(found, self.projection, schema, exact=self.exact)
