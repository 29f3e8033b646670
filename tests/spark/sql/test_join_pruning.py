"""Join pruning never changes a result: random stars and snowflakes with it, without it, and on plain Spark over the same rows."""

from __future__ import annotations

import os
import random
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

import pytest

from floeberg.api.attach import explain
from spark_runs.spark_rows import spark_rows
from star_joins.eager_keys import use_every_key
from star_joins.queries import is_prunable, random_query
from star_joins.tables import COLUMNS, World, build_world

WORLDS: Final = int(os.environ.get("FLOEBERG_JOIN_WORLDS", "2"))
QUERIES: Final = 10
"""Queries over the tables of each seed."""
_PRUNED: Final = re.compile(r"^\w+: (\d+) of (\d+) files, by ", re.MULTILINE)
_ROWS: Final = re.compile(r"^\w+: rows by ", re.MULTILINE)
_SETTING: Final = "spark.floeberg.join-pruning"


def plain(world: World, spark: Any) -> None:
    for name, rows in world.rows.items():
        spark.createDataFrame(rows, world.ddl(name)).createOrReplaceTempView(name)


def rows_by_every_key(spark: Any, sql: str, chance: random.Random) -> tuple[list[str], str]:
    """The answer where the keys of every table leave out rows, which they do of large ones alone."""
    with pytest.MonkeyPatch.context() as patch:
        use_every_key(patch, chance)
        return answer(spark, sql, prunes=True)


def answer(spark: Any, sql: str, *, prunes: bool) -> tuple[list[str], str]:
    spark.conf.set(_SETTING, str(prunes).lower())
    try:
        frame = spark.sql(sql)
        return spark_rows(frame), explain(frame)
    finally:
        spark.conf.unset(_SETTING)


@pytest.fixture(autouse=True)
def without_views(session: Any) -> Iterator[None]:
    yield
    for name in COLUMNS:
        session.catalog.dropTempView(name)


def test_random_joins_give_the_rows_of_plain_spark(session: Any, few: bool) -> None:
    asked, pruned, prunable, files = Counter[str](), Counter[str](), Counter[bool](), Counter[str]()
    filtered = Counter[bool]()
    for seed in range(1 if few else WORLDS):
        world = build_world(session.lake, seed)
        plain(world, session)
        chance, ways = random.Random(seed), random.Random(seed)
        for _ in range(QUERIES):
            sql, kind = random_query(chance, world.literal)
            expected = spark_rows(session.sql(sql.replace("lake.db.", "")))
            found, account = answer(session, sql, prunes=True)
            assert found == expected, (seed, sql)
            assert answer(session, sql, prunes=False)[0] == expected, (seed, sql)
            by_keys, account_of_keys = rows_by_every_key(session, sql, ways)
            assert by_keys == expected, (seed, sql, account_of_keys)
            filtered[bool(_ROWS.search(account_of_keys))] += 1
            left_out = _PRUNED.findall(account)
            asked[kind] += 1
            pruned[kind] += bool(left_out)
            if is_prunable(kind, sql):
                prunable[bool(left_out)] += 1
            files["read"] += sum(int(kept) for kept, _ in left_out)
            files["there"] += sum(int(there) for _, there in left_out)
    print({kind: f"{pruned[kind]} of {count}" for kind, count in sorted(asked.items())}, dict(prunable), dict(files))
    print("keys left out rows:", dict(filtered))
    assert 3 * prunable[True] >= prunable.total() > 0
    assert filtered[True] > 0
