"""Queries over our tables: what is pruned, views, parameters, frames in text, readers."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import floeberg as fb
from floeberg.errors import InvalidInput, UnsupportedFeature

pytestmark = pytest.mark.connect


@pytest.fixture(scope="module")
def numbers(session: Any) -> Any:
    """`lake.db.numbers`: three files of one row each, with bounds that tell them apart."""
    session.sql("CREATE TABLE lake.db.numbers (id BIGINT, name STRING)")
    table = _lake(session).load_table("db.numbers")
    for number in (1, 2, 3):
        table.append(pa.table({"id": [number], "name": [f"n{number}"]}))
    return session


def _lake(session: Any) -> fb.Catalog:
    from floeberg.spark.host.session import session_of

    return fb.Catalog(session_of(session).backend("lake"))


def _rows(frame: Any) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in frame.collect())


def test_conditions_of_a_query_leave_out_files(numbers: Any) -> None:
    frame = numbers.sql("SELECT name FROM lake.db.numbers n WHERE n.id = 2")
    assert _rows(frame) == [("n2",)]
    assert "1 files planned of 3" in fb.explain(frame)


def test_parameters_prune_and_number_right(numbers: Any) -> None:
    frame = numbers.sql("SELECT id FROM lake.db.numbers WHERE id = :wanted", args={"wanted": 3})
    assert _rows(frame) == [(3,)]
    assert _rows(numbers.sql("SELECT ? AS a, id FROM lake.db.numbers WHERE id > ?", args=["x", 2])) == [("x", 3)]


def test_frames_and_our_tables_stand_in_one_text(numbers: Any) -> None:
    frame = numbers.sql("SELECT name FROM lake.db.numbers JOIN {few} USING (id)", few=numbers.range(3))
    assert _rows(frame) == [("n1",), ("n2",)]


def test_braces_in_a_text_are_no_placeholders(numbers: Any) -> None:
    assert _rows(numbers.sql("SELECT '{id}' AS a FROM lake.db.numbers WHERE id = 1")) == [("{id}",)]


def test_identifier_of_a_parameter_is_resolved(numbers: Any) -> None:
    frame = numbers.sql("SELECT id FROM IDENTIFIER(:t) WHERE id = 1", args={"t": "lake.db.numbers"})
    assert _rows(frame) == [(1,)]


def test_a_view_of_a_tables_frame_is_remembered_and_prunes(numbers: Any) -> None:
    numbers.table("lake.db.numbers").createOrReplaceTempView("seen")
    frame = numbers.sql("SELECT * FROM seen WHERE id = 1")
    assert _rows(frame) == [(1, "n1")]
    assert "1 files planned of 3" in fb.explain(frame)
    numbers.range(2).createOrReplaceTempView("seen")
    assert _rows(numbers.sql("SELECT * FROM seen")) == [(0,), (1,)]
    numbers.catalog.dropTempView("seen")


def test_conditions_reach_through_a_view_of_text(numbers: Any) -> None:
    numbers.sql("CREATE OR REPLACE TEMP VIEW texts AS SELECT id AS key, name FROM lake.db.numbers")
    frame = numbers.sql("SELECT name FROM texts WHERE key = 2")
    assert _rows(frame) == [("n2",)]
    assert "1 files planned of 3" in fb.explain(frame)
    assert _rows(numbers.table("texts").where("key = 3").select("name")) == [("n3",)]
    numbers.sql("DROP VIEW texts")


def test_views_of_a_catalog_are_kept_with_their_place(session: Any, numbers: Any) -> None:
    session.sql("USE lake.db")
    session.sql("CREATE VIEW books.db.high (k COMMENT 'the key') AS SELECT id FROM numbers WHERE id > 1")
    session.sql("USE spark_catalog")
    assert _rows(session.sql("SELECT k FROM books.db.high")) == [(2,), (3,)]
    assert [tuple(row) for row in session.sql("SHOW VIEWS IN books.db").collect()] == [("db", "high", False)]
    assert "WHERE id > 1" in session.sql("SHOW CREATE TABLE books.db.high").collect()[0][0]
    session.sql("ALTER VIEW books.db.high SET TBLPROPERTIES ('by' = 'us')")
    assert session.sql("SHOW TBLPROPERTIES books.db.high ('by')").collect()[0][1] == "us"
    session.sql("CREATE OR REPLACE VIEW books.db.high AS SELECT name FROM lake.db.numbers WHERE id = 1")
    assert _rows(session.table("books.db.high")) == [("n1",)]
    session.sql("DROP VIEW books.db.high")
    with pytest.raises(UnsupportedFeature, match="temporary"):
        session.sql("CREATE VIEW default.v AS SELECT * FROM lake.db.numbers")


def test_time_travel_by_sql_by_name_and_by_option(numbers: Any) -> None:
    first = numbers.sql("SELECT snapshot_id FROM lake.db.numbers.snapshots ORDER BY committed_at").collect()[0][0]
    assert _rows(numbers.sql(f"SELECT id FROM lake.db.numbers VERSION AS OF {first}")) == [(1,)]
    assert _rows(numbers.sql(f"SELECT id FROM lake.db.numbers.snapshot_id_{first}")) == [(1,)]
    assert _rows(numbers.read.option("snapshot-id", first).table("lake.db.numbers").select("id")) == [(1,)]
    assert numbers.sql("SELECT id FROM lake.db.numbers TIMESTAMP AS OF now()").count() == 3
    with pytest.raises(InvalidInput, match="twice"):
        numbers.sql(f"SELECT id FROM lake.db.numbers.snapshot_id_{first} VERSION AS OF {first}")


def test_tables_are_loaded_by_name_and_by_path(numbers: Any) -> None:
    assert numbers.read.format("iceberg").load("lake.db.numbers").count() == 3
    location = _lake(numbers).load_table("db.numbers").location
    assert numbers.read.format("floeberg").load(location).count() == 3
    assert "file_path" in numbers.read.format("iceberg").load(f"{location}#files").columns


def test_metadata_columns_come_when_they_are_named(numbers: Any) -> None:
    rows = _rows(numbers.sql("SELECT id, _pos, _file LIKE '%.parquet' AS f FROM lake.db.numbers"))
    assert rows == [(1, 0, True), (2, 0, True), (3, 0, True)]


def test_a_table_is_a_frame_without_attaching(numbers: Any) -> None:
    table = _lake(numbers).load_table("db.numbers")
    frame = table.to_spark(numbers, select=["name"], where="id >= 2")
    assert _rows(frame) == [("n2",), ("n3",)]


def test_writers_create_append_and_overwrite(session: Any) -> None:
    frame = session.createDataFrame([(1, "a"), (2, "b")], "id BIGINT, p STRING")
    frame.writeTo("lake.db.written").partitionedBy("p").tableProperty("x", "y").create()
    frame.where("id = 1").write.mode("append").insertInto("lake.db.written")
    assert _rows(session.table("lake.db.written")) == [(1, "a"), (1, "a"), (2, "b")]
    frame.where("id = 1").writeTo("lake.db.written").overwritePartitions()
    assert _rows(session.table("lake.db.written")) == [(1, "a"), (2, "b")]
    frame.where("id = 2").write.format("iceberg").mode("overwrite").saveAsTable("lake.db.written")
    assert _rows(session.table("lake.db.written")) == [(2, "b")]
