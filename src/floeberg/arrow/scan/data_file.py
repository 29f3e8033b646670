"""Reads a data file as a scan sees it: the columns asked for, without deleted rows, filtered, with metadata columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from floeberg.arrow.columns.filter import filter_mask, referenced_ids
from floeberg.arrow.columns.physical import repeat
from floeberg.arrow.columns.types import arrow_schema
from floeberg.arrow.formats.file_schema import file_fields
from floeberg.arrow.formats.open_file import DEFAULT_OPTIONS, ReadOptions, read_file
from floeberg.arrow.formats.projection import Projection
from floeberg.arrow.formats.read_parquet import FileBatch
from floeberg.arrow.formats.row_groups import row_group_filter
from floeberg.arrow.scan.deletes import NO_DELETES, RowDeletes, merge_field
from floeberg.effects.protocols import Store
from floeberg.errors import InvalidInput
from floeberg.expr.nodes import TRUE, AlwaysFalse, AlwaysTrue, Expression
from floeberg.spec.partitions.specs import PartitionSpec
from floeberg.spec.partitions.transforms import IdentityTransform
from floeberg.spec.schemas.metadata_columns import (
    FILE_PATH,
    IS_DELETED,
    LINEAGE_COLUMNS,
    PARTITION_ID,
    ROW_ID,
    ROW_POSITION,
    SPEC_ID,
)
from floeberg.spec.schemas.name_mapping import NameMapping
from floeberg.spec.schemas.projection import prune_columns
from floeberg.spec.schemas.schema import Schema, walk_fields
from floeberg.spec.snapshots.manifest_entry import DataFile
from floeberg.spec.types import NestedField, StructType

Positions = npt.NDArray[np.int64]

_COMPUTED: Final = frozenset(
    {FILE_PATH.field_id, ROW_POSITION.field_id, IS_DELETED.field_id, SPEC_ID.field_id, PARTITION_ID}
)
_LINEAGE: Final = frozenset(column.field_id for column in LINEAGE_COLUMNS)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileToRead:
    """A data file and what its manifest entry says of its rows. `byte_range` (offset, length) is a split of it;
    `location` is where it lies, when the table was moved since (its path in the metadata stays its name). A file that is
    not committed has no row ids to inherit yet: its rows have those that it stores."""

    data_file: DataFile
    spec: PartitionSpec | None = None
    is_committed: bool = True
    data_sequence_number: int | None = None
    byte_range: tuple[int, int] | None = None
    location: str | None = None


def read_data_file(
    file: FileToRead,
    *,
    store: Store,
    projection: Schema,
    table_schema: Schema,
    residual: Expression = TRUE,
    deletes: RowDeletes = NO_DELETES,
    name_mapping: NameMapping | None = None,
    options: ReadOptions = DEFAULT_OPTIONS,
) -> Iterator[pa.RecordBatch]:
    """The rows of a file that are not deleted and for which the residual is true, in their order.

    `projection` holds columns of `table_schema` (structs perhaps with fewer members) and metadata columns; with `_deleted`
    among them deleted rows come too, marked. `residual` is bound to `table_schema`. Batches without rows are left out.
    Raises DataFileCorrupt, FileNotFound, UnsupportedFeature.
    """
    if isinstance(residual, AlwaysFalse):
        return
    reader = _Reader(file, projection, table_schema, residual, deletes)
    batches = read_file(
        store,
        file.data_file,
        reader.read_schema,
        name_mapping=name_mapping,
        table_schema=table_schema,
        constants=identity_constants(file.data_file, file.spec),
        row_group_filter=row_group_filter(residual, table_schema),
        byte_range=file.byte_range,
        options=options,
        location=file.location,
    )
    for found in batches:
        batch = reader.rows(found)
        if batch.num_rows:
            yield batch


def identity_constants(file: DataFile, spec: PartitionSpec | None) -> dict[int, object]:
    """The values of columns that are partitioned by identity, which files of migrated tables may lack."""
    if spec is None:
        return {}
    return {
        field.source_id: value
        for field, value in zip(spec.fields, file.partition, strict=True)
        if isinstance(field.transform, IdentityTransform)
    }


class _Reader:
    """What is done with each batch of one file."""

    def __init__(
        self, file: FileToRead, projection: Schema, table: Schema, residual: Expression, deletes: RowDeletes
    ) -> None:
        self._file = file
        self._projection = projection
        self._residual = residual
        self._deletes = deletes
        self._keep_deleted = any(field.field_id == IS_DELETED.field_id for field in projection.fields)
        self._schema = arrow_schema(projection)
        stored = [field for field in projection.fields if field.field_id not in _COMPUTED]
        self.read_schema = _read_schema(stored, table, residual, deletes)
        self._output = None
        if self.read_schema.fields != tuple(stored):
            fields = file_fields(arrow_schema(self.read_schema), location=file.data_file.file_path)
            self._output = Projection(fields, Schema(*stored), location=file.data_file.file_path)

    def rows(self, found: FileBatch) -> pa.RecordBatch:
        batch = found.batch
        deleted = None
        if self._deletes:
            deleted = self._deletes.deleted(batch, self.read_schema, first_position=found.first_position)
        keep = None if deleted is None or self._keep_deleted else ~deleted
        if not isinstance(self._residual, AlwaysTrue):
            true = pc.fill_null(filter_mask(self._residual, batch, self.read_schema), False)
            matched = true.to_numpy(zero_copy_only=False)
            keep = matched if keep is None else keep & matched
        positions: Positions = np.arange(found.first_position, found.first_position + batch.num_rows, dtype=np.int64)
        if keep is not None and not keep.all():
            batch = batch.filter(pa.array(keep))
            positions = positions[keep]
            deleted = deleted[keep] if deleted is not None else None
        if self._output is not None:
            batch = self._output.apply(batch)
        return self._with_metadata(batch, positions, deleted)

    def _with_metadata(
        self, batch: pa.RecordBatch, positions: Positions, deleted: npt.NDArray[np.bool_] | None
    ) -> pa.RecordBatch:
        if all(field.field_id not in _COMPUTED | _LINEAGE for field in self._projection.fields):
            return batch
        stored = iter(batch.columns)
        arrays = []
        for field in self._projection.fields:
            if field.field_id in _COMPUTED:
                arrays.append(self._computed(field, positions, deleted))
            elif field.field_id in _LINEAGE:
                arrays.append(self._lineage(field, next(stored), positions))
            else:
                arrays.append(next(stored))
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)

    def _computed(self, field: NestedField, positions: Positions, deleted: npt.NDArray[np.bool_] | None) -> pa.Array:
        rows = len(positions)
        file = self._file.data_file
        match field.field_id:
            case FILE_PATH.field_id:
                return repeat(file.file_path, field.type, rows)
            case ROW_POSITION.field_id:
                return pa.array(positions)
            case IS_DELETED.field_id:
                return pa.array(np.zeros(rows, dtype=np.bool_) if deleted is None else deleted)
            case SPEC_ID.field_id:
                return repeat(file.spec_id, field.type, rows)
        return repeat(partition_value(field, file, self._file.spec), field.type, rows)

    def _lineage(self, field: NestedField, stored: pa.Array, positions: Positions) -> pa.Array:
        """https://iceberg.apache.org/spec/#row-lineage-assignment: what the file holds, or what the row inherits; a file
        without a first row id is from before the table had lineage."""
        first_row_id = self._file.data_file.first_row_id
        if not self._file.is_committed:
            return stored
        if first_row_id is None:
            return pa.nulls(len(positions), pa.int64())
        if field.field_id == ROW_ID.field_id:
            return pc.coalesce(stored, pa.array(positions + first_row_id))
        return pc.coalesce(stored, pa.scalar(self._file.data_sequence_number, pa.int64()))


def _read_schema(stored: Sequence[NestedField], table: Schema, residual: Expression, deletes: RowDeletes) -> Schema:
    """The columns to read: those asked for, those that the residual asks about, and the keys of equality deletes."""
    own = [field for field in stored if field.field_id not in _LINEAGE]
    wanted = {field.field_id for field, _ in walk_fields(own)}
    if unknown := wanted - table.by_id.keys():
        raise InvalidInput(f"the projection has a column with id {min(unknown)}, which the table's schema lacks")
    fields: list[NestedField] = list(own)
    needed = [
        *prune_columns(table, referenced_ids(residual)).fields,
        *(field for equality in deletes.equality for field in equality.key_schema.fields),
    ]
    for field in needed:
        merge_field(fields, field)
    fields.extend(field for field in stored if field.field_id in _LINEAGE)
    return Schema(*fields)


def partition_value(field: NestedField, file: DataFile, spec: PartitionSpec | None) -> Any:
    """The file's partition as a value of the `_partition` struct of all of a table's specs."""
    if spec is None or not isinstance(field.type, StructType):
        raise InvalidInput("_partition needs the partition spec of the file")
    values = {own.field_id: value for own, value in zip(spec.fields, file.partition, strict=True)}
    return {member.name: values.get(member.field_id) for member in field.type.members}
