"""A table loses the rows that match nothing only where they cannot change the result. DuckDB is the oracle: every query gives
the same rows over the tables without the rows that planning could leave out at best."""

from __future__ import annotations

import dataclasses
import operator
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import duckdb
import pytest

from floeberg.expr.bind import bind
from floeberg.expr.evaluate import keeps
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.types import INT, LONG, NestedField
from floeberg.sql.conditions import join_conditions
from floeberg.sql.conditions.predicates import Condition, Matches
from floeberg.sql.conditions.to_expression import to_expression
from floeberg.sql.queries import conjuncts, join_keys, unions
from floeberg.sql.queries.column_sources import ColumnSources
from floeberg.sql.queries.conjuncts import table_conditions
from floeberg.sql.queries.join_keys import JoinKeys, KeySource
from floeberg.sql.queries.references import References, find_references, replace_references
from floeberg.sql.text.names import SessionNames
from star_joins.queries import random_query

LAKE = SessionNames(frozenset({"lake"}))
COLUMNS = {
    "f": ("k", "g", "v"),
    "d": ("dk", "x", "s"),
    "e": ("ek", "y", "k"),
}
OPS = {"=": operator.eq, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
SCHEMAS = {
    name: Schema(*(NestedField(number, column, INT) for number, column in enumerate(columns, 1)))
    for name, columns in COLUMNS.items()
}


def rows_of(seed: int) -> dict[str, list[tuple[Any, ...]]]:
    chance = random.Random(seed)

    def value(high: int) -> int | None:
        return None if chance.random() < 0.15 else chance.randrange(high)

    return {
        "f": [(value(9), value(9), value(4)) for _ in range(30)],
        "d": [(value(9), value(4), value(9)) for _ in range(10)],
        "e": [(value(9), value(4), value(9)) for _ in range(8)],
    }


def read(sql: str) -> tuple[References, tuple[tuple[Condition, ...], ...]]:
    references = find_references(sql, LAKE)
    assert references.query is not None, sql
    columns = {
        id(relation): frozenset(COLUMNS[table.identifier.name])
        for relation, table in zip(references.relations, references.tables, strict=True)
    }
    sources = ColumnSources(references.cursor, columns, references.walk.cte_uses, lambda _: None)
    return references, table_conditions(references, joins=JoinKeys(references, sources, lambda _, __: INT))


class Kept:
    """The rows that are left of each reference when every Matches leaves out all that it can."""

    def __init__(self, sql: str, rows: dict[str, list[tuple[Any, ...]]]) -> None:
        self.references, self.conditions = read(sql)
        self.rows = rows
        self.numbers = {id(relation): number for number, relation in enumerate(self.references.relations)}

    def name(self, number: int) -> str:
        return self.references.tables[number].identifier.name

    def of(self, number: int, path: frozenset[int] = frozenset()) -> list[tuple[Any, ...]]:
        name = self.name(number)
        where = to_expression(self.conditions[number], SCHEMAS[name], ansi=True, session_time_zone="UTC")
        bound = bind(where, SCHEMAS[name])
        kept = [row for row in self.rows[name] if keeps(bound, row)]
        for condition in self.conditions[number]:
            if not isinstance(condition, Matches) or len(path) == 3:
                continue
            assert isinstance(condition.keys, KeySource)
            source = self.numbers[id(condition.keys.relation)]
            if source in path:
                continue
            at = COLUMNS[self.name(source)].index(condition.keys.column)
            keys = {row[at] for row in self.of(source, path | {number})} - {None}
            own = COLUMNS[name].index(condition.column[0].lower())
            compares = OPS[condition.op]
            sums = [key + condition.added for key in keys]
            kept = [row for row in kept if row[own] is not None and any(compares(row[own], one) for one in sums)]
        return kept


def matches(sql: str) -> set[str]:
    """`f.k<d.dk` for each column of a table that is restricted by the keys of another, `f.k >= d.dk` by their order."""
    references, conditions = read(sql)
    numbers = {id(relation): number for number, relation in enumerate(references.relations)}
    found = set()
    for table, own in zip(references.tables, conditions, strict=True):
        for one in own:
            if isinstance(one, Matches) and isinstance(one.keys, KeySource):
                source = references.tables[numbers[id(one.keys.relation)]].identifier.name
                sign = "<" if one.op == "=" else f" {one.op} "
                added = f"{one.added:+}" if one.added else ""
                found.add(f"{table.identifier.name}.{one.column[0]}{sign}{source}.{one.keys.column}{added}")
    return found


BOTH = {"f.k<d.dk", "d.dk<f.k"}
F_BY_D = {"f.k<d.dk"}


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT * FROM lake.db.f, lake.db.d WHERE f.k = dk AND x = 1", BOTH),
        ("SELECT * FROM lake.db.f JOIN lake.db.d ON f.k == d.dk", BOTH),
        ("SELECT * FROM lake.db.f a JOIN lake.db.d b ON b.dk = a.k AND a.v > b.x", BOTH),
        ("SELECT * FROM lake.db.f JOIN lake.db.d ON lake.db.f.k = db.d.dk", BOTH),
        ("SELECT * FROM lake.db.f JOIN lake.db.d ON f.k = dk OR v = 1", set()),
        ("SELECT * FROM lake.db.f JOIN lake.db.d ON NOT (f.k = dk)", set()),
        ("SELECT * FROM lake.db.f JOIN lake.db.d ON NOT (NOT (f.k = dk))", set()),
        ("SELECT * FROM lake.db.f JOIN lake.db.d ON f.k <=> dk", set()),
        ("SELECT * FROM lake.db.f JOIN lake.db.d ON f.k = dk + 0", set()),
        ("SELECT * FROM lake.db.f JOIN lake.db.d ON f.k = abs(dk)", set()),
        ("SELECT * FROM lake.db.f JOIN lake.db.d ON CASE WHEN f.k = dk THEN true ELSE v = 1 END", set()),
        ("SELECT f.k = dk FROM lake.db.f, lake.db.d", set()),
        ("SELECT f.k, dk FROM lake.db.f, lake.db.d GROUP BY f.k, dk HAVING f.k = dk", set()),
        ("SELECT * FROM lake.db.f LEFT JOIN lake.db.d ON f.k = dk", {"d.dk<f.k"}),
        ("SELECT * FROM lake.db.f RIGHT JOIN lake.db.d ON f.k = dk", {"f.k<d.dk"}),
        ("SELECT * FROM lake.db.f FULL JOIN lake.db.d ON f.k = dk WHERE f.k = dk AND x = 1", set()),
        ("SELECT * FROM lake.db.f LEFT JOIN lake.db.d ON f.k = dk WHERE x = 1", BOTH),
        ("SELECT * FROM lake.db.f LEFT JOIN lake.db.d ON f.k = dk WHERE x IN (1, 2)", BOTH),
        ("SELECT * FROM lake.db.f LEFT JOIN lake.db.d ON f.k = dk WHERE d.x IS NOT NULL", BOTH),
        ("SELECT * FROM lake.db.f LEFT JOIN lake.db.d ON f.k = dk WHERE x IS NULL", {"d.dk<f.k"}),
        ("SELECT * FROM lake.db.f LEFT JOIN lake.db.d ON f.k = dk WHERE x <=> 1", {"d.dk<f.k"}),
        ("SELECT * FROM lake.db.f LEFT JOIN lake.db.d ON f.k = dk WHERE x = 1 OR v = 1", {"d.dk<f.k"}),
        ("SELECT * FROM lake.db.f LEFT JOIN lake.db.d ON f.k = dk WHERE coalesce(x, 1) = 1", {"d.dk<f.k"}),
        ("SELECT * FROM lake.db.f SEMI JOIN lake.db.d ON f.k = dk", BOTH),
        ("SELECT * FROM lake.db.f ANTI JOIN lake.db.d ON f.k = dk", {"d.dk<f.k"}),
        ("SELECT * FROM lake.db.f WHERE k IN (SELECT dk FROM lake.db.d WHERE x = 1)", BOTH),
        ("SELECT * FROM lake.db.f WHERE k IN (SELECT DISTINCT dk FROM lake.db.d)", BOTH),
        ("SELECT * FROM lake.db.f WHERE k NOT IN (SELECT dk FROM lake.db.d)", set()),
        ("SELECT * FROM lake.db.f WHERE k IN (SELECT max(dk) FROM lake.db.d)", set()),
        ("SELECT * FROM lake.db.f WHERE k IN (SELECT dk FROM lake.db.d GROUP BY dk HAVING count(*) > 1)", set()),
        ("SELECT * FROM lake.db.f WHERE k IN (SELECT dk FROM lake.db.d LIMIT 1)", set()),
        ("SELECT * FROM lake.db.f WHERE k IN (SELECT dk FROM lake.db.d UNION ALL SELECT 1)", set()),
        ("SELECT * FROM lake.db.f WHERE k IN (SELECT dk FROM lake.db.d) OR v = 1", set()),
        ("SELECT * FROM lake.db.f WHERE EXISTS (SELECT 1 FROM lake.db.d WHERE dk = f.k)", BOTH),
        ("SELECT * FROM lake.db.f WHERE EXISTS (SELECT * FROM lake.db.d WHERE f.k = d.dk AND x = 1)", BOTH),
        ("SELECT * FROM lake.db.f WHERE EXISTS (SELECT 1 FROM lake.db.d WHERE dk = k)", BOTH),
        ("SELECT * FROM lake.db.f WHERE EXISTS (SELECT 1 FROM lake.db.d, lake.db.e WHERE dk = k)", {"d.dk<e.k", "e.k<d.dk"}),
        ("SELECT * FROM lake.db.f WHERE EXISTS (SELECT 1 FROM lake.db.d, other.o WHERE dk = v)", set()),
        ("SELECT * FROM lake.db.f WHERE EXISTS (SELECT 1 FROM lake.db.d, range(3) WHERE dk = v)", set()),
        ("SELECT * FROM lake.db.f WHERE EXISTS (SELECT 1 FROM lake.db.d, (SELECT CAST(ek AS INT) v FROM lake.db.e) q WHERE dk = v)", set()),
        ("SELECT * FROM lake.db.f WHERE EXISTS (SELECT 1 FROM lake.db.d, (SELECT CAST(k AS INT) FROM lake.db.e) q WHERE dk = k)", set()),
        ("SELECT * FROM lake.db.f WHERE EXISTS (SELECT 1 FROM lake.db.d, (SELECT k::int FROM lake.db.e) q WHERE dk = k)", set()),
        ("SELECT * FROM lake.db.f WHERE EXISTS (SELECT 1 FROM lake.db.d, (SELECT (k) FROM lake.db.e) q WHERE dk = k)", set()),
        ("SELECT * FROM lake.db.f WHERE EXISTS (SELECT 1 FROM lake.db.d, (SELECT 'v' FROM lake.db.e) q WHERE dk = v)", set()),
        ("SELECT * FROM lake.db.f WHERE EXISTS (SELECT 1 FROM lake.db.d, (SELECT y * 2 AS v FROM lake.db.e) q WHERE dk = v)", set()),
        ("SELECT * FROM lake.db.f WHERE EXISTS (SELECT 1 FROM lake.db.d, (SELECT y * 2 AS z FROM lake.db.e) q WHERE dk = v)", {"f.v<d.dk", "d.dk<f.v"}),
        ("SELECT * FROM lake.db.f WHERE EXISTS (SELECT 1 FROM lake.db.d, (SELECT 1, y FROM lake.db.e) q WHERE dk = v)", {"f.v<d.dk", "d.dk<f.v"}),
        ("SELECT * FROM lake.db.f WHERE EXISTS (SELECT 1 FROM lake.db.d, (SELECT explode(array(y)) AS (v, w) FROM lake.db.e) q WHERE dk = v)", set()),
        ("SELECT * FROM lake.db.f WHERE EXISTS (SELECT 1 FROM lake.db.d, (SELECT inline(y) FROM lake.db.e) q WHERE dk = v)", set()),
        ("SELECT * FROM lake.db.f WHERE EXISTS (SELECT 1 FROM lake.db.d, (SELECT y.* FROM lake.db.e) q WHERE dk = v)", set()),
        ("SELECT * FROM lake.db.f WHERE EXISTS (SELECT 1 FROM lake.db.d, (SELECT e.* FROM lake.db.e) q WHERE dk = v)", {"f.v<d.dk", "d.dk<f.v"}),
        ("SELECT * FROM lake.db.f WHERE EXISTS (SELECT 1 FROM lake.db.d, VALUES (1) WHERE dk = v)", {"f.v<d.dk", "d.dk<f.v"}),
        ("SELECT * FROM (SELECT k AS col1 FROM lake.db.f) f WHERE EXISTS (SELECT 1 FROM lake.db.d, VALUES (1) WHERE dk = col1)", set()),
        ("SELECT * FROM lake.db.f WHERE EXISTS (SELECT 1 FROM lake.db.d JOIN (SELECT * FROM lake.db.e PIVOT (max(y) FOR ek IN ('v'))) q WHERE dk = v)", set()),
        ("SELECT * FROM lake.db.f a WHERE EXISTS (SELECT 1 FROM lake.db.d, (lake.db.e a, lake.db.e b) WHERE dk = a.k)", set()),
        ("SELECT * FROM lake.db.f WHERE EXISTS (SELECT 1 FROM lake.db.d, db.f WHERE dk = lake.db.f.v)", set()),
        ("SELECT * FROM lake.db.f WHERE k IN ((SELECT dk FROM lake.db.d))", F_BY_D),
        ("SELECT * FROM lake.db.f WHERE EXISTS (SELECT count(*) FROM lake.db.d WHERE dk = f.k)", set()),
        ("SELECT * FROM lake.db.f WHERE EXISTS (SELECT 1 FROM lake.db.d WHERE dk = f.k LIMIT 1)", set()),
        ("SELECT * FROM lake.db.f WHERE NOT EXISTS (SELECT 1 FROM lake.db.d WHERE dk = f.k)", set()),
        ("SELECT * FROM lake.db.f WHERE v > (SELECT max(x) FROM lake.db.d WHERE dk = f.k)", set()),
        ("SELECT * FROM lake.db.f WHERE k = (SELECT dk FROM lake.db.d WHERE x = 1)", F_BY_D),
        ("SELECT * FROM lake.db.f WHERE k = (SELECT DISTINCT (dk) FROM lake.db.d WHERE x = 1)", F_BY_D),
        ("SELECT * FROM lake.db.f WHERE k = (SELECT max(dk) FROM lake.db.d WHERE x = 1)", set()),
        ("SELECT * FROM lake.db.f WHERE k = (SELECT dk FROM lake.db.d LIMIT 1)", set()),
        ("SELECT * FROM lake.db.f WHERE k = (SELECT dk FROM lake.db.d) + 1", set()),
        ("SELECT * FROM lake.db.f WHERE k <> (SELECT dk FROM lake.db.d)", set()),
        ("SELECT * FROM lake.db.f WHERE k = (SELECT dk + 2 FROM lake.db.d)", {"f.k<d.dk+2"}),
        ("SELECT * FROM lake.db.f WHERE k >= (SELECT DISTINCT dk - 1 FROM lake.db.d)", {"f.k >= d.dk-1"}),
        ("SELECT * FROM lake.db.f WHERE k < (SELECT (dk) FROM lake.db.d) AND v = 1", {"f.k < d.dk"}),
        ("SELECT * FROM lake.db.f WHERE k BETWEEN (SELECT dk+1 FROM lake.db.d) AND (SELECT ek FROM lake.db.e)", {"f.k >= d.dk+1", "f.k <= e.ek"}),
        ("SELECT * FROM lake.db.f WHERE k NOT BETWEEN (SELECT dk FROM lake.db.d) AND (SELECT dk FROM lake.db.d)", set()),
        ("SELECT * FROM lake.db.f WHERE NOT k > (SELECT dk FROM lake.db.d)", set()),
        ("SELECT * FROM lake.db.f WHERE k > (SELECT dk FROM lake.db.d) OR v = 1", set()),
        ("SELECT * FROM lake.db.f WHERE k > (SELECT max(dk) FROM lake.db.d)", set()),
        ("SELECT * FROM lake.db.f WHERE k > (SELECT dk * 2 FROM lake.db.d)", set()),
        ("SELECT * FROM lake.db.f WHERE k > (SELECT 3 - dk FROM lake.db.d)", set()),
        ("SELECT * FROM lake.db.f WHERE k > (SELECT dk + 1.5 FROM lake.db.d)", set()),
        ("SELECT * FROM lake.db.f WHERE k > (SELECT x + dk + 1 FROM lake.db.d)", set()),
        ("SELECT * FROM lake.db.f WHERE k = (SELECT dk DIV +1 FROM lake.db.d)", set()),
        ("SELECT * FROM lake.db.f WHERE k = (SELECT dk DIV - 1 FROM lake.db.d)", set()),
        ("SELECT * FROM lake.db.f WHERE k > (SELECT dk FROM lake.db.d LIMIT 1)", set()),
        ("SELECT * FROM lake.db.f WHERE k NOT IN (SELECT dk FROM lake.db.d) AND v IN (SELECT x FROM lake.db.d)", {"f.v<d.x", "d.x<f.v"}),
        ("SELECT * FROM lake.db.f WHERE v IN (SELECT x FROM (SELECT dk, x FROM lake.db.d LIMIT 3) q)", set()),
        ("SELECT * FROM lake.db.f, LATERAL (SELECT * FROM lake.db.d WHERE dk = f.k) l WHERE l.dk = f.k", set()),
        ("SELECT * FROM lake.db.f JOIN lake.db.e USING (k) WHERE y = 1", {"f.k<e.k", "e.k<f.k"}),
        ("SELECT * FROM lake.db.f LEFT JOIN lake.db.e USING (k)", {"e.k<f.k"}),
        ("SELECT * FROM lake.db.f FULL JOIN lake.db.e USING (k) JOIN lake.db.d ON k = dk", set()),
        ("SELECT * FROM lake.db.f LEFT JOIN lake.db.e USING (k) JOIN lake.db.d ON k = dk", {"e.k<f.k"}),
        ("SELECT * FROM lake.db.f NATURAL JOIN lake.db.e WHERE y = 1", set()),
        ("SELECT * FROM lake.db.f JOIN lake.db.e ON f.k = e.k JOIN lake.db.d ON k = dk", {"f.k<e.k", "e.k<f.k"}),
        ("SELECT * FROM lake.db.f, (SELECT dk AS z, x FROM lake.db.d WHERE x = 1) q WHERE k = z", BOTH),
        ("SELECT * FROM lake.db.f, (SELECT dk + 1 AS dk, x FROM lake.db.d) q WHERE k = dk", set()),
        ("SELECT * FROM lake.db.f, (SELECT dk FROM lake.db.d LIMIT 3) q WHERE k = dk", {"d.dk<f.k"} - {"d.dk<f.k"}),
        ("SELECT * FROM (SELECT * FROM lake.db.f LIMIT 3) q, lake.db.d WHERE k = dk", set()),
        ("SELECT * FROM (SELECT k, row_number() OVER (ORDER BY v) FROM lake.db.f) q, lake.db.d WHERE k = dk", set()),
        ("SELECT * FROM (SELECT k, max(v) m FROM lake.db.f GROUP BY k) q, lake.db.d WHERE k = dk", set()),
        ("SELECT * FROM (SELECT k FROM lake.db.f UNION ALL SELECT 1) q, lake.db.d WHERE k = dk", set()),
        ("SELECT * FROM (SELECT k FROM lake.db.f UNION ALL SELECT g FROM lake.db.f) q, lake.db.d WHERE k = dk", {"f.k<d.dk", "f.g<d.dk"}),
        ("SELECT * FROM (SELECT k FROM lake.db.f UNION (SELECT g FROM lake.db.f)) q, lake.db.d WHERE k = dk", {"f.k<d.dk", "f.g<d.dk"}),
        ("SELECT * FROM (SELECT k, g FROM lake.db.f UNION ALL BY NAME SELECT g, k FROM lake.db.f) q, lake.db.d WHERE k = dk", set()),
        ("SELECT * FROM (SELECT k FROM lake.db.f EXCEPT SELECT g FROM lake.db.f) q, lake.db.d WHERE k = dk", set()),
        ("SELECT * FROM (SELECT k FROM lake.db.f UNION ALL SELECT g FROM lake.db.f LIMIT 3) q, lake.db.d WHERE k = dk", set()),
        ("SELECT * FROM (SELECT k FROM lake.db.f UNION ALL (SELECT g FROM lake.db.f LIMIT 3)) q, lake.db.d WHERE k = dk", set()),
        ("SELECT * FROM (SELECT k FROM lake.db.f UNION ALL SELECT g + 1 FROM lake.db.f) q, lake.db.d WHERE k = dk", set()),
        ("SELECT * FROM (SELECT k FROM lake.db.f UNION ALL SELECT g FROM lake.db.f GROUP BY g) q, lake.db.d WHERE k = dk", {"f.k<d.dk"}),
        ("SELECT * FROM lake.db.f TABLESAMPLE (5 ROWS), lake.db.d WHERE k = dk", set()),
        ("SELECT * FROM lake.db.f, lake.db.d TABLESAMPLE (5 ROWS) WHERE k = dk", {"d.dk<f.k"} - {"d.dk<f.k"}),
        ("SELECT * FROM lake.db.f LATERAL VIEW explode(array(1)) t AS w, lake.db.d WHERE f.k = dk", set()),
        ("WITH c AS (SELECT * FROM lake.db.f) SELECT * FROM c, lake.db.d WHERE k = dk", BOTH),
        ("WITH c AS (SELECT * FROM lake.db.f) SELECT k FROM c, lake.db.d WHERE k = dk UNION ALL SELECT k FROM c", {"d.dk<f.k"}),
        ("WITH c AS (SELECT * FROM lake.db.d) SELECT k FROM c, lake.db.f WHERE k = dk UNION ALL SELECT x FROM c", {"f.k<d.dk"}),
        ("WITH c (p, q, r) AS (SELECT * FROM lake.db.d) SELECT k FROM c, lake.db.f WHERE k = p", set()),
        ("SELECT * FROM lake.db.f a JOIN lake.db.f b ON a.k = b.g", {"f.k<f.g", "f.g<f.k"}),
        ("SELECT * FROM (SELECT 1 AS z) o WHERE EXISTS (SELECT 1 FROM lake.db.f JOIN lake.db.d ON f.k = o.z JOIN lake.db.e o ON true)", set()),
        ("SELECT * FROM lake.db.f |> JOIN lake.db.d ON k = dk", set()),
    ],
)  # fmt: skip
def test_rows_that_match_nothing_are_needless_only_where_the_join_drops_them(sql: str, expected: set[str]) -> None:
    assert matches(sql) == expected


