"""Tables found by their place in the text."""

from __future__ import annotations

import pytest

from floeberg.errors import InvalidInput, UnsupportedFeature
from floeberg.sql.queries.references import TableReference, find_references
from floeberg.sql.text.cursor import UnresolvedIdentifier
from floeberg.sql.text.names import (
    NamespaceIdentifier,
    Selector,
    SessionNames,
    TableIdentifier,
    display_name,
    selector_of,
    split_selector,
)
from spark_runs.sql_corpus import QUERIES, WITH_CTES

LAKE = SessionNames(frozenset({"lake"}))


class Everything:
    """Every table is ours."""

    def table(self, parts: tuple[str, ...]) -> TableIdentifier | None:
        return TableIdentifier("", parts)

    def namespace(self, parts: tuple[str, ...]) -> NamespaceIdentifier | None:
        return None

    def tells_case(self) -> bool:
        return False

    def may_mention(self, sql: str) -> bool:
        return True


def tables_of(sql: str, names: object, **options: object) -> list[TableReference]:
    return list(find_references(sql, names, **options).tables)  # type: ignore[arg-type]


def found(sql: str, names: object = None, **options: object) -> list[str]:
    references = tables_of(sql, names or Everything(), **options)
    return [display_name(reference.parts) for reference in references]


@pytest.mark.parametrize(("sql", "tables"), QUERIES + WITH_CTES)
def test_every_table_of_a_query_is_found_and_nothing_else(sql: str, tables: list[str]) -> None:
    expected = [table.replace("`1b`", "1b") for table in tables]
    assert sorted(name.replace("`1b`", "1b") for name in found(sql)) == sorted(expected)


@pytest.mark.parametrize(("sql", "tables"), QUERIES + WITH_CTES)
def test_explain_changes_nothing(sql: str, tables: list[str]) -> None:
    assert len(found("EXPLAIN FORMATTED " + sql)) == len(tables)


@pytest.mark.parametrize(("sql", "tables"), QUERIES + WITH_CTES)
def test_positions_are_those_of_the_names(sql: str, tables: list[str]) -> None:
    for reference in tables_of(sql, Everything()):
        text = sql[reference.start : reference.end].removeprefix("TABLE ")
        assert text.replace("`", "").startswith(".".join(reference.parts).replace("`", ""))
        assert reference.end <= reference.alias_at


@pytest.mark.parametrize(
    ("sql", "kind", "text"),
    [
        ("SELECT * FROM lake.db.t VERSION AS OF 123 x", "version", "123"),
        ("SELECT * FROM lake.db.t VERSION AS OF 'tag'", "version", "'tag'"),
        ("SELECT * FROM lake.db.t FOR VERSION AS OF :v WHERE a", "version", ":v"),
        ("SELECT * FROM lake.db.t FOR SYSTEM_VERSION AS OF 5 t", "version", "5"),
        ("SELECT * FROM lake.db.t TIMESTAMP AS OF '2024-01-01 00:00:00' AS t", "timestamp", "'2024-01-01 00:00:00'"),
        (
            "SELECT * FROM lake.db.t FOR SYSTEM_TIME AS OF now() - INTERVAL '1' DAY t",
            "timestamp",
            "now() - INTERVAL '1' DAY",
        ),
        (
            "SELECT * FROM lake.db.t TIMESTAMP AS OF (SELECT max(x) FROM u) JOIN v",
            "timestamp",
            "(SELECT max(x) FROM u)",
        ),
        (
            "SELECT * FROM lake.db.t TIMESTAMP AS OF TIMESTAMP '2024-01-01' LIMIT 1",
            "timestamp",
            "TIMESTAMP '2024-01-01'",
        ),
    ],
)
def test_time_travel_is_part_of_the_reference(sql: str, kind: str, text: str) -> None:
    reference = tables_of(sql, LAKE)[0]
    assert reference.time_travel is not None
    assert (reference.time_travel.kind, reference.time_travel.text) == (kind, text)
    assert sql[reference.start : reference.end].endswith(text)


