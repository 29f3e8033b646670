"""Write-audit-publish by a branch: `spark.wap.branch` sends writes to the branch, and reads follow them there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from floeberg.errors import InvalidInput

BRANCH = "spark.wap.branch"


@pytest.fixture
def audited(session: Any) -> Iterator[str]:
    session.sql("DROP TABLE IF EXISTS lake.db.wap")
    session.sql("CREATE TABLE lake.db.wap (id BIGINT, n INT) TBLPROPERTIES ('write.wap.enabled' = 'true')")
    session.sql("INSERT INTO lake.db.wap VALUES (1L, 1), (2L, 2)")
    yield "lake.db.wap"
    for key in (BRANCH, "spark.wap.id"):
        session.conf.unset(key)


def ids(frame: Any) -> list[int]:
    return sorted(row.id for row in frame.select("id").collect())


def test_reads_and_changes_follow_the_branch_and_main_stays(session: Any, audited: str) -> None:
    session.table(audited).createOrReplaceTempView("before_audit")
    session.conf.set(BRANCH, "audit")
    assert ids(session.table(audited)) == [1, 2]  # there is no branch yet
    session.sql(f"INSERT INTO {audited} VALUES (3L, 3)")
    session.sql(f"DELETE FROM {audited} WHERE id = 1")
    session.sql(f"UPDATE {audited} SET n = 20 WHERE id = 2")
    session.sql(
        f"MERGE INTO {audited} t USING (SELECT 4L AS id, 4 AS n) s ON t.id = s.id WHEN NOT MATCHED THEN INSERT *"
    )
    session.createDataFrame([(5, 5)], "id BIGINT, n INT").writeTo(audited).append()
    assert ids(session.sql(f"SELECT * FROM {audited}")) == [2, 3, 4, 5]
    assert ids(session.table(audited)) == [2, 3, 4, 5]
    assert ids(session.read.format("iceberg").load(audited)) == [2, 3, 4, 5]
    assert session.sql(f"SELECT n FROM {audited} WHERE id = 2").collect()[0].n == 20
    assert ids(session.sql(f"SELECT * FROM {audited}.branch_main")) == [1, 2]
    assert ids(session.read.option("branch", "main").table(audited)) == [1, 2]
    assert ids(session.sql("SELECT * FROM before_audit")) == [2, 3, 4, 5]  # a view reads the table as it is read now
    session.catalog.dropTempView("before_audit")
    first = session.sql(f"SELECT snapshot_id FROM {audited}.snapshots ORDER BY committed_at").collect()[0][0]
    assert ids(session.sql(f"SELECT * FROM {audited} VERSION AS OF {first}")) == [1, 2]
    session.conf.unset(BRANCH)
    assert ids(session.table(audited)) == [1, 2]
    session.sql("CALL lake.system.fast_forward('db.wap', 'main', 'audit')")
    assert ids(session.table(audited)) == [2, 3, 4, 5]


def test_a_cached_table_is_not_read_for_its_branch(session: Any, audited: str) -> None:
    session.sql(f"ALTER TABLE {audited} CREATE BRANCH audit")
    session.sql(f"INSERT INTO {audited}.branch_audit VALUES (3L, 3)")
    session.sql(f"CACHE TABLE {audited}")
    session.conf.set(BRANCH, "audit")
    assert ids(session.table(audited)) == [1, 2, 3]
    assert ids(session.sql(f"SELECT * FROM {audited}")) == [1, 2, 3]
    session.conf.unset(BRANCH)
    assert ids(session.table(audited)) == [1, 2]
    session.sql(f"UNCACHE TABLE {audited}")


def test_the_setting_says_nothing_of_tables_that_do_not_allow_it(session: Any) -> None:
    session.sql("CREATE TABLE lake.db.open (id BIGINT)")
    session.conf.set(BRANCH, "audit")
    try:
        session.sql("INSERT INTO lake.db.open VALUES (1L)")
    finally:
        session.conf.unset(BRANCH)
    assert ids(session.table("lake.db.open")) == [1]
    assert sorted(session.lake.load_table("db.open").refs) == ["main"]


def test_two_destinations_at_once_are_refused(session: Any, audited: str) -> None:
    session.conf.set(BRANCH, "audit")
    session.sql(f"ALTER TABLE {audited} CREATE BRANCH other")
    with pytest.raises(InvalidInput, match="unset one"):
        session.sql(f"INSERT INTO {audited}.branch_other VALUES (3L, 3)")
    session.conf.set("spark.wap.id", "w1")
    with pytest.raises(InvalidInput, match="both set"):
        session.sql(f"DELETE FROM {audited} WHERE id = 1")
