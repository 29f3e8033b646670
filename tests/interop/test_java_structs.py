"""Nested values are assigned by UPDATE and MERGE as the Java runtime assigns them: random types, by name, with casts."""

from __future__ import annotations

import random
from typing import Any

import pytest
from pyspark.errors import PySparkException

from floeberg.errors import FloebergError
from peers.java_peer import JavaRuntime, lake_of_both
from spark_runs.corpus_scripts import shown_row
from strategies.struct_values import literal, near_type, random_type

pytestmark = pytest.mark.java


def statements(seed: int, table: str) -> list[str]:
    """A table with a row, a change of nested columns that may fail, and a look at the rows."""
    rng = random.Random(seed)
    faults = 0.06 if seed % 3 == 2 else 0.0
    wanted = [random_type(rng) for _ in range(2)]
    given = [near_type(rng, one, by_name=True, faults=faults) for one in wanted]
    own = ", ".join(literal(rng, one) for one in wanted)
    values = [literal(rng, one) for one in given]
    columns = ", ".join(f"v{place} {one.ddl()}" for place, one in enumerate(wanted))
    create = [
        f"CREATE TABLE {table} (id INT, {columns}) USING iceberg",
        f"INSERT INTO {table} VALUES (1, {own}), (2, {own})",
    ]
    source = ", ".join(f"{value} AS v{place}" for place, value in enumerate(values))
    sets = ", ".join(f"v{place} = {value}" for place, value in enumerate(values))
    changes = [
        f"UPDATE {table} SET {sets} WHERE id = 2",
        f"MERGE INTO {table} t USING (SELECT explode(array(2, 3)) AS id, {source}) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
        f"MERGE INTO {table} t USING (SELECT 2 AS id) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET {sets}",
    ]
    return [*create, changes[seed % len(changes)], f"SELECT * FROM {table} ORDER BY id"]


def _ours(spark: Any, statement: str) -> list[str] | None:
    try:
        return [shown_row(row) for row in spark.sql(statement).collect()]
    except (FloebergError, PySparkException):
        return None


def test_random_nested_values_are_assigned_as_the_java_runtime_does(
    spark: Any, runtime: JavaRuntime, tmp_path: Any
) -> None:
    runtime.open_hadoop("theirs", tmp_path / "theirs")
    runtime.run("CREATE NAMESPACE theirs.db")
    with lake_of_both(spark, runtime, tmp_path / "ours", "ours", "db"):
        for seed in range(6):
            answers = runtime.ask(statements(seed, f"theirs.db.t{seed}"))
            for statement, answer in zip(statements(seed, f"ours.db.t{seed}"), answers, strict=True):
                assert _ours(spark, statement) == (None if answer.error else answer.shown), statement
