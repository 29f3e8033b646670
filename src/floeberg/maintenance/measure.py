"""Measures files anew: sizes, counts and bounds as a writer would record them."""

from __future__ import annotations

from dataclasses import dataclass

from msgspec import structs

from floeberg.arrow.columns.metrics import MetricsCollector
from floeberg.arrow.columns.metrics_config import MetricsConfig
from floeberg.arrow.formats.footer import read_footer
from floeberg.arrow.formats.io import reading
from floeberg.arrow.formats.read_parquet import open_parquet, row_group_offset
from floeberg.arrow.scan.execute import TableReader
from floeberg.effects.protocols import Store
from floeberg.expr.nodes import TRUE
from floeberg.scan.tasks import FileScanTask
from floeberg.spec.schemas.metadata_columns import DELETE_FILE_PATH, DELETE_FILE_POS
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.snapshots.manifest_entry import DataFile, FileContent, FileFormat


@dataclass(frozen=True, slots=True)
class FileMeasurer:
    """Measures files of a table as of a schema. Travels to the workers."""

    schema: Schema
    metrics: MetricsConfig

    def measure(self, reader: TableReader, file: DataFile) -> DataFile:
        """The file with its size, rows and metrics as they are. Raises FloebergError when it cannot be read."""
        store = reader.store_for(file.file_path)
        size_bytes = store.size(file.file_path)
        if file.content is not FileContent.DATA:
            return self._measured_deletes(store, file, size_bytes)
        collector = MetricsCollector(self.schema, self.metrics)
        task = FileScanTask(data_file=file, data_sequence_number=0, file_sequence_number=0, residual=TRUE)
        for batch in reader.rows(task, self.schema):
            collector.update(batch)
        found = collector.finish()
        return structs.replace(
            file,
            record_count=found.record_count,
            file_size_in_bytes=size_bytes,
            column_sizes=file.column_sizes if size_bytes == file.file_size_in_bytes else None,
            value_counts=found.value_counts,
            null_value_counts=found.null_value_counts,
            nan_value_counts=found.nan_value_counts,
            lower_bounds=found.lower_bounds,
            upper_bounds=found.upper_bounds,
            split_offsets=_split_offsets(store, file) if size_bytes != file.file_size_in_bytes else file.split_offsets,
        )

    def _measured_deletes(self, store: Store, file: DataFile, size_bytes: int) -> DataFile:
        """Without metrics: then readers apply the deletes wherever they may."""
        schema = Schema(*self.schema.fields, DELETE_FILE_PATH, DELETE_FILE_POS)
        return structs.replace(
            file,
            record_count=read_footer(store, file, schema).record_count,
            file_size_in_bytes=size_bytes,
            column_sizes=None,
            value_counts=None,
            null_value_counts=None,
            nan_value_counts=None,
            lower_bounds=None,
            upper_bounds=None,
            split_offsets=None,
        )


def _split_offsets(store: Store, file: DataFile) -> tuple[int, ...] | None:
    if file.file_format is not FileFormat.PARQUET:
        return None
    with reading(file.file_path):
        metadata = open_parquet(store, file.file_path).metadata
        groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
        return tuple(sorted(row_group_offset(group) for group in groups)) or None
