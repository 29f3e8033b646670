"""How many rows are expected to have one of some values, by the bounds of their files."""

from __future__ import annotations

import pyarrow as pa
import pytest

import floeberg as fb
from floeberg.expr.bind import bind_reference
from floeberg.scan.expected_rows import expected_rows
from floeberg.scan.plan import plan_files
from floeberg.scan.snapshot_choice import choose_snapshot


def expected(files: list[list[int | None]], values: list[int], *, least: float = 0.0, metrics: str = "full") -> float:
    lake = fb.catalog("lake", type="memory")
    lake.create_namespace("db")
    table = lake.create_table("db.t", "k BIGINT", properties={"write.metadata.metrics.default": metrics})
    for rows in files:
        table.append(pa.table({"k": pa.array(rows, pa.int64())}))
    metadata = table.metadata
    store_for = table._pointer.store_for
    plan = plan_files(metadata, choose_snapshot(metadata), store_for=store_for, keep_metrics_of=frozenset({1}))
    return expected_rows(plan, bind_reference("k", metadata.current_schema), values, least_share=least)


@pytest.mark.parametrize(
    ("files", "values", "rows"),
    [
        ([[1, 10], [11, 20]], [1, 2, 3, 4, 5], 2 * 5 / 10),
        ([[1, 10], [11, 20]], [*range(11, 21), 99], 2.0),
        ([[1, 10], [11, 20]], [-5, 0, 21], 0.0),
        ([[7] * 5], [7], 5.0),
        ([[-(2**63), 2**63 - 1]], [0], 0.0),
    ],
)
def test_the_numbers_between_the_bounds_tell(files: list[list[int | None]], values: list[int], rows: float) -> None:
    assert expected(files, values) == pytest.approx(rows)


def test_the_least_share_counts_where_the_bounds_tell_of_less_or_nothing() -> None:
    assert expected([[1, 10], [11, 20]], [1], least=0.5) == pytest.approx(2.0)
    assert expected([[1, 10], [11, 20]], [1], least=0.5, metrics="none") == pytest.approx(2.0)
    assert expected([[None, None]], [1], least=0.5) == pytest.approx(1.0)
