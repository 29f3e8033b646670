"""`df.writeTo`, `df.write` and `df.mergeInto` for tables that are ours."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self

from floeberg.errors import InvalidInput, TableAlreadyExists, TableNotFound, UnsupportedFeature
from floeberg.spark.ddl.create import NewTable, make_table
from floeberg.spark.dml.insert import column_condition, prepared_write, target_table
from floeberg.spark.dml.merge_writer import MergeIntoWriter
from floeberg.spark.entry.reader import RECORD, RECORDING, Record, is_path, record_of, stores_of
from floeberg.spark.entry.source_writer import open_for_writing
from floeberg.spark.host.originals import original
from floeberg.spark.host.session import AttachedSession, Resolved
from floeberg.spark.host.types import iceberg_schema_of
from floeberg.spark.sql.cursor import parse_parts
from floeberg.spark.sql.lexer import quote_name
from floeberg.spark.sql.names import TableIdentifier
from floeberg.spark.write.commands import append, overwrite, overwrite_matching, overwrite_partitions
from floeberg.spec.partition_terms import PartitionTerm, parse_partition_term

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_COLUMN: Final = re.compile(r"Column<'(.*)'>", re.DOTALL)
_TRANSFORM: Final = re.compile(r"(\w+\((?:\d+, )?)(.*)\)", re.DOTALL)


@dataclass(slots=True)
class WriteRecord(Record):
    """What a DataFrameWriter was told so far."""

    frame: Any = None
    mode: str | None = None
    partitioning: tuple[str, ...] = ()


class TableWriter:
    """What `df.writeTo(name)` gives for a table of ours: the methods of PySpark's DataFrameWriterV2."""

    def __init__(self, session: AttachedSession, frame: DataFrame, identifier: TableIdentifier) -> None:
        self._session = session
        self._frame = frame
        self._identifier = identifier
        self._options: dict[str, str] = {}
        self._properties: dict[str, str] = {}
        self._partitioning: tuple[PartitionTerm, ...] = ()
        self._provider: str | None = None

    def using(self, provider: str) -> Self:
        self._provider = provider
        return self

    def option(self, key: str, value: Any) -> Self:
        self._options[key] = str(value).lower() if isinstance(value, bool) else str(value)
        return self

    def options(self, **options: Any) -> Self:
        for key, value in options.items():
            self.option(key, value)
        return self

    def tableProperty(self, property: str, value: str) -> Self:
        self._properties[property] = str(value)
        return self

    def partitionedBy(self, col: Any, *cols: Any) -> Self:
        names = self._frame.columns
        self._partitioning = tuple(parse_partition_term(_term(one, names)) for one in (col, *cols))
        return self

    def clusterBy(self, *columns: str) -> Self:
        raise UnsupportedFeature("clusterBy is not there; sort with ALTER TABLE … WRITE ORDERED BY")

    def create(self) -> None:
        """Raises TableAlreadyExists."""
        self._make(create=True)

    def replace(self) -> None:
        """Raises TableNotFound."""
        self._make(create=False, replaces=True)

    def createOrReplace(self) -> None:
        self._make(create=True, replaces=True)

    def _make(self, *, create: bool, replaces: bool = False) -> None:
        new = NewTable(
            schema=iceberg_schema_of(self._frame.schema),
            partitioning=self._partitioning,
            properties=self._properties,
            create=create,
            replace=replaces,
            provider=self._provider,
        )
        make_table(self._session, self._identifier, new, self._frame)

    def append(self) -> None:
        """Raises TableNotFound, and InvalidInput when the columns do not fit."""
        append(self._frame, self._write())

    def overwrite(self, condition: Any) -> None:
        """Replaces the rows that match a condition on whole files, such as one on partition columns. A condition that metadata
        cannot answer is evaluated on the table's rows first."""
        where = column_condition(self._session, target_table(self._session, self._identifier), condition)
        if where is None:
            overwrite_matching(self._frame, self._write(), condition)
        else:
            overwrite(self._frame, self._write(), where=where)

    def overwritePartitions(self) -> None:
        overwrite_partitions(self._frame, self._write())

    def _write(self) -> Any:
        return prepared_write(self._session, target_table(self._session, self._identifier), self._options)


