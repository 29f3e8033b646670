"""Which events are applied, which are duplicates, and which are bad input."""

from typing import Any

import pyarrow as pa
import pytest

from floeberg.change_events.events import CODES, EVENT, EventKind
from floeberg.change_events.sequences import BadEvent, EventRules, key_changes, screened
from floeberg.errors import InvalidInput
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.types import INT, LONG, STRING, NestedField
from floeberg.testing.table_builder import TableBuilder
from lakes.cdc_batches import event_table, sorted_events, write_batch

SCHEMA = Schema(NestedField(1, "id", LONG), NestedField(2, "p", INT), NestedField(3, "v", STRING))


def _changes(events: list[Any], **rules: Any) -> Any:
    given = EventRules(**{"keys": ("id",), "orders": 1, **rules})
    table = sorted_events(event_table(SCHEMA, events, [pa.int64()] * given.orders), given)
    (batch,) = table.combine_chunks().to_batches()
    return key_changes(batch, given)


def _reasons(bad: list[BadEvent]) -> list[str]:
    return [one.reason for one in bad]


@pytest.mark.parametrize(
    ("codes", "kind"),
    [
        ("I +I c C r insert INSERT", EventKind.INSERT),
        ("-U -u update_before", EventKind.UPDATE_BEFORE),
        ("U +U u update_after Update_After", EventKind.UPDATE_AFTER),
        ("D -D d delete", EventKind.DELETE),
    ],
)
def test_codes_of_flink_debezium_and_changelogs_are_known_in_any_case(codes: str, kind: EventKind) -> None:
    assert {CODES[code.upper()] for code in codes.split()} == {kind}


def test_debezium_truncates_and_messages_and_a_signed_insert_that_deletes_are_no_codes() -> None:
    assert not {"T", "M", "-I", "+D", "X", ""} & CODES.keys()


def test_a_duplicate_has_equal_key_order_code_and_image_and_is_counted() -> None:
    event = ("U", (1, 0, "a"), (5,))
    found = _changes([event, event, event])
    assert (found.counts.duplicates, found.counts.bad, found.rows.num_rows) == (2, 0, 1)


def test_two_events_at_one_order_with_other_images_are_bad_input() -> None:
    found = _changes([("U", (1, 0, "a"), (5,)), ("U", (1, 0, "b"), (5,)), ("U", (1, 0, "c"), (6,))])
    assert _reasons(found.bad) == ["another event of its key has the same order"] * 2
    assert found.rows.column("v").to_pylist() == ["c"]


def test_two_deletes_at_one_order_with_other_codes_are_bad_input() -> None:
    assert _changes([("D", (1, 0, "a"), (5,)), ("-U", (1, 0, "a"), (5,))]).counts.bad == 2


def test_at_equal_order_a_delete_precedes_an_insert() -> None:
    found = _changes([("+U", (1, 0, "new"), (5,)), ("-U", (1, 0, "old"), (5,))])
    assert (found.rows.column("v").to_pylist(), found.dead.tolist()) == (["new"], [False])


def test_without_an_order_a_key_has_one_event_in_a_batch() -> None:
    found = _changes([("U", (1, 0, "a"), ()), ("D", (1, 0, "a"), ()), ("D", (2, 0, "b"), ())], orders=0)
    assert found.counts.bad == 2
    assert found.deleted.column("id").to_pylist() == [2]


def test_without_an_order_the_two_images_of_one_update_are_one_event() -> None:
    rules = EventRules(keys=("id",))
    table = event_table(SCHEMA, [("-U", (1, 0, "a"), ()), ("+U", (1, 0, "b"), ())], [])
    table = table.set_column(table.schema.get_field_index(EVENT), EVENT, pa.array([7, 7]))
    (batch,) = table.combine_chunks().to_batches()
    found = key_changes(batch, rules)
    assert (found.counts.bad, found.rows.column("v").to_pylist()) == (0, ["b"])


def test_events_of_a_key_from_two_kafka_partitions_are_bad_input() -> None:
    events = [("U", (1, 0, "a"), (0,)), ("U", (1, 0, "b"), (1,)), ("U", (2, 0, "c"), (1,))]
    found = _changes(events, one_partition=True)
    assert _reasons(found.bad) == ["events of its key come from several Kafka partitions"] * 2
    assert found.rows.column("v").to_pylist() == ["c"]


def test_an_insert_of_a_key_that_the_batch_brought_needs_upsert() -> None:
    events = [("I", (1, 0, "a"), (1,)), ("I", (1, 0, "b"), (2,)), ("I", (1, 0, "c"), (3,)), ("U", (1, 0, "d"), (4,))]
    refused = _changes(events)
    assert refused.counts.bad == 2
    assert refused.rows.column("v").to_pylist() == ["a", "d"]
    taken = _changes(events, upsert=True)
    assert (taken.counts.bad, taken.dead.tolist()) == (0, [True, True, True, False])


