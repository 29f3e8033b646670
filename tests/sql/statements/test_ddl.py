"""DDL, SHOW, DESCRIBE and the rest, read into data."""

from __future__ import annotations

from typing import cast

import pytest

from floeberg.sql.ddl.types import type_from_ddl
from floeberg.sql.statements import session_statements as ses
from floeberg.sql.statements import statements as stm
from floeberg.sql.statements.classify import classify
from floeberg.sql.text.names import Name, SessionNames

LAKE = SessionNames(frozenset({"lake"}))


def read(sql: str) -> stm.Statement:
    found = classify(sql, LAKE)
    assert isinstance(found, stm.Statement), found
    return found


def plain(sql: str, value: object) -> object:
    """A statement as nested plain data: names by their parts, spans by their text, columns by what was given."""
    if isinstance(value, Name):
        return ".".join(value.parts)
    if isinstance(value, stm.Span):
        return value.of(sql)
    if isinstance(value, stm.ColumnPosition):
        return "FIRST" if value.first else f"AFTER {value.after}"
    if isinstance(value, tuple):
        return tuple(plain(sql, item) for item in value)
    if isinstance(value, stm.ColumnDefinition | stm.ColumnChange | ses.ViewColumn):
        return {name: plain(sql, item) for name, item in fields(value).items() if name != "type_span"}
    if type(value).__module__.startswith("floeberg.spec"):
        return str(value)
    return value


def fields(value: object) -> dict[str, object]:
    """The fields that differ from their defaults."""
    found = {}
    for name, field in value.__dataclass_fields__.items():  # type: ignore[attr-defined]
        item = getattr(value, name)
        if item != field.default:
            found[name] = item
    return found


def told(sql: str) -> tuple[str, dict[str, object]]:
    statement = read(sql)
    return type(statement).__name__, {name: plain(sql, item) for name, item in fields(statement).items()}


T = "lake.db.t"