def test_a_union_of_columns_of_two_types_lets_nothing_through() -> None:
    sql = "SELECT * FROM (SELECT k FROM lake.db.f UNION ALL SELECT g FROM lake.db.f) q, lake.db.d WHERE k = dk AND q.k = 1"
    references = find_references(sql, LAKE)
    columns = {id(relation): frozenset(("k", "g", "v", "dk")) for relation in references.relations}
    sources = ColumnSources(references.cursor, columns, references.walk.cte_uses, lambda _: None)
    types = {"k": INT, "g": LONG, "dk": INT}
    joins = JoinKeys(references, sources, lambda _, column: types.get(column))
    assert table_conditions(references, joins=joins)[:2] == ((), ())


@pytest.fixture(scope="module")
def duck() -> Iterator[duckdb.DuckDBPyConnection]:
    connection = duckdb.connect(config={"threads": 1})
    connection.execute("CREATE SCHEMA plain")
    connection.execute("CREATE TABLE plain.o AS SELECT unnest(range(9))::INT AS k")
    connection.execute("CREATE TABLE plain.p AS SELECT unnest(range(4, 9))::INT AS y")
    yield connection
    connection.close()


def values(name: str, rows: Sequence[tuple[Any, ...]]) -> str:
    columns = ", ".join(COLUMNS[name])
    if not rows:
        return f"(SELECT * FROM (VALUES (0, 0, 0)) AS v({columns}) WHERE false)"
    shown = ", ".join("(" + ", ".join("NULL::INT" if v is None else str(v) for v in row) + ")" for row in rows)
    return f"(SELECT * FROM (VALUES {shown}) AS v({columns}))"


