"""Puts our methods in the place of PySpark's, for classic sessions and for Connect, once for each class.

Each of ours asks first whether the session is attached and the name ours; if not, PySpark's own runs.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterator
from typing import Any, Final

from floeberg.spark.entry import catalog_lookups, reader, writer
from floeberg.spark.entry.statement import run_sql
from floeberg.spark.host.originals import ORIGINALS, original
from floeberg.spark.host.session import AttachedSession, FrameView, session_of
from floeberg.spark.read.frame_registry import scan_of
from floeberg.spark.read.named_tables import ORIGIN, named_frame
from floeberg.spark.read.prune_frames import filtered
from floeberg.sql.text.cursor import parse_parts
from floeberg.sql.text.names import GLOBAL_VIEWS

Method = Callable[..., Any]

_CLASSES: Final = {
    "session": ("pyspark.sql.session:SparkSession", "pyspark.sql.connect.session:SparkSession"),
    "frame": ("pyspark.sql.classic.dataframe:DataFrame", "pyspark.sql.connect.dataframe:DataFrame"),
    "reader": ("pyspark.sql.readwriter:DataFrameReader", "pyspark.sql.connect.readwriter:DataFrameReader"),
    "writer": ("pyspark.sql.readwriter:DataFrameWriter", "pyspark.sql.connect.readwriter:DataFrameWriter"),
    "catalog": ("pyspark.sql.catalog:Catalog", "pyspark.sql.connect.catalog:Catalog"),
}
_FORMATTED: Final = ("_pyspark_", "_pyspark_connect_temp_view_")
"""How PySpark begins the names of the views that `spark.sql("… {x} …", x=frame)` makes and drops."""


def install() -> None:
    """Idempotent."""
    for role, methods in _METHODS.items():
        for kind in _classes(role):
            for name, make in methods.items():
                if (kind, name) not in ORIGINALS and name in vars(kind):
                    _replace(kind, name, make)


def remove() -> None:
    """Gives the classes their own methods back."""
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
    if isinstance(found, property):
        setattr(kind, name, property(method, doc=found.__doc__))
    else:
        setattr(kind, name, functools.wraps(found)(method))


# SparkSession


def _sql(self: Any, sqlQuery: str, args: Any = None, **kwargs: Any) -> Any:
    session = session_of(self)
    if session is None:
        return original(self, "sql")(sqlQuery, args, **kwargs)
    return run_sql(session, sqlQuery, args, kwargs)


def _table(self: Any, tableName: str) -> Any:
    session = session_of(self)
    found = None if session is None else table_by_name(session, tableName)
    return original(self, "table")(tableName) if found is None else found


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
        return run_sql(session, f"SELECT * FROM {name}")
    return named_frame(session, resolved, options)


# DataFrame


def _temporary_view(method: str) -> Method:
    shared = "Global" in method

    def create(self: Any, name: str) -> None:
        original(self, method)(name)
        session = session_of(self.sparkSession)
        if session is None or name.startswith(_FORMATTED):
            return
        session.forget_view(f"{GLOBAL_VIEWS}.{name.lower()}" if shared else name.lower())
        origin = getattr(self, "__dict__", {}).get(ORIGIN)
        if isinstance(origin, FrameView) and not shared:
            # The table is held as it was loaded: the view reads what the DataFrame reads, whatever is committed later.
            session.state.views[name.lower()] = origin

    return create


def _write(self: Any) -> Any:
    return writer.recorded(original(self, "write"), self, session_of(self.sparkSession))


def _write_to(self: Any, table: str) -> Any:
    session = session_of(self.sparkSession)
    found = None if session is None else writer.table_writer(session, self, table)
    return original(self, "writeTo")(table) if found is None else found


def _merge_into(self: Any, table: str, condition: Any) -> Any:
    session = session_of(self.sparkSession)
    found = None if session is None else writer.merge_writer(session, self, table, condition)
    return original(self, "mergeInto")(table, condition) if found is None else found


def _filter(self: Any, condition: Any) -> Any:
    if scan_of(self) is None or session_of(self.sparkSession) is None:
        return original(self, "filter")(condition)
    return filtered(self, condition, lambda frame, one: original(frame, "filter")(one))


_VIEW_METHODS: Final = (
    "createTempView",
    "createOrReplaceTempView",
    "createGlobalTempView",
    "createOrReplaceGlobalTempView",
)
_METHODS: Final[dict[str, dict[str, Method]]] = {
    "session": {"sql": _sql, "table": _table, "read": _read},
    "frame": {
        "write": _write,
        "writeTo": _write_to,
        "mergeInto": _merge_into,
        "filter": _filter,
        **{name: _temporary_view(name) for name in _VIEW_METHODS},
    },
    "reader": reader.methods(table_by_name),
    "writer": writer.METHODS,
    "catalog": catalog_lookups.METHODS,
}
