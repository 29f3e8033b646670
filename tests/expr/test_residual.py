"""Residuals: what is left to ask of a partition's rows."""

from __future__ import annotations

import random

from hypothesis import given, settings

from floeberg.expr.bind import bind
from floeberg.expr.evaluate import keeps
from floeberg.expr.nodes import FALSE, TRUE
from floeberg.expr.residual import Residuals
from floeberg.spec.partitions.specs import PartitionField, PartitionSpec
from floeberg.spec.partitions.transforms import parse_transform
from floeberg.sql.conditions.filters import parse_where
from strategies.expressions import (
    COLUMN_IDS,
    COLUMNS,
    POOLS,
    SCHEMA,
    TRANSFORMS,
    apply_or_none,
    random_expression,
    random_row,
    row_value,
    seeds,
)


def spec_of(*fields: tuple[str, str]) -> PartitionSpec:
    return PartitionSpec(
        1,
        tuple(
            PartitionField((COLUMN_IDS[c],), 1000 + n, f"p{n}", parse_transform(t)) for n, (c, t) in enumerate(fields)
        ),
    )


@settings(max_examples=80)
@given(seeds)
def test_the_residual_keeps_the_rows_that_the_expression_keeps(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(25):
        columns = tuple(rng.sample(COLUMNS, 3))
        fields = [(column, rng.choice(TRANSFORMS[column])) for column in columns]
        expression, row = random_expression(rng, columns), random_row(rng)
        partition = tuple(apply_or_none(parse_transform(t), POOLS[c][0], row_value(row, c)) for c, t in fields)
        if any(p is None is not row_value(row, c) for p, (c, _) in zip(partition, fields, strict=True)):
            continue  # the result overflows: no writer makes such a partition
        residual = Residuals(spec_of(*fields), SCHEMA, expression).of_partition(partition)
        assert keeps(residual, row) is keeps(bind(expression, SCHEMA), row), (str(expression), str(residual), row)


def test_a_partition_settles_what_it_knows() -> None:
    residuals = Residuals(spec_of(("ts", "day")), SCHEMA, parse_where("ts >= DATE '2024-01-02' AND i = 3"))
    assert residuals.of_partition((19722,)) == FALSE
    assert str(residuals.of_partition((19724,))) == "i = 3"
    assert residuals.of_partition((None,)) == FALSE
    half = Residuals(spec_of(("ts", "day")), SCHEMA, parse_where("ts >= TIMESTAMP_NTZ '2024-01-02 12:00:00'"))
    assert str(half.of_partition((19724,))) == "ts >= TIMESTAMP_NTZ '2024-01-02 12:00:00'"
    assert half.of_partition((19725,)) == TRUE


def test_identity_partitions_leave_nothing() -> None:
    residuals = Residuals(spec_of(("s", "identity"), ("i", "bucket[4]")), SCHEMA, parse_where("s = 'a' OR i IS NULL"))
    assert residuals.of_partition(("a", 1)) == TRUE
    assert residuals.of_partition(("b", 1)) == FALSE
    assert residuals.of_partition((None, None)) == TRUE