def run(connection: duckdb.DuckDBPyConnection, kept: Kept, rows: Callable[[int], Sequence[tuple[Any, ...]]]) -> Any:
    numbers = {table.start: number for number, table in enumerate(kept.references.tables)}
    text = replace_references(
        kept.references.cursor.sql,
        kept.references,
        lambda table: values(table.identifier.name, rows(numbers[table.start])),
    )
    found = connection.execute(text.replace("`", '"').replace("<=>", "IS NOT DISTINCT FROM")).fetchall()
    return Counter(found)


def same_rows(connection: duckdb.DuckDBPyConnection, sql: str, seed: int) -> tuple[bool, int]:
    """Whether the query gives the same rows, and how many rows of its tables were left out."""
    kept = Kept(sql, rows_of(seed))
    whole = run(connection, kept, lambda number: kept.rows[kept.name(number)])
    fewer = run(connection, kept, kept.of)
    left_out = sum(len(kept.rows[kept.name(number)]) - len(kept.of(number)) for number in range(len(kept.conditions)))
    return whole == fewer, left_out


def test_random_stars_and_snowflakes_give_the_same_rows(duck: duckdb.DuckDBPyConnection) -> None:
    pruned: Counter[str] = Counter()
    for seed in range(600):
        sql, kind = random_query(random.Random(seed), lambda _, number: str(number))
        same, left_out = same_rows(duck, sql, seed)
        assert same, (seed, sql)
        pruned[kind] += left_out > 0
    assert {"JOIN", "LEFT JOIN", "RIGHT JOIN", "SEMI JOIN", "in", "exists", "comma"} <= {
        k for k, n in pruned.items() if n
    }