def test_aliases_options_and_forms_are_told() -> None:
    sql = "SELECT * FROM lake.a.t WITH ('branch' = 'x', split-size 5) AS u(p, q), lake.b.v w, f(TABLE(lake.c.x)), (TABLE lake.d.y)"
    sql = sql.replace("split-size 5", "'split-size' = 5")
    first, second, third, fourth = tables_of(sql, LAKE)
    assert first.options == (("branch", "x"), ("split-size", "5"))
    assert first.alias is not None
    assert (first.alias.name, first.alias.columns) == ("u", ("p", "q"))
    assert second.alias is not None
    assert second.alias.name == "w"
    assert (third.form, fourth.form) == ("argument", "table_query")


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        (("lake", "db", "t"), TableIdentifier("lake", ("db", "t"))),
        (("lake", "t"), TableIdentifier("lake", ("t",))),
        (("Lake", "db", "t"), None),
        (("db", "t"), None),
        (("t",), None),
        (("spark_catalog", "db", "t"), None),
    ],
)
def test_names_resolve_from_sparks_own_catalog(parts: tuple[str, ...], expected: TableIdentifier | None) -> None:
    assert LAKE.table(parts) == expected


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        (("t",), TableIdentifier("lake", ("a", "b", "t"))),
        (("c", "t"), TableIdentifier("lake", ("c", "t"))),
        (("lake", "c", "t"), TableIdentifier("lake", ("c", "t"))),
        (("spark_catalog", "c", "t"), None),
        (("SPARK_CATALOG", "c", "t"), None),
        (("global_temp", "v"), None),
        (("tmp",), None),
        (("v",), TableIdentifier("", ("v",))),
    ],
)
def test_names_resolve_from_a_catalog_of_ours(parts: tuple[str, ...], expected: TableIdentifier | None) -> None:
    names = SessionNames(
        frozenset({"lake"}),
        "lake",
        ("a", "b"),
        foreign=lambda parts: parts == ("tmp",),
        view_names=frozenset({"v"}),
    )
    assert names.table(parts) == expected


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ("branch_x", Selector("branch", "x")),
        ("tag_Y", Selector("tag", "Y")),
        ("snapshot_id_55", Selector("snapshot_id", "55")),
        ("at_timestamp_1700000000000", Selector("at_timestamp", "1700000000000")),
        ("files", Selector("metadata", "files")),
        ("ALL_DATA_FILES", Selector("metadata", "all_data_files")),
        ("changes", Selector("metadata", "changes")),
        ("branch_", None),
        ("snapshot_id_x", None),
        ("t", None),
    ],
)
def test_a_last_part_may_select_of_the_table_before_it(part: str, expected: Selector | None) -> None:
    assert selector_of(part) == expected


def test_a_selector_needs_a_table_before_it() -> None:
    assert split_selector(TableIdentifier("lake", ("files",))) is None
    (reference,) = tables_of("SELECT * FROM lake.db.t.files", LAKE)
    assert reference.selector == (TableIdentifier("lake", ("db", "t")), Selector("metadata", "files"))


def test_unqualified_names_are_ours_only_where_no_common_table_expression_is_meant() -> None:
    names = SessionNames(frozenset({"lake"}), "lake", ("db",))
    sql = "WITH t AS (SELECT * FROM t) SELECT * FROM t JOIN u ON t.id = u.id"
    assert [sql[r.start : r.end] for r in tables_of(sql, names)] == ["t", "u"]
    assert tables_of(sql, names)[0].start == sql.index("FROM t") + 5


@pytest.mark.parametrize(
    ("sql", "args", "expected"),
    [
        ("SELECT * FROM IDENTIFIER('lake.db.t')", None, ["lake.db.t"]),
        ("SELECT * FROM IDENTIFIER('lake.' || 'db.t') x", None, ["lake.db.t"]),
        ("SELECT * FROM IDENTIFIER(:t)", {"t": "lake.db.t"}, ["lake.db.t"]),
        ("SELECT * FROM u, IDENTIFIER(?) WHERE a = ?", ["lake.db.t", 5], ["lake.db.t"]),
        ("SELECT ?, * FROM IDENTIFIER(?)", [1, "lake.`d.b`.t"], ["lake.`d.b`.t"]),
        ("SELECT * FROM IDENTIFIER('lake').db.t", None, ["lake.db.t"]),
        ("SELECT * FROM IDENTIFIER(:t)", {"t": "other.db.t"}, []),
    ],
)
def test_identifier_clauses_are_resolved(sql: str, args: object, expected: list[str]) -> None:
    assert found(sql, LAKE, args=args) == expected


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM IDENTIFIER(:t)",
        "SELECT * FROM a, IDENTIFIER(:t)",
        "SELECT * FROM IDENTIFIER(concat('lake', '.db.t'))",
        "SELECT * FROM (SELECT * FROM IDENTIFIER(?))",
        "SELECT 1 WHERE EXISTS (SELECT * FROM IDENTIFIER(lower('X')))",
    ],
)
def test_identifier_clauses_that_cannot_be_resolved_are_refused(sql: str) -> None:
    with pytest.raises(UnresolvedIdentifier, match="line 1"):
        tables_of(sql, LAKE)


