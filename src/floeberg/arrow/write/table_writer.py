"""Writes files for one table: where they go and how they look is read from its metadata, and all that was written is
known, so that it can be removed again when a commit is proved to have failed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

import pyarrow as pa
from pyroaring import BitMap64

from floeberg.arrow.formats.io import remove
from floeberg.arrow.formats.write_properties import TARGET_FILE_SIZE, write_properties
from floeberg.arrow.write.data_files import RollingWriter
from floeberg.arrow.write.delete_files import DeletedFile, write_position_deletes, write_vectors
from floeberg.arrow.write.locations import DataLocations
from floeberg.effects.protocols import Store
from floeberg.errors import InvalidInput
from floeberg.spec.metadata.partition_types import source_schema
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.partitions.sort_orders import SortOrder
from floeberg.spec.partitions.specs import PartitionSpec
from floeberg.spec.schemas.metadata_columns import with_row_lineage
from floeberg.spec.snapshots.manifest_entry import DataFile
from floeberg.spec.snapshots.row_lineage import ROW_LINEAGE_VERSION


class TableWriter:
    """The files of one write of one table, under its current schema, spec and sort order. `task` tells the writers of one
    write apart."""

    def __init__(self, metadata: TableMetadata, store_for: Any, write_id: UUID, *, task: int = 0) -> None:
        self.metadata = metadata
        self.has_lineage = metadata.format_version >= ROW_LINEAGE_VERSION
        self.schema = metadata.current_schema
        self.rewritten_schema = with_row_lineage(self.schema) if self.has_lineage else self.schema
        self._store_for = store_for
        self._locations = DataLocations(metadata.location, metadata.properties, write_id, task=task)
        self._formats = {
            deletes: write_properties(metadata.properties, deletes=deletes).file_format for deletes in (False, True)
        }
        self._open: list[RollingWriter] = []
        self._written: list[DataFile] = []

    @property
    def store(self) -> Store:
        store: Store = self._store_for(self._locations.folder)
        return store

    def data_writer(self, *, with_lineage: bool = False) -> RollingWriter:
        """A writer of data files; with lineage, rows keep the row ids and sequence numbers that they come with."""
        writer = RollingWriter(
            self.store,
            self.rewritten_schema if with_lineage else self.schema,
            spec=self.metadata.default_spec,
            new_location=lambda path: self._locations.new_location(path, suffix=f".{self._formats[False]}"),
            properties=self.metadata.properties,
            sort_order=self.metadata.default_sort_order,
        )
        self._open.append(writer)
        return writer

    def rewriter(self, *, spec: PartitionSpec, sort_order: SortOrder, target_file_bytes: int) -> RollingWriter:
        """A writer of rows that are in the table already, with their lineage, in an order of their own."""
        writer = RollingWriter(
            self.store,
            self.rewritten_schema,
            spec=spec,
            new_location=lambda path: self._locations.new_location(path, suffix=f".{self._formats[False]}"),
            properties={**self.metadata.properties, TARGET_FILE_SIZE: str(target_file_bytes)},
            sort_order=sort_order,
        )
        self._open.append(writer)
        return writer

    def finish(self, writer: RollingWriter) -> list[DataFile]:
        """Closes a data writer; its files are the table's to commit, or to remove."""
        files = list(writer.close())
        self._open.remove(writer)
        self._written += files
        return files

    def write_data(self, data: Any) -> list[DataFile]:
        """The rows of a pyarrow Table, RecordBatch or RecordBatchReader as new data files."""
        writer = self.data_writer()
        writer.write(data)
        return self.finish(writer)

    def write_position_deletes(self, deletes: Mapping[DeletedFile, BitMap64]) -> DataFile:
        """A position delete file for data files of one partition of one spec."""
        one = next(iter(deletes))
        path = self._partition_path(one)
        file = write_position_deletes(
            self.store,
            self._locations.new_location(path, suffix=f"-deletes.{self._formats[True]}"),
            {target.file_path: positions for target, positions in deletes.items()},
            spec_id=one.spec_id,
            partition=one.partition,
            properties=self.metadata.properties,
        )
        self._written.append(file)
        return file

    def write_vectors(self, vectors: Mapping[DeletedFile, BitMap64]) -> list[DataFile]:
        """A Puffin file with a deletion vector for each data file."""
        location = self._locations.new_location("", suffix="-deletes.puffin")
        files = write_vectors(self.store, location, vectors)
        self._written += files
        return files

    @property
    def written_paths(self) -> frozenset[str]:
        """The files that were finished."""
        return frozenset(file.file_path for file in self._written)

    def discard(self) -> None:
        """Removes all that was written: only when it is proved that no commit refers to it."""
        for writer in self._open:
            writer.abort()
        self._open = []
        for location in {file.file_path for file in self._written}:
            remove(self._store_for(location), location)
        self._written = []

    def _partition_path(self, file: DeletedFile) -> str:
        spec = self.metadata.spec(file.spec_id)
        if not spec.fields:
            return ""
        return spec.path(source_schema(self.metadata, file.spec_id), file.partition)


def _from_pandas(frame: Any) -> pa.Table:
    """The columns of a frame, and the levels of its index that have names: `groupby` and `set_index` make columns of rows
    such levels. An index without a name only counts rows."""
    try:
        named = [level for level in frame.index.names if level is not None and level not in frame.columns]
        return pa.Table.from_pandas(frame.reset_index(level=named) if named else frame, preserve_index=False)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise InvalidInput(
            f"the pandas frame cannot be converted to Arrow: {error}; a column must hold values of one type (df.dtypes shows "
            "object for mixed ones; df['x'] = df['x'].astype('Int64'), 'string' or 'float64' makes it one)"
        ) from error


def to_arrow(data: Any) -> pa.Table | pa.RecordBatchReader:
    """What callers give as rows: a pyarrow Table, RecordBatch or RecordBatchReader, a polars or pandas frame, or anything
    that exports an Arrow stream. Raises InvalidInput."""
    if isinstance(data, (pa.Table, pa.RecordBatchReader)):
        return data
    if isinstance(data, pa.RecordBatch):
        return pa.Table.from_batches([data])
    if type(data).__module__.split(".")[0] == "pandas" and hasattr(data, "columns"):
        return _from_pandas(data)
    if hasattr(data, "__arrow_c_stream__"):
        try:
            return pa.RecordBatchReader.from_stream(data)
        except pa.ArrowException as error:
            raise InvalidInput(
                f"the {type(data).__name__} has a column that pyarrow does not know: {error}; cast it first"
            ) from error
    raise InvalidInput(
        f"rows are given as a pyarrow Table or RecordBatchReader, a polars or pandas frame, not as {type(data).__name__}"
    )
