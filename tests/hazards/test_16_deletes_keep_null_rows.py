"""Hazard 16, end to end: a filtered delete or overwrite removes the rows for which the condition is TRUE, and no other:
rows kept and rows deleted are the rows before."""

from __future__ import annotations

import math
import random

import pyarrow as pa
import pytest

from floeberg.api.catalog import Catalog, catalog
from floeberg.api.table import Table
from floeberg.arrow.changes import row_level
from models.engine_rows import assert_same_rows, matching, rows_of
from strategies.engine_filters import random_filter

MODES = ("copy-on-write", "merge-on-read")
VALUES = [None, math.nan, -math.inf, -0.0, 0.0, 1.5, math.inf]


@pytest.fixture(scope="module")
def lake() -> Catalog:
    made = catalog("lake", type="memory")
    made.create_namespace("db")
    return made


def filled(lake: Catalog, name: str, version: int, mode: str) -> Table:
    table = lake.create_table(
        name,
        "x double, s string, k int",
        format_version=version,
        partition_by=["k"],
        properties={"write.delete.mode": mode},
    )
    texts = [None, "", "a", "ab", "b", None, "c"]
    for k in (0, 1, None):
        table.append(pa.table({"x": VALUES, "s": texts, "k": pa.array([k] * len(VALUES), pa.int32())}))
    return table


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("version", [1, 2, 3])
def test_rows_kept_and_rows_deleted_are_the_rows_before(lake: Catalog, version: int, mode: str) -> None:
    rng = random.Random(version)
    for number in range(6):
        table = filled(lake, f"db.t{version}{mode[0]}{number}", version, mode)
        before = rows_of(table.scan().to_arrow(), table.schema)
        where = random_filter(rng, table.schema, before)
        gone = matching(where, before, table.schema)
        table.delete(where)
        assert_same_rows([*rows_of(table.scan().to_arrow(), table.schema), *gone], before, where)


@pytest.mark.parametrize("mode", MODES)
def test_comparisons_and_their_negation_leave_nulls_alone(lake: Catalog, mode: str) -> None:
    table = filled(lake, f"db.neg{mode[0]}", 2, mode)
    table.delete("x > 0")
    table.delete("NOT (x > 0)")
    assert table.scan(["x"]).to_arrow().column("x").to_pylist() == [None] * 3


def test_an_overwrite_with_a_condition_replaces_true_rows_only(lake: Catalog) -> None:
    table = filled(lake, "db.over", 2, "copy-on-write")
    table.overwrite(pa.table({"x": [9.0], "s": ["new"], "k": pa.array([7], pa.int32())}), where="s = 'a' OR x < 0")
    left = table.scan().to_arrow().to_pylist()
    assert sum(row["s"] is None for row in left) == 6
    assert {"x": 9.0, "s": "new", "k": 7} in left
    assert not any(row["s"] == "a" for row in left)


def test_without_the_protection_null_rows_are_lost(lake: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests above would fail if null counted as true."""

    def null_is_true(task: object, batch: pa.RecordBatch, schema: object) -> object:
        mask = row_level.filter_mask(task.residual, batch, schema)  # type: ignore[attr-defined]
        return mask.fill_null(True).to_numpy(zero_copy_only=False)

    table = filled(lake, "db.broken", 2, "copy-on-write")
    monkeypatch.setattr(row_level, "_true_rows", null_is_true)
    table.delete("x > 0")
    assert table.scan(where="x IS NULL").count() == 0
