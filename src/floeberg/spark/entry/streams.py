"""`spark.readStream` of tables of ours and `df.writeStream` to them. Streams of Spark's own sources and tables pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from floeberg.errors import InvalidInput, UnsupportedFeature
from floeberg.spark.cdc.sink import CdcSink
from floeberg.spark.entry.reader import FORMATS, is_path
from floeberg.spark.host.calls.originals import original
from floeberg.spark.host.session import AttachedSession, session_of
from floeberg.spark.streaming.checkpoint import Checkpoint
from floeberg.spark.streaming.server_function import for_server, needs_floeberg_in_server
from floeberg.spark.streaming.sink import CHECKPOINT_LOCATION, StreamRecord, table_sink
from floeberg.spark.streaming.source import SOURCE_NAME, stream_definition
from floeberg.sql.text.cursor import parse_parts
from floeberg.sql.text.names import TableIdentifier

Method = Callable[..., Any]
_RECORD: Final = "_floeberg_stream"


def _session(target: Any) -> AttachedSession | None:
    """The session of a reader or writer of streams, which classic and Connect keep under names of their own."""
    own = vars(target)
    spark = own.get("_spark") or own.get("_session") or own.get("_client")
    return None if spark is None else session_of(spark)


def _is_connect(target: Any) -> bool:
    return type(target).__module__.startswith("pyspark.sql.connect.")


# reading


def _table(session: AttachedSession, name: str, *, creates: bool = False) -> TableIdentifier | None:
    """The identifier of a name in a catalog of ours; `creates` for a table of ours that may not be there yet."""
    names = session.names(creates=creates)
    found = names.table(parse_parts(name)) if names.may_mention(name) else None
    return found if found is not None and found.catalog else None


def _load(self: Any, path: Any = None, format: str | None = None, schema: Any = None, **options: Any) -> Any:
    record, session = _record(self), _session(self)
    if session is None or not _is_ours(session, record, format):
        return original(self, "load")(path, format, schema, **options)
    for key, value in options.items():
        record.set(key, value)
    name = path or record.option("path")
    if not name:
        raise InvalidInput("a streaming read names its table: .load('catalog.namespace.table') or .table(…)")
    if is_path(name):
        raise UnsupportedFeature(
            f"spark.readStream of {name}: a stream reads a table by its name in a catalog; attach one and use readStream.table"
        )
    if schema is not None:
        raise InvalidInput(f"{name}: a table has a schema of its own; leave .schema(…) out and select or cast columns")
    return _stream(self, session, session.table_identifier(parse_parts(name)), record)


def _read_table(self: Any, tableName: str) -> Any:
    session = _session(self)
    identifier = None if session is None else _table(session, tableName)
    if session is None or identifier is None:
        return original(self, "table")(tableName)
    return _stream(self, session, identifier, _record(self))


def _read_changes(self: Any, tableName: str) -> Any:
    session = _session(self)
    if session is not None and _table(session, tableName) is not None:
        raise UnsupportedFeature(
            f"spark.readStream.changes is not there; read spark.readStream.table('{tableName}.changes') instead"
        )
    return original(self, "changes")(tableName)


def _stream(self: Any, session: AttachedSession, identifier: TableIdentifier, record: StreamRecord) -> Any:
    resolved = session.resolve(identifier)
    if resolved.table is None:
        raise UnsupportedFeature(f"{identifier} is a view; a stream reads a table")
    definition = stream_definition(session, resolved, record.options)
    reader = original(original(original(session.spark, "readStream"), "format")(SOURCE_NAME), "option")
    frame = original(reader("stream", definition.to_text()), "load")()
    if _is_connect(self):
        with needs_floeberg_in_server(f"a streaming read of {identifier}"):
            frame.schema  # noqa: B018 which the server's Python is asked for
    return frame


# writing


def _record(target: Any) -> StreamRecord:
    found = vars(target).get(_RECORD)
    if found is None:
        found = StreamRecord()
        setattr(target, _RECORD, found)
    assert isinstance(found, StreamRecord)
    return found


def _format(self: Any, source: str) -> Any:
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


def _foreach(self: Any, f: Any) -> Any:
    _record(self).has_function = True
    return original(self, "foreach")(f)


def _foreach_batch(self: Any, func: Any) -> Any:
    _record(self).has_function = True
    session = _session(self)
    names = func.tables if isinstance(func, CdcSink) else []
    tables = [] if session is None else [session.table_identifier(parse_parts(name)) for name in names]
    return _call_for_each(self, func, tables)


def _call_for_each(self: Any, function: Any, tables: Iterable[TableIdentifier]) -> Any:
    """Over Connect the function runs in a process of the server, which attaches again. `tables` are those that it is known to
    write to."""
    session = _session(self)
    if session is not None and _is_connect(self):
        function = for_server(session, function, writes=[one.catalog for one in tables])
    return original(self, "foreachBatch")(function)


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
    if session is None or record.has_function or not _is_ours(session, record, format):
        _pass_partitioning(self, record, partitionBy)
        location = options.get(CHECKPOINT_LOCATION) or record.option(CHECKPOINT_LOCATION)
        if session is not None and record.has_function and location:
            Checkpoint(str(location)).remove_leftovers()
        with needs_floeberg_in_server("a function for foreachBatch"):
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
    creates = session is not None and _is_ours(session, record, format)
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


def _is_ours(session: AttachedSession, record: StreamRecord, given: str | None) -> bool:
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
    sink.checkpoint.remove_leftovers()
    with needs_floeberg_in_server(f"a streaming write of {identifier}"):
        return original(_call_for_each(self, sink, [identifier]), "start")()


def _schema(self: Any) -> Any:
    """The schema of the stream, from whatever the writer keeps of it."""
    frame = vars(self).get("_df")
    if frame is not None:
        return frame.schema
    return type(self._session.range(0))(self._write_stream._child, self._session).schema


READER_METHODS: Final[dict[str, Method]] = {
    "format": _format,
    "option": _option,
    "options": _options,
    "load": _load,
    "table": _read_table,
    "changes": _read_changes,
}
WRITER_METHODS: Final[dict[str, Method]] = {
    "format": _format,
    "option": _option,
    "options": _options,
    "outputMode": _output_mode,
    "queryName": _query_name,
    "trigger": _trigger,
    "partitionBy": _partition_by,
    "foreach": _foreach,
    "foreachBatch": _foreach_batch,
    "start": _start,
    "toTable": _to_table,
}
