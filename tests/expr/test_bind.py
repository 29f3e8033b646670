"""Binding: columns by name, literals exactly."""

from __future__ import annotations

import datetime as dt
import math
import random
import uuid
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings

from floeberg.errors import InvalidInput
from floeberg.expr.bind import bind
from floeberg.expr.build import bucket, col, day, hour, is_nan, is_null, not_nan, not_null
from floeberg.expr.evaluate import keeps
from floeberg.expr.literals import Temporal, nanos_or_micros
from floeberg.expr.nodes import FALSE, TRUE, BoundPredicate, Expression, Not, Op, Predicate, Reference, TransformTerm
from floeberg.spec.partitions.transforms import VOID, UnknownTransform
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.types import (
    DATE,
    INT,
    LONG,
    STRING,
    TIMESTAMP,
    TIMESTAMPTZ,
    UNKNOWN,
    UUID,
    DecimalType,
    FixedType,
    IcebergType,
    ListType,
    MapType,
    NestedField,
    StructType,
    VariantType,
)
from floeberg.spec.values.temporal import parse_date
from floeberg.sql.conditions.filters import parse_where
from strategies.expressions import POOLS, SCHEMA, random_literal, random_value, seeds

NUMERIC = ("i", "l", "r", "f", "d", "dec", "dt", "ts", "tz", "ns", "tzns")
COMPARE = {
    Op.LT: lambda a, b: a < b, Op.LT_EQ: lambda a, b: a <= b, Op.GT: lambda a, b: a > b, Op.GT_EQ: lambda a, b: a >= b,
    Op.EQ: lambda a, b: a == b, Op.NOT_EQ: lambda a, b: a != b,
}  # fmt: skip


def exactly(data_type: IcebergType, thing: object) -> Fraction | float:
    """A value or literal as a number on the axis of its column, without rounding: temporal ones in nanoseconds."""
    if isinstance(thing, str):
        thing = Temporal(DATE, parse_date(thing)) if data_type == DATE else Decimal(thing)
    if isinstance(thing, Temporal):
        return thing.value * Fraction(_nanos_a_unit(thing.type))
    if str(data_type) in ("float", "double") and not isinstance(thing, float):
        try:
            return exactly(data_type, float(thing))  # type: ignore[arg-type]
        except OverflowError:
            return Fraction(thing)  # type: ignore[call-overload]
    if isinstance(thing, float):
        if not math.isfinite(thing):
            return thing
        return Fraction(repr(thing)) if isinstance(data_type, DecimalType) else Fraction(thing)
    return Fraction(thing) * (_nanos_a_unit(data_type) if isinstance(thing, int) else 1)  # type: ignore[call-overload]


def _nanos_a_unit(data_type: IcebergType) -> int:
    if data_type == DATE:
        return 86_400_000_000_000
    if not str(data_type).startswith("timestamp"):
        return 1
    return 1 if nanos_or_micros(data_type) == "ns" else 1000


