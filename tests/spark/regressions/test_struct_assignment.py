"""Nested values are stored as Spark stores them in its own tables, by position and by name; plain Spark is the oracle."""

from __future__ import annotations

import random
from typing import Any

import pytest
from pyspark.errors import PySparkException

from floeberg.errors import FloebergError, InvalidInput, UnsupportedFeature
from strategies.struct_values import literal, near_type, random_type


def _outcome(session: Any, statement: str, table: str) -> list[Any] | None:
    """The rows of the table after a statement; None when that fails."""
    try:
        session.sql(statement)
    except (FloebergError, PySparkException):
        return None
    return sorted((row.asDict(recursive=True) for row in session.table(table).collect()), key=repr)


@pytest.mark.parametrize("seed", range(4))
def test_random_nested_values_are_inserted_as_into_a_table_of_spark(session: Any, seed: int) -> None:
    rng = random.Random(seed)
    by_name, faults = seed % 2 == 1, 0.06 if seed % 4 > 1 else 0.0
    wanted = [random_type(rng) for _ in range(3)]
    given = [near_type(rng, one, by_name=by_name, faults=faults) for one in wanted]
    columns = ", ".join(f"v{place} {one.ddl()}" for place, one in enumerate(wanted))
    rows = [[f"{literal(rng, one)} AS v{place}" for place, one in enumerate(given)] for _ in range(4)]
    query = " UNION ALL ".join(f"SELECT {', '.join(row)}" for row in rows)
    theirs, ours = f"struct_values_{seed}", f"lake.db.struct_values_{seed}"
    session.sql(f"CREATE TABLE {theirs} ({columns}) USING parquet")
    session.sql(f"CREATE TABLE {ours} ({columns}) USING iceberg")
    try:
        inserts = [f"INSERT INTO {table} {'BY NAME ' * by_name}{query}" for table in (theirs, ours)]
        expected, found = (_outcome(session, one, table) for one, table in zip(inserts, (theirs, ours), strict=True))
        assert found == expected, inserts[1]
        assert expected is not None or faults, inserts[0]
    finally:
        session.sql(f"DROP TABLE {theirs}")


@pytest.mark.connect
def test_structs_are_inserted_by_position_and_assigned_by_name(session: Any) -> None:
    session.sql("CREATE TABLE lake.db.points (id INT, p STRUCT<x: INT, y: STRING>, l ARRAY<STRUCT<x: INT, y: BIGINT>>)")
    session.sql("INSERT INTO lake.db.points VALUES (1, struct(1, 'a'), array(struct(1, 2)))")
    session.sql("INSERT INTO lake.db.points SELECT 2, named_struct('y', 5, 'x', 'b'), NULL")
    session.sql("UPDATE lake.db.points SET p = named_struct('y', 'u', 'x', 9) WHERE id = 1")
    session.sql(
        "MERGE INTO lake.db.points t USING (SELECT 2 id, array(named_struct('y', 7, 'x', 8)) l) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET l = s.l"
    )
    source = session.sql("SELECT 3 id, named_struct('y', 'm', 'x', 4) p, array(named_struct('Y', 1, 'X', 2)) l")
    source.mergeInto("lake.db.points", "points.id = 3").whenNotMatched().insertAll().merge()
    rows = [tuple(row) for row in session.sql("SELECT id, p.x, p.y, l[0].x, l[0].y FROM lake.db.points").collect()]
    assert sorted(rows) == [(1, 9, "u", 1, 2), (2, 5, "b", 8, 7), (3, 4, "m", 2, 1)]
    with pytest.raises(InvalidInput, match="by name"):
        session.sql("UPDATE lake.db.points SET p = struct(1, 'a')")


def test_an_assigned_value_is_evaluated_once_where_its_fields_change_places(session: Any) -> None:
    session.sql("CREATE TABLE lake.db.once (id INT, p STRUCT<a: DOUBLE, b: DOUBLE>)")
    session.sql("INSERT INTO lake.db.once SELECT id, NULL FROM range(20)")
    session.sql("UPDATE lake.db.once SET p = transform(array(rand()), v -> named_struct('b', v, 'a', v))[0]")
    assert session.sql("SELECT * FROM lake.db.once WHERE p.a = p.b").count() == 20


def test_without_ansi_a_nested_value_that_does_not_fit_raises(session: Any) -> None:
    session.sql("CREATE TABLE lake.db.loose (id INT, l ARRAY<STRUCT<x: INT>>, m MAP<STRING, DECIMAL(3,1)>)")
    session.conf.set("spark.sql.ansi.enabled", "false")
    try:
        session.sql("INSERT INTO lake.db.loose VALUES (1, array(struct(7L)), map('k', 1.25))")
        for values in ("array(struct(3000000000)), NULL", "NULL, map('k', 123.4)"):
            with pytest.raises(PySparkException, match="does not fit"):
                session.sql(f"INSERT INTO lake.db.loose VALUES (2, {values})")
    finally:
        session.conf.unset("spark.sql.ansi.enabled")
    assert [row.id for row in session.table("lake.db.loose").collect()] == [1]


def test_the_strict_policy_takes_only_wider_types_and_legacy_is_refused(session: Any) -> None:
    session.sql("CREATE TABLE lake.db.policy (id BIGINT, s STRUCT<f: FLOAT>)")
    try:
        session.conf.set("spark.sql.storeAssignmentPolicy", "STRICT")
        session.sql("INSERT INTO lake.db.policy VALUES (1, struct(CAST(1 AS INT)))")
        with pytest.raises(InvalidInput, match=r"s\.f"):
            session.sql("INSERT INTO lake.db.policy VALUES (1, struct(1.5D))")
        with pytest.raises(InvalidInput, match="id"):
            session.sql("UPDATE lake.db.policy SET id = 1.5D")
        session.conf.set("spark.sql.storeAssignmentPolicy", "LEGACY")
        with pytest.raises(UnsupportedFeature, match="LEGACY"):
            session.sql("INSERT INTO lake.db.policy VALUES (1, NULL)")
    finally:
        session.conf.unset("spark.sql.storeAssignmentPolicy")


def test_static_partition_values_are_cast_to_their_columns(session: Any) -> None:
    session.sql("CREATE TABLE lake.db.fixed (s STRUCT<a: INT>, p INT, q STRING) PARTITIONED BY (p, q)")
    session.sql("INSERT INTO lake.db.fixed PARTITION (p = '2', q = 5) SELECT struct(1 AS z)")
    session.sql("INSERT OVERWRITE lake.db.fixed PARTITION (p = '2', q = 5) SELECT struct(2 AS z)")
    assert [tuple(row) for row in session.sql("SELECT s.a, p, q FROM lake.db.fixed").collect()] == [(2, 2, "5")]
