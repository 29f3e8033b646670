"""Columns that a file may lack because its partition has their value: https://iceberg.apache.org/spec/#column-projection.

Spark's reader does not know this rule and would give null. Metrics prove that a file has a column; without them its footer is
read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import polars as pl

from floeberg.files.metric_columns import metric_name
from floeberg.scan.scan_plan import ScanPlan
from floeberg.scan.tasks import FileScanTask
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.partitions.specs import PartitionSpec
from floeberg.spec.partitions.transforms import IdentityTransform

VALUE_COUNTS = "value_counts"


def partition_sources(spec: PartitionSpec) -> frozenset[int]:
    """The columns whose values a partition of the spec has."""
    return frozenset(field.source_id for field in spec.fields if isinstance(field.transform, IdentityTransform))


def all_partition_sources(metadata: TableMetadata) -> frozenset[int]:
    """The same for every spec of a table."""
    return frozenset(source for spec in metadata.specs_by_id.values() for source in partition_sources(spec))


def planned_unsure(plan: ScanPlan) -> frozenset[str]:
    """The paths of planned files that may lack the columns of their partition; the plan must keep the metrics of
    `all_partition_sources`."""
    return frozenset(path for part in plan.parts for path in _unsure(part.frame, partition_sources(part.spec)))


def tasks_unsure(tasks: Sequence[FileScanTask], specs: Mapping[int, PartitionSpec]) -> frozenset[str]:
    """The same for tasks that have their metrics."""
    return frozenset(
        task.data_file.file_path
        for task in tasks
        if not partition_sources(specs[task.data_file.spec_id]) <= (task.data_file.value_counts or {}).keys()
    )


def _unsure(frame: pl.DataFrame, sources: frozenset[int]) -> Iterator[str]:
    if not sources:
        return
    names = [metric_name(VALUE_COUNTS, source) for source in sources]
    if not set(names) <= set(frame.columns):
        yield from frame.get_column("file_path").to_list()
        return
    unknown = frame.filter(pl.any_horizontal(pl.col(name).is_null() for name in names))
    yield from unknown.get_column("file_path").to_list()