@settings(max_examples=60)
@given(seeds)
def test_a_bound_comparison_is_exact_whatever_the_literal(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(60):
        column = rng.choice(NUMERIC)
        data_type, _ = POOLS[column]
        literal, value = random_literal(rng, column), random_value(rng, column)
        op = rng.choice(sorted(COMPARE))
        kept = keeps(bind(Predicate(op, Reference(column), (literal,)), SCHEMA), {column: value})  # type: ignore[arg-type]
        if value is None:
            assert kept is False
        elif value != value:  # NaN is greater than any literal
            assert kept is (op in (Op.GT, Op.GT_EQ, Op.NOT_EQ))
        elif isinstance(literal, Decimal) and column in "fd" and abs(literal) > Decimal("1.8e308"):
            assert kept is COMPARE[op](value, math.copysign(math.inf, literal)) or math.isinf(value)  # type: ignore[arg-type]
        else:
            left, right = exactly(data_type, value), exactly(data_type, literal)
            assert kept is COMPARE[op](left, right), (column, op, literal, value)


@settings(max_examples=30)
@given(seeds)
def test_a_bound_list_holds_exactly_its_members(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(60):
        column = rng.choice([name for name in NUMERIC if name not in "fd"])
        data_type, _ = POOLS[column]
        literals = tuple(random_literal(rng, column) for _ in range(rng.randrange(5)))
        value = random_value(rng, column)
        member = value is not None and exactly(data_type, value) in {exactly(data_type, lit) for lit in literals}
        within = bind(col(column).in_(literals), SCHEMA)
        without = bind(col(column).not_in(literals), SCHEMA)
        assert keeps(within, {column: value}) is member
        assert keeps(without, {column: value}) is (not literals or (value is not None and not member))


@pytest.mark.parametrize(
    ("where", "bound"),
    [
        ("i > 1.5", "i >= 2"), ("i < 1.5", "i <= 1"), ("i >= 1.5", "i >= 2"), ("i = 1.5", "FALSE"),
        ("i != 1.5", "i IS NOT NULL"), ("i > -1.5", "i >= -1"), ("i = 2.0", "i = 2"), ("i > 1e-400", "i >= 1"),
        ("i < 3000000000", "i IS NOT NULL"), ("i > 3000000000", "FALSE"), ("i > -3000000000", "i IS NOT NULL"),
        ("r < 1e30", "TRUE"), ("r = 1e30", "FALSE"), ("NOT r < 1e30", "FALSE"), ("NOT i > 1e30", "i IS NOT NULL"),
        ("i IN (1, 1.0, 2.5, 1e30)", "i = 1"), ("i NOT IN (2.5)", "i IS NOT NULL"), ("i IN (2.5)", "FALSE"),
        ("i IN (3, 1, 2)", "i IN (1, 2, 3)"),
        ("l = 3", "l = 3"), ("dec = 3", "dec = 3.00"), ("dec > 0.005", "dec >= 0.01"), ("dec = 0.005", "FALSE"),
        ("dec < 10000000", "dec IS NOT NULL"), ("dec = '1.5'", "dec = 1.50"),
        ("f = 0.1", "FALSE"), ("f > 0.1", "f >= 0.10000000149011612D"), ("f = 0.5", "f = 0.5D"),
        ("f < 1e39", "f <= 3.4028234663852886e+38D"), ("d = 0.1", "d = 0.1D"), ("d < 1e400", "d <= 1.7976931348623157e+308D"),
        ("d = 'Infinity'", "d = double('Infinity')"), ("d = -0.0D", "d = 0.0D"), ("f > -1e-50", "f >= 0.0D"), ("f < 1e-50", "f <= 0.0D"),
        ("f < -1e-50", "f <= -1.401298464324817e-45D"),
        ("dt = '2024-01-01'", "dt = DATE '2024-01-01'"),
        ("dt < TIMESTAMP_NTZ '2024-01-01 00:00:01'", "dt <= DATE '2024-01-01'"),
        ("dt > '2024-01-01T12:00:00'", "dt >= DATE '2024-01-02'"),
        ("ts >= DATE '2024-01-01'", "ts >= TIMESTAMP_NTZ '2024-01-01 00:00:00'"),
        ("ts > '1969-12-31 23:59:59.9999995'", "ts >= TIMESTAMP_NTZ '1970-01-01 00:00:00'"),
        ("tz > '2024-01-01 02:00:00+02:00'", "tz > TIMESTAMP '2024-01-01 00:00:00+00:00'"),
        ("tz > TIMESTAMP '2024-01-01 00:00:00'", "tz > TIMESTAMP '2024-01-01 00:00:00+00:00'"),
        ("ns = TIMESTAMP_NTZ '2024-01-01 00:00:00.123456'", "ns = TIMESTAMP_NTZ '2024-01-01 00:00:00.123456000'"),
        ("ns < TIMESTAMP_NTZ '2300-01-01 00:00:00'", "ns IS NOT NULL"),
        ("tm = '01:02:03.000004'", "tm = TIME '01:02:03.000004'"),
        ("u = '00000000-0000-0000-0000-000000000001'", "u = UUID '00000000-0000-0000-0000-000000000001'"),
        ("s LIKE '%'", "s IS NOT NULL"), ("s NOT LIKE '%'", "FALSE"),
        ("r IS NULL", "FALSE"), ("r IS NOT NULL", "TRUE"), ("isnan(i)", "FALSE"), ("NOT isnan(i)", "TRUE"),
        ("bucket(4, l) IS NULL", "l IS NULL"), ("day(ts) = '2024-01-01'", "days(ts) = DATE '2024-01-01'"),
        ("days(ts) = 19723", "days(ts) = DATE '2024-01-01'"), ("year(ts) = 2024", "years(ts) = 54"),
    ],
)  # fmt: skip
def test_bound_forms(where: str, bound: str) -> None:
    assert str(bind(parse_where(where), SCHEMA)) == bound


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("nope = 1", "no column 'nope'"),
        ("i = '5'", "take the quotes away"),
        ("s = 5", "in quotes"),
        ("b = 1", "TRUE or FALSE"),
        ("i = DATE '2024-01-01'", "compare with a number"),
        ("dt = 5", "DATE"),
        ("ts > 5", "TIMESTAMP"),
        ("ts > TIMESTAMP '2024-01-01 00:00:00+01:00'", "no zone"),
        ("dt > TIMESTAMP '2024-01-01 00:00:00Z'", "no zone"),
        ("dt = 'yesterday'", "not a date"),
        ("ts = 'yesterday at 12:00'", "not a timestamp"),
        ("u = 'abc'", "does not compare"),
        ("u = X'00'", "as text"),
        ("bin = 'abc'", "X'00ff'"),
        ("fx = X'00'", "exactly 2 bytes"),
        ("dec = 'abc'", "a number"),
        ("d = 'NaN'", "isnan"),
        ("st = 3", "IS \\[NOT\\] NULL"),
        ("i LIKE 'a%'", "only strings"),
        ("hours(dt) = 3", "hour"),
        ("truncate(3, d) = 3", "does not apply"),
        ("months(ts) = DATE '2024-01-01'", "compare with a number"),
    ],
)
def test_what_does_not_compare_is_refused_with_a_way_out(where: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        bind(parse_where(where), SCHEMA)


def test_names_match_in_any_case_on_request_only() -> None:
    schema = Schema(
        NestedField(1, "Price", LONG), NestedField(2, "a", LONG), NestedField(3, "A", LONG),
        NestedField(4, "Outer", StructType((NestedField(5, "Inner", LONG),))),
    )  # fmt: skip
    with pytest.raises(InvalidInput, match="no column"):
        bind(parse_where("price > 3"), schema)
    bound = bind(parse_where("PRICE > 3 AND outer.INNER = 1"), schema, case_sensitive=False)
    assert str(bound) == "Price > 3 AND Outer.Inner = 1"
    assert keeps(bound, {"Price": 4, "Outer": {"Inner": 1}})
    assert str(bind(parse_where("A > 3"), schema)) == "A > 3"
    with pytest.raises(InvalidInput, match="ambiguous"):
        bind(parse_where("a > 3"), schema, case_sensitive=False)


def test_a_column_is_required_only_when_every_struct_around_it_is() -> None:
    inner = (NestedField(2, "x", LONG, required=True),)
    outer = Schema(
        NestedField(1, "o", StructType(inner)),
        NestedField(3, "p", StructType((NestedField(4, "x", LONG, required=True),)), required=True),
    )
    assert str(bind(is_null("o.x"), outer)) == "o.x IS NULL"
    assert bind(is_null("p.x"), outer) == FALSE
    assert bind(not_null("p.x"), outer) == TRUE


def test_columns_in_lists_and_maps_have_no_predicates() -> None:
    schema = Schema(
        NestedField(1, "xs", ListType(2, LONG)),
        NestedField(3, "m", MapType(4, STRING, 5, StructType((NestedField(6, "y", LONG),)))),
    )
    for name in ("xs.element", "m.key", "m.value.y"):
        with pytest.raises(InvalidInput, match="list or map"):
            bind(col(name) == 1, schema)
    assert str(bind(is_null("xs"), schema)) == "xs IS NULL"


def test_types_without_order_and_transforms_without_meaning() -> None:
    schema = Schema(NestedField(1, "n", UNKNOWN), NestedField(2, "v", VariantType()), NestedField(3, "l", LONG))
    assert bind(is_null("n"), schema) == TRUE
    assert bind(not_null("n"), schema) == FALSE
    assert bind(col("n") == 1, schema) == FALSE
    assert bind(col("n").not_in([]), schema) == TRUE
    with pytest.raises(InvalidInput, match="IS"):
        bind(col("v") == 1, schema)
    void = TransformTerm(VOID, Reference("l"))
    assert bind(is_null(void), schema) == TRUE
    assert bind(Predicate(Op.EQ, void, (1,)), schema) == FALSE
    with pytest.raises(InvalidInput, match="not known"):
        bind(is_null(TransformTerm(UnknownTransform("spiral"), Reference("l"))), schema)


def test_python_values_bind_to_their_columns() -> None:
    assert keeps(bind(col("u") == uuid.UUID(int=1), SCHEMA), {"u": uuid.UUID(int=1)})
    assert keeps(bind(col("dt") == dt.date(2024, 1, 1), SCHEMA), {"dt": 19723})
    assert keeps(bind(col("tm") == dt.time(0, 0, 1), SCHEMA), {"tm": 1_000_000})
    assert keeps(bind(col("tz") == dt.datetime(1970, 1, 1, tzinfo=dt.UTC), SCHEMA), {"tz": 0})
    assert keeps(bind(col("bin") == b"\x00", SCHEMA), {"bin": b"\x00"})
    assert keeps(bind(col("dec") == 0.07, SCHEMA), {"dec": Decimal("0.07")})


def test_physical_literals_are_taken_only_on_request() -> None:
    where = (col("ts") > 5) & (col("dt") == 1) & (col("bin") == "00ff") & (col("fx") == "0001") & (col("tm") == 7)
    bound = bind(where, SCHEMA, physical_literals=True)
    assert str(bound) == (
        "ts > TIMESTAMP_NTZ '1970-01-01 00:00:00.000005' AND dt = DATE '1970-01-02' AND bin = X'00FF' AND fx = X'0001'"
        " AND tm = TIME '00:00:00.000007'"
    )
    with pytest.raises(InvalidInput, match="hexadecimal"):
        bind(col("bin") == "xyz", SCHEMA, physical_literals=True)


def test_binding_keeps_what_is_bound_and_takes_no_not() -> None:
    bound = bind(Not((col("i") > 1) | is_nan("d")), SCHEMA)
    assert str(bound) == "i <= 1 AND NOT isnan(d)"
    assert bind(bound, Schema()) == bound
    assert isinstance(bind(not_nan("d"), SCHEMA), BoundPredicate)
    assert str(bind(Not(bucket(4, "l") == 1) & (day("ts") != "2024-01-01") & (hour("ts") > 5), SCHEMA)) == (
        "bucket(4, l) != 1 AND days(ts) != DATE '2024-01-01' AND hours(ts) > 5"
    )


@pytest.mark.parametrize("data_type", [INT, LONG, STRING, DATE, TIMESTAMP, TIMESTAMPTZ, UUID, FixedType(3)])
def test_huge_numbers_are_refused_or_placed_in_bounded_time(data_type: IcebergType) -> None:
    schema = Schema(NestedField(1, "x", data_type))
    for literal in (Decimal("1e999999"), Decimal("1e-999999"), Decimal("9" * 900), -(10**500)):
        expression: Expression = col("x") > literal
        if data_type in (INT, LONG):
            assert str(bind(expression, schema)) in ("FALSE", "x IS NOT NULL", "x >= 1")
        else:
            with pytest.raises(InvalidInput):
                bind(expression, schema)
