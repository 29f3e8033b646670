"""Rows of planned files as DataFrames for a change: the live rows with file and position, and the rows that a copy-on-write
change keeps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from msgspec import structs

from floeberg.catalogs.base import LoadedTable
from floeberg.expr.nodes import TRUE
from floeberg.files.deletion_vector import decode_positions
from floeberg.scan.splits import SplitOptions, group_tasks
from floeberg.scan.tasks import FileScanTask
from floeberg.spark.host.types.exact_types import exact_frame_schema
from floeberg.spark.read.arrow_scan import arrow_frame, table_files
from floeberg.spark.read.native_scan import NativeScan
from floeberg.spark.read.parquet.field_names import tasks_with_nan
from floeberg.spark.read.parquet.partition_columns import tasks_unsure
from floeberg.spark.read.parquet.scan import frame_of_no_files
from floeberg.spark.read.routes import ColumnChoice, route
from floeberg.spark.read.unions import computed_above
from floeberg.spark.workers.arrow_values import spark_arrow_schema, to_spark
from floeberg.spark.workers.in_workers import map_in_workers
from floeberg.spark.workers.scan import TableFiles
from floeberg.spec.schemas.metadata_columns import ROW_POSITION
from floeberg.spec.schemas.schema import Schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def live_rows(
    spark: SparkSession,
    table: LoadedTable,
    tasks: Sequence[FileScanTask],
    schema: Schema,
    *,
    projection: Schema,
    skips_row_groups: bool,
) -> DataFrame:
    """The live rows of tasks as a DataFrame, read as every scan reads them, with their nanoseconds."""
    files = table_files(table, schema)
    choice = ColumnChoice(spark, table.state.metadata, schema, with_nan=tasks_with_nan(tasks, schema))
    unsure = tasks_unsure(tasks, files.specs)
    routes = route(
        spark, [lean_task(task) for task in tasks], files, projection=projection, columns=choice, unsure=unsure
    )
    scan = NativeScan(
        spark=spark,
        files=files,
        projection=projection,
        choice=choice,
        exact=True,
        skips_row_groups=skips_row_groups,
    )
    frames: list[Any] = []
    by_arrow = list(routes.by_arrow)
    if routes.plain:
        frames.append(scan.plain(routes.plain))
    for placed, make in (
        (routes.with_position_deletes, scan.with_position_deletes),
        (routes.with_equality_deletes, scan.with_equality_deletes),
    ):
        found = make(placed) if placed else None
        if found is not None:
            frames.append(found)
        else:
            by_arrow += [one.task for one in placed]
    if by_arrow:
        splits = SplitOptions.of(table.state.metadata.properties)
        frames.append(arrow_frame(spark, by_arrow, files, projection, splits=splits, exact=True))
    if not frames:
        frames = [frame_of_no_files(spark, exact_frame_schema(projection.fields).fields)]
    whole: DataFrame = reduce(lambda one, other: one.union(other), frames)
    return computed_above(whole) if len(frames) > 1 else whole


def kept_rows(
    spark: SparkSession,
    table: LoadedTable,
    tasks: Sequence[FileScanTask],
    schema: Schema,
    *,
    projection: Schema,
    touched: Mapping[str, bytes],
) -> DataFrame:
    """The live rows of tasks except those at the touched positions, which are given as encoded vectors by path."""
    reader = kept_rows_reader(table, tasks, schema, projection=projection, touched=touched)
    return map_in_workers(group_numbers(spark, reader), reader, exact_frame_schema(projection.fields))


def kept_rows_reader(
    table: LoadedTable,
    tasks: Sequence[FileScanTask],
    schema: Schema,
    *,
    projection: Schema,
    touched: Mapping[str, bytes],
) -> KeptRows:
    """The reader of the rows of `kept_rows` in the workers."""
    whole = [structs.replace(lean_task(task), residual=TRUE) for task in tasks]
    groups = tuple(group_tasks(whole, SplitOptions.of(table.state.metadata.properties)))
    return KeptRows(table=table_files(table, schema), groups=groups, projection=projection, touched=dict(touched))


def group_numbers(spark: SparkSession, reader: KeptRows) -> DataFrame:
    """One number a partition, for each group of tasks."""
    return spark.range(0, len(reader.groups), 1, len(reader.groups))


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptRows:
    """Groups of tasks, one for each partition of a DataFrame, and the positions to leave out. It is serialized to the
    workers."""

    table: TableFiles
    groups: tuple[tuple[FileScanTask, ...], ...]
    projection: Schema
    touched: Mapping[str, bytes]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows of the groups whose numbers come in, as Spark takes them."""
        schema = spark_arrow_schema(self.projection, exact=True)
        for found in self.rows(batches):
            yield to_spark(found, self.projection, schema, exact=True)

    def rows(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows of the groups whose numbers come in, as they are read."""
        reader = self.table.reader()
        columns = range(len(self.projection.fields))
        with_position = Schema(*self.projection.fields, ROW_POSITION)
        for batch in batches:
            for number in batch.column(0).to_pylist():
                for task in self.groups[number]:
                    gone = decode_positions(self.touched[task.data_file.file_path]).astype(np.int64)
                    for found in reader.rows(task, with_position):
                        yield _without(found.select(columns), found.column(len(columns)), gone)


def _without(batch: pa.RecordBatch, positions: pa.Array, gone: npt.NDArray[np.int64]) -> pa.RecordBatch:
    """The rows of a batch except those at the deleted positions, which are sorted, as the batch's are."""
    places = positions.to_numpy(zero_copy_only=False)
    if not len(places) or not len(gone):
        return batch
    start, end = np.searchsorted(gone, [places[0], places[-1] + 1])
    if start == end:
        return batch
    stays = np.isin(places, gone[start:end], assume_unique=True, invert=True)
    return batch.filter(pa.array(stays))


def lean_task(task: FileScanTask) -> FileScanTask:
    """The task without metrics, which only planning needs."""
    file = structs.replace(
        task.data_file,
        column_sizes=None,
        value_counts=None,
        null_value_counts=None,
        nan_value_counts=None,
        lower_bounds=None,
        upper_bounds=None,
    )
    return structs.replace(task, data_file=file)