def test_functions_of_our_catalogs_are_found() -> None:
    sql = "SELECT lake.system.bucket(16, id), system.days(ts), lake.db.f(1), x FROM lake.db.t WHERE lake.system.truncate(2, s) = 'a'"
    references = find_references(sql, LAKE)
    assert [sql[f.start : f.end] for f in references.functions] == ["lake.system.bucket", "lake.system.truncate"]
    inside = SessionNames(frozenset({"lake"}), "lake", ("db",))
    assert len(find_references(sql, inside).functions) == 3


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        (
            "BEGIN SELECT * FROM lake.db.t; IF 1 = 1 THEN SELECT * FROM lake.db.u; END IF; END",
            ["lake.db.t", "lake.db.u"],
        ),
        ("BEGIN DECLARE x INT DEFAULT (SELECT max(a) FROM lake.db.t); END", ["lake.db.t"]),
        ("INSERT INTO other SELECT * FROM lake.db.t", ["lake.db.t"]),
        ("INSERT INTO other TABLE lake.db.t", ["lake.db.t"]),
        (
            "FROM lake.db.t INSERT INTO other SELECT a INSERT INTO another SELECT b WHERE c IN (SELECT 1 FROM lake.db.u)",
            ["lake.db.t", "lake.db.u"],
        ),
        ("CREATE TABLE other USING parquet AS WITH c AS (SELECT * FROM lake.db.t) SELECT * FROM c", ["lake.db.t"]),
        ("MERGE INTO other USING lake.db.t AS s ON a = b WHEN MATCHED THEN DELETE", ["lake.db.t"]),
        ("UPDATE other SET a = (SELECT max(b) FROM lake.db.t)", ["lake.db.t"]),
        ("DELETE FROM other WHERE a IN (SELECT b FROM lake.db.t)", ["lake.db.t"]),
        ("SELECT some new syntax GIBBERISH { FROM lake.db.t AS x WHERE", ["lake.db.t"]),
        ("DESCRIBE QUERY SELECT * FROM lake.db.t", ["lake.db.t"]),
    ],
)
def test_queries_inside_other_statements_are_found(sql: str, expected: list[str]) -> None:
    assert found(sql, LAKE) == expected


@pytest.mark.parametrize(
    "sql",
    [
        "BEGIN INSERT INTO lake.db.t VALUES (1); END",
        "BEGIN DELETE FROM lake.db.t; END",
        "BEGIN UPDATE lake.db.t SET a = 1; END",
        "BEGIN DROP TABLE IF EXISTS lake.db.t; END",
        "FROM x INSERT INTO lake.db.t SELECT *",
    ],
)
def test_scripts_that_change_our_tables_are_refused(sql: str) -> None:
    with pytest.raises(UnsupportedFeature, match=r"lake\.db\.t \(line 1"):
        tables_of(sql, LAKE)


def test_deep_nesting_is_refused_or_read_but_never_runs_out_of_stack() -> None:
    deep = "SELECT * FROM " + "(" * 3000 + "SELECT * FROM lake.db.t" + ")" * 3000
    try:
        references = tables_of(deep, LAKE)
    except InvalidInput:
        return
    assert [r.parts for r in references] == [("lake", "db", "t")]


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("FROM lake.db.t |> SELECT k EXCEPT SELECT k FROM lake.db.u", ["lake.db.t", "lake.db.u"]),
        ("SELECT * FROM (FROM lake.db.t |> SELECT k UNION ALL FROM lake.db.u |> WHERE k > 1)", ["lake.db.t", "lake.db.u"]),
        ("WITH w AS (FROM lake.db.t) FROM w |> SELECT k UNION SELECT k FROM w ORDER BY k", ["lake.db.t"]),
        ("FROM lake.db.t |> SELECT * EXCEPT (k) |> EXCEPT (TABLE lake.db.u) UNION TABLE lake.db.v", ["lake.db.t", "lake.db.u", "lake.db.v"]),
        ("WITH RECURSIVE w AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM w) FROM w |> WHERE n < 3", []),
    ],
)  # fmt: skip
def test_steps_of_a_pipe_end_before_a_set_operation_and_see_its_with_clause(sql: str, expected: list[str]) -> None:
    assert found(sql) == expected


