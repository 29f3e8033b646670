"""Change data capture: events of changed rows applied to tables, on Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from floeberg.api.attach import spark_module
from floeberg.errors import InvalidInput

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming import DataStreamWriter

    from floeberg.spark.cdc.apply import CdcResult
    from floeberg.spark.cdc.sink import CdcSink

Names: TypeAlias = Sequence[str] | str
Keys: TypeAlias = Names | Mapping[str, Names]


def cdc(
    events: DataFrame,
    table: str | Mapping[str, str],
    *,
    keys: Keys | None = None,
    op: str | None = None,
    format: str = "columns",
    value: str | None = None,
    order_by: Names | None = None,
    upsert: bool | None = None,
    collapse: bool = False,
    lookup: str | None = None,
    merge_schema: bool = False,
    dead_letters: str | None = None,
    skip: Names = (),
    branch: str | None = None,
    unavailable_value: str | None = None,
    route: str | None = None,
    txn: tuple[str, int] | None = None,
    checkpoint: str | None = None,
    maintain_every: int | None = None,
) -> CdcResult | list[CdcResult] | DataStreamWriter:
    """Applies events of changed rows to a table, in one commit: `fb.cdc(df, "lake.db.t", keys="id", op="op", order_by="ord")`.

    `keys` are the columns that name a row, by default the identifier fields. `op` is the column of the code: I, -U, +U or U,
    D (with or without sign), Debezium's c, r, u, d, or insert, update_before, update_after, delete, in any case.
    `format="debezium"` takes Debezium's envelope instead, as JSON text or a struct, from the column `value`. `order_by` are
    the columns that order the events of a key, by default Kafka's partition and offset where the events have them.

    Updates delete their key first, and with `upsert` (the default for Debezium) inserts do too. `collapse` writes only the
    last state of each key. `lookup="position"` finds the rows of the keys first and deletes them by position, so that no
    equality deletes are left and rows keep their ids; an event that is older than the order stored in the table then changes
    nothing. `unavailable_value` stands for values that the source did not send (unchanged TOAST values).

    `merge_schema` adds columns that only the events have. Events that cannot be applied fail the batch, or go to the table
    `dead_letters`, which is made where it is missing. `skip` names Debezium's codes t and m, which are refused otherwise.
    `txn` is an application's id and the version of the batch: a batch that the table holds already is skipped.

    Of a stream it makes a DataStreamWriter, which wants a trigger and `start()`; `checkpoint` is the query's checkpoint
    location. Every epoch is one commit, and takes effect once. For several tables, `table` maps values to their names, and
    `route` is the column, or the field of the envelope, that holds the value; `keys` may be a mapping too. After every
    `maintain_every` epochs of a stream its tables are maintained, by their policies.

    Raises InvalidInput for bad events, naming one; nothing is committed then.
    """
    target, options = _asked(
        table,
        keys=keys,
        op=op,
        format=format,
        value=value,
        order_by=order_by,
        upsert=upsert,
        collapse=collapse,
        lookup=lookup,
        merge_schema=merge_schema,
        dead_letters=dead_letters,
        skip=skip,
        branch=branch,
        unavailable_value=unavailable_value,
        route=route,
    )
    if events.isStreaming:
        if txn is not None:
            raise InvalidInput("the query and its epochs are the transactions of a stream; leave txn out")
        writer: DataStreamWriter = spark_module("floeberg.spark.cdc.sink").stream_writer(
            events, target, options, checkpoint=checkpoint, maintain_every=maintain_every
        )
        return writer
    if maintain_every is not None:
        raise InvalidInput("maintain_every is for streams; after a batch call t.maintenance.maintain(spark=spark)")
    if checkpoint is not None:
        raise InvalidInput("checkpoint is for streams; a batch is known by txn=(app id, version)")
    apply = spark_module("floeberg.spark.cdc.apply")
    once = None if txn is None else apply.Transaction(app_id=txn[0], version=txn[1])
    if isinstance(target, str):
        result: CdcResult = apply.apply_events(events, target, options, once)
        return result
    results: list[CdcResult] = spark_module("floeberg.spark.cdc.routing").apply_routed(events, target, options, once)
    return results


def cdc_sink(
    table: str | Mapping[str, str],
    *,
    keys: Keys | None = None,
    op: str | None = None,
    format: str = "columns",
    value: str | None = None,
    order_by: Names | None = None,
    upsert: bool | None = None,
    collapse: bool = False,
    lookup: str | None = None,
    merge_schema: bool = False,
    dead_letters: str | None = None,
    skip: Names = (),
    branch: str | None = None,
    unavailable_value: str | None = None,
    route: str | None = None,
    checkpoint: str | None = None,
    app_id: str | None = None,
    maintain_every: int | None = None,
) -> CdcSink:
    """A function `sink(batch, epoch_id)` for `foreachBatch`, or for a call in one of your own, with the options of
    `floeberg.cdc`. A replayed epoch is skipped: by the id of the query, which `checkpoint` (its checkpoint location) tells, or
    by an `app_id` that a restart keeps. A table takes one call an epoch. After every `maintain_every` epochs the tables are
    maintained, by their policies.
    """
    target, options = _asked(
        table,
        keys=keys,
        op=op,
        format=format,
        value=value,
        order_by=order_by,
        upsert=upsert,
        collapse=collapse,
        lookup=lookup,
        merge_schema=merge_schema,
        dead_letters=dead_letters,
        skip=skip,
        branch=branch,
        unavailable_value=unavailable_value,
        route=route,
    )
    sink: CdcSink = spark_module("floeberg.spark.cdc.sink").cdc_sink(
        target, options, checkpoint=checkpoint, app_id=app_id, maintain_every=maintain_every
    )
    return sink


def _asked(table: str | Mapping[str, str], *, keys: Keys | None, route: str | None, **given: Any) -> tuple[Any, Any]:
    """The table, or the tables by their routes, and the options. Raises InvalidInput."""
    several = not isinstance(table, str)
    if several != (route is not None):
        raise InvalidInput(
            "several tables are given as {value: table name} with route=, the column that holds the value"
        )
    by_route = dict(keys) if isinstance(keys, Mapping) else {}
    if by_route and not several:
        raise InvalidInput("keys is a mapping where there are several tables; for one table name its columns")
    shared = None if isinstance(keys, Mapping) else keys
    options = spark_module("floeberg.spark.cdc.options").cdc_options(keys=shared, **given)
    if isinstance(table, str):
        return table, options
    named = {value: (one,) if isinstance(one, str) else tuple(one) for value, one in by_route.items()}
    routes = spark_module("floeberg.spark.cdc.routing").Routes
    return routes(by=route, tables=dict(table), keys=named), options
