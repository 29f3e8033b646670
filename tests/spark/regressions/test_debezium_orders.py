"""Debezium's orders that are text with numbers in it: the tenth comes after the ninth, in JSON text and in structs."""

from __future__ import annotations

import json
from typing import Any

import pytest

import floeberg as fb

STRUCT = (
    "op string, before struct<id: bigint, name: string>, after struct<id: bigint, name: string>, "
    "source struct<file: string, pos: bigint, row: int, sequence: string>"
)
PLACES = [("mysql-bin.999999", 9, '["999","1001"]'), ("mysql-bin.1000000", 4, '["1000","1002"]')]


def events() -> list[dict[str, Any]]:
    return [
        {
            "op": "u",
            "before": None,
            "after": {"id": 1, "name": name},
            "source": {"file": file, "pos": pos, "row": 0, "sequence": sequence},
        }
        for name, (file, pos, sequence) in zip(("older", "newer"), PLACES, strict=True)
    ]


@pytest.mark.parametrize("order_by", [None, "source.sequence"])
@pytest.mark.parametrize("form", ["text", "struct"])
def test_the_later_of_two_updates_wins(session: Any, form: str, order_by: str | None) -> None:
    table = f"lake.db.ordered_{form}_{'default' if order_by is None else 'sequence'}"
    session.sql(f"CREATE TABLE {table} (id bigint, name string)")
    for given in (events(), events()[::-1]):
        frame = session.createDataFrame(given, STRUCT)
        if form == "text":
            frame = session.createDataFrame([(json.dumps(one),) for one in given], "value string")
        fb.cdc(frame, table, keys="id", format="debezium", order_by=order_by)
        assert [row.name for row in session.table(table).collect()] == ["newer"]
