"""Names of tables and columns may hold anything: each statement and method is run with each name."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

NAMES = ["a.b`c", "{z} ünï ☃ 漢字'\"\n"]


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _rows(session: Any, query: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in session.sql(query).collect()]


@pytest.mark.connect
@pytest.mark.parametrize("number", range(len(NAMES)))
def test_a_name_works_in_every_statement_and_method(session: Any, number: int) -> None:
    name = NAMES[number]
    column, own = quoted(name), quoted(f"names.{{}}{number}")
    table, column_table = f"lake.db.{own}", f"lake.db.names_{number}"
    session.sql(
        f"CREATE TABLE {table} (id INT, {column} STRING, s STRUCT<{column}: INT, y: INT>) PARTITIONED BY ({column})"
    )
    session.sql(f"INSERT INTO {table} VALUES (1, 'p', struct(1, 2)), (2, 'q', struct(4, 5))")
    session.sql(f"INSERT INTO {table} BY NAME SELECT 3 AS id, 'p' AS {column}")
    session.sql(f"INSERT INTO {table} SELECT id + 10, {column}, s FROM {table} WHERE {own}.{column} = 'q'")
    session.sql(f"UPDATE {table} SET {column} = 'u', s.{column} = 100 WHERE {table}.{column} = 'q' AND id = 2")
    session.sql(
        f"MERGE INTO {table} USING (SELECT 1 AS id, 'm' AS {column}) AS {quoted('s' + name)} "
        f"ON {own}.id = {quoted('s' + name)}.id WHEN MATCHED THEN UPDATE SET {column} = {quoted('s' + name)}.{column}"
    )
    session.sql(f"DELETE FROM {table} WHERE {column} IN (SELECT {column} FROM {table} WHERE id = 12)")
    found = _rows(session, f"SELECT id, {column}, s.{column}, {own}.s.y FROM {table} WHERE s.{column} > 0 ORDER BY id")
    assert found == [(1, "m", 1, 2), (2, "u", 100, 5)]
    assert session.table(table).where(F.col(column) == "u").select(column, f"s.{column}").count() == 1
    assert _rows(session, f"SELECT partition.{column} FROM {table}.partitions ORDER BY 1") == [("m",), ("p",), ("u",)]
    assert name in [row[0] for row in session.sql(f"DESCRIBE EXTENDED {table}").collect()]
    schema = StructType.fromDDL(f"id INT, {column} STRING")
    added = session.createDataFrame([(50, "w")], schema)
    added.writeTo(table).append()
    added.writeTo(table).overwrite(F.col(column) == "w")
    added.mergeInto(table, F.col(f"{own}.id") == added["id"]).whenMatched().update({column: F.lit("v")}).merge()
    session.table(table).writeTo(column_table).partitionedBy(F.partitioning.bucket(2, F.col(column))).create()
    assert _rows(session, f"SELECT id FROM {column_table} WHERE {column} = 'v'") == [(50,)]