def test_null_keys_null_orders_unknown_codes_and_missing_required_values_are_bad_input() -> None:
    events = [
        ("U", (None, 0, "a"), (1,)),
        ("U", (1, 0, "a"), (None,)),
        ("X", (1, 0, "a"), (1,)),
        ("U", (1, 0, None), (1,)),
        ("D", (1, 0, None), (2,)),
    ]
    (batch,) = event_table(SCHEMA, events, [pa.int64()]).to_batches()
    kept, bad = screened(batch, EventRules(keys=("id",), orders=1, required=("v",)))
    assert kept.num_rows == 1
    assert _reasons(bad) == [
        "key column 'id' is null",
        "a column of the order is null",
        "the code is null",
        "column 'v' is required and null",
    ]


@pytest.mark.parametrize(
    ("codes", "upsert", "rows", "deletes_key"),
    [
        ("I", False, ["v0"], False),
        ("I", True, ["v0"], True),
        ("U", False, ["v0"], True),
        ("I U", False, ["v1"], False),
        ("I D", False, [], False),
        ("I D", True, [], True),
        ("D I", False, ["v1"], True),
        ("D", False, [], True),
    ],
)
def test_collapse_keeps_the_last_state_and_the_delete_unless_the_first_event_is_a_plain_insert(
    codes: str, upsert: bool, rows: list[str], deletes_key: bool
) -> None:
    events = [(code, (1, 0, f"v{n}"), (n,)) for n, code in enumerate(codes.split())]
    found = _changes(events, collapse=True, upsert=upsert)
    assert found.rows.column("v").to_pylist() == rows
    assert (found.deleted.num_rows == 1) is deletes_key
    assert not found.dead.any()


def test_a_bad_event_fails_the_batch_by_default_and_leaves_no_file() -> None:
    builder = TableBuilder("id bigint, p int, v string", partition_by=["p"])
    events = [("I", (n, n % 3, "a"), (n,)) for n in range(9)]
    folder = builder.table.location
    store = builder.table._pointer.store_for(folder)
    before = {info.location for info in store.list(folder)}
    with pytest.raises(InvalidInput, match=r"table .*db\.t: an event cannot be applied, the code is null: .*\"id\": 5"):
        write_batch(builder, [*events, ("?", (5, 0, "a"), (5,))], batch_rows=1)
    assert {info.location for info in store.list(folder)} == before


def test_bad_events_can_go_elsewhere_while_the_others_are_applied() -> None:
    builder = TableBuilder("id bigint, p int, v string")
    bad: list[BadEvent] = []
    write_batch(builder, [("I", (1, 0, "a"), (1,)), ("?", (2, 0, "b"), (2,))], on_bad=bad.extend)
    builder.table.refresh()
    assert builder.rows() == [(1, 0, "a")]
    assert [(one.reason, '"id": 2' in one.event) for one in bad] == [("the code is null", True)]


PLACEHOLDER = "__debezium_unavailable_value"


def test_a_value_that_was_not_sent_comes_from_the_earlier_row_of_the_key_in_the_batch() -> None:
    events = [
        ("I", (1, 0, "a"), (1,)),
        ("U", (1, 5, PLACEHOLDER), (2,)),
        ("U", (1, 6, PLACEHOLDER), (3,)),
        ("-U", (2, 0, "b"), (1,)),
        ("+U", (2, 7, PLACEHOLDER), (1,)),
    ]
    found = _changes(events, placeholder=PLACEHOLDER, collapse=True)
    assert found.rows.select(["p", "v"]).to_pylist() == [{"p": 6, "v": "a"}, {"p": 7, "v": "b"}]
    assert found.counts.bad == 0


def test_a_value_that_was_not_sent_and_no_earlier_row_has_is_bad_input_or_left_for_the_table() -> None:
    events = [
        ("U", (1, 5, PLACEHOLDER), (1,)),
        ("I", (2, 0, "a"), (1,)),
        ("D", (2, 0, None), (2,)),
        ("I", (3, 0, "c"), (1,)),
    ]
    events.append(("I", (2, 0, PLACEHOLDER), (3,)))
    found = _changes(events, placeholder=PLACEHOLDER)
    assert [one.reason[:36] for one in found.bad] == ["the value of column 'v' was not sent"] * 2
    kept = _changes(events, placeholder=PLACEHOLDER, keeps_placeholders=True)
    assert (kept.counts.bad, kept.counts.unavailable) == (1, 1)  # of the deleted key the table tells nothing