def table_writer(session: AttachedSession, frame: DataFrame, name: str) -> TableWriter | None:
    """The writer when the name is ours."""
    identifier = _identifier(session, name)
    return None if identifier is None else TableWriter(session, frame, identifier)


def merge_writer(session: AttachedSession, frame: DataFrame, name: str, condition: Any) -> MergeIntoWriter | None:
    """What `df.mergeInto` gives when the target is ours."""
    return None if _identifier(session, name) is None else MergeIntoWriter(session, frame, name, condition)


def _identifier(session: AttachedSession, name: str) -> TableIdentifier | None:
    if not session.names().may_mention(name):
        return None
    found = session.names(creates=True).table(parse_parts(name))
    return found if found is not None and found.catalog else None


def _term(column: Any, names: Sequence[str]) -> str:
    """A column or a transform such as `bucket(4, "id")` as text; a Column shows the names of columns without quotes."""
    if isinstance(column, str):
        return column
    match = _COLUMN.fullmatch(str(column))
    text = match[1] if match else str(column)
    if (name := _column_name(text, names)) is not None:
        return quote_name(name)
    call = _TRANSFORM.fullmatch(text)
    name = None if call is None else _column_name(call[2], names)
    return text if call is None or name is None else f"{call[1]}{quote_name(name)})"


def _column_name(text: str, names: Sequence[str]) -> str | None:
    """The column that a Column's text shows: as it is, or with backquotes around it but none doubled."""
    bare = text[1:-1] if text.startswith("`") and text.endswith("`") else text
    return next((one for one in (text, bare) if one in names), None)


# DataFrameWriter


def recorded(writer: Any, frame: Any, session: AttachedSession | None) -> Any:
    if session is not None:
        setattr(writer, RECORD, WriteRecord(session, frame=frame))
    return writer


def _record(writer: Any) -> WriteRecord | None:
    found = record_of(writer)
    return found if isinstance(found, WriteRecord) else None


def _mode(self: Any, saveMode: str | None) -> Any:
    record = _record(self)
    if record is not None and saveMode is not None:
        record.mode = saveMode
    return original(self, "mode")(saveMode)


def _partition_by(self: Any, *cols: Any) -> Any:
    record = _record(self)
    if record is not None:
        record.partitioning = tuple(cols[0]) if len(cols) == 1 and isinstance(cols[0], (list, tuple)) else cols
    return original(self, "partitionBy")(*cols)


def _save_as_table(
    self: Any, name: str, format: str | None = None, mode: str | None = None, partitionBy: Any = None, **options: Any
) -> None:
    record = _record(self)
    identifier = None if record is None else _identifier(record.session, name)
    if record is None or identifier is None:
        original(self, "saveAsTable")(name, format, mode, partitionBy, **options)
        return
    _tell(record, format, mode, partitionBy, options)
    save_table(record, identifier)


def _insert_into(self: Any, tableName: str, overwrite: bool | None = None) -> None:
    record = _record(self)
    identifier = None if record is None else _identifier(record.session, tableName)
    if record is None or identifier is None:
        original(self, "insertInto")(tableName, overwrite)
        return
    if overwrite is not None:
        record.mode = "overwrite" if overwrite else "append"
    insert_rows(record, identifier, by_name=False, overwrites=(record.mode or "").lower() == "overwrite")


