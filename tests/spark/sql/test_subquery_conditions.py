"""Conditions that ask other tables, in queries and in statements that change rows: the rows are those that plain Spark finds,
under several settings of the session."""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException

from floeberg.api.attach import explain
from spark_runs.spark_rows import spark_rows
from star_joins.conditions import random_condition
from star_joins.tables import COLUMNS, TYPES, Row, World, build_world

SEEDS: Final = int(os.environ.get("FLOEBERG_JOIN_WORLDS", "1"))
STATEMENTS: Final = 4
"""Conditions for each of the settings, each of which is asked and then changes rows in one way."""
SETTINGS: Final[tuple[Mapping[str, str], ...]] = (
    {},
    {"spark.sql.ansi.enabled": "false"},
    {"spark.sql.session.timeZone": "America/New_York"},
    {"spark.sql.timestampType": "TIMESTAMP_NTZ"},
)
TARGET: Final = "lake.db.t"


@contextmanager
def under(spark: Any, settings: Mapping[str, str]) -> Iterator[None]:
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name in settings:
            spark.conf.unset(name)


def columns_of(world: World, name: str) -> str:
    """The columns in types that do not depend on the session's settings."""
    return world.ddl(name).replace("timestamp", "timestamp_ltz")


class Target:
    """The table `t`, whose rows are those of `f` with ids, and the same rows for plain Spark."""

    def __init__(self, session: Any, world: World, chance: random.Random) -> None:
        self.session, self.chance = session, chance
        self.type = world.types["f"]
        self.rows = [(number, *row) for number, row in enumerate(world.rows["f"])]
        self.ddl = f"id int, {columns_of(world, 'f')}"
        self.frame(self.rows).createOrReplaceTempView("t")

    def create(self) -> None:
        """Makes the table anew, in files of few keys."""
        lake, chance = self.session.lake, self.chance
        if lake.table_exists("db.t"):
            lake.drop_table("db.t", purge=True)
        modes = ("merge-on-read", "copy-on-write")
        types = [pa.int32(), self.type.arrow, self.type.arrow, pa.int32()]
        schema = pa.schema(list(zip(("id", "k", "g", "v"), types, strict=True)))
        transform = chance.choice(self.type.transforms)
        table = lake.create_table(
            "db.t",
            schema,
            partition_by=[] if transform.startswith("void") else [transform.format("k")],
            format_version=chance.choice([2, 3]),
            properties={f"write.{verb}.mode": chance.choice(modes) for verb in ("delete", "update", "merge")},
        )
        ordered = sorted(self.rows, key=lambda row: (row[2] is not None, row[2]))
        for start in range(0, len(ordered), 40):
            table.append(as_arrow(ordered[start : start + 40], schema))

    def plain(self, sql: str) -> Any:
        return self.session.sql(sql.replace("lake.db.", ""))

    def frame(self, rows: Sequence[Row]) -> Any:
        return self.session.createDataFrame(rows, self.ddl)


def as_arrow(rows: Sequence[Row], schema: pa.Schema) -> pa.Table:
    columns = zip(*rows, strict=True)
    return pa.table([pa.array(list(one), kind.type) for one, kind in zip(columns, schema, strict=True)], schema=schema)


def build_one_rows(session: Any, world: World, chance: random.Random) -> None:
    """The table `w`: a row for each number, with a lower and an upper key, either of which may be null."""
    kind = world.types["d"]

    def key() -> Any:
        return None if chance.random() < 0.15 else kind.value(chance.randrange(24))

    rows = [(number, key(), key()) for number in range(4)]
    if session.lake.table_exists("db.w"):
        session.lake.drop_table("db.w", purge=True)
    schema = pa.schema([("n", pa.int32()), ("lo", kind.arrow), ("hi", kind.arrow)])
    session.lake.create_table("db.w", schema).append(as_arrow(rows, schema))
    ddl = f"n int, lo {kind.sql}, hi {kind.sql}".replace("timestamp", "timestamp_ltz")
    session.createDataFrame(rows, ddl).createOrReplaceTempView("w")


@pytest.fixture
def views(session: Any) -> Iterator[Any]:
    yield session
    for name in (*COLUMNS, "t", "w"):
        session.catalog.dropTempView(name)


def delete(target: Target, condition: str) -> tuple[str, list[str]]:
    """A statement, and the rows that the table has after it."""
    gone = {row[0] for row in target.plain(f"SELECT id FROM {TARGET} AS f WHERE {condition}").collect()}
    kept = [row for row in target.rows if row[0] not in gone]
    return f"DELETE FROM {TARGET} AS f WHERE {condition}", spark_rows(target.frame(kept))


