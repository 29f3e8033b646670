"""Writes of an app and version happen once: by the options of DataFrame writers, and by the session's settings for SQL."""

from __future__ import annotations

import logging
import os

import pytest
from pyspark.sql import functions as F

from floeberg.errors import InvalidInput

APP, VERSION = "spark.floeberg.txn-app-id", "spark.floeberg.txn-version"


@pytest.fixture
def table(session):
    session.sql("CREATE TABLE lake.db.t (id BIGINT, v STRING) USING iceberg")
    session.sql("INSERT INTO lake.db.t VALUES (1, 'a'), (2, 'b')")
    yield session.lake.load_table("db.t")
    for key in (APP, VERSION):
        session.conf.unset(key)
    session.sql("DROP TABLE lake.db.t")


def rows(session):
    return sorted(tuple(row) for row in session.table("lake.db.t").collect())


def by_setting(session, sql: str, version: int, app: str = "job") -> None:
    session.conf.set(APP, app)
    session.conf.set(VERSION, str(version))
    session.sql(sql)
    assert session.conf.get(APP, None) is None
    assert session.conf.get(VERSION, None) is None


WRITES = {
    "append": lambda frame, options: frame.writeTo("lake.db.t").options(**options).append(),
    "overwrite": lambda frame, options: frame.writeTo("lake.db.t").options(**options).overwrite(F.expr("true")),
    "overwrite of files": lambda frame, options: (
        frame.writeTo("lake.db.t").options(**options).overwrite(F.expr("length(v) > 0"))
    ),
    "overwritePartitions": lambda frame, options: frame.writeTo("lake.db.t").options(**options).overwritePartitions(),
    "insertInto": lambda frame, options: frame.write.options(**options).insertInto("lake.db.t"),
    "saveAsTable": lambda frame, options: frame.write.mode("append").options(**options).saveAsTable("lake.db.t"),
}


@pytest.mark.parametrize("kind", WRITES)
def test_a_write_with_a_version_happens_once(session, table, kind, caplog):
    frame = session.createDataFrame([(3, "c")], "id BIGINT, v STRING")
    options = {"txnAppId": "job", "txnVersion": "7"}
    WRITES[kind](frame, options)
    once = rows(session)
    files = set(os.listdir(f"{table.location}/data"))
    with caplog.at_level(logging.WARNING, "floeberg.commit"):
        WRITES[kind](session.createDataFrame([(4, "d")], "id BIGINT, v STRING"), options)
    assert rows(session) == once
    assert "version 7 of 'job'" in caplog.text
    assert set(os.listdir(f"{table.location}/data")) == files
    WRITES[kind](frame, {**options, "txnVersion": "8"})
    assert table.refresh().txn_version("job") == 8


STATEMENTS = [
    "INSERT INTO lake.db.t VALUES (3, 'c')",
    "UPDATE lake.db.t SET v = concat(v, 'x') WHERE id = 1",
    "MERGE INTO lake.db.t t USING (SELECT * FROM VALUES (1, 'm'), (9, 'n') AS x(id, v)) s ON t.id = s.id "
    "WHEN MATCHED THEN UPDATE SET v = concat(t.v, s.v) WHEN NOT MATCHED THEN INSERT *",
    "DELETE FROM lake.db.t WHERE id = (SELECT min(id) FROM lake.db.t)",
    "TRUNCATE TABLE lake.db.t",
]


@pytest.mark.parametrize("sql", STATEMENTS, ids=[sql.split()[0] for sql in STATEMENTS])
def test_a_statement_takes_the_sessions_version_once(session, table, sql):
    by_setting(session, sql, 3)
    once = rows(session)
    by_setting(session, sql, 3)
    assert rows(session) == once
    session.sql(sql)  # consumed: the next one is free again
    assert len(table.refresh().snapshots) == 3


@pytest.mark.parametrize("sql", ["DELETE FROM lake.db.t WHERE id = 99", "UPDATE lake.db.t SET v = 'z' WHERE id = 99"])
def test_a_statement_that_finds_nothing_is_recorded_too(session, table, sql):
    by_setting(session, sql, 5)
    session.sql("INSERT INTO lake.db.t VALUES (99, 'later')")
    by_setting(session, sql, 5)
    assert (99, "later") in rows(session)
    assert table.refresh().txn_version("job") == 5


def test_a_statement_that_fails_leaves_its_version_to_the_next_try(session, table):
    with pytest.raises(Exception, match="nowhere"):
        by_setting(session, "DELETE FROM lake.db.t WHERE nowhere = 1", 1)
    assert session.conf.get(VERSION, None) == "1"
    session.sql("DELETE FROM lake.db.t WHERE id = 1")
    assert table.refresh().txn_version("job") == 1


def test_an_option_goes_before_the_sessions_version_and_leaves_it(session, table):
    session.conf.set(APP, "other")
    session.conf.set(VERSION, "1")
    frame = session.createDataFrame([(3, "c")], "id BIGINT, v STRING")
    frame.writeTo("lake.db.t").options(txnAppId="job", txnVersion="1").append()
    assert session.conf.get(APP, None) == "other"
    frame.writeTo("lake.db.t").append()
    assert session.conf.get(APP, None) is None
    assert (table.refresh().txn_version("job"), table.txn_version("other")) == (1, 1)


def test_versions_of_branches_and_staged_versions(session, table):
    session.sql("ALTER TABLE lake.db.t CREATE BRANCH b")
    frame = session.createDataFrame([(3, "c")], "id BIGINT, v STRING")
    options = {"txnAppId": "job", "txnVersion": "1"}
    for _ in range(2):
        frame.writeTo("lake.db.t.branch_b").options(**options).append()
    assert session.table("lake.db.t.branch_b").count() == 3
    session.sql("ALTER TABLE lake.db.t SET TBLPROPERTIES ('write.wap.enabled' = 'true')")
    session.conf.set("spark.wap.id", "w")
    try:
        for _ in range(2):
            frame.writeTo("lake.db.t").options(**options).append()
    finally:
        session.conf.unset("spark.wap.id")
    assert session.table("lake.db.t").count() == 2
    session.sql("CALL lake.system.publish_changes('db.t', 'w')")
    frame.writeTo("lake.db.t").options(**options).append()
    assert session.table("lake.db.t").count() == 3


BAD = [
    ({"txnAppId": "job"}, "given together"),
    ({"txnVersion": "1"}, "given together"),
    ({"txnAppId": "job", "txnVersion": "-1"}, "a number from 0 on"),
]


@pytest.mark.parametrize(("options", "named"), BAD)
def test_half_a_transaction_is_refused(session, table, options, named):
    frame = session.createDataFrame([(3, "c")], "id BIGINT, v STRING")
    with pytest.raises(InvalidInput, match=named):
        frame.writeTo("lake.db.t").options(**options).append()
    assert len(rows(session)) == 2


def test_a_table_is_not_created_by_a_transaction(session, table):
    frame = session.createDataFrame([(3, "c")], "id BIGINT, v STRING")
    with pytest.raises(InvalidInput, match="create it first"):
        frame.writeTo("lake.db.n").using("iceberg").options(txnAppId="job", txnVersion="1").create()
    assert not session.catalog.tableExists("lake.db.n")
