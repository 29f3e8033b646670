"""Sort orders: https://iceberg.apache.org/spec/#sorting"""

from __future__ import annotations

import math
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from floeberg.errors import InvalidInput, MetadataCorrupt
from floeberg.spec.partitions.sort_orders import (
    UNSORTED,
    NullOrder,
    SortDirection,
    SortField,
    SortOrder,
    build_sort_order,
    parse_sort_term,
    sort_order_from_json,
    sort_order_to_json,
)
from floeberg.spec.partitions.transforms import (
    DAY,
    HOUR,
    IDENTITY,
    BucketTransform,
    TruncateTransform,
    UnknownTransform,
)
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.types import DOUBLE, LONG, STRING, TIMESTAMP, ListType, NestedField
from models.sort_key import row_key

SCHEMA = Schema(
    NestedField(1, "id", LONG),
    NestedField(2, "ratio", DOUBLE),
    NestedField(3, "ts", TIMESTAMP),
    NestedField(4, "data", STRING),
    NestedField(5, "tags", ListType(6, STRING)),
)
ORDER_JSON = {
    "order-id": 1,
    "fields": [
        {"transform": "identity", "source-id": 2, "direction": "asc", "null-order": "nulls-first"},
        {"transform": "bucket[4]", "source-id": 3, "direction": "desc", "null-order": "nulls-last"},
    ],
}
NULLS_LAST, NULLS_FIRST = NullOrder.NULLS_LAST, NullOrder.NULLS_FIRST
ASC, DESC = SortDirection.ASC, SortDirection.DESC


def test_the_example_of_appendix_c_is_read_and_written() -> None:
    order = sort_order_from_json(ORDER_JSON)
    assert order.fields == (SortField((2,), IDENTITY), SortField((3,), BucketTransform(4), DESC, NULLS_LAST))
    assert sort_order_to_json(order) == ORDER_JSON


def test_order_id_0_is_the_unsorted_order_and_only_it() -> None:
    assert sort_order_from_json({"order-id": 0, "fields": []}) == UNSORTED
    for bad in ({"order-id": 1, "fields": []}, {**ORDER_JSON, "order-id": 0}):
        with pytest.raises(MetadataCorrupt, match="id 0"):
            sort_order_from_json(bad)
    with pytest.raises(InvalidInput, match="id 0"):
        SortOrder(0, (SortField((1,), IDENTITY),))


def test_several_source_ids_and_unknown_transforms_survive() -> None:
    obj = {
        "order-id": 2,
        "fields": [{"transform": "zorder", "source-ids": [1, 2], "direction": "asc", "null-order": "nulls-first"}],
    }
    order = sort_order_from_json(obj)
    assert order.fields[0].transform == UnknownTransform("zorder")
    assert sort_order_to_json(order) == obj


FIELD = ORDER_JSON["fields"][0]  # type: ignore[index]


@pytest.mark.parametrize(
    "obj",
    [
        None,
        {},
        {"order-id": "1", "fields": []},
        {"order-id": 1, "fields": None},
        {"order-id": 1, "fields": [None]},
        {"order-id": 1, "fields": [{}]},
        {"order-id": 1, "fields": [{**FIELD, "direction": "up"}]},
        {"order-id": 1, "fields": [{**FIELD, "direction": None}]},
        {"order-id": 1, "fields": [{**FIELD, "null-order": "nulls"}]},
        {"order-id": 1, "fields": [{**FIELD, "transform": "truncate[0]"}]},
        {"order-id": 1, "fields": [{**FIELD, "source-id": "2"}]},
    ],
)
def test_a_malformed_order_is_corrupt(obj: object) -> None:
    with pytest.raises(MetadataCorrupt):
        sort_order_from_json(obj)


@pytest.mark.parametrize(
    ("text", "column", "direction", "null_order"),
    [
        ("ts", "ts", ASC, NULLS_FIRST),
        ("ts asc", "ts", ASC, NULLS_FIRST),
        ("ts desc", "ts", DESC, NULLS_LAST),
        ("ts DESC NULLS FIRST", "ts", DESC, NULLS_FIRST),
        ("ts nulls last", "ts", ASC, NULLS_LAST),
        ("  `desc`   desc  ", "desc", DESC, NULLS_LAST),
    ],
)
def test_terms_are_read_as_people_write_them(
    text: str, column: str, direction: SortDirection, null_order: NullOrder
) -> None:
    term = parse_sort_term(text)
    assert (term.term.column, term.direction, term.null_order) == (column, direction, null_order)


