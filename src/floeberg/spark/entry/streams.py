"""`df.writeStream` to tables of ours, and streaming reads, which are refused by name until they are there. Streams of Spark's
own sources and tables pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from floeberg.errors import InvalidInput, UnsupportedFeature
from floeberg.spark.entry.reader import FORMATS, is_path
from floeberg.spark.host.originals import original
from floeberg.spark.host.session import AttachedSession, session_of
from floeberg.spark.streaming.sink import StreamRecord, table_sink
from floeberg.sql.text.cursor import parse_parts
from floeberg.sql.text.names import TableIdentifier

Method = Callable[..., Any]
_FORMAT: Final = "_floeberg_format"
_RECORD: Final = "_floeberg_stream"


def _session(target: Any) -> AttachedSession | None:
    """The session of a reader or writer of streams, which classic and Connect keep under names of their own."""
    own = vars(target)
    spark = own.get("_spark") or own.get("_session") or own.get("_client")
    return None if spark is None else session_of(spark)


# reading


def _is_ours(target: Any, given: Any) -> bool:
    session = _session(target)
    source = given or getattr(target, _FORMAT, None)
    return session is not None and not session.state.java_runtime and str(source).lower() in FORMATS


def _format(self: Any, source: str) -> Any:
    setattr(self, _FORMAT, source)
    return original(self, "format")(source)


def _names_ours(target: Any, name: str) -> bool:
    session = _session(target)
    return session is not None and _table(session, name) is not None


def _table(session: AttachedSession, name: str, *, creates: bool = False) -> TableIdentifier | None:
    """The identifier of a name in a catalog of ours; `creates` for a table of ours that may not be there yet."""
    names = session.names(creates=creates)
    found = names.table(parse_parts(name)) if names.may_mention(name) else None
    return found if found is not None and found.catalog else None


def _cannot_read(what: object) -> UnsupportedFeature:
    return UnsupportedFeature(
        f"spark.readStream of {what}: streaming reads are not there yet; read a range of snapshots with the options "
        "start-snapshot-id and end-snapshot-id of spark.read"
    )


def _load(self: Any, path: Any = None, format: str | None = None, schema: Any = None, **options: Any) -> Any:
    if _is_ours(self, format):
        raise _cannot_read(path or "a table")
    return original(self, "load")(path, format, schema, **options)


def _read_name(method: str) -> Method:
    def call(self: Any, tableName: str) -> Any:
        if _names_ours(self, tableName):
            raise _cannot_read(tableName)
        return original(self, method)(tableName)

    return call


# writing


def _record(target: Any) -> StreamRecord:
    found = vars(target).get(_RECORD)
    if found is None:
        found = StreamRecord()
        setattr(target, _RECORD, found)
    assert isinstance(found, StreamRecord)
    return found


def _write_format(self: Any, source: str) -> Any:
    _record(self).format = source
    return original(self, "format")(source)


def _option(self: Any, key: str, value: Any) -> Any:
    _record(self).set(key, value)
    return original(self, "option")(key, value)


def _options(self: Any, **options: Any) -> Any:
    for key, value in options.items():
        _record(self).set(key, value)
    return original(self, "options")(**options)


def _output_mode(self: Any, outputMode: str) -> Any:
    _record(self).output_mode = outputMode
    return original(self, "outputMode")(outputMode)


def _query_name(self: Any, queryName: str) -> Any:
    _record(self).query_name = queryName
    return original(self, "queryName")(queryName)


def _trigger(self: Any, **given: Any) -> Any:
    _record(self).trigger = next((name for name, value in given.items() if value is not None), None)
    return original(self, "trigger")(**given)


def _partition_by(self: Any, *cols: Any) -> Any:
    """Kept until it is known whose table is written: for `foreachBatch`, which ours is, Spark refuses a partitioning."""
    columns = cols[0] if len(cols) == 1 and isinstance(cols[0], list | tuple) else cols
    if _session(self) is None:
        return original(self, "partitionBy")(*columns)
    _record(self).partitioning = tuple(columns)
    return self


def _with_function(method: str) -> Method:
    def call(self: Any, function: Any) -> Any:
        _record(self).has_function = True
        return original(self, method)(function)

    return call


def _tell(
    record: StreamRecord, format: str | None, output_mode: str | None, partitions: Any, query_name: str | None
) -> None:
    record.format = format or record.format
    record.output_mode = output_mode or record.output_mode
    record.query_name = query_name or record.query_name
    if partitions is not None:
        record.partitioning = (partitions,) if isinstance(partitions, str) else tuple(partitions)


def _start(
    self: Any,
    path: Any = None,
    format: str | None = None,
    outputMode: str | None = None,
    partitionBy: Any = None,
    queryName: str | None = None,
    **options: Any,
) -> Any:
    record, session = _record(self), _session(self)
    if session is None or record.has_function or not _writes_ours(session, record, format):
        _pass_partitioning(self, record, partitionBy)
        return original(self, "start")(path, format, outputMode, None, queryName, **options)
    _tell(record, format, outputMode, partitionBy, queryName)
    name = path or options.get("path") or record.option("path")
    if not name:
        raise InvalidInput(
            "a streaming write names its table: .toTable('catalog.namespace.table') or .start(…) with the name"
        )
    if is_path(name):
        raise UnsupportedFeature(
            f"writeStream to {name}: a stream writes a table by its name in a catalog; attach one and use toTable"
        )
    return _start_sink(self, session, session.table_identifier(parse_parts(name)), options, creates=False)


def _to_table(
    self: Any,
    tableName: str,
    format: str | None = None,
    outputMode: str | None = None,
    partitionBy: Any = None,
    queryName: str | None = None,
    **options: Any,
) -> Any:
    record, session = _record(self), _session(self)
    creates = session is not None and _writes_ours(session, record, format)
    identifier = None if session is None else _table(session, tableName, creates=creates)
    if session is not None and identifier is None and creates:
        identifier = session.table_identifier(parse_parts(tableName))  # which says what is wrong
    if session is None or identifier is None:
        _pass_partitioning(self, record, partitionBy)
        return original(self, "toTable")(tableName, format, outputMode, None, queryName, **options)
    if record.has_function:
        raise InvalidInput(f"{tableName}: a query writes a table or calls a function, not both; end it with .start()")
    _tell(record, format, outputMode, partitionBy, queryName)
    return _start_sink(self, session, identifier, options, creates=True)


def _writes_ours(session: AttachedSession, record: StreamRecord, given: str | None) -> bool:
    return not session.state.java_runtime and str(given or record.format).lower() in FORMATS


def _pass_partitioning(self: Any, record: StreamRecord, given: Any) -> None:
    columns = record.partitioning if given is None else (given,) if isinstance(given, str) else tuple(given)
    if columns:
        original(self, "partitionBy")(*columns)


def _start_sink(
    self: Any, session: AttachedSession, identifier: TableIdentifier, options: dict[str, Any], *, creates: bool
) -> Any:
    record = _record(self)
    for key, value in options.items():
        self.option(key, value)
    sink = table_sink(session, identifier, record, creates=_schema(self) if creates else None)
    if record.output_mode is not None:
        original(self, "outputMode")(record.output_mode)
    if record.query_name is not None:
        original(self, "queryName")(record.query_name)
    return original(original(self, "foreachBatch")(sink), "start")()


def _schema(self: Any) -> Any:
    """The schema of the stream, from whatever the writer keeps of it."""
    frame = vars(self).get("_df")
    if frame is not None:
        return frame.schema
    return type(self._session.range(0))(self._write_stream._child, self._session).schema


READER_METHODS: Final[dict[str, Method]] = {
    "format": _format,
    "load": _load,
    "table": _read_name("table"),
    "changes": _read_name("changes"),
}
WRITER_METHODS: Final[dict[str, Method]] = {
    "format": _write_format,
    "option": _option,
    "options": _options,
    "outputMode": _output_mode,
    "queryName": _query_name,
    "trigger": _trigger,
    "partitionBy": _partition_by,
    "foreach": _with_function("foreach"),
    "foreachBatch": _with_function("foreachBatch"),
    "start": _start,
    "toTable": _to_table,
}
