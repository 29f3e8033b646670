"""Rows of Debezium's events as structs are matched by name, and lists that were not sent come from the table."""

from __future__ import annotations

import json
from typing import Any

import pytest

import floeberg as fb
from floeberg.errors import InvalidInput

PLACEHOLDER = "__debezium_unavailable_value"


def test_the_row_before_is_matched_to_the_row_after_by_names(session: Any) -> None:
    session.sql("CREATE TABLE lake.db.by_name (id bigint, other bigint, v string)")
    session.sql("INSERT INTO lake.db.by_name VALUES (1, 2, 'a'), (2, 1, 'b'), (3, 3, 'c')")
    after = "after struct<id: bigint, other: bigint, v: string>"
    events = [("d", (2, 1), None, 1), ("u", (1, 3), (4, 1, "c2"), 2)]
    frame = session.createDataFrame(events, f"op string, before struct<other: bigint, ID: bigint>, {after}, n bigint")
    fb.cdc(frame, "lake.db.by_name", keys="id", format="debezium", order_by="n")
    found = session.sql("SELECT * FROM lake.db.by_name ORDER BY id").collect()
    assert [tuple(row) for row in found] == [(2, 1, "b"), (4, 1, "c2")]
    text = session.createDataFrame([("d", "x", None, 1)], f"op string, before string, {after}, n bigint")
    with pytest.raises(InvalidInput, match=r"before is string, not a struct"):
        fb.cdc(text, "lake.db.by_name", keys="id", format="debezium", order_by="n")


def test_lists_that_were_not_sent_are_taken_from_the_table(session: Any) -> None:
    session.sql("CREATE TABLE lake.db.lists (id bigint, v int, texts array<string>, numbers array<int>)")
    session.sql("INSERT INTO lake.db.lists VALUES (1, 0, array('a', 'b'), array(1, 2)), (2, 0, null, array(3))")
    rows = [
        {"id": 1, "v": 1, "texts": [PLACEHOLDER], "numbers": list(PLACEHOLDER.encode())},
        {"id": 2, "v": 2, "texts": ["c"], "numbers": list(PLACEHOLDER.encode())},
    ]
    events = [(n, json.dumps({"op": "u", "before": None, "after": row})) for n, row in enumerate(rows)]
    frame = session.createDataFrame(events, "n bigint, value string")
    with pytest.raises(Exception, match=r"was not sent"):
        fb.cdc(frame, "lake.db.lists", keys="id", format="debezium", order_by="n")
    fb.cdc(frame, "lake.db.lists", keys="id", format="debezium", order_by="n", lookup="position")
    found = session.sql("SELECT * FROM lake.db.lists ORDER BY id").collect()
    assert [tuple(row) for row in found] == [(1, 1, ["a", "b"], [1, 2]), (2, 2, ["c"], [3])]
