"""Projection to partitions: https://iceberg.apache.org/spec/#scan-planning"""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings

from floeberg.expr.bind import bind
from floeberg.expr.evaluate import keeps
from floeberg.expr.nodes import FALSE, TRUE, Expression
from floeberg.expr.projection import inclusive_projection
from floeberg.spec.partitions.specs import PartitionField, PartitionSpec
from floeberg.spec.partitions.transforms import TemporalTransform, Transform, TruncateTransform, parse_transform
from floeberg.spec.types import DATE, INT, LONG
from floeberg.sql.conditions.filters import parse_where
from models.strict_projection import strict_projection
from strategies.expressions import (
    COLUMN_IDS,
    COLUMNS,
    POOLS,
    SCHEMA,
    TRANSFORMS,
    apply_or_none,
    random_expression,
    random_predicate,
    random_row,
    row_value,
    seeds,
    transform_predicate,
)

CASES_A_SEED = 100


def spec_of(*fields: tuple[str, str]) -> PartitionSpec:
    return PartitionSpec(
        1,
        tuple(
            PartitionField(
                (COLUMN_IDS[column],), 1000 + i, f"{column}_{i}".replace(".", "_"), parse_transform(transform)
            )
            for i, (column, transform) in enumerate(fields)
        ),
    )


def written_values(transform: Transform, column: str, value: object) -> list[object]:
    """The partition values under which writers, old ones included, may have put a row of that value."""
    data_type, _ = POOLS[column]
    result = apply_or_none(transform, data_type, value)
    if value is None:
        return [None]
    if result is None:
        wraps = isinstance(transform, TruncateTransform) and data_type in (INT, LONG)
        width = 2**32 if data_type == INT else 2**64
        return [value - value % transform.width + width] if wraps else []  # type: ignore[operator,attr-defined]
    if isinstance(transform, TemporalTransform) and result < 0 and not (data_type == DATE and str(transform) == "day"):
        return [result, result + 1]  # type: ignore[operator]
    return [result]


def check_sound(
    spec: PartitionSpec, expression: Expression, row: dict[str, object], partition: tuple[object, ...]
) -> None:
    matches = keeps(bind(expression, SCHEMA), row)
    inclusive = inclusive_projection(spec, SCHEMA, expression)
    strict = strict_projection(spec, SCHEMA, expression)
    if matches:
        assert keeps(inclusive, partition), f"{expression} keeps {row}, but {inclusive} drops {partition}"
    else:
        assert not keeps(strict, partition), f"{expression} drops {row}, but {strict} proves {partition}"


