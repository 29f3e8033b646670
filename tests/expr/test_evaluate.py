"""The row semantics: three-valued, Spark's order. DuckDB, whose order of doubles is the same, is the other opinion."""

from __future__ import annotations

import functools
import math
import random
import uuid
from decimal import Decimal

import duckdb
import pytest
from hypothesis import given, settings

from floeberg.errors import InvalidInput
from floeberg.expr.bind import bind
from floeberg.expr.build import col
from floeberg.expr.evaluate import evaluate, holds, keeps
from floeberg.expr.nodes import Expression, Not, Op, Predicate, Reference, and_, or_
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.types import DOUBLE, LONG, STRING, NestedField
from floeberg.sql.conditions.filters import parse_where
from strategies.expressions import SCHEMA, seeds

NAN = math.nan
SMALL = Schema(NestedField(1, "n", LONG), NestedField(2, "x", DOUBLE), NestedField(3, "s", STRING))
ROWS = [
    {"n": n, "x": x, "s": s}
    for n in (None, -1, 0, 3)
    for x in (None, NAN, -math.inf, -0.0, 0.0, 1.5, math.inf)
    for s in (None, "", "ab", "b")
]


def small_expression(rng: random.Random, depth: int) -> Expression:
    """Only what DuckDB reads as Spark does."""
    kind = rng.random()
    if depth == 0 or kind < 0.3:
        column, literals = rng.choice([("n", (-1, 0, 2, 3)), ("x", (0, 1, Decimal("1.5"))), ("s", ("", "a", "ab"))])
        op = rng.choice([Op.LT, Op.LT_EQ, Op.GT, Op.GT_EQ, Op.EQ, Op.NOT_EQ, Op.IN, Op.NOT_IN, Op.IS_NULL, Op.NOT_NULL])
        if op in (Op.IS_NULL, Op.NOT_NULL):
            return Predicate(op, Reference(column))
        count = 2 if op in (Op.IN, Op.NOT_IN) else 1
        return Predicate(op, Reference(column), tuple(rng.sample(literals, count)))  # type: ignore[arg-type]
    if kind < 0.5:
        return Not(small_expression(rng, depth - 1))
    parts = [small_expression(rng, depth - 1) for _ in range(2)]
    return (and_ if kind < 0.75 else or_)(*parts)


def evaluate_unbound(expression: Expression, row: dict[str, object]) -> bool | None:
    """Three-valued, by binding each predicate alone: binding the whole may turn null into false."""
    match expression:
        case Not(child=child):
            value = evaluate_unbound(child, row)
            return None if value is None else not value
        case Predicate(op=op, term=Reference(name=name), literals=literals):
            return holds(op, row[name], [float(v) if name == "x" else v for v in literals])  # type: ignore[arg-type]
    children = [evaluate_unbound(child, row) for child in expression.children]  # type: ignore[attr-defined]
    sure = type(expression).__name__ == "Or"
    if sure in children:
        return sure
    return None if None in children else not sure


@functools.cache
def connection() -> duckdb.DuckDBPyConnection:
    opened = duckdb.connect()
    opened.execute("CREATE TABLE t (i INT, n BIGINT, x DOUBLE, s VARCHAR)")
    places = ", ".join("(?, ?, ?, ?)" for _ in ROWS)
    opened.execute(
        f"INSERT INTO t VALUES {places}", [value for i, row in enumerate(ROWS) for value in (i, *row.values())]
    )
    return opened


@settings(max_examples=10)
@given(seeds)
def test_values_are_true_false_and_null_where_duckdb_says_so(seed: int) -> None:
    rng = random.Random(seed)
    expressions = [small_expression(rng, 3) for _ in range(25)]
    answers = connection().execute(f"SELECT {', '.join(f'({e})' for e in expressions)} FROM t ORDER BY i").fetchall()
    for number, expression in enumerate(expressions):
        bound = bind(expression, SMALL)
        for row, answer in zip(ROWS, answers, strict=True):
            assert evaluate_unbound(expression, row) is answer[number], (str(expression), row)
            assert keeps(bound, row) is (answer[number] is True), (str(expression), row)


@pytest.mark.parametrize(
    ("where", "value", "expected"),
    [
        ("d > 3", NAN, True), ("d >= 3", NAN, True), ("d != 3", NAN, True), ("d NOT IN (3, 4)", NAN, True),
        ("d < 3", NAN, False), ("d <= double('Infinity')", NAN, False), ("d = 3", NAN, False),
        ("d > double('Infinity')", NAN, True),
        ("isnan(d)", NAN, True), ("NOT isnan(d)", NAN, False), ("isnan(d)", None, False), ("NOT isnan(d)", None, True),
        ("d = 0", -0.0, True), ("d < 0", -0.0, False), ("d >= 0", -0.0, True), ("d = -0.0D", 0.0, True),
        ("d IN (0, 7)", -0.0, True),
        ("d > 3", None, None), ("d IN (1, 2)", None, None), ("d NOT IN (1, 2)", None, None),
        ("d IS NULL", None, True), ("d IS NOT NULL", None, False),
    ],
)  # fmt: skip
def test_nan_is_greatest_zeros_are_equal_and_null_is_null(where: str, value: object, expected: bool | None) -> None:
    assert evaluate(bind(parse_where(where), SCHEMA), {"d": value}) is expected


@pytest.mark.parametrize(
    ("column", "small", "great"),
    [
        ("s", "\uffff", "\U0001f600"),  # UTF-16 would order these the other way
        ("u", uuid.UUID(int=(1 << 127) - 1), uuid.UUID(int=1 << 127)),  # signed halves would, too
        ("bin", b"\x7f", b"\x80"),
        ("bin", b"\x00", b"\x00\x00"),
        ("fx", b"\x7f\xff", b"\x80\x00"),
    ],
)
def test_text_and_bytes_order_unsigned(column: str, small: object, great: object) -> None:
    assert keeps(bind(col(column) < great, SCHEMA), {column: small})
    assert not keeps(bind(col(column) < small, SCHEMA), {column: great})


def test_rows_are_tuples_or_dicts_and_null_structs_hold_nulls() -> None:
    bound = bind(col("st.x") == 1, SCHEMA)
    position = len(SCHEMA.fields) - 1
    assert evaluate(bound, {"st": {"x": 1}}) is True
    assert evaluate(bound, (*[None] * position, (1,))) is True
    assert evaluate(bound, (*[None] * position, None)) is None
    assert evaluate(bound, {}) is None


def test_an_unbound_expression_is_not_evaluated() -> None:
    with pytest.raises(InvalidInput, match="bind it"):
        evaluate(col("d") > 3, {"d": 4.0})
