"""Writes of DataFrames and INSERTs: columns lined up, schemas merged, branches, and nothing left of what failed."""

from __future__ import annotations

import os
from typing import Any

import pytest

from floeberg.errors import InvalidInput


def make(session: Any, name: str, columns: str = "id BIGINT NOT NULL, name STRING", extra: str = "") -> str:
    table = f"lake.db.{name}"
    session.sql(f"DROP TABLE IF EXISTS {table}")
    session.sql(f"CREATE TABLE {table} ({columns}) USING iceberg {extra}")
    return table


def rows(session: Any, table: str) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in session.sql(f"SELECT * FROM {table}").collect()), key=repr)


@pytest.mark.connect
def test_new_columns_come_with_their_rows_in_one_commit(session: Any) -> None:
    table = make(session, "merged")
    session.sql(f"INSERT INTO {table} VALUES (1L, 'a')")
    versions = len(session.lake.load_table("db.merged").metadata.metadata_log)
    frame = session.sql("SELECT 2L AS id, 'b' AS name, 7 AS extra")
    frame.writeTo(table).option("mergeSchema", "true").append()
    assert rows(session, table) == [(1, "a", None), (2, "b", 7)]
    loaded = session.lake.load_table("db.merged")
    assert len(loaded.metadata.metadata_log) == versions + 1
    assert loaded.schema.field("extra").required is False


def test_columns_are_found_by_name_and_checked_before_anything_is_written(session: Any) -> None:
    table = make(session, "named")
    session.sql("SELECT 'b' AS NAME, 2 AS ID").writeTo(table).append()
    assert rows(session, table) == [(2, "b")]
    for query in ("SELECT 2L AS id, 'x' AS other", "SELECT 'text' AS id, 'x' AS name", "SELECT 'x' AS name"):
        with pytest.raises(InvalidInput):
            session.sql(query).writeTo(table).append()
    assert rows(session, table) == [(2, "b")]


def test_a_null_in_a_required_column_fails_the_write_and_leaves_no_file_of_its_task(session: Any) -> None:
    table = make(session, "required")
    with pytest.raises(InvalidInput, match="required"):
        session.sql("SELECT IF(id = 3, NULL, id) AS id, 'x' AS name FROM range(0, 5, 1, 1)").writeTo(table).append()
    loaded = session.lake.load_table("db.required")
    folder = loaded.metadata.location.removeprefix("file://")
    assert loaded.current_snapshot is None
    assert not any(files for _, _, files in os.walk(os.path.join(folder, "data")))


@pytest.mark.connect
def test_static_and_dynamic_overwrites_replace_what_they_say(session: Any) -> None:
    table = make(session, "overwritten", extra="PARTITIONED BY (name)")
    session.sql(f"INSERT INTO {table} VALUES (1L, 'a'), (2L, 'b'), (3L, 'c')")
    session.sql(f"INSERT OVERWRITE {table} PARTITION (name = 'b') SELECT 20L")
    assert rows(session, table) == [(1, "a"), (20, "b"), (3, "c")]
    session.sql("SELECT 30L AS id, 'c' AS name").writeTo(table).overwritePartitions()
    assert rows(session, table) == [(1, "a"), (20, "b"), (30, "c")]
    session.sql(f"INSERT OVERWRITE {table} SELECT 9L, 'z'")
    assert rows(session, table) == [(9, "z")]


def test_a_wap_branch_is_made_by_its_first_write(session: Any) -> None:
    table = make(session, "audited", extra="TBLPROPERTIES ('write.wap.enabled' = 'true')")
    session.sql(f"INSERT INTO {table} VALUES (1L, 'a')")
    session.conf.set("spark.wap.branch", "audit")
    try:
        session.sql(f"INSERT INTO {table} VALUES (2L, 'b')")
    finally:
        session.conf.unset("spark.wap.branch")
    assert rows(session, table) == [(1, "a")]
    assert rows(session, f"{table}.branch_audit") == [(1, "a"), (2, "b")]


def test_snapshots_say_which_engine_made_them_and_what_the_writer_added(session: Any) -> None:
    table = make(session, "summaries")
    session.sql("SELECT 1L AS id, 'a' AS name").writeTo(table).option("snapshot-property.job", "nightly").append()
    summary = session.lake.load_table("db.summaries").current_snapshot.summary
    assert (summary["engine-name"], summary["engine-version"], summary["job"]) == ("spark", session.version, "nightly")
