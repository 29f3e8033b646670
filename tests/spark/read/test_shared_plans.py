"""The views of statements share the plan of a kept DataFrame, each with columns of its own and none of the reader's."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import functions as F

from lakes.foreign_tables import add_file, with_id
from spark_runs.spark_session import CONNECT

pytestmark = pytest.mark.skipif(CONNECT, reason="there are no plans to share")
CACHED = "InMemoryTableScan"
ONCE = "WITH t AS (SELECT * FROM lake.db.shared)"


@pytest.fixture
def shared(session: Any) -> Iterator[Any]:
    session.sql("CREATE TABLE lake.db.shared (id BIGINT COMMENT 'the key', a STRING, d DATE)")
    session.sql("CREATE TABLE lake.db.shared_facts (k BIGINT, v INT)")
    session.sql("INSERT INTO lake.db.shared VALUES (1, 'x', DATE '2024-01-01'), (2, 'y', NULL), (3, 'x', NULL)")
    session.sql("INSERT INTO lake.db.shared_facts VALUES (1, 10), (1, 20), (3, 5), (NULL, 1)")
    yield session
    for name in ("shared", "shared_facts"):
        session.sql(f"DROP TABLE lake.db.{name} PURGE")


@pytest.fixture(params=["relations", "plans"])
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """How views get columns of their own; plans are the way of a Spark whose relations cannot be made here."""
    if request.param == "plans":
        monkeypatch.setattr("floeberg.spark.read.reused_frames.as_relation", lambda spark, made: made)
    return str(request.param)


ROLLUP = """
WITH sums AS (SELECT a, d, sum(v) AS s FROM lake.db.shared_facts JOIN lake.db.shared ON k = id GROUP BY a, d)
SELECT a, d, s FROM sums UNION SELECT a, NULL, sum(s) FROM sums GROUP BY a UNION SELECT NULL, NULL, sum(s) FROM sums
"""


def _final_plan(frame: Any) -> str:
    plan = frame._jdf.queryExecution().executedPlan().toString()
    return str(re.split("== Initial Plan ==", plan)[0])


def test_what_the_branches_of_a_union_share_is_read_once(shared: Any) -> None:
    frame = shared.sql(ROLLUP)
    assert sorted(map(str, frame.collect())) == [
        "Row(a='x', d=None, s=35)",
        "Row(a='x', d=None, s=5)",
        "Row(a='x', d=datetime.date(2024, 1, 1), s=30)",
        "Row(a=None, d=None, s=35)",
    ]
    assert _final_plan(frame).count("FileScan") == 2


def test_columns_are_those_of_users(shared: Any, kind: str) -> None:
    found = shared.sql(f"{ONCE} SELECT * FROM t").schema
    assert found == shared.table("lake.db.shared").schema
    assert [field.metadata for field in found] == [{"comment": "the key"}, {}, {}]


def test_columns_are_read_by_field_id(shared: Any, kind: str) -> None:
    shared.sql("ALTER TABLE lake.db.shared RENAME COLUMN a TO b")
    shared.sql("ALTER TABLE lake.db.shared ADD COLUMN later INT")
    query = f"{ONCE} SELECT id, b, later FROM t WHERE b = 'x' AND later IS NULL ORDER BY id"
    assert [tuple(row) for row in shared.sql(query).collect()] == [(1, "x", None), (3, "x", None)]


def test_a_file_may_name_its_columns_as_it_likes(shared: Any, kind: str) -> None:
    """Field ids say which column is which, also where a query asks for a part of a struct or for the row's file."""
    columns = [("k", pa.int64(), 1), ("d", pa.string(), 2), ("a", pa.date32(), 3)]
    fields = [with_id(pa.field(name, kind), number) for name, kind, number in columns]
    values = [pa.array([value], kind) for value, (_, kind, _) in zip([7, "z", None], columns, strict=True)]
    add_file(shared.lake.load_table("db.shared"), pa.table(values, schema=pa.schema(fields)))
    for query in (
        "SELECT id, a FROM t WHERE id = 7",
        "SELECT s.id, s.a FROM (SELECT struct(*) AS s FROM t) WHERE s.id = 7",
        "SELECT id, a FROM lake.db.shared WHERE id = 7 AND _file IS NOT NULL",
    ):
        assert [tuple(row) for row in shared.sql(f"{ONCE} {query}").collect()] == [(7, "z")]


def test_defaults_are_those_of_the_table(shared: Any, kind: str) -> None:
    shared.sql("ALTER TABLE lake.db.shared_facts SET TBLPROPERTIES ('format-version' = '3')")
    shared.sql("ALTER TABLE lake.db.shared_facts ADD COLUMN c STRING DEFAULT 'none'")
    assert {
        row[0] for row in shared.sql("WITH t AS (SELECT * FROM lake.db.shared_facts) SELECT c FROM t").collect()
    } == {"none"}


