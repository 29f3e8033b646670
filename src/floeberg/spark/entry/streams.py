"""Structured Streaming over our tables: refused by name until it is there. Streams of Spark's own sources and tables pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from floeberg.errors import UnsupportedFeature
from floeberg.spark.entry.reader import FORMATS
from floeberg.spark.host.originals import original
from floeberg.spark.host.session import AttachedSession, session_of
from floeberg.sql.text.cursor import parse_parts

Method = Callable[..., Any]
_FORMAT: Final = "_floeberg_format"


def _session(target: Any) -> AttachedSession | None:
    """The session of a reader or writer of streams, which classic and Connect keep under names of their own."""
    own = vars(target)
    spark = own.get("_spark") or own.get("_session") or own.get("_client")
    return None if spark is None else session_of(spark)


def _is_ours(target: Any, given: Any) -> bool:
    session = _session(target)
    source = given or getattr(target, _FORMAT, None)
    return session is not None and not session.state.java_runtime and str(source).lower() in FORMATS


def _format(self: Any, source: str) -> Any:
    setattr(self, _FORMAT, source)
    return original(self, "format")(source)


def _names_ours(target: Any, name: str) -> bool:
    session = _session(target)
    if session is None or not session.names().may_mention(name):
        return False
    found = session.names().table(parse_parts(name))
    return found is not None and bool(found.catalog)


def _cannot_read(what: object) -> UnsupportedFeature:
    return UnsupportedFeature(
        f"spark.readStream of {what}: streaming reads are not there yet; read a range of snapshots with the options "
        "start-snapshot-id and end-snapshot-id of spark.read"
    )


def _cannot_write(what: object) -> UnsupportedFeature:
    return UnsupportedFeature(
        f"writeStream to {what}: streaming writes are not there yet; use writeStream.foreachBatch and "
        "batch.writeTo(table).append() in it"
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


def _start(self: Any, path: Any = None, format: str | None = None, *args: Any, **named: Any) -> Any:
    if _is_ours(self, format):
        raise _cannot_write(path or "a table")
    return original(self, "start")(path, format, *args, **named)


def _to_table(self: Any, tableName: str, format: str | None = None, *args: Any, **named: Any) -> Any:
    if _names_ours(self, tableName) or _is_ours(self, format):
        raise _cannot_write(tableName)
    return original(self, "toTable")(tableName, format, *args, **named)


READER_METHODS: Final[dict[str, Method]] = {
    "format": _format,
    "load": _load,
    "table": _read_name("table"),
    "changes": _read_name("changes"),
}
WRITER_METHODS: Final[dict[str, Method]] = {"format": _format, "start": _start, "toTable": _to_table}
