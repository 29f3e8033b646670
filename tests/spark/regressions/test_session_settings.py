"""Settings decide what SQL text means, in every statement and however they are written."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from pyspark.sql import functions as F


@contextmanager
def settings(session: Any, **values: str) -> Iterator[None]:
    known = {f"spark.sql.{key.replace('_', '.')}": value for key, value in values.items()}
    before = {key: session.conf.get(key) for key in known}
    for key, value in known.items():
        session.conf.set(key, value)
    try:
        yield
    finally:
        for key, value in before.items():
            session.conf.set(key, value)


def columns_in_quotes(session: Any, name: str) -> str:
    table = f"lake.db.{name}"
    session.sql(f"CREATE TABLE {table} (id INT, s STRING, t STRING) PARTITIONED BY (s)")
    session.sql(f"INSERT INTO {table} VALUES (1, 't', 'x'), (2, 'a', 'a'), (3, 'b', 'c')")
    return table


@pytest.mark.parametrize("written", ["true", "TRUE"])
def test_a_name_in_double_quotes_is_no_string(session: Any, written: str) -> None:
    table = columns_in_quotes(session, f"quoted_{written == 'true'}")
    with settings(session, ansi_doubleQuotedIdentifiers=written):
        assert [row.id for row in session.table(table).where('s = "t"').collect()] == [2]
        assert [row.id for row in session.sql(f'SELECT id FROM {table} WHERE s = "t"').collect()] == [2]
        session.sql(f'UPDATE {table} SET id = 20 WHERE s = "t"')
        session.sql(f'DELETE FROM {table} WHERE s = "t"')
        assert sorted(row.id for row in session.table(table).collect()) == [1, 3]


def test_rows_are_overwritten_by_columns_in_double_quotes(session: Any) -> None:
    table = columns_in_quotes(session, "quoted_overwrite")
    with settings(session, ansi_doubleQuotedIdentifiers="true"):
        empty = session.table(table).limit(0)
        empty.writeTo(table).overwrite(F.expr('s = "t"'))
        assert sorted(row.id for row in session.table(table).collect()) == [1, 3]


def test_case_matters_when_the_setting_is_written_in_capitals(session: Any) -> None:
    with settings(session, caseSensitive="TRUE"):
        session.sql("CREATE TABLE lake.db.cases (a INT)")
        with session.lake.load_table("db.cases").update_schema() as update:
            update.add_column("A", "int")
        session.sql("INSERT INTO lake.db.cases VALUES (1, 2)")
        session.sql("UPDATE lake.db.cases SET A = 5 WHERE A = 2")
        assert [tuple(row) for row in session.table("lake.db.cases").collect()] == [(1, 5)]


def test_a_column_of_the_name_of_generated_positions_keeps_its_values(session: Any) -> None:
    session.sql(
        "CREATE TABLE lake.db.positions (`_tmp_metadata_row_index` BIGINT, id INT) "
        "TBLPROPERTIES ('format-version' = '2', 'write.delete.mode' = 'merge-on-read')"
    )
    session.sql("INSERT INTO lake.db.positions SELECT /*+ COALESCE(1) */ * FROM VALUES (70, 1), (80, 2), (90, 3)")
    session.sql("DELETE FROM lake.db.positions WHERE id = 2")
    rows = session.table("lake.db.positions").collect()
    assert sorted(tuple(row) for row in rows) == [(70, 1), (90, 3)]