def test_parentheses_that_look_like_queries_cost_no_more_than_their_number() -> None:
    sql = "SELECT " + "(" * 100 + "(SELECT max(x) FROM lake.db.t)" + " + 1)" * 100 + " FROM lake.db.u"
    assert found(sql, LAKE) == ["lake.db.t", "lake.db.u"]


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT * FROM t WHERE a = (SELECT b FROM u)", True),
        ("SELECT (SELECT b FROM u) FROM t", True),
        ("SELECT * FROM t WHERE a IN ((SELECT b FROM u))", True),
        ("SELECT * FROM t WHERE a IN (1, (SELECT b FROM u))", True),
        ("SELECT * FROM t WHERE a IN (SELECT b FROM u WHERE c > (WITH w AS (SELECT 1) SELECT * FROM w))", True),
        ("SELECT * FROM t WHERE a IN (SELECT b FROM u)", False),
        ("SELECT * FROM t WHERE NOT EXISTS (SELECT b FROM u)", False),
        ("SELECT * FROM (SELECT b FROM u) JOIN (t) ON (a) = (b)", False),
        ("SELECT * FROM t WHERE a = (SELECT max(b) FROM u)", False),
        (
            "SELECT * FROM t WHERE a < (SELECT 0.2 * avg(CAST(b AS INT)) + 1 x FROM u WHERE u.k = t.k HAVING count(*) > 1)",
            False,
        ),
        ("SELECT (SELECT coalesce(sum(b), 0) FROM u) FROM t", False),
        ("SELECT * FROM t WHERE a = ((SELECT count(*) FROM u))", False),
        ("SELECT * FROM t WHERE a = (SELECT max(b) FROM u GROUP BY c)", True),
        ("SELECT * FROM t WHERE a = (SELECT max(b) OVER () FROM u)", True),
        ("SELECT * FROM t WHERE a = (SELECT max(b) OVER w FROM u WINDOW w AS (PARTITION BY c))", True),
        ("SELECT * FROM t WHERE a = (SELECT 1 + count(*) OVER `w` x FROM u WINDOW w AS (PARTITION BY c))", True),
        ("SELECT * FROM t WHERE a = (SELECT max(b) FROM u UNION SELECT 1)", True),
        ("SELECT * FROM t WHERE a = (SELECT explode(array(max(b), 1)) FROM u)", True),
        ("SELECT * FROM t WHERE a = (SELECT my.max(b) FROM u)", True),
        ("SELECT * FROM t WHERE a = (SELECT abs(b) FROM u)", True),
        ("SELECT * FROM t WHERE a = (SELECT max(b) FILTER (WHERE true) FROM u)", True),
        ("SELECT * FROM t WHERE a = (SELECT max((SELECT b FROM v)) FROM u)", True),
        ("SELECT * FROM t WHERE a = (SELECT max(b) FROM u LATERAL VIEW explode(c) AS d)", True),
    ],
)
def test_a_query_stands_for_a_value(sql: str, expected: bool) -> None:
    assert find_references(sql, Everything()).has_row_query is expected


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT a FROM t WHERE a IN (1, 2) AND NOT (b) GROUP BY (a)", set()),
        ("SELECT max(a), `my f` (b) FROM t", {"max", "`my f`"}),
        ("SELECT * FROM t WHERE a = db.f() OR spark_catalog.db . g(1) > 2", {"db.f", "spark_catalog.db . g"}),
        ("FROM t |> WHERE f(a) = 1 |> AGGREGATE sum(a)", {"f", "sum"}),
        ("SELECT * FROM table_function(1), t", {"table_function"}),
    ],
)
def test_functions_are_found_by_the_parenthesis_after_their_name(sql: str, expected: set[str]) -> None:
    assert find_references(sql, Everything()).called_functions == expected


@pytest.mark.parametrize(
    ("sql", "tables"),
    [
        ("SELECT a, by FROM lake.db.t", 1),
        ("SELECT interval FROM lake.db.t", 1),
        ("SELECT interval FROM (SELECT like FROM lake.db.t)", 1),
        ("SELECT DISTINCT by FROM lake.db.t", 1),
        (
            "SELECT by FROM lake.db.t WHERE like LIKE like AND NOT by IN (SELECT by FROM lake.db.u) ORDER BY by LIMIT 3",
            2,
        ),
        ("SELECT by UNION SELECT like FROM lake.db.t", 1),
        ("SELECT a AND NOT by FROM lake.db.t", 1),
        ("SELECT a FROM lake.db.t JOIN lake.db.u ON by = like WHERE limit", 2),
        ("SELECT a NOT LIKE from FROM lake.db.t", 1),
        ("SELECT a IS NOT DISTINCT FROM b FROM lake.db.t", 1),
        ("SELECT CASE WHEN a THEN like ELSE by END FROM lake.db.t", 1),
    ],
)
def test_a_column_is_named_by_an_operators_keyword_where_an_operand_must_stand(sql: str, tables: int) -> None:
    assert len(find_references(sql, LAKE).tables) == tables
