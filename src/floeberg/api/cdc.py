"""Change data capture: events of changed rows applied to tables, on Spark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from floeberg.api.attach import spark_module

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from floeberg.spark.cdc.apply import CdcResult


def cdc(
    events: DataFrame,
    table: str,
    *,
    keys: Sequence[str] | str | None = None,
    op: str | None = None,
    order_by: Sequence[str] | str | None = None,
    upsert: bool = False,
    collapse: bool = False,
    lookup: str | None = None,
    merge_schema: bool = False,
    dead_letters: str | None = None,
    skip: Sequence[str] | str = (),
    branch: str | None = None,
    txn: tuple[str, int] | None = None,
) -> CdcResult:
    """Applies events of changed rows to a table, in one commit: `fb.cdc(df, "lake.db.t", keys="id", op="op", order_by="ord")`.

    `keys` are the columns that name a row, by default the identifier fields. `op` is the column of the code: I, -U, +U or U,
    D (with or without sign), Debezium's c, r, u, d, or insert, update_before, update_after, delete, in any case. `order_by`
    are the columns that order the events of a key, by default Kafka's partition and offset where the events have them.
    Updates delete their key first, and with `upsert` inserts do too. `collapse` writes only the last state of each key.
    `lookup="position"` finds the rows of the keys first and deletes them by position, so that no equality deletes are left and
    rows keep their ids; an event that is older than the order stored in the table then changes nothing.
    `merge_schema` adds columns that only the events have. Events that cannot be applied fail the batch, or go to the table
    `dead_letters`, which is made where it is missing. `skip` names Debezium's codes t and m, which are refused otherwise.
    `txn` is an application's id and the version of the batch: a batch that the table holds already is skipped.

    Raises InvalidInput for bad events, naming one; nothing is committed then.
    """
    options = _options(
        keys=keys,
        op=op,
        order_by=order_by,
        upsert=upsert,
        collapse=collapse,
        lookup=lookup,
        merge_schema=merge_schema,
        dead_letters=dead_letters,
        skip=skip,
        branch=branch,
    )
    apply = spark_module("floeberg.spark.cdc.apply")
    once = None if txn is None else apply.Transaction(app_id=txn[0], version=txn[1])
    result: CdcResult = apply.apply_events(events, table, options, once)
    return result


def _options(**given: Any) -> Any:
    return spark_module("floeberg.spark.cdc.options").cdc_options(**given)