@pytest.mark.parametrize(
    ("sql", "kind", "expected"),
    [
        (
            "CREATE TABLE lake.db.t (id BIGINT NOT NULL COMMENT 'key', data STRING) USING iceberg",
            "CreateTable",
            {
                "table": T,
                "columns": (
                    {"path": ("id",), "type_text": "BIGINT", "required": True, "comment": "key"},
                    {"path": ("data",), "type_text": "STRING"},
                ),
                "provider": "iceberg",
            },
        ),
        (
            "create table if not exists lake.db.t (s struct<a: int NOT NULL, b: array<map<string, decimal(10, 2)>>>, "
            "t TIMESTAMP_NTZ, u TIMESTAMP WITHOUT TIME ZONE, e struct<>, v char(5))",
            "CreateTable",
            {
                "table": T,
                "columns": (
                    {"path": ("s",), "type_text": "struct<a: int NOT NULL, b: array<map<string, decimal(10, 2)>>>"},
                    {"path": ("t",), "type_text": "TIMESTAMP_NTZ"},
                    {"path": ("u",), "type_text": "TIMESTAMP WITHOUT TIME ZONE"},
                    {"path": ("e",), "type_text": "struct<>"},
                    {"path": ("v",), "type_text": "char(5)"},
                ),
                "if_not_exists": True,
            },
        ),
        (
            "CREATE TABLE lake.db.t (a INT DEFAULT 5 NOT NULL, b STRING DEFAULT 'x, y' COMMENT 'c', c DATE DEFAULT date_add(current_date(), 1))",
            "CreateTable",
            {
                "table": T,
                "columns": (
                    {"path": ("a",), "type_text": "INT", "required": True, "default": "5"},
                    {"path": ("b",), "type_text": "STRING", "comment": "c", "default": "'x, y'"},
                    {"path": ("c",), "type_text": "DATE", "default": "date_add(current_date(), 1)"},
                ),
            },
        ),
        (
            "CREATE OR REPLACE TABLE lake.db.t USING iceberg PARTITIONED BY (days(ts), bucket(16, id), truncate(name, 4), region, a.b, years(x), date_hour(y)) "
            "LOCATION 's3://b/t' COMMENT 'about' TBLPROPERTIES ('format-version'='3', write.format.default = 'orc', x.y-z=5, on=true) AS SELECT * FROM u;",
            "CreateTable",
            {
                "table": T,
                "replace": True,
                "provider": "iceberg",
                "partitioning": ("day(ts)", "bucket(16, id)", "truncate(4, name)", "region", "a.b", "year(x)", "hour(y)"),
                "location": "s3://b/t",
                "comment": "about",
                "properties": (("format-version", "3"), ("write.format.default", "orc"), ("x.y-z", "5"), ("on", "true")),
                "query": "SELECT * FROM u",
            },
        ),
        ("REPLACE TABLE lake.db.t AS SELECT 1", "CreateTable", {"table": T, "create": False, "replace": True, "query": "SELECT 1"}),
        ("CREATE TABLE lake.db.t SELECT 1 AS a", "CreateTable", {"table": T, "query": "SELECT 1 AS a"}),
        ("CREATE TABLE lake.db.t AS WITH c AS (SELECT 1) TABLE c", "CreateTable", {"table": T, "query": "WITH c AS (SELECT 1) TABLE c"}),
        (
            "CREATE TABLE lake.db.t (a INT) PARTITIONED BY (p STRING, q DATE)",
            "CreateTable",
            {
                "table": T,
                "columns": (
                    {"path": ("a",), "type_text": "INT"},
                    {"path": ("p",), "type_text": "STRING"},
                    {"path": ("q",), "type_text": "DATE"},
                ),
                "partitioning": ("p", "q"),
            },
        ),
        ("CREATE TABLE lake.db.t (a INT) CLUSTERED BY (a) INTO 4 BUCKETS", "CreateTable", {"table": T, "columns": ({"path": ("a",), "type_text": "INT"},), "partitioning": ("bucket(4, a)",)}),
        ("CREATE TABLE lake.db.t LIKE lake.db.u LOCATION '/x' TBLPROPERTIES ('a'='b')", "CreateTableLike", {"table": T, "source": "lake.db.u", "location": "/x", "properties": (("a", "b"),)}),
        ("CREATE TABLE lake.`d b`.`t.x` (`a b` INT)", "CreateTable", {"table": "lake.d b.t.x", "columns": ({"path": ("a b",), "type_text": "INT"},)}),
        ("DROP TABLE lake.db.t", "DropTable", {"table": T}),
        ("DROP TABLE IF EXISTS lake.db.t PURGE;", "DropTable", {"table": T, "if_exists": True, "purge": True}),
        # views
        ("CREATE OR REPLACE VIEW lake.db.v (a COMMENT 'x', b) COMMENT 'c' TBLPROPERTIES ('k'='v') AS SELECT 1, 2", "CreateView",
         {"view": "lake.db.v", "query": "SELECT 1, 2", "columns": ({"name": "a", "comment": "x"}, {"name": "b"}), "replace": True, "comment": "c", "properties": (("k", "v"),)}),
        ("CREATE GLOBAL TEMPORARY VIEW v AS SELECT * FROM lake.db.t", "CreateView", {"view": "v", "query": "SELECT * FROM lake.db.t", "temporary": True, "global_temporary": True}),
        ("ALTER VIEW lake.db.v AS SELECT 2", "AlterViewAs", {"view": "lake.db.v", "query": "SELECT 2"}),
        ("ALTER VIEW lake.db.v RENAME TO lake.db.w", "RenameTable", {"table": "lake.db.v", "new_name": "lake.db.w", "view": True}),
        ("ALTER VIEW lake.db.v SET TBLPROPERTIES ('a' 'b')", "SetTableProperties", {"table": "lake.db.v", "properties": (("a", "b"),), "view": True}),
        ("ALTER VIEW lake.db.v UNSET TBLPROPERTIES IF EXISTS ('a')", "UnsetTableProperties", {"table": "lake.db.v", "keys": ("a",), "if_exists": True, "view": True}),
        ("DROP VIEW IF EXISTS lake.db.v", "DropView", {"view": "lake.db.v", "if_exists": True}),
        # namespaces
        ("CREATE NAMESPACE lake.a.b", "CreateNamespace", {"namespace": "lake.a.b"}),
        ("CREATE DATABASE IF NOT EXISTS lake.a COMMENT 'c' LOCATION '/x' WITH DBPROPERTIES (a = 'b', 'c' = 'd')", "CreateNamespace",
         {"namespace": "lake.a", "if_not_exists": True, "comment": "c", "location": "/x", "properties": (("a", "b"), ("c", "d"))}),
        ("DROP SCHEMA IF EXISTS lake.a CASCADE", "DropNamespace", {"namespace": "lake.a", "if_exists": True, "cascade": True}),
        ("DROP NAMESPACE lake.a RESTRICT", "DropNamespace", {"namespace": "lake.a"}),
        ("DESCRIBE NAMESPACE EXTENDED lake.a", "DescribeNamespace", {"namespace": "lake.a", "extended": True}),
        ("DESC DATABASE lake.a", "DescribeNamespace", {"namespace": "lake.a"}),
        ("ALTER NAMESPACE lake.a SET PROPERTIES ('a' = 'b')", "SetNamespaceProperties", {"namespace": "lake.a", "properties": (("a", "b"),)}),
        ("ALTER DATABASE lake.a SET DBPROPERTIES (a = 1)", "SetNamespaceProperties", {"namespace": "lake.a", "properties": (("a", "1"),)}),
        ("ALTER SCHEMA lake.a UNSET PROPERTIES ('a')", "UnsetNamespaceProperties", {"namespace": "lake.a", "keys": ("a",)}),
        ("ALTER NAMESPACE lake.a SET LOCATION '/x'", "SetNamespaceLocation", {"namespace": "lake.a", "location": "/x"}),
        ("USE lake.a.b", "Use", {"name": "lake.a.b"}),
        ("USE NAMESPACE a", "Use", {"name": "a", "kind": "namespace"}),
        ("USE DATABASE lake.a", "Use", {"name": "lake.a", "kind": "namespace"}),
        ("SET CATALOG 'lake'", "Use", {"name": "lake", "kind": "catalog"}),
        # show and describe
        ("SHOW CATALOGS LIKE 'l*'", "ShowCatalogs", {"pattern": "l*"}),
        ("SHOW NAMESPACES IN lake", "ShowNamespaces", {"parent": "lake"}),
        ("SHOW DATABASES FROM lake.a LIKE 'x*'", "ShowNamespaces", {"parent": "lake.a", "pattern": "x*"}),
        ("SHOW TABLES IN lake.a", "ShowTables", {"namespace": "lake.a"}),
        ("SHOW TABLES FROM lake.a 'x*'", "ShowTables", {"namespace": "lake.a", "pattern": "x*"}),
        ("SHOW VIEWS IN lake.a LIKE 'x'", "ShowTables", {"kind": "views", "namespace": "lake.a", "pattern": "x"}),
        ("SHOW TABLE EXTENDED IN lake.a LIKE 'x'", "ShowTables", {"kind": "extended", "namespace": "lake.a", "pattern": "x"}),
        ("SHOW COLUMNS IN lake.db.t", "ShowColumns", {"table": T}),
        ("SHOW COLUMNS FROM t FROM lake.db", "ShowColumns", {"table": T}),
        ("SHOW TBLPROPERTIES lake.db.t", "ShowTableProperties", {"table": T}),
        ("SHOW TBLPROPERTIES lake.db.t ('a.b')", "ShowTableProperties", {"table": T, "key": "a.b"}),
        ("SHOW TBLPROPERTIES lake.db.t (a.b)", "ShowTableProperties", {"table": T, "key": "a.b"}),
        ("SHOW CREATE TABLE lake.db.t", "ShowCreateTable", {"table": T}),
        ("SHOW PARTITIONS lake.db.t", "ShowPartitions", {"table": T}),
        ("DESCRIBE lake.db.t", "DescribeTable", {"table": T}),
        ("DESC TABLE EXTENDED lake.db.t", "DescribeTable", {"table": T, "extended": True}),
        ("DESCRIBE FORMATTED lake.db.t a.b", "DescribeTable", {"table": T, "extended": True, "column": ("a", "b")}),
        ("DESCRIBE EXTENDED lake.db.t AS JSON", "DescribeTable", {"table": T, "extended": True, "as_json": True}),
        ("REFRESH TABLE lake.db.t", "RefreshTable", {"table": T}),
        ("CACHE LAZY TABLE lake.db.t OPTIONS ('storageLevel' 'DISK_ONLY')", "CacheTable", {"table": T, "lazy": True, "options": (("storageLevel", "DISK_ONLY"),)}),
        ("UNCACHE TABLE IF EXISTS lake.db.t", "UncacheTable", {"table": T, "if_exists": True}),
        ("TRUNCATE TABLE lake.db.t", "TruncateTable", {"table": T}),
        ("COMMENT ON TABLE lake.db.t IS 'x'", "CommentOn", {"kind": "table", "name": T, "comment": "x"}),
        ("COMMENT ON NAMESPACE lake.db IS NULL", "CommentOn", {"kind": "namespace", "name": "lake.db", "comment": None}),
        ("ANALYZE TABLE lake.db.t COMPUTE STATISTICS FOR COLUMNS a, b", "AnalyzeTable", {"table": T, "columns": ("a", "b")}),
    ],
)  # fmt: skip
def test_a_statement_is_read_into_data(sql: str, kind: str, expected: dict[str, object]) -> None:
    name, found = told(sql)
    found.pop("references", None)
    assert (name, found) == (kind, expected)


