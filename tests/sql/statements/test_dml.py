"""INSERT, DELETE, UPDATE, MERGE and CALL, read into data."""

from __future__ import annotations

from decimal import Decimal

import pytest

from floeberg.sql.statements import call_statement
from floeberg.sql.statements import dml_statements as dml
from floeberg.sql.statements.classify import classify
from floeberg.sql.statements.insert_defaults import find_defaults, query_text
from floeberg.sql.text.cursor import Args
from floeberg.sql.text.lexer import Span
from floeberg.sql.text.names import SessionNames

LAKE = SessionNames(frozenset({"lake"}))


def text(sql: str, span: Span | None) -> str | None:
    return None if span is None else span.of(sql)


def insert(sql: str) -> dml.Insert:
    found = classify(sql, LAKE)
    assert isinstance(found, dml.Insert)
    assert found.table.parts == ("lake", "db", "t")
    return found


@pytest.mark.parametrize(
    ("sql", "query", "overwrite", "by_name", "columns"),
    [
        ("INSERT INTO lake.db.t VALUES (1, 2)", "VALUES (1, 2)", False, False, ()),
        ("INSERT INTO TABLE lake.db.t SELECT * FROM u;", "SELECT * FROM u", False, False, ()),
        ("INSERT OVERWRITE lake.db.t (SELECT 1)", "(SELECT 1)", True, False, ()),
        ("INSERT OVERWRITE TABLE lake.db.t TABLE u", "TABLE u", True, False, ()),
        ("INSERT INTO lake.db.t BY NAME SELECT 1 AS a", "SELECT 1 AS a", False, True, ()),
        ("INSERT INTO lake.db.t (a, b) VALUES (1, DEFAULT)", "VALUES (1, DEFAULT)", False, False, (("a",), ("b",))),
        (
            "INSERT INTO lake.db.t(a) WITH c AS (SELECT 1) SELECT * FROM c",
            "WITH c AS (SELECT 1) SELECT * FROM c",
            False,
            False,
            (("a",),),
        ),
        ("INSERT INTO lake.db.t FROM u SELECT a", "FROM u SELECT a", False, False, ()),
    ],
)
def test_an_insert_keeps_its_query_as_text(
    sql: str, query: str, overwrite: bool, by_name: bool, columns: tuple[tuple[str, ...], ...]
) -> None:
    found = insert(sql)
    assert (text(sql, found.query), found.overwrite, found.by_name, found.columns) == (
        query,
        overwrite,
        by_name,
        columns,
    )


def test_an_insert_takes_static_and_dynamic_partitions() -> None:
    sql = "INSERT OVERWRITE TABLE lake.db.t PARTITION (a = 1, b = DATE '2024-01-01', c) IF NOT EXISTS SELECT 1"
    found = insert(sql)
    assert [(name, text(sql, value)) for name, value in found.partition] == [
        ("a", "1"),
        ("b", "DATE '2024-01-01'"),
        ("c", None),
    ]
    assert (found.has_partition_clause, found.if_not_exists) == (True, True)


@pytest.mark.parametrize(
    "query", ["SELECT 1", "VALUES (1)", "TABLE u", "WITH c AS (SELECT 1) SELECT * FROM c", "(SELECT 1)"]
)
def test_an_insert_may_replace_the_rows_of_a_condition(query: str) -> None:
    sql = f"INSERT INTO lake.db.t REPLACE WHERE a > 1 AND b IN (SELECT c FROM u) {query}"
    found = insert(sql)
    assert text(sql, found.replace_where) == "a > 1 AND b IN (SELECT c FROM u)"
    assert text(sql, found.query) == query


def test_a_with_clause_before_a_statement_belongs_to_it() -> None:
    sql = "WITH c AS (SELECT 1 AS a) INSERT INTO lake.db.t SELECT * FROM c"
    found = insert(sql)
    assert text(sql, found.ctes) == "WITH c AS (SELECT 1 AS a)"
    deleted = classify("WITH c AS (SELECT 1) DELETE FROM lake.db.t WHERE a IN (SELECT * FROM c)", LAKE)
    assert isinstance(deleted, dml.Delete)
    assert deleted.ctes is not None


def test_schema_evolution_and_options_of_an_insert() -> None:
    found = insert("INSERT WITH SCHEMA EVOLUTION INTO lake.db.t WITH ('branch' = 'x') SELECT 1")
    assert found.schema_evolution
    assert found.options == (("branch", "x"),)