def test_comparisons_with_the_one_row_of_a_query_give_the_same_rows(duck: duckdb.DuckDBPyConnection) -> None:
    ran = left_out_by_any = 0
    for seed in range(300):
        chance = random.Random(seed)
        op, added = chance.choice(list(OPS)), chance.choice(["", "+ 1", "- 2"])
        row = (
            f"(SELECT DISTINCT dk {added} FROM lake.db.d WHERE x = {chance.randrange(4)} AND s < {chance.randrange(9)})"
        )
        other = f"(SELECT ek FROM lake.db.e WHERE y = {chance.randrange(4)} AND e.k = {chance.randrange(9)})"
        condition = chance.choice([f"k {op} {row}", f"k BETWEEN {row} AND {other}", f"v = 1 AND k {op} {other}"])
        try:
            same, left_out = same_rows(duck, f"SELECT * FROM lake.db.f WHERE {condition}", seed)
        except duckdb.InvalidInputException:
            continue  # a query of several rows
        assert same, (seed, condition)
        ran += 1
        left_out_by_any += left_out > 0
    assert ran > 100
    assert left_out_by_any > 50


Switch = Callable[[pytest.MonkeyPatch], None]


def reaches(kind: str, *sides: str) -> Switch:
    return lambda patch: patch.setitem(conjuncts.REACHES, kind, sides)


