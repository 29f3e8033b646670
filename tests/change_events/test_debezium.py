"""Debezium's envelope in JSON: what its events mean, and how its values are decoded."""

import base64
import json
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from floeberg.arrow.columns.types import arrow_type
from floeberg.change_events.debezium import MYSQL_ORDER, EnvelopeRules, Image, images
from floeberg.change_events.debezium_values import Undecodable, decode
from floeberg.change_events.events import EventKind
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    LONG,
    STRING,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    UUID,
    DecimalType,
    ListType,
    NestedField,
)

SCHEMA = Schema(NestedField(1, "id", LONG), NestedField(2, "v", STRING))
RULES = EnvelopeRules(schema=SCHEMA, keys=("id",))


def _unscaled(value: int) -> str:
    return base64.b64encode(value.to_bytes(9, "big", signed=True)).decode()


def _named(name: str, kind: str = "int64", **more: Any) -> dict[str, Any]:
    return {"type": kind, "name": name, **more}


DECIMAL = _named("org.apache.kafka.connect.data.Decimal", "bytes", parameters={"scale": "2"})


@pytest.mark.parametrize(
    ("value", "target", "schema", "shown"),
    [
        (7, INT, None, "7"),
        (7, DOUBLE, None, "7.0"),
        (1, BOOLEAN, None, "True"),
        ("x", STRING, None, "x"),
        (None, LONG, None, "None"),
        (_unscaled(-12345), DecimalType(9, 2), DECIMAL, "-123.45"),
        (_unscaled(12345), DecimalType(38, 4), DECIMAL, "123.4500"),
        ({"scale": 1, "value": _unscaled(15)}, DecimalType(9, 2), None, "1.50"),
        (Decimal("1.5"), DecimalType(9, 2), None, "1.50"),
        ("1.5", DecimalType(9, 2), {"type": "string"}, "1.50"),
        (19_000, DATE, None, "2022-01-08"),
        (19_000, DATE, _named("io.debezium.time.Date", "int32"), "2022-01-08"),
        (-1, DATE, _named("org.apache.kafka.connect.data.Date", "int32"), "1969-12-31"),
        ("2022-01-08", DATE, None, "2022-01-08"),
        (1, TIMESTAMP, _named("io.debezium.time.Timestamp"), "1970-01-01 00:00:00.001000"),
        (1, TIMESTAMP, _named("io.debezium.time.MicroTimestamp"), "1970-01-01 00:00:00.000001"),
        (2000, TIMESTAMP, _named("io.debezium.time.NanoTimestamp"), "1970-01-01 00:00:00.000002"),
        (-1, TIMESTAMP, _named("org.apache.kafka.connect.data.Timestamp"), "1969-12-31 23:59:59.999000"),
        ("1970-01-01T02:00:00.5+02:00", TIMESTAMPTZ, None, "1970-01-01 00:00:00.500000+00:00"),
        ("1970-01-01T00:00:00Z", TIMESTAMPTZ, _named("io.debezium.time.ZonedTimestamp", "string"), "1970-01-01 00:00:00+00:00"),
        (1_500, TIME, _named("io.debezium.time.Time", "int32"), "00:00:01.500000"),
        (1_500, TIME, _named("io.debezium.time.MicroTime"), "00:00:00.001500"),
        (base64.b64encode(b"\x00\xff").decode(), BINARY, {"type": "bytes"}, r"b'\x00\xff'"),
        ([1, None], ListType(9, LONG), None, "[1, None]"),
    ],
)  # fmt: skip
def test_a_value_is_decoded_by_the_schema_or_by_a_type_that_leaves_no_doubt(
    value: Any, target: Any, schema: Any, shown: str
) -> None:
    (found,) = pa.array([decode(value, target, schema)], arrow_type(target)).to_pylist()
    assert str(found) == shown


@pytest.mark.parametrize(
    ("value", "target", "schema", "reason"),
    [
        (1, TIMESTAMP, None, "unit is not known"),
        (1, TIME, None, "unit is not known"),
        (1_001, TIMESTAMP, _named("io.debezium.time.NanoTimestamp"), "nanoseconds"),
        (1, TIMESTAMPTZ, _named("io.debezium.time.Timestamp"), "no zone"),
        ("1970-01-01T00:00:00Z", TIMESTAMP, None, "not mixed"),
        ("1970-01-01T00:00:00", TIMESTAMPTZ, None, "not mixed"),
        ("AQID", DecimalType(9, 2), None, "need a schema"),
        ("1234", DecimalType(9, 2), None, "need a schema"),
        (_unscaled(12345), DecimalType(4, 2), DECIMAL, "does not fit"),
        (Decimal("1.005"), DecimalType(9, 2), None, "does not fit"),
        ("AQID", BINARY, None, "not known without a schema"),
        (1 << 31, INT, None, "is no int"),
        (True, LONG, None, "is no long"),
        (1.5, LONG, None, "is no long"),
        (7, STRING, None, "is no string"),
        ("x", UUID, None, "is no uuid"),
        ("x", DATE, None, "is no date"),
        (86_400_000, TIME, _named("io.debezium.time.Time", "int32"), "is no time"),
    ],
)
def test_a_value_that_would_have_to_be_guessed_or_cut_is_refused(
    value: Any, target: Any, schema: Any, reason: str
) -> None:
    with pytest.raises(Undecodable, match=reason):
        decode(value, target, schema)


