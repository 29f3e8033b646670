"""The scan that reads anything: tasks packed into splits and executed by the Arrow engine in Spark's Python workers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from floeberg.arrow.scan.execute import read_tasks
from floeberg.catalogs.base import LoadedTable
from floeberg.catalogs.static import StaticPointer
from floeberg.errors import UnsupportedFeature
from floeberg.scan.splits import SplitOptions, group_tasks
from floeberg.scan.tasks import FileScanTask
from floeberg.spark.host.types.exact_types import exact_frame_schema
from floeberg.spark.host.types.spark_types import frame_schema
from floeberg.spark.read.local_frame import arrow_local_frame
from floeberg.spark.workers.check import check_workers
from floeberg.spark.workers.in_workers import map_in_workers
from floeberg.spark.workers.scan import SplitReader, TableFiles, TableStores
from floeberg.spark.workers.stores import WorkerStores, worker_stores
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.metadata.table_name_mapping import table_name_mapping
from floeberg.spec.schemas.name_mapping import create_name_mapping
from floeberg.spec.schemas.schema import Schema
from floeberg.storage.registry import Stores

_EVEN_SPLITS: Final = 4
"""Small tables are cut into about so many splits for each core, rather than one."""
_SMALLEST_SPLIT_BYTES: Final = 16 << 20


def table_files(
    table: LoadedTable, schema: Schema, *, ignore_scheme: bool = False, by_name: bool = False
) -> TableFiles:
    """What readers of the table's files need, in this process and in others."""
    metadata = table.state.metadata
    name_mapping = table_name_mapping(metadata)
    if name_mapping is None and by_name:
        name_mapping = create_name_mapping(schema)
    newest_first = sorted(metadata.schemas, key=lambda known: known.schema_id, reverse=True)
    return TableFiles(
        stores=table_stores(table),
        schema=schema,
        schemas=(schema, *newest_first),
        specs=dict(metadata.specs_by_id),
        name_mapping=name_mapping,
        ignore_scheme=ignore_scheme,
    )


def table_stores(table: LoadedTable) -> TableStores:
    """The table's stores, in a form that travels where there is one."""
    pointer = table.pointer
    relocation = pointer.relocation if isinstance(pointer, StaticPointer) else None
    return TableStores(_travelling(pointer.stores, table.state.metadata), relocation)


def _travelling(stores: Stores, metadata: TableMetadata) -> Stores | WorkerStores:
    try:
        return worker_stores(stores, location=metadata.location)
    except UnsupportedFeature:
        return stores


def arrow_frame(
    spark: Any,
    tasks: Iterable[FileScanTask],
    files: TableFiles,
    projection: Schema,
    *,
    splits: SplitOptions,
    exact: bool = False,
) -> Any:
    """A DataFrame of the rows of tasks, `exact` with their nanoseconds. Stores that live in this process alone are read
    here, at once; others by Spark's Python workers when the frame is used. Raises UnsupportedFeature when the workers lack
    what they need."""
    if not isinstance(files.stores.stores, WorkerStores):
        return arrow_local_frame(spark, read_tasks(tasks, files.reader(), projection), projection, exact=exact)
    check_workers(spark)
    planned = list(tasks)
    groups = tuple(group_tasks(planned, _even(planned, splits)))
    reader = SplitReader(table=files, groups=groups, projection=projection, exact=exact)
    wanted = exact_frame_schema(projection.fields) if exact else frame_schema(projection)
    return map_in_workers(spark.range(0, len(groups), 1, len(groups)), reader, wanted)


def _even(tasks: Sequence[FileScanTask], splits: SplitOptions) -> SplitOptions:
    """Splits such that a small table still keeps several cores busy; a size that is asked for is never exceeded."""
    total = sum(task.data_file.file_size_in_bytes for task in tasks)
    wanted = max(_SMALLEST_SPLIT_BYTES, splits.open_file_cost_bytes, total // _EVEN_SPLITS)
    return SplitOptions(
        target_size_bytes=min(splits.target_size_bytes, wanted),
        lookback=splits.lookback,
        open_file_cost_bytes=splits.open_file_cost_bytes,
    )
