"""`df.write` for tables that are ours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from floeberg.errors import InvalidInput, TableAlreadyExists, TableNotFound, UnsupportedFeature
from floeberg.spark.ddl.create import NewTable, make_table, query_schema
from floeberg.spark.dml.insert import overwrites_partitions, prepared_write, target_table
from floeberg.spark.entry.reader import RECORD, RECORDING, Record, is_path, record_of, stores_of
from floeberg.spark.entry.source_writer import open_for_writing
from floeberg.spark.entry.table_writer import written_table
from floeberg.spark.host.calls.originals import original
from floeberg.spark.host.name_resolution import Resolved
from floeberg.spark.host.session import AttachedSession
from floeberg.spark.write.commands import append, overwrite, overwrite_partitions
from floeberg.spec.partitions.terms import PartitionTerm, parse_partition_term
from floeberg.sql.text.lexer import quote_name
from floeberg.sql.text.names import TableIdentifier
from floeberg.storage.location import parse_from_user

_PROPERTIES: Final = ("write.", "read.", "commit.", "history.", "gc.", "schema.", "format-version")
"""How the names of table properties begin, which a table that is created takes from the options."""


@dataclass(slots=True)
class WriteRecord(Record):
    """The settings of a DataFrameWriter so far."""

    frame: Any = None
    mode: str | None = None
    partitioning: tuple[str, ...] = ()
    bucketing: tuple[int, tuple[str, ...]] | None = None
    refused: str | None = None
    """A method that was called and has no meaning for our tables."""

    def take_path(self) -> str | None:
        """The option path, which is no option of a write."""
        found = next((key for key in self.options if key.lower() == "path"), None)
        return None if found is None else str(self.options.pop(found))


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


def _bucket_by(self: Any, numBuckets: int, col: Any, *cols: Any) -> Any:
    record = _record(self)
    if record is not None:
        given = (col, *cols) if isinstance(col, str) else (*col, *cols)
        record.bucketing = (numBuckets, given)
    return original(self, "bucketBy")(numBuckets, col, *cols)


def _refused(method: str) -> Callable[..., Any]:
    """A method that Spark's own tables have: it is refused once it is known that the table is ours."""

    def call(self: Any, *args: Any, **named: Any) -> Any:
        record = _record(self)
        if record is not None:
            record.refused = method
        return original(self, method)(*args, **named)

    return call


def _save_as_table(
    self: Any, name: str, format: str | None = None, mode: str | None = None, partitionBy: Any = None, **options: Any
) -> None:
    record = _record(self)
    identifier = None if record is None else written_table(record.session, name)
    if record is None or identifier is None:
        original(self, "saveAsTable")(name, format, mode, partitionBy, **options)
        return
    _tell(record, format, mode, partitionBy, options)
    save_table(record, identifier)


def _insert_into(self: Any, tableName: str, overwrite: bool | None = None) -> None:
    record = _record(self)
    identifier = None if record is None else written_table(record.session, tableName)
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
    by_option = record.take_path()
    given = path if path is not None else by_option
    if not isinstance(given, str):
        raise InvalidInput("format('iceberg') saves to one table: a name such as lake.db.t")
    if by_option is not None and by_option != given:
        raise InvalidInput(f"save names {given!r}, and the option path {by_option!r}; keep one of them")
    if is_path(given):
        save_path(record, given)
        return
    identifier = written_table(record.session, given)
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
    _refuse_layout(record, identifier)
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
    properties = {key: value for key, value in record.options.items() if key.lower().startswith(_PROPERTIES)}
    options = {key: value for key, value in record.options.items() if key not in properties and key.lower() != "path"}
    new = NewTable(
        schema=query_schema(session, identifier, record.frame.schema),
        partitioning=tuple(parse_partition_term(term) for term in _terms(record)),
        properties=properties,
        location=record.take_path(),
        create=True,
        replace=mode == "overwrite",
        provider=record.format,
    )
    make_table(session, identifier, new, record.frame, options=options)


def _terms(record: WriteRecord) -> list[str]:
    terms = [quote_name(one) for one in record.partitioning]
    if record.bucketing is not None:
        count, columns = record.bucketing
        if len(columns) != 1:
            raise UnsupportedFeature("bucketBy takes one column for a table: a bucket is a transform of one column")
        terms.append(f"bucket({count}, {quote_name(columns[0])})")
    return terms


def _refuse_layout(record: WriteRecord, table: object) -> None:
    """Raises UnsupportedFeature for a layout that a DataFrameWriter names and our tables have elsewhere."""
    if record.refused is not None:
        raise UnsupportedFeature(
            f"{table}: {record.refused} is for Spark's own tables; sort with ALTER TABLE … WRITE ORDERED BY"
        )


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
    _refuse_layout(record, resolved.identifier)
    _check_layout(record, resolved)
    write = prepared_write(session, resolved, record.options, by_name=by_name)
    if not overwrites:
        append(record.frame, write)
    elif overwrites_partitions(session, record.options, write.table.state.metadata):
        overwrite_partitions(record.frame, write)
    else:
        overwrite(record.frame, write)


def _check_layout(record: WriteRecord, resolved: Resolved) -> None:
    """Raises InvalidInput when the writer names a partitioning or location that is not the table's."""
    assert resolved.table is not None
    metadata = resolved.table.state.metadata
    path = record.take_path()
    if path is not None and parse_from_user(path).text.rstrip("/") != metadata.location.rstrip("/"):
        raise InvalidInput(
            f"{resolved.identifier} lies at {metadata.location}, not at {path}; leave the option path out"
        )
    if record.partitioning or record.bucketing is not None:
        names = metadata.current_schema.names
        own = [PartitionTerm(one.transform, names.get(one.source_ids[0], "")) for one in metadata.default_spec.fields]
        given = [parse_partition_term(term) for term in _terms(record)]
        if [(str(one.transform), one.column.lower()) for one in own] != [
            (str(one.transform), one.column.lower()) for one in given
        ]:
            shown = ", ".join(str(one) for one in own) or "nothing"
            raise InvalidInput(f"{resolved.identifier} is partitioned by {shown}; leave partitionBy and bucketBy out")


METHODS: Final[dict[str, Callable[..., Any]]] = {
    **RECORDING,
    "mode": _mode,
    "partitionBy": _partition_by,
    "bucketBy": _bucket_by,
    "sortBy": _refused("sortBy"),
    "clusterBy": _refused("clusterBy"),
    "saveAsTable": _save_as_table,
    "insertInto": _insert_into,
    "save": _save,
}