def _save(
    self: Any,
    path: Any = None,
    format: str | None = None,
    mode: str | None = None,
    partitionBy: Any = None,
    **options: Any,
) -> None:
    record = _record(self)
    if record is not None and format is not None:
        record.format = format
    if record is None or not record.is_ours:
        original(self, "save")(path, format, mode, partitionBy, **options)
        return
    _tell(record, format, mode, partitionBy, options)
    given = path if path is not None else record.options.pop("path", None)
    if not isinstance(given, str):
        raise InvalidInput("format('iceberg') saves to one table: a name such as lake.db.t")
    if is_path(given):
        save_path(record, given)
        return
    identifier = _identifier(record.session, given)
    if identifier is None:
        raise UnsupportedFeature(
            f"{given!r} is not a name in an attached catalog; tables are written through their catalog: "
            "df.writeTo('catalog.namespace.table')"
        )
    if (record.mode or "errorifexists").lower() in ("append", "overwrite"):
        insert_rows(record, identifier, by_name=True, overwrites=(record.mode or "").lower() == "overwrite")
    else:
        save_table(record, identifier)


def _tell(record: WriteRecord, format: str | None, mode: str | None, partitions: Any, options: dict[str, Any]) -> None:
    if format is not None:
        record.format = format
    if mode is not None:
        record.mode = mode
    if partitions is not None:
        record.partitioning = (partitions,) if isinstance(partitions, str) else tuple(partitions)
    for key, value in options.items():
        record.set(key, value)


def save_table(record: WriteRecord, identifier: TableIdentifier) -> None:
    """`saveAsTable`: creates the table unless it is there; then the mode says what happens."""
    mode = (record.mode or "errorifexists").lower()
    session = record.session
    try:
        target_table(session, identifier)
        exists = True
    except TableNotFound:
        exists = False
    if exists and mode == "append":
        insert_rows(record, identifier, by_name=True, overwrites=False)
        return
    if exists and mode in ("error", "errorifexists", "default"):
        raise TableAlreadyExists(f"table {identifier} is there already; choose mode append or overwrite")
    if exists and mode == "ignore":
        return
    new = NewTable(
        schema=iceberg_schema_of(record.frame.schema),
        partitioning=tuple(parse_partition_term(quote_name(one)) for one in record.partitioning),
        properties={
            key: value for key, value in record.options.items() if key.startswith(("write.", "format-version"))
        },
        create=True,
        replace=mode == "overwrite",
        provider=record.format,
    )
    make_table(session, identifier, new, record.frame)


def save_path(record: WriteRecord, path: str) -> None:
    """Rows to a table by its path, which must be there. Raises TableNotFound, InvalidInput for another mode."""
    mode = (record.mode or "errorifexists").lower()
    if mode not in ("append", "overwrite"):
        raise InvalidInput(f"{path} is written by its path with mode append or overwrite, not {mode}")
    stores, effects = stores_of(record.session)
    table = open_for_writing(path, stores=stores, effects=effects)
    _insert(record, Resolved(TableIdentifier("", (path,)), table=table), by_name=True, overwrites=mode == "overwrite")


def insert_rows(record: WriteRecord, identifier: TableIdentifier, *, by_name: bool, overwrites: bool) -> None:
    """Adds rows, or replaces those of the table, or of its partitions where the session overwrites dynamically."""
    _insert(record, target_table(record.session, identifier), by_name=by_name, overwrites=overwrites)


def _insert(record: WriteRecord, resolved: Resolved, *, by_name: bool, overwrites: bool) -> None:
    session = record.session
    write = prepared_write(session, resolved, record.options, by_name=by_name)
    if not overwrites:
        append(record.frame, write)
        return
    mode = record.options.get("overwrite-mode") or record.options.get("partitionOverwriteMode")
    mode = mode or session.setting("spark.sql.sources.partitionOverwriteMode", "STATIC")
    if mode.lower() == "dynamic":
        overwrite_partitions(record.frame, write)
    else:
        overwrite(record.frame, write)


METHODS: Final[dict[str, Callable[..., Any]]] = {
    **RECORDING,
    "mode": _mode,
    "partitionBy": _partition_by,
    "saveAsTable": _save_as_table,
    "insertInto": _insert_into,
    "save": _save,
}
