"""What is ours is read, what is not passes."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from floeberg.errors import FloebergError, InvalidInput, UnsupportedFeature
from floeberg.sql.statements import dml_statements as dml
from floeberg.sql.statements import session_statements as ses
from floeberg.sql.statements import statements as stm
from floeberg.sql.statements.classify import classify
from floeberg.sql.text.cursor import UnresolvedIdentifier
from floeberg.sql.text.names import SessionNames

LAKE = SessionNames(frozenset({"lake"}))
IN_LAKE = SessionNames(frozenset({"lake"}), "lake", ("db",))


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1",
        "SELECT * FROM db.t",
        "SELECT 'lake.db.t' FROM x -- lake.db.t",
        "CREATE TABLE x (a INT) USING parquet CLUSTERED BY (a) SORTED BY (a) INTO 4 BUCKETS -- lake",
        "CREATE TABLE x STORED AS orc AS SELECT 1 -- lake",
        "INSERT INTO x VALUES ('lake')",
        "INSERT OVERWRITE LOCAL DIRECTORY '/lake' SELECT 1",
        "DROP TABLE lakes.db.t",
        "ALTER TABLE x ADD PARTITION (a = 'lake')",
        "ALTER TABLE x FROBNICATE lake",
        "CREATE FUNCTION lake AS 'x'",
        "CREATE NAMESPACE laked",
        "CREATE VIEW v AS SELECT 'lake'",
        "CREATE TEMPORARY VIEW v USING csv OPTIONS (path '/lake')",
        "DROP VIEW lake",
        "DESCRIBE FUNCTION lake",
        "DESCRIBE lakes",
        "SHOW FUNCTIONS LIKE 'lake'",
        "SHOW TABLES",
        "SHOW TABLES IN lakes",
        "SHOW TABLE EXTENDED LIKE 'lake'",
        "SHOW NAMESPACES IN spark_catalog LIKE 'lake'",
        "REFRESH '/lake'",
        "REFRESH TABLE x -- lake",
        "CACHE TABLE x AS SELECT 'lake'",
        "CACHE LAZY TABLE lakes",
        "UNCACHE TABLE lakes",
        "CLEAR CACHE -- lake",
        "SET lake = 5",
        "SET spark.sql.catalog.lake.type = hadoop",
        "RESET lake",
        "ADD JAR '/lake.jar'",
        "SELECT 'unclosed lake",
        "MERGE INTO x USING y ON x.lake = y.lake WHEN MATCHED THEN DELETE",
        "DELETE FROM x WHERE lake = 1",
        "UPDATE x SET lake = 1",
        "TRUNCATE TABLE x -- lake",
        "CALL x.system.f('lake')",
        "COMMENT ON TABLE x IS 'lake'",
        "ANALYZE TABLE x COMPUTE STATISTICS -- lake",
        "ANALYZE TABLES IN lakes COMPUTE STATISTICS",
        "MSCK REPAIR TABLE lakes",
        "EXPLAIN SELECT 'lake'",
        "EXPLAIN INSERT INTO x SELECT 'lake'",
        "EXECUTE IMMEDIATE 'SELECT 1 AS lake'",
        "WITH c AS (SELECT 'lake') INSERT INTO x SELECT * FROM c",
        "BEGIN SELECT 'lake'; END",
        "SELECT * FROM IDENTIFIER('db.lake')",
        "",
        "-- lake",
        ";",
    ],
)
def test_what_is_not_ours_passes_untouched(sql: str) -> None:
    assert classify(sql, LAKE) == stm.PassThrough()


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM lake.db.t",
        "(SELECT * FROM lake.db.t)",
        "WITH c AS (SELECT * FROM lake.db.t) SELECT * FROM c",
        "FROM lake.db.t SELECT *",
        "TABLE lake.db.t",
        "VALUES ((SELECT max(a) FROM lake.db.t))",
        "EXPLAIN COST SELECT * FROM lake.db.t",
        "DESCRIBE SELECT * FROM lake.db.t",
        "DESC QUERY SELECT * FROM lake.db.t",
        "INSERT INTO x SELECT * FROM lake.db.t",
        "INSERT OVERWRITE DIRECTORY '/x' USING csv SELECT * FROM lake.db.t",
        "CREATE TABLE x AS SELECT * FROM lake.db.t",
        "MERGE INTO x USING lake.db.t s ON x.a = s.a WHEN MATCHED THEN DELETE",
        "BEGIN SELECT * FROM lake.db.t; END",
        "SELECT lake.system.iceberg_version()",
        "SELECT * FROM IDENTIFIER('lake.db.t')",
    ],
)
def test_what_reads_our_tables_is_a_query(sql: str) -> None:
    found = classify(sql, LAKE)
    assert isinstance(found, stm.QueryText)
    assert found.references


@pytest.mark.parametrize(
    ("sql", "names", "kind"),
    [
        ("USE other", LAKE, ses.Use),
        ("SET CATALOG other", LAKE, ses.Use),
        ("SHOW CATALOGS", LAKE, ses.ShowCatalogs),
        ("SHOW TABLES", IN_LAKE, ses.ShowTables),
        ("DESCRIBE t", IN_LAKE, ses.DescribeTable),
        ("INSERT INTO t VALUES (1)", IN_LAKE, dml.Insert),
        ("DROP TABLE spark_catalog.db.t", IN_LAKE, stm.PassThrough),
        ("SELECT * FROM t", IN_LAKE, stm.QueryText),
        ("SELECT 1", IN_LAKE, stm.PassThrough),
        ("EXPLAIN DELETE FROM lake.db.t", LAKE, stm.Explain),
        ("CREATE TEMP VIEW v AS SELECT * FROM lake.db.t", LAKE, ses.CreateView),
        ("CREATE VIEW spark_catalog.db.v AS SELECT * FROM lake.db.t", LAKE, ses.CreateView),
        ("CREATE VIEW lake.db.v AS SELECT 1", LAKE, ses.CreateView),
        ("CACHE TABLE x AS SELECT * FROM lake.db.t", LAKE, stm.CacheTable),
        ("CACHE TABLE lake.db.t", LAKE, stm.CacheTable),
        ("INSERT INTO IDENTIFIER('lake.db.t') VALUES (1)", LAKE, dml.Insert),
        ("DROP TABLE IDENTIFIER('lake' || '.db.t')", LAKE, stm.DropTable),
    ],
)
def test_the_sessions_place_decides(sql: str, names: SessionNames, kind: type) -> None:
    assert type(classify(sql, names)) is kind


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("CREATE TABLE lake.db.t (a)", r"expected a type, found '\)' \(line 1, column 26\)"),
        ("CREATE TABLE lake.db.t (a INT", "expected \\), found the end"),
        ("CREATE TABLE lake.db.t (a INT) PARTITIONED BY (weeks(a))", "the transforms are"),
        ("CREATE TABLE lake.db.t (a INT) PARTITIONED BY (bucket(a))", "take a number and a column"),
        ("CREATE TABLE lake.db.t (a INT) USING iceberg USING iceberg", "USING stands twice"),
        ("CREATE TABLE lake.db.t (a INT) AS SELECT 1", "columns cannot be given together"),
        ("CREATE OR REPLACE TABLE IF NOT EXISTS lake.db.t (a INT)", "exclude each other"),
        ("CREATE TABLE lake.db.t (a INT) WITH x", "expected the end of the statement"),
        ("ALTER TABLE lake.db.t\nFROB x", r"found 'FROB' \(line 2, column 1\).*RENAME"),
        ("ALTER TABLE lake.db.t ADD COLUMN", "expected a column's name"),
        ("ALTER TABLE lake.db.t ALTER COLUMN a b", "expected a change of the column.*TYPE"),
        ("ALTER TABLE lake.db.t SET TBLPROPERTIES ('a' = )", "expected a value for property 'a'"),
        ("ALTER TABLE lake.db.t WRITE", "expected a distribution or an order"),
        ("ALTER TABLE lake.db.t WRITE ORDERED BY a UNORDERED", "an order is given already"),
        ("ALTER TABLE lake.db.t CREATE BRANCH b RETAIN x DAYS", "as a whole number"),
        ("ALTER TABLE lake.db.t CREATE BRANCH b RETAIN 5 WEEKS", "expected DAYS or HOURS or MINUTES"),
        ("ALTER TABLE lake.db.t CREATE TAG b WITH SNAPSHOT RETENTION 5 SNAPSHOTS", "for branches"),
        ("ALTER TABLE lake.db.t RENAME COLUMN a b", "expected TO"),
        ("DROP TABLE lake.db.t CASCADE", "DROP TABLE .IF EXISTS. name .PURGE."),
        ("INSERT INTO lake.db.t", "expected a query"),
        ("INSERT INTO lake.db.t (a, SELECT 1", "expected"),
        ("DELETE FROM lake.db.t SET", "expected the end"),
        ("DELETE FROM lake.db.t VERSION AS OF 5 WHERE a", "the past cannot be changed"),
        ("UPDATE lake.db.t SET", "expected a column's name"),
        ("UPDATE lake.db.t SET a 1", "expected ="),
        ("UPDATE lake.db.t SET a = , b = 1", "expected an expression"),
        ("MERGE INTO lake.db.t USING s ON a = b", "MERGE needs a WHEN clause"),
        ("MERGE INTO lake.db.t USING s WHEN MATCHED THEN DELETE", "expected ON"),
        ("MERGE INTO lake.db.t USING s ON a = b WHEN MATCHED THEN INSERT *", "expected UPDATE SET"),
        (
            "MERGE INTO lake.db.t USING s ON a = b WHEN NOT MATCHED THEN INSERT (a) VALUES (1, 2)",
            "1 columns and 2 values",
        ),
        (
            "MERGE INTO lake.db.t USING s ON a = b WHEN MATCHED THEN DELETE WHEN MATCHED THEN UPDATE SET *",
            "only the last",
        ),
        ("MERGE INTO lake.db.t USING s ON a = b WHEN NOT MATCHED BY SOURCE THEN UPDATE SET *", "needs a source row"),
        ("CALL lake.system.f(1, a => 2, 3)", "positional argument stands after a named one"),
        ("CALL lake.system.f(a => 1, A => 2)", "given twice"),
        ("CALL lake.system.f(1", "expected \\)"),
        ("CREATE NAMESPACE lake.x WITH y", "expected DBPROPERTIES or PROPERTIES"),
        ("CREATE VIEW lake.db.v SELECT 1", "expected AS"),
        ("CREATE VIEW lake.db.v AS frob", "expected a query"),
        ("SHOW TABLES IN lake.db LIKE 5", "as a string"),
        ("COMMENT ON TABLE lake.db.t IS 5", "as a string"),
    ],
)
def test_malformed_statements_of_ours_say_where_and_what(sql: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        classify(sql, LAKE)


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TABLE lake.db.t (a INT) STORED AS parquet",
        "CREATE TABLE lake.db.t (a INT CHECK (a > 1))",
        "CREATE TABLE lake.db.t (a INT, CONSTRAINT c PRIMARY KEY (a))",
        "CREATE TABLE lake.db.t (a INT GENERATED ALWAYS AS (1))",
        "CREATE TABLE lake.db.t (a INT) CLUSTER BY (a)",
        "CREATE TABLE lake.db.t (a INT) CLUSTERED BY (a) SORTED BY (a) INTO 4 BUCKETS",
        "ALTER TABLE lake.db.t ADD PARTITION (a = 1)",
        "ALTER TABLE lake.db.t DROP IF EXISTS PARTITION (a = 1)",
        "ALTER TABLE lake.db.t RECOVER PARTITIONS",
        "ALTER TABLE lake.db.t ADD CONSTRAINT c CHECK (a > 1)",
        "ALTER TABLE lake.db.t CHANGE COLUMN a b INT",
        "MSCK REPAIR TABLE lake.db.t",
        "INSERT INTO lake.db.t REPLACE USING (a) SELECT 1",
        "EXECUTE IMMEDIATE 'SELECT * FROM lake.db.t'",
        "FROM x INSERT INTO lake.db.t SELECT *",
        "BEGIN DELETE FROM lake.db.t; END",
        "BEGIN EXECUTE IMMEDIATE 'SELECT * FROM lake.db.t'; END",
        "BEGIN IF true THEN EXECUTE IMMEDIATE 'SELECT * FROM lake.db.t' INTO x; END IF; END",
        "BEGIN CREATE TEMP VIEW v AS SELECT * FROM lake.db.t; END",
        "BEGIN SELECT 1; ALTER VIEW v AS SELECT * FROM lake.db.t; END",
        "CREATE TEMP VIEW v DEFAULT COLLATION UTF8_LCASE AS SELECT * FROM lake.db.t",
        "CREATE OR REPLACE GLOBAL TEMPORARY VIEW v DEFAULT COLLATION UNICODE AS TABLE lake.db.t",
        "CREATE TEMPORARY FUNCTION f(x INT) RETURNS INT RETURN (SELECT max(a) FROM lake.db.t WHERE a < x)",
        "CREATE OR REPLACE FUNCTION f() RETURNS TABLE (a INT) RETURN SELECT a FROM lake.db.t",
        "DESCRIBE lake.db.t PARTITION (a = 1)",
    ],
)
def test_what_we_know_and_do_not_have_says_so(sql: str) -> None:
    with pytest.raises(UnsupportedFeature, match="line 1"):
        classify(sql, LAKE)


def test_a_target_that_cannot_be_known_is_refused() -> None:
    with pytest.raises(UnresolvedIdentifier):
        classify("INSERT INTO IDENTIFIER(:t) VALUES (1)", LAKE)
    assert isinstance(classify("INSERT INTO IDENTIFIER(:t) VALUES (1)", LAKE, args={"t": "lake.db.t"}), dml.Insert)


def test_double_quoted_names_are_names_when_the_session_says_so() -> None:
    sql = 'SELECT * FROM "lake"."db"."t"'
    assert classify(sql, LAKE) == stm.PassThrough()
    assert isinstance(classify(sql, LAKE, double_quoted_identifiers=True), stm.QueryText)


WORDS = (
    "CREATE OR REPLACE TABLE ALTER DROP lake.db.t x ( ) , a INT NOT NULL = 'v' 5 ADD COLUMN PARTITION FIELD BY SET MERGE INTO "
    "USING ON WHEN MATCHED THEN UPDATE DELETE INSERT VALUES SELECT FROM WHERE CALL => map BRANCH TAG AS OF VERSION RETAIN DAYS "
    "WRITE ORDERED SHOW DESCRIBE VIEW NAMESPACE IN TBLPROPERTIES WITH < > struct IF EXISTS DEFAULT COMMENT . ; { :p ?"
)


@given(st.lists(st.sampled_from(WORDS.split()), min_size=1, max_size=20).map(" ".join))
def test_any_words_are_classified_or_refused_with_an_error_of_ours(sql: str) -> None:
    with contextlib.suppress(FloebergError):
        classify(sql, LAKE)
