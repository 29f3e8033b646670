"""Replaces methods of PySpark by ours, for classic sessions and for Connect, once for each class.

Each of ours first checks whether the session is attached and the name ours; if not, PySpark's own runs.
"""

from __future__ import annotations

import functools
import importlib
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from pyspark.errors import AnalysisException, PySparkException

from floeberg.spark.entry import catalog_lookups, frame_methods, functions, reader, streams, table_writer, writer
from floeberg.spark.entry.function_calls import with_known_functions
from floeberg.spark.entry.statement import run_sql
from floeberg.spark.entry.subqueries import reads_ours
from floeberg.spark.host.calls.gateway import FORMATTED
from floeberg.spark.host.calls.originals import ORIGINALS, original
from floeberg.spark.host.calls.statement_views import put_view
from floeberg.spark.host.errors.spark_errors import quote_statement, raises_spark_errors, statement_of, with_hint
from floeberg.spark.host.execution import Execution
from floeberg.spark.host.kept_settings import kept_value, note_set
from floeberg.spark.host.session import AttachedSession, catalogs_elsewhere, session_of
from floeberg.spark.host.settings.changed_settings import SETTINGS
from floeberg.spark.host.settings.session_settings import forget_settings
from floeberg.spark.host.views import marked
from floeberg.spark.query.frame_views import reads_tables_alone
from floeberg.spark.query.run import frame_view
from floeberg.spark.read.derived_frames import METHODS as DERIVING
from floeberg.spark.read.derived_frames import ViewOrigin, derived, note_origin
from floeberg.spark.read.named_tables import named_frame, refuse_view_options
from floeberg.sql.queries.references import double_braces
from floeberg.sql.text.cursor import parse_parts
from floeberg.sql.text.names import GLOBAL_VIEWS

Method = Callable[..., Any]

_CLASSES: Final = {
    "session": ("pyspark.sql.session:SparkSession", "pyspark.sql.connect.session:SparkSession"),
    "frame": ("pyspark.sql.classic.dataframe:DataFrame", "pyspark.sql.connect.dataframe:DataFrame"),
    "group": ("pyspark.sql.group:GroupedData", "pyspark.sql.connect.group:GroupedData"),
    "reader": ("pyspark.sql.readwriter:DataFrameReader", "pyspark.sql.connect.readwriter:DataFrameReader"),
    "writer": ("pyspark.sql.readwriter:DataFrameWriter", "pyspark.sql.connect.readwriter:DataFrameWriter"),
    "catalog": ("pyspark.sql.catalog:Catalog", "pyspark.sql.connect.catalog:Catalog"),
    "stream_reader": (
        "pyspark.sql.streaming.readwriter:DataStreamReader",
        "pyspark.sql.connect.streaming.readwriter:DataStreamReader",
    ),
    "stream_writer": (
        "pyspark.sql.streaming.readwriter:DataStreamWriter",
        "pyspark.sql.connect.streaming.readwriter:DataStreamWriter",
    ),
    "conf": ("pyspark.sql.conf:RuntimeConfig", "pyspark.sql.connect.conf:RuntimeConf"),
}


def install() -> None:
    """Idempotent."""
    functions.install()
    for role, methods in _METHODS.items():
        for kind in _classes(role):
            for name, make in methods.items():
                if (kind, name) not in ORIGINALS and name in vars(kind):
                    _replace(kind, name, make)


def remove() -> None:
    """Gives the classes their own methods back."""
    functions.remove()
    for (kind, name), found in list(ORIGINALS.items()):
        setattr(kind, name, found)
    ORIGINALS.clear()


def _classes(role: str) -> Iterator[type]:
    for place in _CLASSES[role]:
        module, _, name = place.partition(":")
        try:
            yield getattr(importlib.import_module(module), name)
        except ImportError:
            continue  # Connect needs packages of its own


def _replace(kind: type, name: str, method: Method) -> None:
    found = ORIGINALS[(kind, name)] = vars(kind)[name]
    method = raises_spark_errors(method)
    if isinstance(found, property):
        setattr(kind, name, property(method, doc=found.__doc__))
    else:
        setattr(kind, name, functools.wraps(found)(method))


# SparkSession


def _sql(self: Any, sqlQuery: str, args: Any = None, **kwargs: Any) -> Any:
    session = session_of(self)
    if session is None:
        with _attach_hinted(sqlQuery):
            return original(self, "sql")(sqlQuery, args, **kwargs)
    return run_sql(session, sqlQuery, args, kwargs)


def _table(self: Any, tableName: str) -> Any:
    session = session_of(self)
    found = None if session is None else table_by_name(session, tableName)
    if found is not None:
        return found
    with _attach_hinted(tableName if session is None else ""):
        return original(self, "table")(tableName)


@contextmanager
def _attach_hinted(text: str) -> Iterator[None]:
    """Spark's errors over names in catalogs that another session has attached say so."""
    try:
        yield
    except AnalysisException as error:
        known = [name for name in catalogs_elsewhere() if re.search(rf"(?<![\w.]){re.escape(name)}`?\s*\.", text)]
        if not known:
            raise
        hint = f"Catalog {known[0]} is attached to another session; call floeberg.attach(spark, …) for this one."
        raise with_hint(error, hint) from None


def _read(self: Any) -> Any:
    return reader.recorded(original(self, "read"), session_of(self))


