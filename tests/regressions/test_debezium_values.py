"""Values of Debezium's events that were changed silently, stopped a whole batch, or came from a row that was deleted."""

from __future__ import annotations

import random
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from change_events.test_event_rules import PLACEHOLDER, _changes
from floeberg.arrow.columns.types import arrow_type
from floeberg.change_events.debezium import EnvelopeRules, images
from floeberg.change_events.debezium_values import _DECODERS, _ISO, _LOCAL_US, Undecodable, decode
from floeberg.change_events.sequences import EventRules, key_changes, screened
from floeberg.change_events.unavailable import placeholder_mask
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    STRING,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    UUID,
    DecimalType,
    FixedType,
    IcebergType,
    ListType,
    MapType,
    NestedField,
    StructType,
)  # fmt: skip
from lakes.cdc_batches import event_table, sorted_events

DATED = Schema(NestedField(1, "id", LONG), NestedField(2, "d", DATE), NestedField(3, "t", TIMESTAMP))
TYPES: tuple[IcebergType, ...] = (
    BINARY, BOOLEAN, DATE, DOUBLE, FLOAT, INT, LONG, STRING, TIME, TIMESTAMP, TIMESTAMPTZ, UUID, DecimalType(9, 2),
    DecimalType(38, 10), FixedType(2), ListType(9, STRING), MapType(9, STRING, 10, DATE),
    StructType((NestedField(9, "a", TIME),)),
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    0, -1, 1, 86_399_999, 2**31, 2**40, -(2**63), 2**63, 10**30, 10**400, True, "", "x", "AQ==", "\ud800", "a\udfff", "1.5",
    Decimal("1.5"), Decimal("1E+400"), Decimal("-1E-400"), Decimal("3.5E38"), float("nan"), float("inf"), "NaN", "1E+999999",
    "10:00:00", "10:00:00Z", "10:00:00+02:00", "10:00:00.1234567", "24:00:00", "2020-02-30", "2020-02-29", "0000-01-01",
    "2020-01-01T10:00:00", "2020-01-01T10:00:00.1234567+02:00", "2020-01-01T10:00:00.123456000Z", "infinity",
    [], ["x"], [None], {}, {"a": "10:00:00"}, {"scale": 2, "value": "AQ=="}, {"scale": None, "value": "AQ=="},
    {"scale": "x", "value": "AQ=="}, {"scale": 10**9, "value": "AQ=="}, {"scale": -3, "value": "AQ=="}, {"scale": 0, "value": 1},
    "00000000-0000-0000-0000-000000000001",
)  # fmt: skip
SCHEMAS: tuple[Any, ...] = (
    None, {}, {"type": "string"}, {"type": "bytes"}, {"type": "struct", "fields": "x"}, {"type": "struct", "fields": [{}]},
    *({"name": "org.apache.kafka.connect.data.Decimal", "type": "bytes", "parameters": p} for p in (None, {}, {"scale": "x"}, {"scale": "2"})),
    *({"name": name, "type": "int64"} for name in _LOCAL_US), *({"name": name, "type": "string"} for name in _ISO),
    {"name": "io.debezium.time.Date", "type": "int32"},
)  # fmt: skip


@pytest.mark.parametrize(
    ("value", "target", "reason"),
    [
        ("10:00:00+02:00", TIME, "another zone"),
        ("10:00:00.1234567Z", TIME, "nanoseconds"),
        ("2016-10-06T14:23:45.1234567+02:00", TIMESTAMPTZ, "nanoseconds"),
        ("2016-10-06T14:23:45.1234567", TIMESTAMP, "nanoseconds"),
        (Decimal("1E+39"), FLOAT, "is no float"),
        (Decimal("1E+400"), DOUBLE, "is no double"),
    ],
)
def test_a_value_that_the_column_cannot_keep_is_refused_and_not_changed(value: Any, target: Any, reason: str) -> None:
    with pytest.raises(Undecodable, match=reason):
        decode(value, target, None)


