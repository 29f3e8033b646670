"""What stands beside the columns of a new table: its location, who made it, and names of properties that are no properties."""

from __future__ import annotations

from typing import Any

import pytest


def test_the_property_location_of_a_writer_is_where_the_table_lies(session: Any, tmp_path: Any) -> None:
    frame = session.sql("SELECT 1L AS id")
    for create in ("create", "replace", "createOrReplace"):
        place = str(tmp_path / create)
        getattr(frame.writeTo("books.db.placed").tableProperty("location", place), create)()
        table = session.books.load_table("db.placed")
        assert table.metadata.location.endswith(place)
        assert all(f"{place}/data/" in path for path in table.inspect.files()["file_path"].to_pylist())
        assert "location" not in table.properties


def test_a_new_table_says_which_application_made_its_rows(session: Any) -> None:
    session.sql("CREATE TABLE lake.db.said AS SELECT 1L AS id")
    session.sql("INSERT INTO lake.db.said VALUES (2L)")
    session.sql("DELETE FROM lake.db.said WHERE id = 1")
    found = session.sql("SELECT summary['spark.app.id'], summary['engine-name'] FROM lake.db.said.snapshots").collect()
    assert {tuple(row) for row in found} == {(session.conf.get("spark.app.id"), "spark")}
    assert len(found) == 3


@pytest.mark.parametrize(
    ("property_name", "way_out"),
    [
        ("sort-order", "WRITE ORDERED BY"),
        ("identifier-fields", "SET IDENTIFIER FIELDS"),
        ("location", "SET LOCATION"),
        ("provider", r"write\.format\.default"),
    ],
)
def test_a_property_that_another_statement_sets_is_refused(session: Any, property_name: str, way_out: str) -> None:
    session.sql("CREATE TABLE IF NOT EXISTS lake.db.reserved (id BIGINT)")
    with pytest.raises(Exception, match=way_out):
        session.sql(f"ALTER TABLE lake.db.reserved SET TBLPROPERTIES ('{property_name}' = 'id')")
    assert property_name not in session.lake.load_table("db.reserved").properties


def test_a_location_among_the_properties_of_a_new_table_is_refused(session: Any) -> None:
    with pytest.raises(Exception, match="LOCATION"):
        session.sql("CREATE TABLE lake.db.misplaced (id BIGINT) TBLPROPERTIES ('location' = '/elsewhere')")
    assert not session.lake.table_exists("db.misplaced")


def test_what_show_create_table_says_can_be_run_for_another_table(session: Any) -> None:
    session.sql("CREATE TABLE lake.db.model (id BIGINT NOT NULL, d STRING) PARTITIONED BY (bucket(4, id)) COMMENT 'c'")
    session.sql("ALTER TABLE lake.db.model WRITE ORDERED BY d")
    session.sql("ALTER TABLE lake.db.model SET IDENTIFIER FIELDS id")
    session.sql("INSERT INTO lake.db.model VALUES (1, 'a')")
    text = session.sql("SHOW CREATE TABLE lake.db.model").collect()[0][0]
    location = session.lake.load_table("db.model").metadata.location
    session.sql(text.replace("lake.db.model", "lake.db.second").replace(location, location.replace("model", "second")))
    second = session.lake.load_table("db.second")
    assert [(one.name, one.required) for one in second.schema.fields] == [("id", True), ("d", False)]
    assert str(second.spec.fields[0].transform) == "bucket[4]"
    assert not {"sort-order", "identifier-fields", "current-snapshot-id", "format"} & second.properties.keys()
