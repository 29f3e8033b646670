"""Change data capture: events of changed rows applied to tables, on Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict, Unpack

from floeberg.api.attach import spark_module
from floeberg.errors import InvalidInput

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming import DataStreamWriter

    from floeberg.spark.cdc.apply import CdcResult
    from floeberg.spark.cdc.sink import CdcSink

Names: TypeAlias = Sequence[str] | str
Keys: TypeAlias = Names | Mapping[str, Names]


class CdcArguments(TypedDict, total=False):
    """How events become changes of tables: the options that `cdc` and `cdc_sink` share."""

    keys: Keys | None
    """The columns that name a row, by default the identifier fields; for several tables a mapping of them by route."""
    op: str | None
    """The column of the code: I, -U, +U or U, D (with or without sign), Debezium's c, r, u, d, or insert, update_before,
    update_after, delete, in any case."""
    format: str
    """`"debezium"` takes Debezium's envelope, as JSON text or a struct; the default is `"columns"`."""
    value: str | None
    """The column of the envelope."""
    order_by: Names | None
    """The columns that order the events of a key, by default Kafka's partition and offset where the events have them."""
    upsert: bool | None
    """Updates delete their key first; with it, which is the default for Debezium, inserts do too."""
    collapse: bool
    """Writes only the last state of each key."""
    lookup: str | None
    """`"position"` finds the rows of the keys first and deletes them by position, so that no equality deletes are left and
    rows keep their ids; an event that is older than the order stored in the table then changes nothing."""
    merge_schema: bool
    """Adds columns that only the events have."""
    dead_letters: str | None
    """The table, made where it is missing, for events that cannot be applied, which fail the batch otherwise."""
    skip: Names
    """Those of Debezium's codes t and m that are left out; they are refused otherwise."""
    branch: str | None
    unavailable_value: str | None
    """What stands for values that the source did not send (unchanged TOAST values)."""
    route: str | None
    """The column, or the field of the envelope, whose value chooses one of several tables."""


def cdc(
    events: DataFrame,
    table: str | Mapping[str, str],
    *,
    txn: tuple[str, int] | None = None,
    checkpoint: str | None = None,
    maintain_every: int | None = None,
    **options: Unpack[CdcArguments],
) -> CdcResult | list[CdcResult] | DataStreamWriter:
    """Applies events of changed rows to a table, in one commit: `fb.cdc(df, "lake.db.t", keys="id", op="op", order_by="ord")`.

    `CdcArguments` says what the options mean. `txn` is an application's id and the version of the batch: a batch that the table
    holds already is skipped. For several tables, `table` maps the values of `route` to their names.

    Of a stream it makes a DataStreamWriter, which wants a trigger and `start()`; `checkpoint` is the query's checkpoint
    location. Every epoch is one commit, and takes effect once. After every `maintain_every` epochs of a stream its tables are
    maintained, by their policies.

    Raises InvalidInput for bad events, naming one; nothing is committed then.
    """
    target, asked = _asked(table, **options)
    if events.isStreaming:
        if txn is not None:
            raise InvalidInput("the query and its epochs are the transactions of a stream; leave txn out")
        writer: DataStreamWriter = spark_module("floeberg.spark.cdc.sink").stream_writer(
            events, target, asked, checkpoint=checkpoint, maintain_every=maintain_every
        )
        return writer
    if maintain_every is not None:
        raise InvalidInput("maintain_every is for streams; after a batch call t.maintenance.maintain(spark=spark)")
    if checkpoint is not None:
        raise InvalidInput("checkpoint is for streams; a batch is known by txn=(app id, version)")
    apply = spark_module("floeberg.spark.cdc.apply")
    once = None if txn is None else apply.Transaction(app_id=txn[0], version=txn[1])
    if isinstance(target, str):
        result: CdcResult = apply.apply_events(events, target, asked, once)
        return result
    results: list[CdcResult] = spark_module("floeberg.spark.cdc.routing").apply_routed(events, target, asked, once)
    return results


def cdc_sink(
    table: str | Mapping[str, str],
    *,
    checkpoint: str | None = None,
    app_id: str | None = None,
    maintain_every: int | None = None,
    **options: Unpack[CdcArguments],
) -> CdcSink:
    """A function `sink(batch, epoch_id)` for `foreachBatch`, or for a call in one of your own, with the options of
    `floeberg.cdc`. A replayed epoch is skipped: by the id of the query, which `checkpoint` (its checkpoint location) tells, or
    by an `app_id` that a restart keeps. A table takes one call an epoch. After every `maintain_every` epochs the tables are
    maintained, by their policies.
    """
    target, asked = _asked(table, **options)
    sink: CdcSink = spark_module("floeberg.spark.cdc.sink").cdc_sink(
        target, asked, checkpoint=checkpoint, app_id=app_id, maintain_every=maintain_every
    )
    return sink


def _asked(table: str | Mapping[str, str], **given: Unpack[CdcArguments]) -> tuple[Any, Any]:
    """The table, or the tables by their routes, and the options. Raises InvalidInput."""
    if unknown := given.keys() - CdcArguments.__annotations__.keys():
        known = ", ".join(CdcArguments.__annotations__)
        raise InvalidInput(f"floeberg.cdc has no option {min(unknown)!r}; there are {known}")
    keys, route = given.pop("keys", None), given.pop("route", None)
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