def test_zeros_after_the_microseconds_change_nothing() -> None:
    assert decode("1970-01-01T00:00:00.000001000Z", TIMESTAMPTZ, None) == 1
    assert decode("00:00:00.000001000Z", TIME, None) == 1


def test_every_value_is_decoded_to_one_that_the_column_takes_or_refused() -> None:
    assert {type(kind) for kind in TYPES} == set(_DECODERS)
    for target in TYPES:
        for value in VALUES:
            for schema in SCHEMAS:
                try:
                    found = decode(value, target, schema)
                except Undecodable:
                    continue
                stored = pa.array([found], arrow_type(target))
                is_infinite = isinstance(found, float) and stored.to_pylist()[0] in (float("inf"), float("-inf"))
                assert not is_infinite or value == found, (value, target, schema)


def test_every_text_is_an_event_or_a_bad_one() -> None:
    rules = EnvelopeRules(schema=Schema(NestedField(1, "id", LONG)), keys=("id",), orders=("source.pos",))
    parts = ['{"op":', '"c"', "null", "[]", "{}", ',"after":', '{"id":1}', "1e400", "99999999999999999999", '"x"', "}"]
    parts += [
        ',"source":',
        '{"pos":1e400}',
        '{"pos":1.5}',
        '{"pos":true}',
        '{"schema":',
        ',"payload":',
        '{"fields":[1]}',
    ]
    rng = random.Random(1)
    texts = ["".join(rng.choices(parts, k=rng.randrange(1, 9))) for _ in range(3_000)] + ["[" * 100_000]
    for text in texts:
        for image in images(text, rules):
            assert image.reason or image.kind is not None
            assert all(order is None or -(2**63) <= order < 2**63 for order in image.orders)


def test_lists_that_were_not_sent_are_told_by_what_debezium_puts_there() -> None:
    uuid = "b68a35a7-17ad-35b3-af2a-ae46edb4545a"
    texts = pa.array([[PLACEHOLDER], ["x"], None, [], [PLACEHOLDER, "x"], [uuid]])
    assert placeholder_mask(texts, PLACEHOLDER).tolist() == [True, False, False, False, False, True]
    for kind in (pa.int32(), pa.int64(), pa.float64()):
        numbers = pa.array([list(PLACEHOLDER.encode()), list(range(28)), [1]], pa.list_(kind))
        assert placeholder_mask(numbers, PLACEHOLDER).tolist() == [True, False, False]
    assert placeholder_mask(pa.array([["x"]]), PLACEHOLDER) is None


def test_a_value_that_was_not_sent_is_not_taken_from_a_row_that_the_batch_deletes() -> None:
    events = [("D", (1, 0, None), (1,)), ("I", (1, 5, PLACEHOLDER), (2,)), ("U", (2, 6, PLACEHOLDER), (1,))]
    found = _changes(events, placeholder=PLACEHOLDER, keeps_placeholders=True)
    assert [one.reason[:36] for one in found.bad] == ["the value of column 'v' was not sent"]
    assert found.counts.unavailable == 1


def test_dates_that_python_has_not_are_compared_and_shown() -> None:
    events = event_table(
        DATED,
        [("I", (1, 2**31 - 1, None), (1,)), ("I", (1, 2**31 - 1, None), (1,)), ("I", (2, 0, 2**62), (1,))],
        [pa.int64()],
    )
    rules = EventRules(keys=("id",), orders=1)
    (batch,) = sorted_events(events, rules).to_batches()
    found = key_changes(batch, rules)
    assert (found.counts.duplicates, found.counts.rows_written) == (1, 2)
    nothing = event_table(DATED, [("I", (None, 2**31 - 1, None), (1,))], [pa.int64()]).to_batches()[0]
    assert [one.event for one in screened(nothing, rules)[1]] == [
        '{"id": null, "d": 2147483647, "t": null, "op": "insert", "order": [1]}'
    ]
