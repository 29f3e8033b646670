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
from floeberg.sql.text.lexer import quote_name

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
    kept while that lasts. Raises InvalidInput, before any commit, for events of no table."""
    frame = frame.persist()
    try:
        route = _route(frame, routes.by, options)
        _refuse_unrouted(frame, route, routes, options)
        results = []
        for value, table in routes.tables.items():
            keys = routes.keys.get(value, options.keys)
            rows = frame.where(route == F.lit(value))
            if routes.by in rows.columns and options.format != DEBEZIUM:
                rows = rows.drop(routes.by)
            results.append(apply_events(rows, table, replace(options, keys=keys), once))
        return results
    finally:
        frame.unpersist()


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
