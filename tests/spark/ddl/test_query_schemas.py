"""Which columns of a table that is made from a query are required."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from floeberg.spec.schemas.schema import walk_fields

QUERY = "SELECT 1 AS id, named_struct('a', 1) AS s, array(named_struct('b', 1)) AS l, map('k', 1) AS m"


def required(table: Any) -> list[str]:
    """The required columns, but for the keys of maps, which always are."""
    return [name for field, name in walk_fields(table.schema.fields) if field.required and not name.endswith(".key")]


@pytest.mark.parametrize("how", ["CREATE TABLE", "CREATE OR REPLACE TABLE", "create", "createOrReplace", "saveAsTable"])
def test_no_column_of_a_table_made_from_a_query_is_required(session: Any, how: str) -> None:
    name = f"lake.db.{how.replace(' ', '_').lower()}"
    if how.startswith("CREATE"):
        session.sql(f"{how} {name} AS {QUERY}")
    elif how == "saveAsTable":
        session.sql(QUERY).write.format("iceberg").saveAsTable(name)
    else:
        getattr(session.sql(QUERY).writeTo(name), how)()
    table = session.lake.load_table(name.removeprefix("lake."))
    assert required(table) == []
    session.sql(f"INSERT INTO {name} VALUES (NULL, named_struct('a', NULL), array(NULL), map('k', NULL))")
    assert session.table(name).where("id IS NULL").count() == 1


def test_replacing_a_table_by_a_query_makes_its_required_columns_optional(session: Any) -> None:
    session.sql("CREATE TABLE lake.db.was_required (id INT NOT NULL)")
    session.sql(f"REPLACE TABLE lake.db.was_required AS {QUERY}")
    assert required(session.lake.load_table("db.was_required")) == []


def test_a_stream_makes_a_table_without_required_columns(session: Any, tmp_path: Path) -> None:
    rows = session.readStream.format("rate-micro-batch").option("rowsPerBatch", 1).load().selectExpr("1 AS one")
    query = rows.writeStream.option("checkpointLocation", str(tmp_path)).toTable("lake.db.streamed_ones")
    query.stop()
    assert required(session.lake.load_table("db.streamed_ones")) == []