def _images(event: Any, rules: EnvelopeRules = RULES) -> list[Image]:
    return list(images(event if event is None else json.dumps(event), rules))


def test_an_update_is_its_row_before_and_after_where_both_are_there() -> None:
    found = _images({"op": "u", "before": {"id": 1, "v": "a"}, "after": {"id": 2, "v": "b"}})
    assert [(one.kind, one.row) for one in found] == [
        (EventKind.UPDATE_BEFORE, {"id": 1, "v": "a"}),
        (EventKind.UPDATE_AFTER, {"id": 2, "v": "b"}),
    ]
    (only,) = _images({"op": "u", "before": None, "after": {"id": 2, "v": "b"}})
    assert only.kind is EventKind.UPDATE_AFTER
    (only,) = _images({"op": "u", "before": {"v": "a"}, "after": {"id": 2, "v": "b"}})
    assert only.kind is EventKind.UPDATE_AFTER


@pytest.mark.parametrize("code", ["c", "r"])
def test_creates_and_snapshot_reads_are_inserts_and_deletes_name_their_key(code: str) -> None:
    (insert,) = _images({"op": code, "before": None, "after": {"id": 1, "v": "a"}})
    assert insert.kind is EventKind.INSERT
    (delete,) = _images({"op": "d", "before": {"id": 1, "v": None}, "after": None})
    assert (delete.kind, delete.row["id"]) == (EventKind.DELETE, 1)


def test_tombstones_are_ignored_and_truncates_and_messages_only_when_skipped() -> None:
    assert _images(None) == []
    assert _images({"schema": {}, "payload": None}) == []
    (refused,) = _images({"op": "t"})
    assert refused.reason == "code 't' (truncate or message) is applied by nobody; skip it"
    assert _images({"op": "t"}, EnvelopeRules(schema=SCHEMA, keys=("id",), skip=("t", "m"))) == []


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        ({"before": None}, "it has no op"),
        ({"op": "x", "after": {"id": 1}}, "the code 'x' is not known"),
        ({"op": "c", "after": None}, "has no row after it"),
        ({"op": "d", "before": None}, "its key is not known"),
        ({"op": "c", "after": {"id": 1, "other": 2}}, "the table has no column 'other'"),
        ({"op": "c", "after": {"id": "one"}}, "column 'id': 'one' is no long"),
    ],
)
def test_what_cannot_be_decoded_says_why(event: Any, reason: str) -> None:
    (found,) = _images(event)
    assert found.kind is None
    assert reason in str(found.reason)


def test_text_that_is_no_json_is_bad_input() -> None:
    (found,) = images("{", RULES)
    assert "the event is no JSON" in str(found.reason)


def test_the_order_comes_out_of_the_envelope_and_numbers_may_be_text() -> None:
    rules = EnvelopeRules(schema=SCHEMA, keys=("id",), orders=MYSQL_ORDER)
    source = {"file": "binlog.000002", "pos": 154, "row": 0}
    (found,) = _images({"op": "c", "after": {"id": 1}, "source": source}, rules)
    assert found.orders == (f"binlog.{2:020}", 154, 0)
    rules = EnvelopeRules(schema=SCHEMA, keys=("id",), orders=("source.scn",))
    assert _images({"op": "c", "after": {"id": 1}, "source": {"scn": "12345"}}, rules)[0].orders == (12345,)
    assert "no whole number" in str(_images({"op": "c", "after": {"id": 1}, "source": {"scn": "x"}}, rules)[0].reason)


@pytest.mark.parametrize(
    ("path", "earlier", "later"),
    [
        ("source.file", "mysql-bin.999999", "mysql-bin.1000000"),
        ("source.file", "mysql-bin.000009", "mysql-bin.000010"),
        ("source.sequence", '["999999999","1000000020"]', '["1000000000","1000000005"]'),
        ("source.sequence", ["99", "100"], ["100", "7"]),
        ("source.event_serial_no", 9, 10),
        ("source.change_lsn", "00000029:00000758:0005", "0000002a:00000030:0001"),
    ],
)
def test_numbers_in_the_text_of_an_order_are_compared_as_numbers(path: str, earlier: Any, later: Any) -> None:
    rules = EnvelopeRules(schema=SCHEMA, keys=("id",), orders=(path,))
    name = path.partition(".")[2]
    events = [{"op": "c", "after": {"id": 1}, "source": {name: order}} for order in (earlier, later)]
    first, second = (_images(event, rules)[0].orders for event in events)
    assert first < second


def test_a_pair_of_positions_of_which_one_is_missing_has_no_order() -> None:
    rules = EnvelopeRules(schema=SCHEMA, keys=("id",), orders=("source.sequence",))
    event = {"op": "c", "after": {"id": 1}, "source": {"sequence": '[null,"100"]'}}
    assert _images(event, rules)[0].orders == (None,)