def table_by_name(session: AttachedSession, name: str, options: dict[str, Any] | None = None) -> Any | None:
    """The DataFrame of a table or view of ours, None when the name is Spark's."""
    if not session.names().may_mention(name):
        return None
    identifier = session.names().table(parse_parts(name))
    if identifier is None:
        return None
    resolved = session.resolve(identifier)
    if resolved.table is None:
        refuse_view_options(name, options or {})
        frame = run_sql(session, f"SELECT * FROM {name}")
        if reads_tables_alone(Execution(session, ""), resolved):
            note_origin(frame, ViewOrigin(resolved))
        return frame
    return named_frame(session, resolved, options)


# DataFrame


def _temporary_view(method: str) -> Method:
    shared = "Global" in method

    def create(self: Any, name: str) -> None:
        session = session_of(self.sparkSession)
        if session is not None and name.startswith(FORMATTED) and method == "createOrReplaceTempView":
            put_view(self.sparkSession, self, name)
            return
        if session is None or name.startswith(FORMATTED):
            original(self, method)(name)
            return
        key = f"{GLOBAL_VIEWS}.{name.lower()}" if shared else name.lower()
        view = frame_view(session, self)
        original(self if view is None else marked(self, view.mark), method)(name)
        session.forget_view(key)
        if view is not None:
            session.remember_view(key, view)

    return create


def _write(self: Any) -> Any:
    return writer.recorded(original(self, "write"), self, session_of(self.sparkSession))


def _write_to(self: Any, table: str) -> Any:
    session = session_of(self.sparkSession)
    found = None if session is None else table_writer.table_writer(session, self, table)
    return original(self, "writeTo")(table) if found is None else found


def _merge_into(self: Any, table: str, condition: Any) -> Any:
    session = session_of(self.sparkSession)
    found = None if session is None else table_writer.merge_writer(session, self, table, condition)
    return original(self, "mergeInto")(table, condition) if found is None else found


def _filter(self: Any, condition: Any) -> Any:
    session = session_of(self.sparkSession)
    if session is not None and isinstance(condition, str) and reads_ours(session, condition):
        text = f"SELECT * FROM {{floeberg_frame}} WHERE {double_braces(condition)}"
        return run_sql(session, text, kwargs={"floeberg_frame": self}, shown_sql=condition)
    return frame_methods.METHODS["filter"](self, condition)


def _select_expr(self: Any, *expr: Any) -> Any:
    session = session_of(self.sparkSession)
    items = expr[0] if len(expr) == 1 and isinstance(expr[0], list) else expr
    if session is not None and any(reads_ours(session, item) for item in items):
        text = f"SELECT {', '.join(double_braces(item) for item in items)} FROM {{floeberg_frame}}"
        return run_sql(session, text, kwargs={"floeberg_frame": self}, shown_sql=", ".join(items))
    return frame_methods.METHODS["selectExpr"](self, *expr)


def _action(name: str) -> Method:
    """A method that runs the query: what Spark says then quotes the statement that the user wrote, or none."""
    ours = frame_methods.METHODS.get(name)

    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return original(self, name)(*args, **kwargs) if ours is None else ours(self, *args, **kwargs)
        except PySparkException as error:
            if (statement := statement_of(self)) is not None:
                quote_statement(error, statement)
            raise

    return run


_OF_TEXT: Final = ("filter", "selectExpr")
"""The methods that take expressions as text."""


def _derived(name: str) -> Method:
    """A method whose result remembers how it was made, for views of it."""
    ours = {"filter": _filter, "selectExpr": _select_expr}.get(name) or frame_methods.METHODS.get(name)

    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        if name in _OF_TEXT:
            session = session_of(self.sparkSession)
            sessions = [] if session is None else [session]
            args = tuple(with_known_functions(sessions, one, self) for one in args)
            kwargs = {key: with_known_functions(sessions, one, self) for key, one in kwargs.items()}
        result = original(self, name)(*args, **kwargs) if ours is None else ours(self, *args, **kwargs)
        return derived(self, name, result, *args, **kwargs)

    return run


# RuntimeConfig


def _set(self: Any, key: str, value: Any) -> None:
    kept = kept_value(self, key, value)
    forget_settings()
    with SETTINGS.resolving():
        original(self, "set")(key, value if kept is None else kept)
    note_set(self, key)


def _unset(self: Any, key: str) -> None:
    kept = kept_value(self, key, None)
    forget_settings()
    with SETTINGS.resolving():
        if kept is None:
            original(self, "unset")(key)
        else:
            original(self, "set")(key, kept)


_VIEW_METHODS: Final = (
    "createTempView",
    "createOrReplaceTempView",
    "createGlobalTempView",
    "createOrReplaceGlobalTempView",
)
_ACTIONS: Final = (
    "collect", "count", "first", "head", "take", "tail", "show", "isEmpty", "toPandas", "toArrow", "toLocalIterator", "foreach",
    "foreachPartition", "checkpoint", "localCheckpoint",
)  # fmt: skip
_METHODS: Final[dict[str, dict[str, Method]]] = {
    "session": {"sql": _sql, "table": _table, "read": _read},
    "frame": {
        "write": _write,
        "writeTo": _write_to,
        "mergeInto": _merge_into,
        **frame_methods.METHODS,
        **{name: _derived(name) for name in DERIVING},
        **{name: _temporary_view(name) for name in _VIEW_METHODS},
        **{name: _action(name) for name in _ACTIONS},
    },
    "group": frame_methods.GROUP_METHODS,
    "reader": reader.methods(table_by_name),
    "writer": writer.METHODS,
    "catalog": catalog_lookups.METHODS,
    "stream_reader": streams.READER_METHODS,
    "stream_writer": streams.WRITER_METHODS,
    "conf": {"set": _set, "unset": _unset},
}