def without(name: str, answer: Any) -> Switch:
    return lambda patch: patch.setattr(JoinKeys, name, answer)


def any_select(query: Any) -> Any:
    return any_select(query.body) if isinstance(query.body, join_keys.Query) else query.body


def lenient_items(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(join_keys, "_plain_select", any_select)


def under_or(patch: pytest.MonkeyPatch) -> None:
    """Takes the equalities of an OR for ones that must all hold."""

    def parts(condition: Any) -> list[Any]:
        children = getattr(condition, "children", None)
        return [condition] if children is None else [part for child in children for part in parts(child)]

    patch.setattr(join_conditions, "conjuncts", parts)


def null_safe(patch: pytest.MonkeyPatch) -> None:
    own = join_conditions._JoinConditionParser._same_value

    def same_value(self: Any) -> Any:
        first = self.cursor.index
        found = own(self)
        if found is None and self.cursor.tokens[self.cursor.index - 1].upper == "<=>":
            self.cursor.index = first
            left = self._column()
            self.cursor.advance()
            return join_conditions.SameValue(left, self._column())
        return found

    patch.setattr(join_conditions._JoinConditionParser, "_same_value", same_value)


def in_any_set_operation(patch: pytest.MonkeyPatch) -> None:
    own = conjuncts.union_branches
    patch.setattr(conjuncts, "union_branches", lambda body: own(dataclasses.replace(body, kind="UNION", by_name=False)))


def limited_branches(patch: pytest.MonkeyPatch) -> None:
    own = unions.union_branches

    def branches(body: Any) -> Any:
        return branches(body.body) if isinstance(body, join_keys.Query) else own(body)

    patch.setattr(unions, "union_branches", branches)
    patch.setattr(conjuncts, "union_branches", branches)


def by_position(patch: pytest.MonkeyPatch) -> None:
    """Takes a column of another name in the second branch."""
    own = conjuncts.union_columns

    def named(cursor: Any, branches: Any, type_of: Any) -> Any:
        first = own(cursor, branches, type_of)[0]
        return [first for _ in branches]

    patch.setattr(conjuncts, "union_columns", named)


def of_first_use(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(conjuncts._Push, "_of_any_use", lambda self, cte: self._asked.get(id(cte), [[]])[0])


def used_once(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(conjuncts._Push, "_single_use", lambda *_: True)
    patch.setattr(conjuncts._Push, "_note", lambda self, relation, found: self.found.setdefault(id(relation), found))


@pytest.mark.parametrize(
    ("switch", "sql"),
    [
        (reaches("full", "both", "both"), "SELECT * FROM lake.db.f FULL JOIN lake.db.d ON k = dk AND x = 1"),
        (reaches("left", "both", "on"), "SELECT * FROM lake.db.f LEFT JOIN lake.db.d ON k = dk AND x = 1"),
        (reaches("left", "given", "both"), "SELECT * FROM lake.db.f LEFT JOIN lake.db.d ON k = dk WHERE x IS NULL"),
        (reaches("right", "on", "both"), "SELECT * FROM lake.db.d RIGHT JOIN lake.db.f ON k = dk AND x = 1"),
        (reaches("anti", "both", "on"), "SELECT * FROM lake.db.f ANTI JOIN lake.db.d ON k = dk AND x = 1"),
        (without("rejects_nulls", lambda *_, **__: True), "SELECT * FROM lake.db.f LEFT JOIN lake.db.d ON k = dk AND x = 1 WHERE coalesce(d.s, 1) = 1"),
        (without("_is_plain", lambda *_: True), "SELECT * FROM lake.db.f WHERE EXISTS (SELECT count(*) FROM lake.db.d WHERE dk = f.k AND x = 1)"),
        (lenient_items, "SELECT * FROM lake.db.f WHERE EXISTS (SELECT 1 FROM lake.db.d WHERE dk = f.k AND x = 1 HAVING count(*) < 9)"),
        (lambda patch: patch.setattr(join_keys, "_merges", lambda *_: False), "SELECT * FROM lake.db.f FULL JOIN plain.o USING (k) JOIN lake.db.d ON k = dk"),
        (lambda patch: patch.setattr(join_keys, "visible", every_relation), "SELECT * FROM plain.p WHERE EXISTS (SELECT 1 FROM lake.db.f SEMI JOIN lake.db.e ON f.g = e.ek, lake.db.d WHERE dk = y)"),
        (under_or, "SELECT * FROM lake.db.f, lake.db.d WHERE (k = dk OR v = 1) AND x = 1"),
        (null_safe, "SELECT * FROM lake.db.f JOIN lake.db.d ON f.k <=> dk"),
        (without("_is_outside", lambda *_: True), "SELECT * FROM lake.db.f WHERE EXISTS (SELECT 1 FROM lake.db.d, lake.db.e WHERE dk = k AND x = 1)"),
        (lambda patch: patch.setattr(join_keys, "_is_changed", lambda _: False), "SELECT * FROM lake.db.f, lake.db.d AS d(x, dk, s) WHERE k = dk"),
        (used_once, "WITH c AS (SELECT * FROM lake.db.f) SELECT k FROM c, lake.db.d WHERE k = dk AND x = 1 UNION ALL SELECT k FROM c"),
        (in_any_set_operation, "SELECT * FROM (SELECT k, g FROM lake.db.f UNION ALL BY NAME SELECT g, k FROM lake.db.f) q, lake.db.d WHERE k = dk AND x = 1"),
        (limited_branches, "SELECT * FROM (SELECT k FROM lake.db.f UNION ALL (SELECT g FROM lake.db.f ORDER BY g, k, v LIMIT 9)) q, lake.db.d WHERE k = dk AND x = 1"),
        (by_position, "SELECT * FROM (SELECT k, g FROM lake.db.f UNION ALL SELECT g, k FROM lake.db.f) q, lake.db.d WHERE k = dk AND x = 1"),
        (of_first_use, "WITH c AS (SELECT * FROM lake.db.f) SELECT k FROM c WHERE v = 1 UNION ALL SELECT k FROM c WHERE v = 2"),
        (lambda patch: patch.setattr(conjuncts, "group_columns", lambda *_: frozenset({("k",)})), "SELECT * FROM (SELECT k, g, count(*) AS n FROM lake.db.f GROUP BY ROLLUP (k, g)) q WHERE k IS NULL"),
        (lambda patch: patch.setattr(conjuncts._Push, "_through", lambda self, _, conditions: conditions), "SELECT * FROM (SELECT k, max(v) AS g, count(*) AS v FROM lake.db.f GROUP BY ALL) q, lake.db.d WHERE q.g = dk AND x = 1"),
    ],
)  # fmt: skip
def test_each_rule_is_needed(
    duck: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch, switch: Switch, sql: str
) -> None:
    assert all(same_rows(duck, sql, seed)[0] for seed in range(12))
    switch(monkeypatch)
    assert not all(same_rows(duck, sql, seed)[0] for seed in range(12))


def every_relation(relation: Any) -> Iterator[Any]:
    if isinstance(relation, join_keys.Join):
        yield from every_relation(relation.left)
        yield from every_relation(relation.right)
    else:
        yield relation