@pytest.mark.parametrize(
    ("sql", "alias", "where"),
    [
        ("DELETE FROM lake.db.t", None, None),
        (
            "DELETE FROM lake.db.t AS x WHERE x.a = 1 AND b IN (SELECT c FROM u);",
            "x",
            "x.a = 1 AND b IN (SELECT c FROM u)",
        ),
        (
            "DELETE FROM lake.db.t x WHERE EXISTS (SELECT 1 FROM u WHERE u.a = x.a)",
            "x",
            "EXISTS (SELECT 1 FROM u WHERE u.a = x.a)",
        ),
        ("delete from lake.db.t where a between 1 and 2", None, "a between 1 and 2"),
    ],
)
def test_a_delete_keeps_its_condition_as_text(sql: str, alias: str | None, where: str | None) -> None:
    found = classify(sql, LAKE)
    assert isinstance(found, dml.Delete)
    assert (found.alias, text(sql, found.where)) == (alias, where)


def test_an_update_pairs_columns_with_the_text_of_their_values() -> None:
    sql = (
        "UPDATE lake.db.t AS x SET a = a + 1, x.s.b = (SELECT max(c) FROM u), c = DEFAULT, "
        "d = CASE WHEN e THEN 1 ELSE 2 END, f = concat('a, b', g) WHERE h = 'WHERE'"
    )
    found = classify(sql, LAKE)
    assert isinstance(found, dml.Update)
    assert [(a.column, text(sql, a.value)) for a in found.assignments] == [
        (("a",), "a + 1"),
        (("x", "s", "b"), "(SELECT max(c) FROM u)"),
        (("c",), None),
        (("d",), "CASE WHEN e THEN 1 ELSE 2 END"),
        (("f",), "concat('a, b', g)"),
    ]
    assert (found.alias, text(sql, found.where)) == ("x", "h = 'WHERE'")


MERGE = """
MERGE WITH SCHEMA EVOLUTION INTO lake.db.t AS t
USING (SELECT *, CASE WHEN a THEN 1 END AS b FROM u WHERE x = 1) AS s
ON t.id = s.id AND t.p = 'WHEN MATCHED'
WHEN MATCHED AND s.op = 'd' AND CASE WHEN s.a THEN TRUE ELSE FALSE END THEN DELETE
WHEN MATCHED AND s.op = 'u' THEN UPDATE SET t.v = s.v + 1, w = DEFAULT, x.y = coalesce(s.y, t.x.y)
WHEN MATCHED THEN UPDATE SET *
WHEN NOT MATCHED BY TARGET AND s.op <> 'd' THEN INSERT (id, v, w) VALUES (s.id, CASE WHEN s.v > 1 THEN 2 END, DEFAULT)
WHEN NOT MATCHED THEN INSERT *
WHEN NOT MATCHED BY SOURCE AND t.old THEN UPDATE SET stale = TRUE
WHEN NOT MATCHED BY SOURCE THEN DELETE
"""


def test_a_merge_keeps_every_condition_and_value_as_text() -> None:
    found = classify(MERGE, LAKE)
    assert isinstance(found, dml.Merge)
    assert found.schema_evolution
    assert (found.alias, found.source_alias, found.source_name) == ("t", "s", None)
    assert text(MERGE, found.source) == "(SELECT *, CASE WHEN a THEN 1 END AS b FROM u WHERE x = 1)"
    assert text(MERGE, found.condition) == "t.id = s.id AND t.p = 'WHEN MATCHED'"
    clauses = [(c.when, c.action, c.star, text(MERGE, c.condition)) for c in found.clauses]
    assert clauses == [
        ("matched", "delete", False, "s.op = 'd' AND CASE WHEN s.a THEN TRUE ELSE FALSE END"),
        ("matched", "update", False, "s.op = 'u'"),
        ("matched", "update", True, None),
        ("not_matched", "insert", False, "s.op <> 'd'"),
        ("not_matched", "insert", True, None),
        ("not_matched_by_source", "update", False, "t.old"),
        ("not_matched_by_source", "delete", False, None),
    ]
    assert [(a.column, text(MERGE, a.value)) for a in found.clauses[1].assignments] == [
        (("t", "v"), "s.v + 1"),
        (("w",), None),
        (("x", "y"), "coalesce(s.y, t.x.y)"),
    ]
    assert [(a.column, text(MERGE, a.value)) for a in found.clauses[3].assignments] == [
        (("id",), "s.id"),
        (("v",), "CASE WHEN s.v > 1 THEN 2 END"),
        (("w",), None),
    ]


@pytest.mark.parametrize(
    ("source", "span", "alias", "name"),
    [
        ("u", "u", None, ("u",)),
        ("lake.db.u VERSION AS OF 5 AS s", "lake.db.u VERSION AS OF 5", "s", ("lake", "db", "u")),
        ("{df} s", "{df}", "s", None),
        ("(VALUES (1)) s", "(VALUES (1))", "s", None),
        ("(WITH c AS (SELECT 1) SELECT * FROM c) s", "(WITH c AS (SELECT 1) SELECT * FROM c)", "s", None),
    ],
)
def test_a_merge_takes_any_source(source: str, span: str, alias: str | None, name: tuple[str, ...] | None) -> None:
    sql = f"MERGE INTO lake.db.t USING {source} ON a = b WHEN MATCHED THEN DELETE"
    found = classify(sql, LAKE)
    assert isinstance(found, dml.Merge)
    assert (text(sql, found.source), found.source_alias) == (span, alias)
    assert (found.source_name.parts if found.source_name else None) == name


