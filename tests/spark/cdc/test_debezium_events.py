"""Debezium's envelopes through Spark: JSON text from Kafka, and structs."""

import base64
import json
from typing import Any

import pytest

import floeberg as fb

PLACEHOLDER = "__debezium_unavailable_value"
COLUMNS = [
    {"field": "id", "type": "int64"},
    {"field": "price", "type": "bytes", "name": "org.apache.kafka.connect.data.Decimal", "parameters": {"scale": "2"}},
    {"field": "day", "type": "int32", "name": "io.debezium.time.Date"},
    {"field": "at", "type": "int64", "name": "io.debezium.time.MicroTimestamp"},
    {"field": "doc", "type": "string"},
]
SCHEMA = {
    "type": "struct",
    "fields": [{"field": side, "type": "struct", "fields": COLUMNS} for side in ("before", "after")],
}
TABLE = "(id bigint, price decimal(9, 2), day date, at timestamp_ntz, doc string)"
KAFKA = "topic string, partition int, offset bigint, value binary"


def _row(key: int, cents: int, doc: str | None) -> dict[str, Any]:
    price = base64.b64encode(cents.to_bytes(4, "big", signed=True)).decode()
    return {"id": key, "price": price, "day": 19_000, "at": 1_000_000, "doc": doc}


def _event(op: str, before: Any, after: Any) -> str:
    return json.dumps({"schema": SCHEMA, "payload": {"op": op, "before": before, "after": after, "ts_ms": 1}})


def _kafka(spark: Any, events: list[str | None]) -> Any:
    rows = [("t", 0, number, None if text is None else bytearray(text.encode())) for number, text in enumerate(events)]
    return spark.createDataFrame(rows, KAFKA)


def _shown(spark: Any, table: str) -> list[tuple[Any, ...]]:
    return sorted((row.id, str(row.price), str(row.day), str(row.at), row.doc) for row in spark.table(table).collect())


@pytest.mark.parametrize("lookup", [None, "position"])
def test_json_from_kafka_is_decoded_by_its_schema_with_redelivered_creates_moved_keys_and_tombstones(
    session: Any, lookup: str | None
) -> None:
    table = f"lake.db.debezium_{lookup}"
    session.sql(f"CREATE TABLE {table} {TABLE}")
    first = [
        _event("r", None, _row(1, 1050, "a")),
        _event("c", None, _row(2, -99, "b")),
        _event("c", None, _row(3, 0, "c")),
    ]
    fb.cdc(_kafka(session, first), table, keys="id", format="debezium", lookup=lookup)
    then = [
        _event("c", None, _row(3, 0, "c")),  # delivered again
        _event("u", None, _row(1, 1060, "a2")),
        _event("u", None, _row(1, 1070, PLACEHOLDER)),
        _event("u", _row(2, -99, "b"), _row(5, -98, "b")),  # the key moves
        _event("d", _row(3, 0, None), None),
        None,
    ]
    result = fb.cdc(_kafka(session, then), table, keys="id", format="debezium", lookup=lookup)
    assert (result.events, result.bad) == (6, 0)
    when = ("2022-01-08", "1970-01-01 00:00:01")
    assert _shown(session, table) == [(1, "10.70", *when, "a2"), (5, "-0.98", *when, "b")]


def test_a_value_that_was_not_sent_comes_from_the_table_when_keys_are_looked_up(session: Any) -> None:
    table = "lake.db.toast"
    session.sql(f"CREATE TABLE {table} {TABLE}")
    options: dict[str, Any] = {"keys": "id", "format": "debezium"}
    fb.cdc(_kafka(session, [_event("c", None, _row(1, 100, "long text"))]), table, **options)
    update = _kafka(session, [_event("u", None, _row(1, 200, PLACEHOLDER))])
    with pytest.raises(fb.errors.InvalidInput, match="the value of column 'doc' was not sent"):
        fb.cdc(update, table, **options)
    fb.cdc(update, table, lookup="position", **options)
    assert [(row[0], row[1], row[4]) for row in _shown(session, table)] == [(1, "2.00", "long text")]
    unknown = _kafka(session, [_event("u", None, _row(7, 200, PLACEHOLDER))])
    with pytest.raises(fb.errors.InvalidInput, match="the table has no row of its key"):
        fb.cdc(unknown, table, lookup="position", **options)


def test_structs_are_taken_apart_and_ordered_as_mysql_orders_them(session: Any) -> None:
    session.sql("CREATE TABLE lake.db.structs (id bigint, day date, name string)")
    row = "struct<id: int, day: int, name: string>"
    schema = f"op string, before {row}, after {row}, source struct<file: string, pos: bigint, row: int>"
    events = [
        ("u", (2, 1, "b"), (4, 2, "d"), ("f2", 1, 0)),
        ("c", None, (1, 0, "a"), ("f1", 9, 0)),
        ("u", None, (1, 0, "a2"), ("f1", 9, 1)),
        ("c", None, (2, 1, "b"), ("f1", 9, 2)),
        ("d", (1, None, None), None, ("f2", 2, 0)),
        (None, None, None, None),
    ]
    result = fb.cdc(session.createDataFrame(events, schema), "lake.db.structs", keys="id", format="debezium")
    assert (result.events, result.rows_deleted_in_batch) == (6, 3)
    assert [tuple(map(str, row)) for row in session.table("lake.db.structs").collect()] == [("4", "1970-01-03", "d")]


def test_envelopes_that_cannot_be_decoded_are_dead_letters_as_they_came(session: Any) -> None:
    session.sql("CREATE TABLE lake.db.partly (id bigint, at timestamp_ntz)")
    good = json.dumps({"op": "c", "before": None, "after": {"id": 1}})
    bad = json.dumps({"op": "c", "before": None, "after": {"id": 2, "at": 5}})
    options: dict[str, Any] = {"keys": "id", "format": "debezium", "dead_letters": "lake.db.undecoded"}
    result = fb.cdc(_kafka(session, [good, bad, "{"]), "lake.db.partly", **options)
    assert (result.bad, result.rows_written) == (2, 1)
    letters = {row.event: row.reason for row in session.table("lake.db.undecoded").collect()}
    assert letters.keys() == {bad, "{"}
    assert "its unit is not known without a schema" in letters[bad]
