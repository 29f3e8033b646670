"""Writes data files: one file, files that roll at a size, and files by partition. What comes back are the data files for
a commit, with their metrics; nothing becomes visible before one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from msgspec import structs

from floeberg.arrow.columns.metrics import MetricsCollector
from floeberg.arrow.columns.metrics_config import MetricsConfig, metrics_config
from floeberg.arrow.columns.partition import Partition, sort_table, split_by_partition
from floeberg.arrow.columns.types import arrow_schema
from floeberg.arrow.formats.file_schema import file_fields
from floeberg.arrow.formats.io import FileSink, open_sink, remove
from floeberg.arrow.formats.projection import Projection
from floeberg.arrow.formats.write_avro import AvroFileWriter
from floeberg.arrow.formats.write_orc import OrcFileWriter
from floeberg.arrow.formats.write_parquet import FormatResult, ParquetFileWriter
from floeberg.arrow.formats.write_properties import WriteProperties, write_properties
from floeberg.arrow.write.conform import Conformer
from floeberg.effects.protocols import Store
from floeberg.errors import InvalidInput, UnsupportedFeature
from floeberg.spec.partitions.sort_orders import UNSORTED_ORDER_ID, SortOrder
from floeberg.spec.partitions.specs import PartitionSpec
from floeberg.spec.schemas.schema import Schema, walk_fields
from floeberg.spec.snapshots.manifest_entry import DataFile, FileContent, FileFormat
from floeberg.spec.types import (
    IcebergType,
    ListType,
    MapType,
    NestedField,
    StructType,
    UnknownType,
    VariantType,
)

V = TypeVar("V")
NewLocation: TypeAlias = Callable[[str], str]
"""A location for a new file, given its partition's path (`a=1/b=x`, empty when unpartitioned)."""

MAX_BUFFERED_BYTES: Final = 512 << 20
_PIECE_BYTES: Final = 16 << 20


class _FormatWriter(Protocol):
    @property
    def written_bytes(self) -> int: ...
    @property
    def buffered_bytes(self) -> int: ...
    def write(self, batch: pa.RecordBatch) -> None: ...
    def flush(self) -> None: ...
    def close(self) -> FormatResult: ...
    def abort(self) -> None: ...


