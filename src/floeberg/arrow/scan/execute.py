"""The single-process engine: executes the tasks of a planned scan as a stream of Arrow batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

import pyarrow as pa

from floeberg.arrow.columns.types import arrow_schema
from floeberg.arrow.formats.open_file import DEFAULT_OPTIONS, ReadOptions
from floeberg.arrow.scan.data_file import FileToRead, read_data_file
from floeberg.arrow.scan.delete_cache import DeleteCache
from floeberg.arrow.scan.deletes import NO_DELETES, DeleteLoader, RowDeletes
from floeberg.arrow.scan.read_ahead import DEFAULT_BUFFER_BYTES, DEFAULT_THREADS, read_in_order
from floeberg.effects.protocols import Store
from floeberg.errors import ManifestCorrupt
from floeberg.expr.nodes import AlwaysTrue, Expression
from floeberg.scan.tasks import FileScanTask
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.metadata.table_name_mapping import table_name_mapping
from floeberg.spec.partitions.specs import PartitionSpec
from floeberg.spec.schemas.name_mapping import NameMapping, create_name_mapping
from floeberg.spec.schemas.schema import Schema

StoreFor = Callable[[str], Store]

NO_COLUMNS: Final = Schema()
_FEW_ROWS: Final = 1 << 13


@dataclass(frozen=True, slots=True, kw_only=True)
class TableReader:
    """Reads data files of one table as of one schema. What is read of delete files is shared between the files that they
    apply to."""

    store_for: StoreFor
    schema: Schema
    specs: Mapping[int, PartitionSpec]
    loader: DeleteLoader
    name_mapping: NameMapping | None = None
    options: ReadOptions = DEFAULT_OPTIONS
    uncommitted: frozenset[str] = frozenset()
    """Files that earlier changes of a transaction wrote: they have no row ids yet."""

    def rows(
        self, task: FileScanTask, projection: Schema, *, residual: Expression | None = None
    ) -> Iterator[pa.RecordBatch]:
        """The live rows of a task for which its residual (or another one) is true."""
        return read_data_file(
            FileToRead(
                data_file=task.data_file,
                spec=self._spec(task),
                is_committed=task.data_file.file_path not in self.uncommitted,
                data_sequence_number=task.data_sequence_number,
                byte_range=None if task.length is None else (task.start, task.length),
            ),
            store=self.store_for(task.data_file.file_path),
            projection=projection,
            table_schema=self.schema,
            residual=task.residual if residual is None else residual,
            deletes=self.deletes(task),
            name_mapping=self.name_mapping,
            options=self.options,
        )

    def deletes(self, task: FileScanTask) -> RowDeletes:
        """What is deleted of a task's file."""
        if not task.deletes:
            return NO_DELETES
        return self.loader.load(task.data_file.file_path, [delete.file for delete in task.deletes])

    def live_rows(self, task: FileScanTask) -> int:
        """How many rows of a task its filter keeps; from metadata where that is exact, else by reading no more columns
        than the filter and the deletes need."""
        if isinstance(task.residual, AlwaysTrue) and task.length is None and not task.equality_deletes:
            total = task.data_file.record_count
            if task.deletion_vector is not None:
                return total - task.deletion_vector.file.record_count
            positions = self.deletes(task).positions
            return total if positions is None else total - positions.range_cardinality(0, total)
        return sum(batch.num_rows for batch in self.rows(task, NO_COLUMNS))

    def with_batch_rows(self, batch_rows: int) -> TableReader:
        return replace(self, options=replace(self.options, batch_rows=batch_rows))

    def _spec(self, task: FileScanTask) -> PartitionSpec:
        spec = self.specs.get(task.data_file.spec_id)
        if spec is None:
            raise ManifestCorrupt(
                f"{task.data_file.file_path} is of partition spec {task.data_file.spec_id}, which the table does not have"
            )
        return spec


def table_reader(
    metadata: TableMetadata,
    schema: Schema,
    *,
    store_for: StoreFor,
    delete_cache: DeleteCache | None = None,
    ignore_scheme: bool = False,
    by_name: bool = False,
    options: ReadOptions = DEFAULT_OPTIONS,
) -> TableReader:
    """A reader of a table's files as of a schema of it. `ignore_scheme` is for position deletes whose paths have another
    scheme or host than the manifests', as some engines write them. `by_name` reads files without field ids by the names
    of the schema, where the table has no name mapping to say which column is which."""
    name_mapping = table_name_mapping(metadata)
    if name_mapping is None and by_name:
        name_mapping = create_name_mapping(schema)
    newest_first = sorted(metadata.schemas, key=lambda known: known.schema_id, reverse=True)
    loader = DeleteLoader(
        store_for,
        [schema, *newest_first],
        cache=delete_cache,
        name_mapping=name_mapping,
        ignore_scheme=ignore_scheme,
    )
    return TableReader(
        store_for=store_for,
        schema=schema,
        specs=metadata.specs_by_id,
        loader=loader,
        name_mapping=name_mapping,
        options=options,
    )


def read_tasks(
    tasks: Iterable[FileScanTask],
    reader: TableReader,
    projection: Schema,
    *,
    limit: int | None = None,
    threads: int = DEFAULT_THREADS,
    max_buffered_bytes: int = DEFAULT_BUFFER_BYTES,
) -> pa.RecordBatchReader:
    """The rows of tasks, in their order, as a stream. `projection` has columns of the reader's schema and metadata
    columns; `limit` ends the stream, and the reading, after so many rows.

    Files are opened when the stream is read, so errors of files come from there.
    """
    if limit is not None and limit <= _FEW_ROWS:
        # Few rows come from few files: nothing is read ahead, and no more of a file than is likely to be wanted.
        threads, reader = 1, reader.with_batch_rows(max(1, min(limit, reader.options.batch_rows)))
    batches = read_in_order(
        tasks,
        lambda task: reader.rows(task, projection),
        threads=threads,
        max_buffered_bytes=max_buffered_bytes,
    )
    schema = arrow_schema(projection)
    return pa.RecordBatchReader.from_batches(schema, batches if limit is None else _limited(batches, limit))


def _limited(batches: Iterator[pa.RecordBatch], limit: int) -> Iterator[pa.RecordBatch]:
    left = limit
    while left > 0:
        batch = next(batches, None)
        if batch is None:
            return
        yield batch.slice(0, left)
        left -= batch.num_rows
