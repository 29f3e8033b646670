"""Columns that come with the rows, in tables that have required columns, identifier fields and types that Spark lacks."""

from __future__ import annotations

from typing import Any

import pytest

import floeberg as fb

TABLE = "lake.db.widened"
SOURCE = (
    "SELECT 1L AS id, 'f79c3e09-677c-4bbd-a479-3f349cb785e7' AS u, X'61626364' AS fx, 5L AS tm, "
    "TIMESTAMP_NTZ '2024-01-01 00:00:00' AS ns, named_struct('u', '00000000-0000-0000-0000-000000000001') AS st, "
    "array(X'6162') AS ar, map('00000000-0000-0000-0000-000000000001', X'6162') AS mp, 7 AS added"
)


@pytest.fixture
def table(session: Any) -> Any:
    session.lake.drop_table("db.widened", if_exists=True)
    made = session.lake.create_table(
        "db.widened",
        "id bigint not null, u uuid, fx fixed(4), tm time, ns timestamp_ns, st struct<u: uuid>, ar array<fixed(2)>, "
        "mp map<uuid, fixed(2)>",
        format_version=3,
    )
    with made.update_schema() as change:
        change.set_identifier_fields(["id"])
    return made


def write(session: Any, way: str) -> None:
    source = session.sql(SOURCE)
    if way == "merge":
        session.sql(
            f"MERGE WITH SCHEMA EVOLUTION INTO {TABLE} t USING ({SOURCE}) s ON t.id = s.id WHEN NOT MATCHED THEN INSERT *"
        )
    elif way == "append":
        source.writeTo(TABLE).option("mergeSchema", "true").append()
    else:
        fb.cdc(source.selectExpr("*", "'I' AS op", "1L AS ord"), TABLE, op="op", order_by="ord", merge_schema=True)


@pytest.mark.parametrize("way", ["merge", "append", "cdc"])
def test_a_column_is_added_and_the_others_stay_what_they_are(session: Any, table: Any, way: str) -> None:
    before = table.schema
    write(session, way)
    after = table.refresh().schema
    assert after.fields[:-1] == before.fields
    assert after.identifier_field_ids == before.identifier_field_ids
    assert (after.fields[-1].name, after.fields[-1].required) == ("added", False)
    assert [tuple(row) for row in session.sql(f"SELECT id, fx, tm, added FROM {TABLE}").collect()] == [
        (1, bytearray(b"abcd"), 5, 7)
    ]