_WRITERS: Final[dict[FileFormat, Callable[[FileSink, Schema, WriteProperties], _FormatWriter]]] = {
    FileFormat.PARQUET: ParquetFileWriter,
    FileFormat.ORC: OrcFileWriter,
    FileFormat.AVRO: AvroFileWriter,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FileKind:
    """What a written file is: data, or equality deletes by some ids, in a partition of a spec, in a sort order."""

    content: FileContent = FileContent.DATA
    spec_id: int = 0
    partition: Partition = ()
    sort_order_id: int | None = UNSORTED_ORDER_ID
    equality_ids: tuple[int, ...] | None = None


class DataFileWriter:
    """One data or delete file, from batches that conform to its schema."""

    def __init__(
        self,
        store: Store,
        location: str,
        schema: Schema,
        *,
        properties: WriteProperties,
        metrics: MetricsConfig,
        kind: FileKind | None = None,
    ) -> None:
        stored = stored_schema(schema, properties.file_format)
        self.location = location
        self._kind = kind or FileKind()
        self._format = properties.file_format
        self._projection = None
        if stored.fields != schema.fields:
            fields = file_fields(arrow_schema(schema), location=location)
            self._projection = Projection(fields, stored, location=location)
        self._metrics = MetricsCollector(stored, metrics)
        self._modes = metrics
        self._sink = open_sink(store, location)
        try:
            self._writer = _WRITERS[self._format](self._sink, stored, properties)
            self._sink.check()
        except BaseException:
            self._sink.abort()
            raise
        self._aborted = False

    def write(self, batch: pa.RecordBatch) -> None:
        """Adds rows. Raises InvalidInput when the format cannot hold a value."""
        if self._projection is not None:
            batch = self._projection.apply(batch)
        self._metrics.update(batch)
        self._writer.write(batch)
        self._check()

    @property
    def buffered_bytes(self) -> int:
        return self._writer.buffered_bytes

    def flush(self) -> None:
        """Encodes what is buffered."""
        self._writer.flush()
        self._check()

    def has_reached(self, target_bytes: int) -> bool:
        """Whether the file has that many bytes; what is buffered is encoded before that is said."""
        if self._writer.written_bytes < target_bytes:
            return False
        self.flush()
        return self._writer.written_bytes >= target_bytes

    def _check(self) -> None:
        """Raises StorageError, and leaves nothing of the file, when it could not be written."""
        try:
            self._sink.check()
        except BaseException:
            self.abort()
            raise

    def close(self) -> DataFile:
        """Makes the file durable and describes it. Nothing is left of it when that fails."""
        try:
            result = self._writer.close()
        except BaseException:
            self.abort()
            raise
        metrics = self._metrics.finish()
        lower, upper = self._format_bounds(result)
        kind = self._kind
        return DataFile(
            content=kind.content,
            file_path=self.location,
            file_format=self._format,
            spec_id=kind.spec_id,
            partition=kind.partition,
            record_count=metrics.record_count,
            file_size_in_bytes=result.file_size_in_bytes,
            column_sizes=result.column_sizes,
            value_counts=self._manifest_metrics(metrics.value_counts),
            null_value_counts=self._manifest_metrics(metrics.null_value_counts),
            nan_value_counts=self._manifest_metrics(metrics.nan_value_counts),
            lower_bounds=self._manifest_metrics({**metrics.lower_bounds, **lower}),
            upper_bounds=self._manifest_metrics({**metrics.upper_bounds, **upper}),
            split_offsets=result.split_offsets,
            sort_order_id=kind.sort_order_id,
            equality_ids=kind.equality_ids,
        )

    def _format_bounds(self, result: FormatResult) -> tuple[dict[int, bytes], dict[int, bytes]]:
        """The bounds that only the file's writer knows, of columns whose metrics mode asks for bounds."""
        lower = {i: bound for i, bound in (result.lower_bounds or {}).items() if self._modes.mode(i).has_bounds}
        upper = {i: bound for i, bound in (result.upper_bounds or {}).items() if self._modes.mode(i).has_bounds}
        for field_id, bounds in (result.variant_bounds or {}).items():
            mode = self._modes.mode(field_id)
            least, greatest = bounds.lower(mode), bounds.upper(mode)
            if least is not None and greatest is not None:
                lower[field_id], upper[field_id] = least, greatest
        return lower, upper

    def _manifest_metrics(self, metrics: Mapping[int, V]) -> Mapping[int, V]:
        """The metrics that go into the manifest. Of equality deletes only those of the keys: other columns need not hold
        what the deleted rows hold, and the Java library rules delete files out by them."""
        keys = self._kind.equality_ids
        return metrics if keys is None else {key: value for key, value in metrics.items() if key in keys}

    def abort(self) -> None:
        """Drops the file; nothing of it stays in the store."""
        if not self._aborted:
            self._aborted = True
            self._writer.abort()


@dataclass(slots=True)
class _Open:
    writer: DataFileWriter
    runs: set[int] = field(default_factory=set)
    rows: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Placed:
    """Where rows of a batch went: to consecutive positions of one file."""

    file_path: str
    first_position: int
    rows: npt.NDArray[np.int64]
    """The rows' numbers in the batch."""


class RollingWriter:
    """Files of a table: each partition's rows to files of their own, which roll at the target size in written bytes.

    `clustered` keeps one file open at a time, for rows that come partition by partition; otherwise one per partition,
    with the memory they take bounded by `max_buffered_bytes`. With a sort order, the rows of each call of `write`
    are sorted; a file records the order when its rows come from one call.
    """

    def __init__(
        self,
        store: Store,
        schema: Schema,
        *,
        spec: PartitionSpec,
        new_location: NewLocation,
        properties: Mapping[str, str] | None = None,
        sort_order: SortOrder | None = None,
        content: FileContent = FileContent.DATA,
        equality_ids: Sequence[int] | None = None,
        clustered: bool = False,
        max_buffered_bytes: int = MAX_BUFFERED_BYTES,
    ) -> None:
        self._store = store
        self._schema = schema
        self._spec = spec
        self._new_location = new_location
        deletes = content is not FileContent.DATA
        self._properties = write_properties(properties or {}, deletes=deletes)
        self._metrics = metrics_config(schema, properties or {}, sort_order=sort_order)
        self._sort_order = sort_order
        ids = None if equality_ids is None else tuple(equality_ids)
        self._kind = FileKind(content=content, spec_id=spec.spec_id, equality_ids=ids)
        self._clustered = clustered
        self._max_buffered_bytes = max_buffered_bytes
        self._open: dict[Partition, _Open] = {}
        self._done: list[DataFile] = []
        self._runs = 0
        self._conformer: Conformer | None = None
        stored_schema(schema, self._properties.file_format)

    def write(self, data: Any) -> None:
        """Adds the rows of a pyarrow Table, RecordBatch or RecordBatchReader. Raises InvalidInput before any of a batch
        is written when it does not fit the schema."""
        if self._conformer is None or not self._conformer.takes(data.schema):
            self._conformer = Conformer(data.schema, self._schema)
        batches = self._conformer.batches(data)
        order = self._sort_order
        if order is not None and order.is_sorted:
            table = pa.Table.from_batches(list(batches), schema=arrow_schema(self._schema))
            batches = iter(sort_table(table, order, self._schema).combine_chunks().to_batches(max_chunksize=1 << 16))
        self._runs += 1
        for batch in batches:
            for partition, rows in split_by_partition(batch, self._spec, self._schema):
                self._add(partition, rows)

    def place(self, batch: pa.RecordBatch) -> list[Placed]:
        """Adds the rows of a batch in their order, whatever the sort order, and says where each of them is."""
        if self._conformer is None or not self._conformer.takes(batch.schema):
            self._conformer = Conformer(batch.schema, self._schema)
        conformed = self._conformer.apply(batch)
        numbered = conformed.append_column("row", pa.array(np.arange(batch.num_rows)))
        self._runs += 1
        placed = []
        for partition, rows in split_by_partition(numbered, self._spec, self._schema):
            numbers = rows.column(rows.num_columns - 1).to_numpy()
            for path, first, start, count in self._add(partition, rows.remove_column(rows.num_columns - 1)):
                placed.append(Placed(path, first, numbers[start : start + count]))
        return placed

    def close(self) -> list[DataFile]:
        """The files written, all durable; none when there were no rows."""
        for partition in list(self._open):
            self._finish(partition)
        return self._done

    def abort(self) -> None:
        """Drops what is open and deletes what was written: nothing of it was committed."""
        for slot in self._open.values():
            slot.writer.abort()
        self._open = {}
        for file in self._done:
            remove(self._store, file.file_path)
        self._done = []

    def _add(self, partition: Partition, rows: pa.RecordBatch) -> list[tuple[str, int, int, int]]:
        """Writes rows of one partition. Returns (file, first position in it, first row, rows) for each piece."""
        key = _key(partition)
        added, start = [], 0
        for piece in _pieces(rows):
            slot = self._open.get(key)
            if slot is None:
                slot = self._start(partition)
            slot.runs.add(self._runs)
            slot.writer.write(piece)
            added.append((slot.writer.location, slot.rows, start, piece.num_rows))
            slot.rows += piece.num_rows
            start += piece.num_rows
            if slot.writer.has_reached(self._properties.target_file_bytes):
                self._finish(key)
        self._bound_memory()
        return added

    def _start(self, partition: Partition) -> _Open:
        if self._clustered:
            for other in list(self._open):
                self._finish(other)
        path = self._spec.path(self._schema, partition) if self._spec.fields else ""
        kind = replace(self._kind, partition=partition)
        writer = DataFileWriter(
            self._store,
            self._new_location(path),
            self._schema,
            properties=self._properties,
            metrics=self._metrics,
            kind=kind,
        )
        slot = self._open[_key(partition)] = _Open(writer)
        return slot

    def _finish(self, key: Partition) -> None:
        slot = self._open.pop(key)
        file = slot.writer.close()
        if self._sort_order is not None and self._sort_order.is_sorted and len(slot.runs) == 1:
            file = structs.replace(file, sort_order_id=self._sort_order.order_id)
        self._done.append(file)

    def _bound_memory(self) -> None:
        """Encodes the largest of the open files, and closes it, smaller than its target, when that frees nothing."""
        while self._open and self._buffered() > self._max_buffered_bytes:
            key = max(self._open, key=lambda key: self._open[key].writer.buffered_bytes)
            writer, before = self._open[key].writer, self._buffered()
            writer.flush()
            if self._buffered() > before // 2 and self._buffered() > self._max_buffered_bytes:
                self._finish(key)

    def _buffered(self) -> int:
        return sum(slot.writer.buffered_bytes for slot in self._open.values())


def _key(partition: Partition) -> Partition:
    """Partition values as a key: every NaN is one, and zeros of both signs are two."""
    return tuple(repr(value) if isinstance(value, float) else value for value in partition)


def _pieces(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """The batch in parts of a few megabytes, so that a file overshoots its target by little."""
    parts = max(1, -(-batch.nbytes // _PIECE_BYTES))
    rows = max(1, -(-batch.num_rows // parts))
    for start in range(0, batch.num_rows, rows):
        yield batch.slice(start, rows)


def stored_schema(schema: Schema, file_format: FileFormat = FileFormat.PARQUET) -> Schema:
    """The schema of a data file: without unknown columns, which are never stored.

    Raises UnsupportedFeature for variants in ORC, which no reader of the format has, and InvalidInput when nothing is left.
    """
    for column, name in walk_fields(schema.fields) if file_format is FileFormat.ORC else ():
        if isinstance(column.type, VariantType):
            raise UnsupportedFeature(
                f"column {name!r}: variants are written to Parquet and Avro files, not to ORC; set the table property "
                "write.format.default to parquet",
                column=name,
            )
    fields = tuple(_stored(column, path=column.name) for column in schema.fields if not _is_unknown(column.type))
    if not fields:
        raise InvalidInput("a data file needs a column that is not of unknown type")
    return Schema(*fields, schema_id=schema.schema_id, identifier_field_ids=schema.identifier_field_ids)


def _is_unknown(data_type: IcebergType) -> bool:
    return isinstance(data_type, UnknownType)


def _stored(column: NestedField, *, path: str) -> NestedField:
    kind = column.type
    if isinstance(kind, StructType):
        members = tuple(_stored(m, path=f"{path}.{m.name}") for m in kind.members if not _is_unknown(m.type))
        if not members:
            raise InvalidInput(f"column {path!r}: a struct without any member of a known type cannot be stored")
        return replace(column, type=StructType(members))
    if isinstance(kind, (ListType, MapType)) and any(_is_unknown(child.type) for child in kind.fields):
        raise InvalidInput(f"column {path!r}: a list or map of unknown values cannot be stored")
    if isinstance(kind, ListType):
        return replace(column, type=replace(kind, element_type=_stored(kind.element, path=f"{path}.element").type))
    if isinstance(kind, MapType):
        key, value = _stored(kind.key, path=f"{path}.key"), _stored(kind.value, path=f"{path}.value")
        return replace(column, type=replace(kind, key_type=key.type, value_type=value.type))
    return column
