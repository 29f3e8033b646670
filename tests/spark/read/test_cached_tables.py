"""CACHE TABLE: a cached name answers for what it meant when it was cached, and only while the table stands there."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from typing import Any

import pyarrow as pa
import pytest
from pyspark import StorageLevel

from floeberg.errors import InvalidInput

WAP = "spark.wap.branch"
Rows = list[tuple[Any, ...]]


def rows(frame: Any) -> Rows:
    return sorted(tuple(row) for row in frame.collect())


def is_read_from_cache(frame: Any) -> bool:
    text = io.StringIO()
    with redirect_stdout(text):
        frame.explain()
    return "InMemoryTableScan" in text.getvalue()


@contextmanager
def audit_branch(session: Any) -> Iterator[None]:
    session.conf.set(WAP, "audit")
    try:
        yield
    finally:
        session.conf.unset(WAP)


@pytest.fixture(scope="module")
def audited(session: Any) -> dict[str, int]:
    """`lake.db.w`: main has had (1), then (1, 2); the branch has 3 besides, and a tag is at the first snapshot."""
    session.sql("CREATE TABLE lake.db.w (a INT) TBLPROPERTIES ('write.wap.enabled'='true')")
    session.sql("INSERT INTO lake.db.w VALUES (1)")
    first = session.lake.load_table("db.w").current_snapshot
    session.sql("ALTER TABLE lake.db.w CREATE TAG first")
    session.sql("INSERT INTO lake.db.w VALUES (2)")
    session.sql("ALTER TABLE lake.db.w CREATE BRANCH audit")
    session.sql("INSERT INTO lake.db.w.branch_audit VALUES (3)")
    return {"id": first.snapshot_id, "ms": first.timestamp_ms}


Read = Callable[[Any, dict[str, int]], Rows]


def _in_namespace(session: Any, read: Callable[[], Rows]) -> Rows:
    session.sql("USE lake.db")
    try:
        return read()
    finally:
        session.sql("USE spark_catalog.default")


def _audited(session: Any, read: Callable[[], Rows]) -> Rows:
    with audit_branch(session):
        return read()


MAIN, BRANCH, FIRST, SECOND = [(1,), (2,)], [(1,), (2,), (3,)], [(1,)], [(2,)]
READS: dict[str, tuple[Read, Rows]] = {
    "name": (lambda s, _: rows(s.sql("SELECT * FROM lake.db.w")), MAIN),
    "frame": (lambda s, _: rows(s.table("lake.db.w")), MAIN),
    "use": (lambda s, _: _in_namespace(s, lambda: rows(s.sql("SELECT * FROM w"))), MAIN),
    "audit": (lambda s, _: _audited(s, lambda: rows(s.sql("SELECT * FROM lake.db.w"))), BRANCH),
    "audit frame": (lambda s, _: _audited(s, lambda: rows(s.table("lake.db.w"))), BRANCH),
    "audit main": (lambda s, _: _audited(s, lambda: rows(s.sql("SELECT * FROM lake.db.w.branch_main"))), MAIN),
    "branch": (lambda s, _: rows(s.sql("SELECT * FROM lake.db.w.branch_audit")), BRANCH),
    "branch option": (lambda s, _: rows(s.read.option("branch", "audit").table("lake.db.w")), BRANCH),
    "tag": (lambda s, _: rows(s.table("lake.db.w.tag_first")), FIRST),
    "version": (lambda s, at: rows(s.sql(f"SELECT * FROM lake.db.w VERSION AS OF {at['id']}")), FIRST),
    "version option": (lambda s, at: rows(s.read.option("versionAsOf", at["id"]).table("lake.db.w")), FIRST),
    "time": (lambda s, at: rows(s.sql(f"SELECT * FROM lake.db.w.at_timestamp_{at['ms']}")), FIRST),
    "range": (lambda s, at: rows(s.read.option("start-snapshot-id", at["id"]).table("lake.db.w")), SECOND),
    "branch range": (
        lambda s, at: rows(
            s.read.option("start-snapshot-id", at["id"]).option("branch", "audit").table("lake.db.w")
        ),
        [(2,), (3,)],
    ),
    "files": (lambda s, _: rows(s.sql("SELECT count(*) FROM lake.db.w.files")), [(2,)]),
    "files of a tag": (
        lambda s, at: rows(s.read.option("tag", "first").table("lake.db.w.files").selectExpr("count(*)")),
        [(1,)],
    ),
}  # fmt: skip
CACHED = ("", ".branch_audit", ".tag_first", ".files", "audit")


@pytest.mark.parametrize("cached", CACHED)
def test_a_cached_name_answers_for_nothing_else(session: Any, audited: dict[str, int], cached: str) -> None:
    name = f"lake.db.w{cached if cached != 'audit' else ''}"
    if cached == "audit":
        with audit_branch(session):
            session.sql(f"CACHE TABLE {name}")
    else:
        session.sql(f"CACHE TABLE {name}")
    try:
        for label, (read, expected) in READS.items():
            assert read(session, audited) == expected, label
    finally:
        session.sql("UNCACHE TABLE lake.db.w")


@pytest.mark.connect
def test_the_cache_is_used_under_every_name_of_the_same_rows(session: Any, audited: dict[str, int]) -> None:
    session.sql("CACHE TABLE lake.db.w")
    assert is_read_from_cache(session.sql("SELECT * FROM lake.db.w WHERE a > 0"))
    assert is_read_from_cache(session.table("lake.db.w"))
    assert session.catalog.isCached("lake.db.w")
    assert not session.catalog.isCached("lake.db.w.branch_audit")
    with audit_branch(session):
        assert not session.catalog.isCached("lake.db.w")
    session.sql("UNCACHE TABLE lake.db.w")
    assert not session.catalog.isCached("lake.db.w")
    assert not is_read_from_cache(session.table("lake.db.w"))


def test_two_reads_of_a_cached_table_have_columns_of_their_own(session: Any, audited: dict[str, int]) -> None:
    session.catalog.cacheTable("lake.db.w", StorageLevel.DISK_ONLY)
    one, other = session.table("lake.db.w"), session.table("lake.db.w")
    joined = one.join(other, one.a == other.a + 1).select(one.a, other.a.alias("b"))
    assert rows(joined) == [(2, 1)]
    assert rows(session.sql("SELECT x.a, y.a FROM lake.db.w x JOIN lake.db.w y ON x.a = y.a + 1")) == [(2, 1)]
    session.catalog.uncacheTable("lake.db.w")


CHANGES: tuple[str, ...] = (
    "INSERT INTO lake.db.c VALUES (4, 'd')",
    "DELETE FROM lake.db.c WHERE id = 1",
    "UPDATE lake.db.c SET s = 'x' WHERE id = 2",
    "MERGE INTO lake.db.c t USING (SELECT 3 AS id) s ON t.id = s.id WHEN MATCHED THEN DELETE",
    "ALTER TABLE lake.db.c ADD COLUMN extra INT",
    "ALTER TABLE lake.db.c RENAME COLUMN s TO text",
    "INSERT OVERWRITE lake.db.c VALUES (7, 'g', 7)",
    "TRUNCATE TABLE lake.db.c",
)


def test_a_cached_table_shows_every_change_and_stays_cached(session: Any) -> None:
    session.sql("CREATE TABLE lake.db.c (id INT, s STRING) TBLPROPERTIES ('write.delete.mode'='merge-on-read')")
    session.sql("INSERT INTO lake.db.c VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    session.sql("CACHE TABLE lake.db.c")
    for change in CHANGES:
        session.sql(change)
        table = session.lake.load_table("db.c")
        expected = sorted(tuple(row.values()) for row in table.scan().to_arrow().to_pylist())
        found = session.sql("SELECT * FROM lake.db.c")
        assert (found.columns, rows(found)) == ([field.name for field in table.schema.fields], expected), change
        assert session.catalog.isCached("lake.db.c"), change
    session.lake.load_table("db.c").append(pa.table({"id": pa.array([9], pa.int32())}))
    assert rows(session.table("lake.db.c").select("id")) == [(9,)]
    session.sql("REFRESH TABLE lake.db.c")
    assert rows(session.table("lake.db.c").select("id")) == [(9,)]
    assert session.catalog.isCached("lake.db.c")


def test_a_table_made_again_under_a_cached_name_is_the_new_one(session: Any) -> None:
    """In a folder of tables the versions begin anew, so the new table's metadata file has the old one's name."""
    other = session.lake
    schema = pa.schema([("id", pa.int64())])
    other.create_table("db.again", schema).append(pa.table({"id": [1]}))
    session.sql("CACHE TABLE lake.db.again")
    other.drop_table("db.again", purge=True)
    other.create_table("db.again", schema).append(pa.table({"id": [2]}))
    assert rows(session.sql("SELECT * FROM lake.db.again")) == [(2,)]
    session.sql("DROP TABLE lake.db.again")
    other.create_table("db.again", schema).append(pa.table({"id": [3]}))
    assert rows(session.table("lake.db.again")) == [(3,)]
    assert not session.catalog.isCached("lake.db.again")


@pytest.mark.parametrize("clear", ["CLEAR CACHE", "api"])
def test_clearing_sparks_cache_is_seen(session: Any, audited: dict[str, int], clear: str) -> None:
    session.sql("CACHE LAZY TABLE lake.db.w OPTIONS ('storageLevel' 'MEMORY_ONLY')")
    assert session.catalog.isCached("lake.db.w")
    session.catalog.clearCache() if clear == "api" else session.sql(clear)
    assert not session.catalog.isCached("lake.db.w")
    assert rows(session.table("lake.db.w")) == MAIN


def test_cache_options_that_are_not_known_are_refused(session: Any, audited: dict[str, int]) -> None:
    with pytest.raises(InvalidInput, match="storageLevel"):
        session.sql("CACHE TABLE lake.db.w OPTIONS ('storageLevel' 'SOMEWHERE')")