def update(target: Target, condition: str) -> tuple[str, list[str]]:
    value = target.chance.choice(["77", "(SELECT max(x) FROM lake.db.d)", "v + (SELECT n FROM lake.db.w WHERE n = 1)"])
    new = dict(map(tuple, target.plain(f"SELECT id, {value} FROM {TARGET} AS f WHERE {condition}").collect()))
    rows = [(*row[:3], new.get(row[0], row[3])) for row in target.rows]
    return f"UPDATE {TARGET} AS f SET v = {value} WHERE {condition}", spark_rows(target.frame(rows))


SOURCES: Final = (
    "lake.db.d AS f JOIN lake.db.e ON s = ek WHERE y > 0",
    "lake.db.d WHERE dk IN (SELECT ek FROM lake.db.e WHERE y > 0)",
    "lake.db.d WHERE dk >= (SELECT lo FROM lake.db.w WHERE n = 1)",
    "lake.db.d WHERE EXISTS (SELECT 1 FROM lake.db.t AS q WHERE q.k = dk AND q.v = 1)",
)


def merge(target: Target, condition: str) -> tuple[str, list[str]]:
    """Each row of the target matches one row of the source at most."""
    source = f"(SELECT dk, max(x) AS x FROM {target.chance.choice(SOURCES)} GROUP BY dk)"
    on = target.chance.choice(["f.k = s.dk", "f.k = s.dk AND f.v = 1", "s.dk = f.g AND f.k >= s.dk"])
    sql = (
        f"MERGE INTO {TARGET} f USING {source} s ON {on} WHEN MATCHED AND f.v = s.x THEN DELETE "
        "WHEN MATCHED THEN UPDATE SET v = coalesce(s.x, 9) "
        "WHEN NOT MATCHED THEN INSERT (id, k, g, v) VALUES (-1, s.dk, s.dk, s.x)"
    )
    joined = f"SELECT id, coalesce(f.v = s.x, false), coalesce(s.x, 9) FROM {TARGET} f JOIN {source} s ON {on}"
    found = {row[0]: (row[1], row[2]) for row in target.plain(joined).collect()}
    rows = [
        row if row[0] not in found else (*row[:3], found[row[0]][1])
        for row in target.rows
        if row[0] not in found or not found[row[0]][0]
    ]
    new = target.plain(f"SELECT -1, s.dk, s.dk, s.x FROM {source} s LEFT ANTI JOIN {TARGET} f ON {on}")
    return sql, spark_rows(target.frame(rows).union(new))


CHANGES: Final = (delete, update, merge)


def outcome(session: Any, sql: str) -> tuple[list[str] | str, str]:
    """The rows and the account of the plan, or which error Spark raises."""
    try:
        frame = session.sql(sql)
        return spark_rows(frame), explain(frame) if "lake.db." in sql else ""
    except AnalysisException as error:
        return f"error {error.getCondition()}", ""


def test_random_conditions_find_the_rows_that_plain_spark_finds(views: Any, few: bool) -> None:
    session, seen = views, Counter[str]()
    for seed in range(SEEDS):
        for number, settings in enumerate(SETTINGS[:1] if few else SETTINGS):
            chance = random.Random(4 * seed + number)
            world = build_world(session.lake, chance.randrange(1000))
            for name, rows in world.rows.items():
                session.createDataFrame(rows, columns_of(world, name)).createOrReplaceTempView(name)
            build_one_rows(session, world, chance)
            target = Target(session, world, chance)
            target.create()
            adds = world.types["d"] in (TYPES["int"], TYPES["long"])
            with under(session, settings):
                for _ in range(STATEMENTS):
                    condition = random_condition(chance, adds=adds)
                    sql = f"SELECT * FROM {TARGET} AS f WHERE {condition}"
                    expected, _ = outcome(session, sql.replace("lake.db.", ""))
                    found, account = outcome(session, sql)
                    assert found == expected, (seed, settings, sql)
                    seen["error" if isinstance(found, str) else "rows"] += 1
                    seen["pruned"] += " files, by " in account
                    if isinstance(found, str):
                        continue
                    sql, expected = chance.choice(CHANGES)(target, condition)
                    session.sql(sql)
                    assert spark_rows(session.table(TARGET)) == expected, (seed, settings, sql)
                    target.create()
    print(dict(seen))
    assert seen["pruned"]
