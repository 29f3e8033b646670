"""Conditions go to a table only where they cannot change the result."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from floeberg.expr.bind import bind
from floeberg.expr.evaluate import keeps
from floeberg.expr.nodes import Expression
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.types import INT, NestedField
from floeberg.sql.conditions.predicates import Condition
from floeberg.sql.conditions.to_expression import to_expression
from floeberg.sql.queries.conjuncts import condition_of_target, table_conditions
from floeberg.sql.queries.references import TableReference, find_references, replace_references
from floeberg.sql.text.cursor import Cursor
from floeberg.sql.text.lexer import Span
from floeberg.sql.text.names import SessionNames, TableIdentifier

LAKE = SessionNames(frozenset({"lake"}))
T = Schema(NestedField(1, "a", INT), NestedField(2, "b", INT), NestedField(3, "k", INT))
U = Schema(NestedField(1, "c", INT), NestedField(2, "d", INT), NestedField(3, "k", INT))
SCHEMAS = {"t": T, "u": U}


def expressions(sql: str, args: object = None) -> list[tuple[str, Expression]]:
    references = find_references(sql, LAKE, args=args)  # type: ignore[arg-type]
    found = table_conditions(references)
    return [
        (table.identifier.name, as_expression(table.identifier.name, conditions))
        for table, conditions in zip(references.tables, found, strict=True)
    ]


def as_expression(table: str, conditions: tuple[Condition, ...]) -> Expression:
    return to_expression(conditions, SCHEMAS[table], ansi=True, session_time_zone="UTC")


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT * FROM lake.db.t", {"t": "TRUE"}),
        ("SELECT * FROM lake.db.t WHERE a > 1 AND b = 2", {"t": "a > 1 AND b = 2"}),
        ("SELECT * FROM lake.db.t WHERE t.a > 1 AND lake.db.t.b = 2 AND db.t.k = 3", {"t": "a > 1 AND b = 2 AND k = 3"}),
        ("SELECT * FROM lake.db.t x WHERE x.a > 1 AND t.b = 2", {"t": "a > 1"}),
        ("SELECT * FROM lake.db.t WHERE 1 < a", {"t": "a > 1"}),
        ("SELECT * FROM lake.db.t, x JOIN y ON x.i = y.i WHERE a IS NULL", {"t": "a IS NULL"}),
        ("SELECT * FROM lake.db.t, x LEFT JOIN y ON a = 1 WHERE a IS NULL", {"t": "a IS NULL"}),
        ("SELECT * FROM lake.db.t, x RIGHT JOIN y ON x.i = y.i WHERE a IS NULL", {"t": "TRUE"}),
        ("SELECT * FROM lake.db.t, x RIGHT JOIN y ON a = 5 WHERE b IS NULL", {"t": "a = 5"}),
        ("SELECT * FROM lake.db.t, x FULL JOIN y ON a = y.i WHERE a = 1", {"t": "TRUE"}),
        ("SELECT * FROM lake.db.t, x JOIN z RIGHT JOIN y ON x.i = y.i WHERE a IS NULL", {"t": "TRUE"}),
        ("SELECT * FROM lake.db.t, x PIVOT (max(a) FOR i IN (1 AS a)) WHERE a = 3", {"t": "TRUE"}),
        ("SELECT * FROM x, y RIGHT JOIN lake.db.t ON y.i = a WHERE a IS NULL", {"t": "a IS NULL"}),
        ("SELECT * FROM lake.db.t WHERE a > 1 OR b = 2", {"t": "a > 1 OR b = 2"}),
        ("SELECT * FROM lake.db.t WHERE a > 1 OR f(b)", {"t": "TRUE"}),
        ("SELECT * FROM lake.db.t WHERE a > 1 AND f(b) = 3", {"t": "a > 1"}),
        ("SELECT * FROM lake.db.t WHERE (a > 1 AND f(b)) OR b = 2", {"t": "a > 1 OR b = 2"}),
        ("SELECT * FROM lake.db.t WHERE NOT (a > 1 OR b = 2)", {"t": "a <= 1 AND b != 2"}),
        ("SELECT * FROM lake.db.t WHERE NOT (a > 1 AND f(b))", {"t": "TRUE"}),
        ("SELECT * FROM lake.db.t WHERE a BETWEEN 1 AND 5 AND b IN (1, 2) AND k IS NOT NULL", {"t": "a >= 1 AND a <= 5 AND b IN (1, 2) AND k IS NOT NULL"}),
        ("SELECT * FROM lake.db.t WHERE a + 1 > 2 AND b > 1 + f(1) AND k = 3 % 2", {"t": "TRUE"}),
        ("SELECT * FROM lake.db.t WHERE b > 1 + 1 AND a BETWEEN 12 - 1 AND 12 + 3 - 1", {"t": "b > 2 AND a >= 11 AND a <= 14"}),
        ("SELECT * FROM lake.db.t WHERE x BETWEEN f(a) AND b = 3", {"t": "TRUE"}),
        ("SELECT * FROM lake.db.t WHERE CASE WHEN a AND b = 3 THEN 1 ELSE 2 END = 1 AND a = 1", {"t": "a = 1"}),
        ("SELECT * FROM lake.db.t WHERE CASE WHEN end = 1 AND b = 3 AND c = 2 THEN true ELSE a = 2 END AND a = 1", {"t": "a = 1"}),
        ("SELECT * FROM lake.db.t WHERE CASE end WHEN t.end THEN b = 3 AND c = 2 AND c = 3 ELSE end END AND a = 1", {"t": "a = 1"}),
        ("SELECT * FROM lake.db.t WHERE CASE WHEN b THEN c ELSE ? END AND a = 1", {"t": "a = 1"}),
        ("SELECT * FROM lake.db.t WHERE a = b", {"t": "TRUE"}),
        ("SELECT * FROM lake.db.t WHERE A = 1", {"t": "a = 1"}),
        ("SELECT * FROM lake.db.t WHERE a = 1 GROUP BY a HAVING b > 1 ORDER BY k LIMIT 5", {"t": "a = 1"}),
        # joins
        ("SELECT * FROM lake.db.t JOIN lake.db.u ON t.k = u.k AND t.a = 1 WHERE u.c = 2", {"t": "a = 1", "u": "c = 2"}),
        ("SELECT * FROM lake.db.t, lake.db.u WHERE a = 1 AND c = 2", {"t": "a = 1", "u": "c = 2"}),
        ("SELECT * FROM lake.db.t LEFT JOIN lake.db.u ON t.k = u.k AND t.a = 1 AND u.c = 3 WHERE u.d = 2 AND t.b = 4", {"t": "b = 4", "u": "c = 3"}),
        ("SELECT * FROM lake.db.t RIGHT JOIN lake.db.u ON t.a = 1 AND u.c = 3 WHERE t.b = 4 AND u.d = 2", {"t": "a = 1", "u": "d = 2"}),
        ("SELECT * FROM lake.db.t FULL JOIN lake.db.u ON t.a = 1 AND u.c = 3 WHERE t.b = 4 AND u.d = 2", {"t": "TRUE", "u": "TRUE"}),
        ("SELECT * FROM lake.db.t SEMI JOIN lake.db.u ON t.a = 1 AND u.c = 3 WHERE t.b = 4", {"t": "b = 4 AND a = 1", "u": "c = 3"}),
        ("SELECT * FROM lake.db.t ANTI JOIN lake.db.u ON t.a = 1 AND u.c = 3 WHERE t.b = 4", {"t": "b = 4", "u": "c = 3"}),
        ("SELECT * FROM lake.db.t JOIN lake.db.u USING (k) WHERE k = 1", {"t": "k = 1", "u": "TRUE"}),
        ("SELECT * FROM lake.db.t RIGHT JOIN lake.db.u USING (k) WHERE k = 1", {"t": "TRUE", "u": "k = 1"}),
        ("SELECT * FROM lake.db.t NATURAL JOIN lake.db.u WHERE k = 1 AND u.c = 2", {"t": "k = 1", "u": "c = 2"}),
        ("SELECT * FROM lake.db.t x JOIN lake.db.t y ON x.k = y.k WHERE x.a = 1 AND y.b = 2", {"t": "b = 2"}),
        # queries in queries
        ("SELECT * FROM (SELECT * FROM lake.db.t) s WHERE s.a = 1 AND b = 2", {"t": "a = 1 AND b = 2"}),
        ("SELECT * FROM (SELECT a AS x, b y, f(k) k FROM lake.db.t WHERE k = 9) WHERE x = 1 AND y = 2 AND k = 3 AND b = 4", {"t": "a = 1 AND b = 2 AND k = 9"}),
        ("SELECT * FROM (SELECT * FROM lake.db.t LIMIT 5) WHERE a = 1", {"t": "TRUE"}),
        ("SELECT * FROM (SELECT a, count(*) n FROM lake.db.t WHERE b = 2 GROUP BY a) WHERE a = 1 AND n = 3", {"t": "a = 1 AND b = 2"}),
        ("SELECT * FROM (SELECT a x, max(b) b FROM lake.db.t GROUP BY A, k HAVING max(b) > 1) WHERE x = 1 AND b = 2", {"t": "a = 1"}),
        ("SELECT * FROM (SELECT a, b, count(*) n FROM lake.db.t GROUP BY a, f(b), b + 1) WHERE a = 1 AND b = 2", {"t": "a = 1"}),
        ("SELECT * FROM (SELECT a, count(*) n FROM lake.db.t GROUP BY ROLLUP (a)) WHERE a = 1", {"t": "TRUE"}),
        ("SELECT * FROM (SELECT a, count(*) n FROM lake.db.t GROUP BY a WITH CUBE) WHERE a = 1", {"t": "TRUE"}),
        ("SELECT * FROM (SELECT a, rank() OVER (ORDER BY a) n FROM lake.db.t GROUP BY a) WHERE a = 1", {"t": "TRUE"}),
        ("SELECT * FROM (SELECT a, row_number() OVER (ORDER BY b) n FROM lake.db.t) WHERE a = 1", {"t": "TRUE"}),
        ("SELECT * FROM (SELECT a, rand() r FROM lake.db.t) WHERE a = 1", {"t": "TRUE"}),
        ("SELECT * FROM (SELECT DISTINCT a FROM lake.db.t) WHERE a = 1", {"t": "a = 1"}),
        ("SELECT * FROM (SELECT a FROM lake.db.t UNION ALL SELECT 1) WHERE a = 1", {"t": "TRUE"}),
        ("SELECT a FROM lake.db.t WHERE a = 1 UNION ALL SELECT c FROM lake.db.u WHERE c = 2", {"t": "a = 1", "u": "c = 2"}),
        ("SELECT * FROM (SELECT * FROM lake.db.t) s(x, y, z) WHERE x = 1", {"t": "TRUE"}),
        ("SELECT * FROM lake.db.t s(x, y, z) WHERE a = 1", {"t": "TRUE"}),
        ("SELECT * FROM lake.db.t TABLESAMPLE (5 ROWS) WHERE a = 1", {"t": "TRUE"}),
        ("SELECT * FROM lake.db.t PIVOT (sum(a) FOR b IN (1, 2)) WHERE k = 1", {"t": "TRUE"}),
        ("WITH c AS (SELECT * FROM lake.db.t) SELECT * FROM c WHERE a = 1", {"t": "a = 1"}),
        ("WITH c AS (SELECT * FROM lake.db.t) SELECT * FROM c WHERE a = 1 UNION SELECT * FROM c", {"t": "TRUE"}),
        ("WITH c AS (SELECT * FROM lake.db.t) SELECT * FROM c WHERE a = 1 AND k = 3 UNION SELECT * FROM c WHERE b = 2", {"t": "(a = 1 AND k = 3) OR b = 2"}),
        ("WITH c AS (SELECT * FROM lake.db.t) SELECT * FROM c x, c y WHERE x.a = 1 AND y.a = 1 AND x.k = y.k", {"t": "a = 1"}),
        ("WITH c AS (SELECT * FROM lake.db.t), e AS (SELECT * FROM c WHERE a = 1) SELECT * FROM e x, e y, c z WHERE x.b = 1 AND y.b = 2 AND z.a = 3", {"t": "a = 3 OR ((b = 1 OR b = 2) AND a = 1)"}),
        ("WITH c(p, q, r) AS (SELECT * FROM lake.db.t) SELECT * FROM c WHERE a = 1 UNION SELECT * FROM c WHERE b = 2", {"t": "TRUE"}),
        ("WITH c AS (SELECT * FROM lake.db.t) SELECT * FROM c WHERE a = 1 AND EXISTS (SELECT 1 FROM c z WHERE z.b = 2)", {"t": "a = 1 OR b = 2"}),
        ("WITH c AS (SELECT * FROM lake.db.t) SELECT * FROM c WHERE a = 1 UNION SELECT * FROM c |> WHERE b = 2", {"t": "TRUE"}),
        ("WITH c AS (SELECT a x FROM lake.db.t WHERE b = 1), d AS (SELECT * FROM c) SELECT * FROM d WHERE x = 2", {"t": "a = 2 AND b = 1"}),
        ("WITH RECURSIVE c AS (SELECT a FROM lake.db.t UNION ALL SELECT a FROM c) SELECT * FROM c WHERE a = 1", {"t": "TRUE"}),
        ("SELECT * FROM lake.db.t WHERE a = 1 AND EXISTS (SELECT 1 FROM lake.db.u WHERE c = 2 AND t.b = 3 AND u.k = t.k)", {"t": "a = 1", "u": "c = 2"}),
        ("SELECT * FROM lake.db.t WHERE a IN (SELECT c FROM lake.db.u WHERE d = 2)", {"t": "TRUE", "u": "d = 2"}),
        ("SELECT (SELECT max(c) FROM lake.db.u WHERE d = 2) FROM lake.db.t WHERE a = 1", {"t": "a = 1", "u": "d = 2"}),
        ("FROM lake.db.t SELECT a WHERE a = 1 SELECT b WHERE b = 2", {"t": "TRUE"}),
        ("FROM lake.db.t SELECT a WHERE a = 1", {"t": "a = 1"}),
        ("SELECT * FROM lake.db.t LATERAL VIEW explode(xs) e AS x WHERE a = 1 AND e.b = 2", {"t": "a = 1"}),
        ("SELECT * FROM lake.db.t, LATERAL (SELECT * FROM lake.db.u WHERE c = 1 AND u.k = t.k) l WHERE a = 1 AND l.d = 5", {"t": "a = 1", "u": "c = 1"}),
        ("SELECT * FROM lake.db.t |> WHERE a = 1", {"t": "TRUE"}),
        ("TABLE lake.db.t", {"t": "TRUE"}),
        ("INSERT INTO o SELECT * FROM lake.db.t WHERE a = 1", {"t": "TRUE"}),
        ("EXPLAIN SELECT * FROM lake.db.t WHERE a = 1", {"t": "a = 1"}),
    ],
)  # fmt: skip
def test_a_table_gets_the_conditions_that_all_its_needed_rows_fulfil(sql: str, expected: dict[str, str]) -> None:
    assert {name: str(expression) for name, expression in expressions(sql)} == expected


def test_parameters_are_literals() -> None:
    sql = "SELECT * FROM lake.db.t WHERE a = :x AND b > :y AND k = :missing"
    assert str(expressions(sql, {"x": 5, "y": 3_000_000_000})[0][1]) == "a = 5 AND b > 3000000000"
    assert str(expressions("SELECT * FROM lake.db.t WHERE a = ? AND b = ?", [1, 2])[0][1]) == "a = 1 AND b = 2"


@pytest.mark.parametrize(
    ("condition", "alias", "others", "expected"),
    [
        ("a = 1 AND b > 2", None, (), "a = 1 AND b > 2"),
        ("x.a = 1 AND t.b > 2", "x", (), "a = 1"),
        ("t.k = s.k AND t.a = 1 AND s.b = 2", None, ("s",), "a = 1"),
        ("lake.db.t.a = 1 OR s.b = 2", None, ("s",), "TRUE"),
        ("a IN (SELECT c FROM lake.db.u) AND b = 1", None, (), "b = 1"),
    ],
)
def test_conditions_of_row_level_statements_speak_of_their_target(
    condition: str, alias: str | None, others: tuple[str, ...], expected: str
) -> None:
    sql = f"DELETE FROM lake.db.t WHERE {condition}"
    span = Span(sql.index(condition), len(sql))
    found = condition_of_target(
        Cursor(sql), span, target=TableIdentifier("lake", ("db", "t")), alias=alias, others=others
    )
    assert str(as_expression("t", found)) == expected


# Pruning never changes a result: every query gives the same rows over the rows that its conditions keep. DuckDB
# evaluates, the way of a join, a filter and a null is the same there.

VALUES = [None, 0, 1, 2, 3]
ROWS = {
    "t": [(a, b, (a or 0) % 3 if b != 2 else None) for a in VALUES for b in VALUES],
    "u": [(c, d, (d or 0) % 4 if c != 1 else None) for c in VALUES for d in VALUES],
}
COLUMNS = {"t": ("a", "b", "k"), "u": ("c", "d", "k")}


@pytest.fixture(scope="module")
def duck() -> Iterator[duckdb.DuckDBPyConnection]:
    connection = duckdb.connect(config={"threads": 1})
    for name, rows in ROWS.items():
        columns = ", ".join(f"{column} INT" for column in COLUMNS[name])
        connection.execute(f"CREATE TABLE {name}_all ({columns})")
        connection.executemany(f"INSERT INTO {name}_all VALUES (?, ?, ?)", rows)
    yield connection
    connection.close()


def comparison(columns: list[str]) -> st.SearchStrategy[str]:
    column = st.sampled_from(columns)
    number = st.integers(0, 3)
    return st.one_of(
        st.builds("{} {} {}".format, column, st.sampled_from(["=", "<", "<=", ">", ">=", "<>"]), number),
        st.builds("{} IN ({}, {})".format, column, number, number),
        st.builds("{} NOT IN ({}, {})".format, column, number, number),
        st.builds("{} BETWEEN {} AND {}".format, column, number, number),
        st.builds("{} IS NULL".format, column),
        st.builds("{} IS NOT NULL".format, column),
        st.builds("{} = {}".format, column, column),
        st.builds("coalesce({}, 9) > {}".format, column, number),
    )


def condition(columns: list[str]) -> st.SearchStrategy[str]:
    return st.recursive(
        comparison(columns),
        lambda inner: st.one_of(
            st.builds("({} AND {})".format, inner, inner),
            st.builds("({} OR {})".format, inner, inner),
            st.builds("NOT ({})".format, inner),
        ),
        max_leaves=4,
    )


def source(table: str) -> st.SearchStrategy[str]:
    """A table, or a query that gives its columns under their names."""
    one, two, key = COLUMNS[table]
    full = f"lake.db.{table}"
    return st.one_of(
        st.just(full),
        st.builds(f"(SELECT * FROM {full} WHERE {{}})".format, condition([one, two])),
        st.just(f"(SELECT {two} AS {one}, {one} AS {two}, {key} FROM {full})"),
        st.builds(f"(SELECT * FROM {full} ORDER BY ALL LIMIT {{}})".format, st.integers(3, 12)),
        st.just(f"(SELECT {one}, max({two}) AS {two}, {key} FROM {full} GROUP BY {one}, {key})"),
        st.just(f"(SELECT {one}, row_number() OVER (ORDER BY {one}, {two}, {key}) AS {two}, {key} FROM {full})"),
        st.just(f"(SELECT DISTINCT {one}, {two}, {key} FROM {full})"),
        st.just(f"(SELECT {one}, {two} + 1 AS {two}, {key} FROM {full})"),
        st.builds(f"(SELECT * FROM {full} WHERE {{}} UNION ALL SELECT 1, 2, 0)".format, condition([one, key])),
    )


@st.composite
def queries(draw: st.DrawFn) -> str:
    left, right = draw(source("t")), draw(source("u"))
    names = ["x.a", "x.b", "x.k", "y.c", "y.d", "y.k", "a", "d"]
    kind = draw(st.sampled_from(["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "SEMI JOIN", "ANTI JOIN"]))
    using = draw(st.booleans())
    on = draw(condition(names[:6]))
    join = "USING (k)" if using else f"ON x.k = y.k AND {on}"
    visible = names[:3] if kind in ("SEMI JOIN", "ANTI JOIN") else names
    visible = [*visible, "k"] if using and kind != "FULL JOIN" else visible
    where = draw(condition(visible))
    extra = draw(
        st.sampled_from(
            [
                "",
                " AND EXISTS (SELECT 1 FROM lake.db.u z WHERE z.k = x.k AND z.c = 2)",
                " AND x.a NOT IN (SELECT c FROM lake.db.u WHERE d = 1 AND c IS NOT NULL)",
                " OR x.b > (SELECT min(b) FROM lake.db.t WHERE a > 1)",
            ]
        )
    )
    columns = "x.a, x.b" if kind in ("SEMI JOIN", "ANTI JOIN") else "x.a, x.b, y.c, y.d"
    if draw(st.booleans()):
        return f"SELECT {columns} FROM {left} x {kind} {right} y {join} WHERE ({where}){extra}"
    head = f"WITH l AS (SELECT * FROM {left} q), r AS (SELECT * FROM {right} q)"
    body = f"SELECT {columns} FROM l x {kind} r y {join} WHERE ({where}){extra}"
    again = draw(st.sampled_from(["", " UNION ALL SELECT a, b FROM l" if "y.c" not in columns else ""]))
    return f"{head} {body}{again}"


def run(connection: duckdb.DuckDBPyConnection, sql: str) -> list[tuple[object, ...]]:
    rows = connection.execute(sql).fetchall()
    return sorted(rows, key=lambda row: [(value is None, value or 0) for value in row])


@settings(max_examples=100)
@given(queries())
def test_a_query_gives_the_same_rows_over_what_its_conditions_keep(duck: duckdb.DuckDBPyConnection, sql: str) -> None:
    references = find_references(sql, LAKE)
    assert references.query is not None
    whole = run(duck, replace_references(sql, references, lambda t: f"{t.identifier.name}_all").replace("`", '"'))
    pruned: dict[int, str] = {}
    for table, conditions in zip(references.tables, table_conditions(references), strict=True):
        pruned[table.start] = kept_rows(table, conditions)
    text = replace_references(sql, references, lambda t: pruned[t.start])
    assert run(duck, text.replace("`", '"')) == whole


def kept_rows(table: TableReference, conditions: tuple[Condition, ...]) -> str:
    """The table with only the rows that planning would keep at best, as a query."""
    name = table.identifier.name
    bound = bind(as_expression(name, conditions), SCHEMAS[name])
    kept = [row for row in ROWS[name] if keeps(bound, row)]
    columns = ", ".join(COLUMNS[name])
    if not kept:
        return f"(SELECT {columns} FROM {name}_all WHERE false)"
    rows = ", ".join("(" + ", ".join("NULL::INT" if v is None else str(v) for v in row) + ")" for row in kept)
    return f"(SELECT * FROM (VALUES {rows}) AS v({columns}))"
