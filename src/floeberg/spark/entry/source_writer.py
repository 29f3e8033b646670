"""The write side of the Python data source: rows to a table by its path, in sessions that are not attached."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from floeberg.catalogs.base import LoadedTable
from floeberg.catalogs.filesystem_pointer import FilesystemPointer
from floeberg.commit.append import Append
from floeberg.commit.commit import commit_operations, proves_nothing_landed
from floeberg.commit.operation import Operation, SnapshotTarget
from floeberg.commit.overwrite import Overwrite
from floeberg.effects.protocols import Effects
from floeberg.effects.system import system_effects
from floeberg.errors import InvalidInput, TableNotFound
from floeberg.expr.nodes import TRUE
from floeberg.files.data_file_wire import decode_data_file
from floeberg.row_changes.policy import refuse_encrypted
from floeberg.spark.host.destination import Destination
from floeberg.spark.host.types.spark_types import spark_type
from floeberg.spark.workers.stores import worker_stores
from floeberg.spark.write.job import WriterTask
from floeberg.spark.write.once import once_of
from floeberg.spark.write.options import WriteOptions, write_options
from floeberg.spec.metadata.partition_types import partition_type_of
from floeberg.spec.partitions.sort_orders import UNSORTED
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.snapshots.manifest_entry import DataFile
from floeberg.storage.location import parse_from_user
from floeberg.storage.registry import StoreRegistry, Stores


def open_for_writing(path: str, *, stores: Stores, effects: Effects) -> LoadedTable:
    """A table that is a folder of versions, as a filesystem catalog keeps them. Raises TableNotFound for any other: its
    catalog alone can commit to it."""
    location = parse_from_user(path).text.rstrip("/")
    pointer = FilesystemPointer(location, location, stores=stores, effects=effects)
    try:
        return LoadedTable(pointer, pointer.refresh())
    except TableNotFound:
        raise TableNotFound(
            f"{location} is no table that can be written by its path: it has no metadata/v<N>.metadata.json. Create it in a "
            "filesystem catalog, or write to it through its catalog: df.writeTo('catalog.namespace.table')",
            table=location,
        ) from None


@dataclass(frozen=True, slots=True)
class WrittenFiles(WriterCommitMessage):  # type: ignore[misc]
    """The descriptions of the files that a task wrote."""

    files: tuple[bytes, ...]


class PathWriter(DataSourceArrowWriter):  # type: ignore[misc]
    """Appends rows to a table by its path, or replaces all that it has. Columns are found by name and must have the table's
    types."""

    def __init__(self, path: str, schema: StructType, *, overwrite: bool, options: dict[str, str]) -> None:
        self._path = path
        self._overwrite = overwrite
        table = self._table()
        metadata = table.state.metadata
        refuse_encrypted(metadata)
        self._names = aligned_names(metadata.current_schema, schema, table.state.identifier)
        parsed = write_options(metadata, options)
        _refuse_unheeded(parsed, table.state.identifier)
        self._branch = parsed.branch
        self._summary = dict(parsed.summary)
        self._once = once_of(Destination(branch=parsed.branch), parsed.txn)
        self._task = WriterTask(
            stores=worker_stores(table.pointer.stores, location=metadata.location),
            location=metadata.location,
            schema=metadata.current_schema,
            spec=metadata.spec(parsed.spec_id),
            partition_type=partition_type_of(metadata, parsed.spec_id),
            sort_order=UNSORTED,
            properties=dict(parsed.properties),
            write_id=table.pointer.effects.ids.uuid(),
            clustered=False,
        )

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        batches = (batch.rename_columns(self._names) for batch in iterator)
        written = [file for result in self._task(batches) for file in result.column(0).to_pylist()]
        return WrittenFiles(tuple(written))

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        table = self._table()
        files = self._files(messages)
        target = SnapshotTarget(branch=self._branch, summary=self._summary)
        operation: Operation = Append(files=files, target=target)
        if self._overwrite:
            operation = Overwrite(added=files, row_filter=TRUE, target=target)
        operations = [operation] if files or self._overwrite else []
        if not operations and self._once is None:
            return
        transaction = None if self._once is None else self._once.transaction
        summary = {"engine-name": "spark"}
        try:
            committed = commit_operations(
                table.pointer, table.state, operations, engine_summary=summary, once=transaction
            )
        except BaseException as error:
            if proves_nothing_landed(error):
                _remove(table, files)
            raise
        if self._once is not None:
            self._once.ended(committed, written=files, pointer=table.pointer)

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Removes the files of the tasks that succeeded, when others failed. Spark calls this after a failed `commit` too, in
        another process: where every task answered, the commit was tried, may have taken effect, and removed the files itself
        if it is proved that it did not."""
        if any(message is None for message in messages):
            _remove(self._table(), self._files(messages))

    def _table(self) -> LoadedTable:
        effects = system_effects()
        return open_for_writing(self._path, stores=StoreRegistry(effects, {}), effects=effects)

    def _files(self, messages: Sequence[Any]) -> list[DataFile]:
        return [
            decode_data_file(file, self._task.partition_type)
            for message in messages
            if isinstance(message, WrittenFiles)
            for file in message.files
        ]


def _remove(table: LoadedTable, files: Sequence[DataFile]) -> None:
    for file in files:
        table.pointer.store_for(file.file_path).delete(file.file_path)


def _refuse_unheeded(options: WriteOptions, table: str) -> None:
    """Raises InvalidInput for options that change which rows a write replaces, or its columns: sessions that are attached
    heed them."""
    if options.dynamic or options.merge_schema or options.isolation is not None:
        raise InvalidInput(
            f"table {table}: overwrite-mode=dynamic, mergeSchema and isolation-level are for attached sessions; "
            "call floeberg.attach(spark) first"
        )


def aligned_names(schema: Schema, given: StructType, table: str) -> list[str]:
    """The table's names of the given columns, in their order. Raises InvalidInput for unknown, doubled or missing columns and
    for other types than the table's."""
    names: list[str] = []
    for column in given.fields:
        field = next((one for one in schema.fields if one.name.lower() == column.name.lower()), None)
        if field is None or field.name in names:
            known = ", ".join(one.name for one in schema.fields)
            raise InvalidInput(
                f"table {table}: column {column.name!r} is unknown or given twice; its columns are {known}"
            )
        if spark_type(field.type) != column.dataType:
            raise InvalidInput(
                f"table {table}: column {field.name!r} is {spark_type(field.type).simpleString()}, and the data has "
                f"{column.dataType.simpleString()}; cast it, or attach the session and use writeTo"
            )
        names.append(field.name)
    missing = [field.name for field in schema.fields if field.required and field.name not in names]
    if missing:
        raise InvalidInput(f"table {table}: column {missing[0]!r} is required; the data must have it")
    return names