def test_an_order_is_built_from_terms() -> None:
    order = build_sort_order(SCHEMA, ["day(ts) desc nulls last", "bucket(4, id)", "data"])
    assert order == SortOrder(
        1,
        (
            SortField((3,), DAY, DESC, NULLS_LAST),
            SortField((1,), BucketTransform(4)),
            SortField((4,), IDENTITY),
        ),
    )
    assert build_sort_order(SCHEMA, []) is UNSORTED


@pytest.mark.parametrize(
    "text", ["", "desc nulls", "nope", "ts sideways", "tags", "tags.element", "day(id)", "ts asc desc"]
)
def test_a_term_that_does_not_fit_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        build_sort_order(SCHEMA, [text])


def test_validation_wants_every_source_column() -> None:
    with pytest.raises(InvalidInput, match="no column with id 77"):
        SortOrder(1, (SortField((77,), IDENTITY),)).validate(SCHEMA)
    with pytest.raises(InvalidInput, match="does not take"):
        SortOrder(1, (SortField((1,), DAY),)).validate(SCHEMA)


def order(*terms: str) -> SortOrder:
    return build_sort_order(SCHEMA, terms)


@pytest.mark.parametrize(
    ("mine", "theirs", "expected"),
    [
        (["ts"], [], True),
        ([], ["ts"], False),
        (["ts", "id"], ["ts"], True),
        (["ts"], ["ts", "id"], False),
        (["ts"], ["day(ts)"], True),
        (["hour(ts)"], ["day(ts)"], True),
        (["day(ts)"], ["hour(ts)"], False),
        (["ts desc"], ["ts"], False),
        (["ts"], ["ts nulls last"], False),
        (["truncate(8, data)"], ["truncate(4, data)"], True),
        (["truncate(8, id)"], ["truncate(4, id)"], False),
        (["ts", "id"], ["day(ts)", "id"], False),
    ],
)
def test_an_order_satisfies_those_it_refines(mine: list[str], theirs: list[str], expected: bool) -> None:
    assert order(*mine).satisfies(order(*theirs), SCHEMA) is expected


def test_truncations_are_not_compared_without_a_schema() -> None:
    wide, narrow = (SortField((4,), TruncateTransform(w)) for w in (8, 4))
    assert not wide.satisfies(narrow)
    assert SortField((3,), HOUR).satisfies(SortField((3,), DAY))


FLOATS = [-math.inf, -1.5, -0.0, 0.0, 2.5, math.inf, struct.unpack("<d", struct.pack("<Q", 0x7FF8 << 48))[0]]


def test_rows_sort_by_direction_null_order_and_the_order_of_floats() -> None:
    rows = [{2: value} for value in (*reversed(FLOATS), None)]

    def sorted_by(*terms: str) -> list[object]:
        return [repr(row[2]) for row in sorted(rows, key=lambda row: row_key(order(*terms), SCHEMA, row))]

    ascending = [repr(value) for value in FLOATS]
    assert sorted_by("ratio") == ["None", *ascending]
    assert sorted_by("ratio nulls last") == [*ascending, "None"]
    assert sorted_by("ratio desc") == [*reversed(ascending), "None"]
    assert sorted_by("ratio desc nulls first") == ["None", *reversed(ascending)]


@given(st.lists(st.tuples(st.none() | st.integers(-(10**9), 10**9), st.none() | st.integers(0, 3))))
def test_rows_in_an_order_are_in_every_order_it_satisfies(values: list[tuple[int | None, int | None]]) -> None:
    mine = order("hour(ts)", "id desc")
    rows = sorted(({3: ts, 1: i} for ts, i in values), key=lambda row: row_key(mine, SCHEMA, row))
    for theirs in (order("hour(ts)"), order("day(ts)"), mine):
        assert mine.satisfies(theirs, SCHEMA)
        keys = [row_key(theirs, SCHEMA, row) for row in rows]
        assert keys == sorted(keys)