@pytest.mark.parametrize(
    ("action", "kind", "expected"),
    [
        ("RENAME TO lake.db.u", "RenameTable", {"new_name": "lake.db.u"}),
        ("SET TBLPROPERTIES ('a' = 'b', 'c' = 1)", "SetTableProperties", {"properties": (("a", "b"), ("c", "1"))}),
        ("UNSET TBLPROPERTIES ('a', b.c)", "UnsetTableProperties", {"keys": ("a", "b.c")}),
        ("SET LOCATION '/x'", "SetTableLocation", {"location": "/x"}),
        ("ADD COLUMN a INT", "AddColumns", {"columns": ({"path": ("a",), "type_text": "INT"},)}),
        (
            "ADD COLUMNS (a INT NOT NULL COMMENT 'x' FIRST, point.z DOUBLE AFTER y, xs.element.b STRING DEFAULT 'q')",
            "AddColumns",
            {
                "columns": (
                    {"path": ("a",), "type_text": "INT", "required": True, "comment": "x", "position": "FIRST"},
                    {"path": ("point", "z"), "type_text": "DOUBLE", "position": "AFTER y"},
                    {"path": ("xs", "element", "b"), "type_text": "STRING", "default": "'q'"},
                )
            },
        ),
        ("ADD COLUMN IF NOT EXISTS a INT", "AddColumns", {"columns": ({"path": ("a",), "type_text": "INT"},), "if_not_exists": True}),
        ("RENAME COLUMN a.b TO c", "RenameColumn", {"path": ("a", "b"), "new_name": "c"}),
        ("ALTER COLUMN a TYPE BIGINT", "AlterColumns", {"changes": ({"path": ("a",), "type_text": "BIGINT"},)}),
        ("ALTER COLUMN a TYPE DECIMAL(20, 2)", "AlterColumns", {"changes": ({"path": ("a",), "type_text": "DECIMAL(20, 2)"},)}),
        ("ALTER COLUMN a.b COMMENT 'x'", "AlterColumns", {"changes": ({"path": ("a", "b"), "comment": "x"},)}),
        ("ALTER a FIRST", "AlterColumns", {"changes": ({"path": ("a",), "position": "FIRST"},)}),
        ("ALTER COLUMN a AFTER b", "AlterColumns", {"changes": ({"path": ("a",), "position": "AFTER b"},)}),
        ("ALTER COLUMN a DROP NOT NULL", "AlterColumns", {"changes": ({"path": ("a",), "required": False},)}),
        ("ALTER COLUMN a SET NOT NULL", "AlterColumns", {"changes": ({"path": ("a",), "required": True},)}),
        ("ALTER COLUMN a SET DEFAULT 1 + 2", "AlterColumns", {"changes": ({"path": ("a",), "default": "1 + 2"},)}),
        ("ALTER COLUMN a DROP DEFAULT", "AlterColumns", {"changes": ({"path": ("a",), "drop_default": True},)}),
        ("ALTER COLUMN a TYPE BIGINT, b COMMENT 'x'", "AlterColumns", {"changes": ({"path": ("a",), "type_text": "BIGINT"}, {"path": ("b",), "comment": "x"})}),
        ("CHANGE COLUMN a a BIGINT COMMENT 'x' FIRST", "AlterColumns", {"changes": ({"path": ("a",), "type_text": "BIGINT", "comment": "x", "position": "FIRST"},)}),
        ("CHANGE COLUMN a TYPE BIGINT", "AlterColumns", {"changes": ({"path": ("a",), "type_text": "BIGINT"},)}),
        ("DROP COLUMN a.b", "DropColumns", {"paths": (("a", "b"),)}),
        ("DROP COLUMNS IF EXISTS (a, b)", "DropColumns", {"paths": (("a",), ("b",)), "if_exists": True}),
        ("REPLACE COLUMNS (a INT, b STRING)", "ReplaceColumns", {"columns": ({"path": ("a",), "type_text": "INT"}, {"path": ("b",), "type_text": "STRING"})}),
        ("ADD PARTITION FIELD category", "AddPartitionField", {"term": "category"}),
        ("ADD PARTITION FIELD bucket(16, id)", "AddPartitionField", {"term": "bucket(16, id)"}),
        ("ADD PARTITION FIELD truncate(data, 4) -- why\n", "AddPartitionField", {"term": "truncate(4, data)"}),
        ("DROP PARTITION FIELD days(ts)", "DropPartitionField", {"term": "day(ts)"}),
        ("DROP PARTITION FIELD shard", "DropPartitionField", {"term": "shard"}),
        ("REPLACE PARTITION FIELD ts_day WITH hours(ts)", "ReplacePartitionField", {"old": "ts_day", "new": "hour(ts)"}),
        ("WRITE UNORDERED", "SetWriteOrder", {"order": (), "distribution_mode": "none"}),
        ("WRITE DISTRIBUTED BY PARTITION", "SetWriteOrder", {"order": (), "distribution_mode": "hash"}),
        ("SET IDENTIFIER FIELDS a, b.c", "ChangeIdentifierFields", {"paths": (("a",), ("b", "c"))}),
        ("DROP IDENTIFIER FIELDS a", "ChangeIdentifierFields", {"paths": (("a",),), "drop": True}),
        ("CREATE BRANCH b", "CreateReference", {"kind": "branch", "name": "b"}),
        ("CREATE BRANCH IF NOT EXISTS `audit-branch`", "CreateReference", {"kind": "branch", "name": "audit-branch", "if_not_exists": True}),
        (
            "CREATE OR REPLACE BRANCH b AS OF VERSION 1234 RETAIN 30 DAYS WITH SNAPSHOT RETENTION 3 SNAPSHOTS 2 HOURS",
            "CreateReference",
            {
                "kind": "branch", "name": "b", "replace": True, "snapshot_id": 1234, "max_ref_age_ms": 30 * 86_400_000,
                "min_snapshots_to_keep": 3, "max_snapshot_age_ms": 7_200_000,
            },
        ),
        ("CREATE BRANCH b WITH SNAPSHOT RETENTION 5 MINUTES", "CreateReference", {"kind": "branch", "name": "b", "max_snapshot_age_ms": 300_000}),
        ("REPLACE BRANCH b WITH SNAPSHOT RETENTION 2 SNAPSHOTS", "CreateReference", {"kind": "branch", "name": "b", "create": False, "replace": True, "min_snapshots_to_keep": 2}),
        ("CREATE TAG v1 AS OF VERSION 5 RETAIN 365 DAYS", "CreateReference", {"kind": "tag", "name": "v1", "snapshot_id": 5, "max_ref_age_ms": 365 * 86_400_000}),
        ("REPLACE TAG v1", "CreateReference", {"kind": "tag", "name": "v1", "create": False, "replace": True}),
        ("DROP BRANCH IF EXISTS b", "DropReference", {"kind": "branch", "name": "b", "if_exists": True}),
        ("DROP TAG v1", "DropReference", {"kind": "tag", "name": "v1"}),
    ],
)  # fmt: skip
def test_an_alteration_is_read_into_data(action: str, kind: str, expected: dict[str, object]) -> None:
    name, found = told(f"ALTER TABLE lake.db.t {action}")
    assert found.pop("table") == T
    assert (name, found) == (kind, expected)


