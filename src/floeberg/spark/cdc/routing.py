"""Events for several tables: a column, or a field of Debezium's envelope, says which one each is for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql import types as st

from floeberg.errors import ColumnNotFound, InvalidInput
from floeberg.spark.cdc.apply import CdcResult, Transaction, apply_events
from floeberg.spark.cdc.envelope_events import VALUE
from floeberg.spark.cdc.options import DEBEZIUM, CdcOptions
from floeberg.spark.host.session import session_of
from floeberg.sql.text.cursor import parse_parts
from floeberg.sql.text.lexer import quote_name
from floeberg.sql.text.names import TableIdentifier

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


@dataclass(frozen=True, slots=True, kw_only=True)
class Routes:
    """The tables by the values of a column or path, and the key of each where they differ."""

    by: str
    tables: Mapping[str, str]
    keys: Mapping[str, tuple[str, ...]]


def apply_routed(
    frame: DataFrame, routes: Routes, options: CdcOptions, once: Transaction | None = None
) -> list[CdcResult]:
    """Applies the events of each table, one commit a table; a table that holds the batch already is skipped. The batch is
    kept while that lasts. Raises InvalidInput, before any commit, for events of no table, and for routes to one table that
    differ in its key."""
    by_table = _by_table(frame, routes, options)
    frame = frame.persist()
    try:
        route = _route(frame, routes.by, options)
        _refuse_unrouted(frame, route, routes, options)
        results = []
        for values in by_table:
            keys = routes.keys.get(values[0], options.keys)
            rows = frame.where(route.isin(values))
            if options.format != DEBEZIUM:
                rows = rows.drop(*(name for name in rows.columns if name.lower() == routes.by.lower()))
            results.append(apply_events(rows, routes.tables[values[0]], replace(options, keys=keys), once))
        return results
    finally:
        frame.unpersist()


def _by_table(frame: DataFrame, routes: Routes, options: CdcOptions) -> list[list[str]]:
    """The routes of each table. Events that several routes send to one table (those of shards) are one batch of it: a second
    commit of the same transaction would be taken for a replay."""
    session = session_of(frame.sparkSession)
    if session is None:
        raise InvalidInput(
            "the session that the tables are to be found in is not attached; call floeberg.attach(spark, …)"
        )
    found: dict[TableIdentifier, list[str]] = {}
    for value, table in routes.tables.items():
        same = found.setdefault(session.table_identifier(parse_parts(table)), [])
        same.append(value)
        if routes.keys.get(value, options.keys) != routes.keys.get(same[0], options.keys):
            raise InvalidInput(
                f"routes {same[0]!r} and {value!r} both lead to {table}, with different keys; a table has one key"
            )
    return list(found.values())


def _route(frame: DataFrame, by: str, options: CdcOptions) -> Column:
    """What says the table of an event."""
    names = {name.lower(): name for name in frame.columns}
    if by.lower() in names:
        return F.col(quote_name(names[by.lower()])).cast("string")
    value = names.get((options.value or VALUE).lower())
    if options.format == DEBEZIUM and value is not None:
        column = F.col(quote_name(value))
        if isinstance(frame.schema[value].dataType, st.StructType):
            return F.col(f"{quote_name(value)}.{by}").cast("string")
        text = column.cast("string")
        return F.coalesce(F.get_json_object(text, f"$.payload.{by}"), F.get_json_object(text, f"$.{by}"))
    if by.partition(".")[0].lower() in names:
        return F.col(by).cast("string")
    raise ColumnNotFound(f"events have no column {by!r} that says their table; they have {', '.join(names)}", column=by)


def _refuse_unrouted(frame: DataFrame, route: Column, routes: Routes, options: CdcOptions) -> None:
    names = {name.lower(): name for name in frame.columns}
    unrouted = route.isNull() | ~route.isin(list(routes.tables))
    value = names.get((options.value or VALUE).lower())
    if options.format == DEBEZIUM and value is not None:
        unrouted = unrouted & F.col(quote_name(value)).isNotNull()  # tombstones are for no table
    found = frame.where(unrouted).select(route.alias("route")).limit(1).collect()
    if found:
        raise InvalidInput(
            f"an event is for {found[0].route!r} by {routes.by!r}, and tables are given for "
            f"{', '.join(map(repr, routes.tables))}; name its table, or leave such events out. Nothing was committed"
        )