@settings(max_examples=80)
@given(seeds)
def test_a_projected_predicate_is_sound_under_every_transform_and_writer(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(CASES_A_SEED):
        column = rng.choice(COLUMNS)
        transform = parse_transform(rng.choice(TRANSFORMS[column]))
        row = random_row(rng)
        predicate = random_predicate(rng, column)
        for written in written_values(transform, column, row_value(row, column)):
            check_sound(spec_of((column, str(transform))), predicate, row, (written,))


@settings(max_examples=30)
@given(seeds)
def test_a_predicate_on_a_transform_is_sound_under_the_same_transform(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(CASES_A_SEED):
        column = rng.choice([name for name in COLUMNS if len(TRANSFORMS[name]) > 1])
        transform = parse_transform(rng.choice(TRANSFORMS[column][1:]))
        row = random_row(rng)
        if apply_or_none(transform, POOLS[column][0], row_value(row, column)) is None is not row_value(row, column):
            continue
        predicate = transform_predicate(rng, column, transform)
        for written in written_values(transform, column, row_value(row, column)):
            check_sound(spec_of((column, str(transform))), predicate, row, (written,))


@settings(max_examples=30)
@given(seeds)
def test_a_projected_expression_is_sound_under_a_spec_of_several_fields(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(CASES_A_SEED // 2):
        columns = tuple(rng.sample(COLUMNS, 3))
        fields = [(column, rng.choice(TRANSFORMS[column])) for column in columns for _ in range(rng.choice([1, 2]))]
        row = random_row(rng)
        choices = [written_values(parse_transform(t), column, row_value(row, column)) for column, t in fields]
        if not all(choices):
            continue
        partition = tuple(rng.choice(choice) for choice in choices)
        check_sound(spec_of(*fields), random_expression(rng, columns), row, partition)


def test_the_random_cases_are_not_vacuous() -> None:
    rng = random.Random(7)
    pruned = proved = 0
    for _ in range(3000):
        column = rng.choice(COLUMNS)
        spec = spec_of((column, rng.choice(TRANSFORMS[column])))
        partition = written_values(spec.fields[0].transform, column, row_value(random_row(rng), column))
        predicate = random_predicate(rng, column)
        pruned += bool(partition) and not keeps(inclusive_projection(spec, SCHEMA, predicate), partition)
        proved += bool(partition) and keeps(strict_projection(spec, SCHEMA, predicate), partition)
    assert pruned > 500
    assert proved > 500


@pytest.mark.parametrize(
    ("transform", "where", "inclusive", "strict"),
    [
        ("day(ts)", "ts > TIMESTAMP_NTZ '2024-01-01 12:00:00'", "p >= DATE '2024-01-01'", "p > DATE '2024-01-01'"),
        ("day(ts)", "ts > TIMESTAMP_NTZ '2023-12-31 23:59:59.999999'", "p >= DATE '2024-01-01'", "p > DATE '2023-12-31'"),
        ("day(ts)", "ts >= TIMESTAMP_NTZ '2024-01-01'", "p >= DATE '2024-01-01'", "p > DATE '2023-12-31'"),
        ("day(ts)", "ts < TIMESTAMP_NTZ '2024-01-01'", "p <= DATE '2023-12-31'", "p < DATE '2024-01-01'"),
        ("day(ts)", "ts <= TIMESTAMP_NTZ '2024-01-01'", "p <= DATE '2024-01-01'", "p < DATE '2024-01-01'"),
        ("day(ts)", "ts = TIMESTAMP_NTZ '2024-01-01 10:00:00'", "p = DATE '2024-01-01'", "FALSE"),
        ("day(ts)", "ts != TIMESTAMP_NTZ '2024-01-01 10:00:00'", "TRUE", "p != DATE '2024-01-01'"),
        ("day(ts)", "day(ts) = DATE '2024-01-01'", "p = DATE '2024-01-01'", "p = DATE '2024-01-01'"),
        ("day(ts)", "ts < TIMESTAMP_NTZ '1969-12-31 10:00:00'", "p <= DATE '1970-01-01'", "p < DATE '1969-12-31'"),
        ("day(ts)", "ts = TIMESTAMP_NTZ '1969-12-31 10:00:00'", "p IN (DATE '1969-12-31', DATE '1970-01-01')", "FALSE"),
        ("day(ts)", "ts > TIMESTAMP_NTZ '1969-12-30 10:00:00'", "p >= DATE '1969-12-30'", "p > DATE '1969-12-31'"),
        ("day(dt)", "dt = DATE '1969-12-31'", "p = DATE '1969-12-31'", "p = DATE '1969-12-31'"),
        ("month(dt)", "dt >= DATE '2024-02-10'", "p >= 649", "p > 649"),
        ("year(dt)", "dt IN (DATE '2024-02-10', DATE '2024-03-10')", "p = 54", "FALSE"),
        ("hour(ts)", "ts < TIMESTAMP_NTZ '2024-01-01 10:00:00'", "p <= 473361", "p < 473362"),
        ("bucket(4, l)", "l = 5", "p = 3", "FALSE"),
        ("bucket(4, l)", "l != 5", "TRUE", "p != 3"),
        ("bucket(4, l)", "l IS NULL", "p IS NULL", "p IS NULL"),
        ("bucket(4, l)", "bucket(4, l) < 2", "p < 2", "p < 2"),
        ("bucket(4, l)", "bucket(8, l) < 2", "TRUE", "FALSE"),
        ("truncate(8, l)", "l < 16", "p <= 8", "p < 16"),
        ("truncate(8, l)", "l > 15", "p >= 16", "p > 8"),
        ("truncate(8, l)", "l = 17", "p = 16", "FALSE"),
        ("truncate(3, dec)", "dec >= 0.04", "p >= 0.03", "p > 0.03"),
        ("truncate(3, s)", "s < 'abc'", "p < 'abc'", "p < 'abc'"),
        ("truncate(3, s)", "s < 'abcd'", "p <= 'abc'", "p < 'abc'"),
        ("truncate(3, s)", "s LIKE 'ab%'", "p LIKE 'ab%'", "p LIKE 'ab%'"),
        ("truncate(3, s)", "s LIKE 'abc%'", "p = 'abc'", "p = 'abc'"),
        ("truncate(3, s)", "s LIKE 'abcd%'", "p = 'abc'", "FALSE"),
        ("truncate(3, s)", "s NOT LIKE 'ab%'", "p NOT LIKE 'ab%'", "p NOT LIKE 'ab%'"),
        ("truncate(3, s)", "s NOT LIKE 'abcd%'", "TRUE", "p != 'abc'"),
        ("truncate(3, s)", "s = 'ab'", "p = 'ab'", "p = 'ab'"),
        ("identity(d)", "d > 3", "p > 3.0D", "p > 3.0D"),
        ("identity(d)", "isnan(d)", "isnan(p)", "isnan(p)"),
        ("void(l)", "l = 5", "TRUE", "FALSE"),
        ("spiral(l)", "l = 5", "TRUE", "FALSE"),
        ("day(ts)", "l = 5", "TRUE", "FALSE"),
    ],
)  # fmt: skip
def test_projections(transform: str, where: str, inclusive: str, strict: str) -> None:
    name, _, arguments = transform.rstrip(")").partition("(")
    *size, column = arguments.split(", ")
    text = f"{name}[{size[0]}]" if size else name
    spec = PartitionSpec(1, (PartitionField((COLUMN_IDS[column],), 1000, "p", parse_transform(text)),))
    assert str(inclusive_projection(spec, SCHEMA, parse_where(where))) == inclusive
    assert str(strict_projection(spec, SCHEMA, parse_where(where))) == strict


def test_seed_000_a_timestamp_range_under_day_becomes_a_range_of_days() -> None:
    """Seed 000: with ts_day = day(ts), the inclusive projection of ts > X is ts_day >= day(X)."""
    spec = PartitionSpec(0, (PartitionField((COLUMN_IDS["ts"],), 1000, "ts_day", parse_transform("day")),))
    projected = inclusive_projection(spec, SCHEMA, parse_where("ts > TIMESTAMP_NTZ '2017-11-16 22:31:08'"))
    assert str(projected) == "ts_day >= DATE '2017-11-16'"
    assert keeps(projected, (17486,))
    assert not keeps(projected, (17485,))


def test_numbers_near_the_minimum_that_wrapped_around_are_looked_for_among_the_greatest() -> None:
    spec = spec_of(("l", "truncate[10]"))
    wrapped = (-(2**63) - 2 + 2**64,)
    assert keeps(inclusive_projection(spec, SCHEMA, parse_where("l < 0")), wrapped)
    assert not keeps(strict_projection(spec, SCHEMA, parse_where("l > 0")), wrapped)
    assert keeps(strict_projection(spec, SCHEMA, parse_where("l > 0")), (10,))


def test_a_literal_whose_result_overflows_prunes_nothing() -> None:
    spec = spec_of(("ts", "hour"))
    beyond = parse_where("ts > TIMESTAMP_NTZ '+294000-01-01 00:00:00'")
    assert inclusive_projection(spec, SCHEMA, beyond) == TRUE
    assert strict_projection(spec, SCHEMA, beyond) == FALSE


def test_every_field_of_a_column_narrows_the_inclusive_projection() -> None:
    spec = spec_of(("l", "bucket[4]"), ("l", "truncate[8]"), ("i", "identity"))
    assert str(inclusive_projection(spec, SCHEMA, parse_where("l = 5"))) == "l_0 = 3 AND l_1 = 0"
    assert str(strict_projection(spec, SCHEMA, parse_where("l != 5"))) == "l_0 != 3 OR l_1 != 0"


def test_a_field_of_several_source_columns_is_ignored() -> None:
    spec = PartitionSpec(
        1, (PartitionField((COLUMN_IDS["l"], COLUMN_IDS["i"]), 1000, "p", parse_transform("identity")),)
    )
    assert inclusive_projection(spec, SCHEMA, parse_where("l = 5")) == TRUE