def call(arguments: str, args: Args = None) -> tuple[str, list[tuple[str | None, object]]]:
    sql = f"CALL lake.system.f({arguments})"
    found = classify(sql, LAKE, args=args)
    assert isinstance(found, call_statement.Call)
    assert found.procedure.parts == ("lake", "system", "f")
    return sql, [(argument.name, argument.value) for argument in found.arguments]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("", []),
        ("'db.t', 1234", [(None, "db.t"), (None, 1234)]),
        ("table => 'db.t', snapshot_id => 5L", [("table", "db.t"), ("snapshot_id", 5)]),
        (
            "'db.t', Older_Than => TIMESTAMP '2024-01-01 00:00:00'",
            [(None, "db.t"), ("older_than", call_statement.TemporalText("timestamp", "2024-01-01 00:00:00"))],
        ),
        ("x => CAST('2024-01-01' AS TIMESTAMP)", [("x", call_statement.TemporalText("timestamp", "2024-01-01"))]),
        ("x => DATE '2024-01-01'", [("x", call_statement.TemporalText("date", "2024-01-01"))]),
        ("x => map('a', 'b', 'c', '1')", [("x", {"a": "b", "c": "1"})]),
        ("x => array('a', 'b'), y => ARRAY(1, -2), z => array()", [("x", ["a", "b"]), ("y", [1, -2]), ("z", [])]),
        (
            "true, FALSE, NULL, 1.5, -2e3, 'a' 'b'",
            [(None, True), (None, False), (None, None), (None, Decimal("1.5")), (None, -2000.0), (None, "ab")],
        ),
        ("where => 'id = 3 and name = \"foo\"'", [("where", 'id = 3 and name = "foo"')]),
        ("sort_order => 'zorder(c1,c2)'", [("sort_order", "zorder(c1,c2)")]),
    ],
)
def test_the_arguments_of_a_call_are_values(arguments: str, expected: list[tuple[str | None, object]]) -> None:
    assert call(arguments)[1] == expected


def test_arguments_that_are_no_literals_are_text_for_spark() -> None:
    sql, found = call("'db.t', older_than => current_timestamp() - INTERVAL 3 DAYS, x => named_struct('a', 1)")
    assert [value.span.of(sql) for _, value in found[1:] if isinstance(value, call_statement.ExpressionText)] == [
        "current_timestamp() - INTERVAL 3 DAYS",
        "named_struct('a', 1)",
    ]


def test_parameters_of_a_call_are_their_values() -> None:
    assert call("table => :t, n => :n", {"t": "db.t", "n": 5})[1] == [("table", "db.t"), ("n", 5)]
    assert call("?, ?", ["db.t", 5])[1] == [(None, "db.t"), (None, 5)]
    (_, value) = call("x => :missing", {})[1][0]
    assert isinstance(value, call_statement.ExpressionText)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("VALUES (1, DEFAULT), (DEFAULT, f(DEFAULT, 2))", [(11, 1), (22, 0)]),
        ("VALUES DEFAULT, 2", [(7, 0)]),
        ("SELECT 1, default, f(default), 'DEFAULT', t.default FROM t", [(10, 1)]),
        ("(SELECT DEFAULT)", [(8, 0)]),
        ("SELECT 1", []),
        ("SELECT DEFAULT AS x", []),
        ("TABLE default", []),
    ],
)
def test_defaults_among_inserted_values_are_found(query: str, expected: list[tuple[int, int]]) -> None:
    assert [(use.span.start, use.ordinal) for use in find_defaults(query).uses] == expected
    assert all(use.span.of(query).upper() == "DEFAULT" for use in find_defaults(query).uses)


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("INSERT INTO lake.db.t SELECT 1", "SELECT 1"),
        ("WITH c AS (SELECT 1) INSERT INTO lake.db.t SELECT * FROM c", "WITH c AS (SELECT 1) SELECT * FROM c"),
        (
            "WITH c AS (SELECT 1) INSERT INTO lake.db.t WITH d AS (TABLE c) TABLE d",
            "WITH c AS (SELECT 1) SELECT * FROM (WITH d AS (TABLE c) TABLE d)",
        ),
    ],
)
def test_the_query_of_an_insert_has_its_with_clause(sql: str, expected: str) -> None:
    assert query_text(sql, insert(sql)) == expected