def test_a_promoted_column_is_read_in_its_new_type(shared: Any, kind: str) -> None:
    shared.sql("ALTER TABLE lake.db.shared_facts ALTER COLUMN v TYPE BIGINT")
    shared.sql(f"INSERT INTO lake.db.shared_facts VALUES (9, {2**40})")
    query = "SELECT a.v FROM lake.db.shared_facts a JOIN lake.db.shared_facts b ON a.v = b.v WHERE a.v >= 10"
    assert sorted(row[0] for row in shared.sql(query).collect()) == [10, 20, 2**40]


@pytest.mark.parametrize("query", ["SELECT a FROM lake.db.shared WHERE length(a) = 1", f"{ONCE} SELECT a FROM t"])
def test_rows_that_a_user_cached_are_found(shared: Any, kind: str, query: str) -> None:
    cached = shared.table("lake.db.shared").cache()
    try:
        assert cached.count() == 3
        frame = shared.sql(query)
        assert frame.count() == 3
        assert CACHED in _final_plan(frame)
    finally:
        cached.unpersist()
    assert CACHED not in _final_plan(shared.sql(query))


@pytest.mark.parametrize("query", ["SELECT a, count(*) FROM lake.db.shared GROUP BY a", f"{ONCE} SELECT a FROM t"])
def test_a_result_that_a_user_cached_is_found(shared: Any, kind: str, query: str) -> None:
    cached = shared.sql(query).cache()
    try:
        assert cached.count()
        assert CACHED in _final_plan(shared.sql(query))
    finally:
        cached.unpersist()


COUNTED = "SELECT a, count(*) AS n FROM lake.db.shared GROUP BY a"
FILTERED = "SELECT * FROM lake.db.shared WHERE id > 1"


@pytest.mark.parametrize(
    "part", [COUNTED, FILTERED, "SELECT x.a FROM lake.db.shared x JOIN lake.db.shared y ON x.id = y.id"]
)
@pytest.mark.parametrize(
    "whole",
    [
        "{part}",
        "WITH c AS ({part}) SELECT * FROM c",
        "{part} UNION ALL {part}",
        "SELECT * FROM lake.db.shared_facts JOIN ({part}) ON a <> v",
        "SELECT * FROM lake.db.shared_facts WHERE v IN (SELECT length(a) FROM ({part}))",
    ],
)
def test_a_cached_result_is_found_as_a_part_of_a_statement(shared: Any, kind: str, part: str, whole: str) -> None:
    cached = shared.sql(part).cache()
    try:
        assert cached.count()
        assert CACHED in _final_plan(shared.sql(whole.format(part=part)))
    finally:
        shared.sql(part).unpersist()
    assert not cached.storageLevel.useMemory


def test_a_cached_join_is_found_beside_a_cached_table(shared: Any, kind: str) -> None:
    """Statements take the plan of a cached table, under which the join must have been cached."""
    join = "SELECT x.a FROM lake.db.shared x JOIN lake.db.shared y ON x.id = y.id"
    for first in ("join", "table"):
        cached = {}
        for name in (first, "table" if first == "join" else "join"):
            cached[name] = (shared.sql(join) if name == "join" else shared.table("lake.db.shared")).cache()
            assert cached[name].count() == 3
        assert CACHED in _final_plan(shared.sql(join))
        if first == "table":
            assert shared.sql(join)._jdf.queryExecution().withCachedData().nodeName() == "InMemoryRelation"
        for kept in cached.values():
            kept.unpersist()


def test_a_cached_frame_is_found_by_the_same_methods(shared: Any, kind: str) -> None:
    def counted() -> Any:
        return shared.table("lake.db.shared").groupBy("a").agg(F.count("*").alias("n"))

    cached = counted().cache()
    try:
        assert cached.count() == 2
        assert CACHED in _final_plan(counted())
    finally:
        cached.unpersist()


@pytest.mark.parametrize("deletes", [False, True])
def test_two_sides_of_a_join_that_are_the_same_table_are_read_once(shared: Any, deletes: bool) -> None:
    shared.sql("INSERT OVERWRITE lake.db.shared SELECT /*+ COALESCE(1) */ id, a, d FROM lake.db.shared")
    if deletes:
        shared.sql("ALTER TABLE lake.db.shared SET TBLPROPERTIES ('write.delete.mode' = 'merge-on-read')")
        shared.sql("DELETE FROM lake.db.shared WHERE id = 2")
        assert shared.table("lake.db.shared.delete_files").count() == 1
    query = """
        SELECT /*+ BROADCAST(x, y) */ x.a, y.a AS b, v FROM lake.db.shared_facts
        JOIN lake.db.shared x ON k = x.id JOIN lake.db.shared y ON k = y.id
    """
    frame = shared.sql(query)
    assert sorted(map(tuple, frame.collect())) == [("x", "x", 5), ("x", "x", 10), ("x", "x", 20)]
    assert frame._jdf.queryExecution().executedPlan().toString().count("ReusedExchange") == 1
