"""Evaluation on partition summaries never loses a manifest."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings

from floeberg.errors import InvalidInput
from floeberg.expr.bind import bind
from floeberg.expr.build import col
from floeberg.expr.evaluate import keeps, order_key
from floeberg.expr.manifest_eval import summaries_may_match
from floeberg.expr.projection import inclusive_projection
from floeberg.spec.partitions.specs import PartitionField, PartitionSpec
from floeberg.spec.partitions.transforms import IDENTITY
from floeberg.spec.snapshots.manifest_entry import FieldSummary, ManifestFile
from floeberg.spec.types import DOUBLE
from floeberg.spec.values.single_value import to_bytes
from floeberg.sql.conditions.filters import parse_where
from strategies.expressions import COLUMN_IDS, POOLS, SCHEMA, random_predicate, random_row, row_value, seeds

COLUMNS = ("i", "d", "f", "s", "u", "dec", "dt", "b", "bin")
SPEC = PartitionSpec(
    1, tuple(PartitionField((COLUMN_IDS[c],), 1000 + n, f"p_{c}", IDENTITY) for n, c in enumerate(COLUMNS))
)


def summary_of(column: str, values: list[object], rng: random.Random) -> FieldSummary:
    real = sorted((v for v in values if v is not None and v == v), key=order_key)
    known = rng.random() > 0.15
    return FieldSummary(
        contains_null=None in values,
        contains_nan=any(v != v for v in values) if rng.random() > 0.2 else None,
        lower_bound=to_bytes(POOLS[column][0], real[0]) if real and known else None,
        upper_bound=to_bytes(POOLS[column][0], real[-1]) if real and known else None,
    )


@settings(max_examples=80)
@given(seeds)
def test_a_manifest_with_a_matching_row_is_never_skipped(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(5):
        rows = [random_row(rng) for _ in range(rng.choice([1, 1, 2, 4]))]
        summaries = [summary_of(column, [row_value(row, column) for row in rows], rng) for column in COLUMNS]
        for _ in range(15):
            predicate = random_predicate(rng, rng.choice(COLUMNS))
            bound, projected = bind(predicate, SCHEMA), inclusive_projection(SPEC, SCHEMA, predicate)
            if any(keeps(bound, row) for row in rows):
                assert summaries_may_match(projected, summaries), (str(predicate), rows, summaries)


DOUBLES = PartitionSpec(1, (PartitionField((COLUMN_IDS["d"],), 1000, "p", IDENTITY),))


def summary(
    low: float | None = None, high: float | None = None, *, null: bool = False, nan: bool | None = False
) -> FieldSummary:
    return FieldSummary(
        contains_null=null, contains_nan=nan,
        lower_bound=None if low is None else to_bytes(DOUBLE, low), upper_bound=None if high is None else to_bytes(DOUBLE, high),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("where", "found", "expected"),
    [
        ("d > 3", summary(0.0, 2.0), False), ("d > 3", summary(0.0, 2.0, nan=True), True), ("d > 3", summary(0.0, 2.0, nan=None), True),
        ("d < 3", summary(4.0, 5.0, nan=True), False), ("d = 3", summary(4.0, 5.0), False), ("d = 3", summary(5.0, 4.0), True),
        ("d IN (1, 9)", summary(4.0, 5.0), False), ("d IS NULL", summary(4.0, 5.0), False), ("d IS NULL", summary(4.0, 5.0, null=True), True),
        ("isnan(d)", summary(4.0, 5.0), False), ("isnan(d)", summary(4.0, 5.0, nan=None), True),
        ("d = 3", summary(null=True), True),  # nulls only, or a writer that leaves bounds out
        ("d = 0", summary(-0.0, -0.0), True), ("NOT (d >= 3)", summary(4.0, 5.0), False),
    ],
)  # fmt: skip
def test_summaries_prove(where: str, found: FieldSummary, expected: bool) -> None:
    assert summaries_may_match(inclusive_projection(DOUBLES, SCHEMA, parse_where(where)), [found]) is expected


def test_missing_summaries_prove_nothing() -> None:
    projected = inclusive_projection(DOUBLES, SCHEMA, col("d") == 3)
    assert summaries_may_match(projected, None)
    assert summaries_may_match(projected, ())


def test_a_manifest_without_live_files_is_skipped() -> None:
    def manifest(added: int | None, existing: int | None) -> ManifestFile:
        return ManifestFile(
            manifest_path="m", manifest_length=1, partition_spec_id=1, added_files_count=added, existing_files_count=existing,
            partitions=(summary(4.0, 5.0),),
        )  # fmt: skip

    projected = inclusive_projection(DOUBLES, SCHEMA, col("d") == 4)
    assert manifest(1, 0).may_have_live_files
    assert manifest(None, None).may_have_live_files
    assert not manifest(0, 0).may_have_live_files
    assert summaries_may_match(projected, manifest(1, 0).partitions)
    assert not summaries_may_match(inclusive_projection(DOUBLES, SCHEMA, col("d") == 3), manifest(1, 0).partitions)


def test_an_unbound_expression_is_refused() -> None:
    with pytest.raises(InvalidInput, match="project it"):
        summaries_may_match(col("p") > 1, [summary(4.0, 5.0)])