def test_a_partition_field_takes_the_name_that_as_gives() -> None:
    added = cast("stm.AddPartitionField", read("ALTER TABLE lake.db.t ADD PARTITION FIELD bucket(16, id) AS shard"))
    assert (str(added.term), added.term.name) == ("bucket(16, id)", "shard")
    replaced = cast(
        "stm.ReplacePartitionField", read("ALTER TABLE lake.db.t REPLACE PARTITION FIELD a WITH days(b) AS c")
    )
    assert (replaced.old.name, replaced.new.name) == (None, "c")


@pytest.mark.parametrize(
    ("clause", "mode", "order"),
    [
        ("ORDERED BY a", "range", [("a", "asc", "nulls-first")]),
        (
            "ORDERED BY a DESC, bucket(4, b) ASC NULLS LAST",
            "range",
            [("a", "desc", "nulls-last"), ("bucket(4, b)", "asc", "nulls-last")],
        ),
        ("LOCALLY ORDERED BY a DESC NULLS FIRST", None, [("a", "desc", "nulls-first")]),
        ("DISTRIBUTED BY PARTITION ORDERED BY a", "hash", [("a", "asc", "nulls-first")]),
        (
            "LOCALLY ORDERED BY (a, b) DISTRIBUTED BY PARTITION",
            "hash",
            [("a", "asc", "nulls-first"), ("b", "asc", "nulls-first")],
        ),
    ],
)
def test_a_write_order_sets_distribution_and_fields(
    clause: str, mode: str | None, order: list[tuple[str, ...]]
) -> None:
    found = cast("stm.SetWriteOrder", read(f"ALTER TABLE lake.db.t WRITE {clause}"))
    assert found.distribution_mode == mode
    assert [(str(term.term), str(term.direction), str(term.null_order)) for term in found.order] == order


def test_type_texts_are_what_the_ddl_reader_takes() -> None:
    sql = "CREATE TABLE lake.db.t (a decimal(9, 2), b array<struct<x: int, y: map<string, date>>>, c timestamp_ntz)"
    created = cast("stm.CreateTable", read(sql))
    types = [str(type_from_ddl(column.type_text)) for column in created.columns]
    assert types[0] == "decimal(9, 2)"
    assert types[2] == "timestamp"
    assert types[1].startswith("list<struct<")


def test_explain_keeps_the_statement() -> None:
    found = cast("stm.Explain", read("EXPLAIN EXTENDED DROP TABLE lake.db.t"))
    assert found.mode == "extended"
    assert isinstance(found.statement, stm.DropTable)
