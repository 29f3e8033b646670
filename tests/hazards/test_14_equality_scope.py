"""Hazard 14: equality deletes that reach rows of other partitions, of their own sequence number, or whose key is null."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest

from floeberg.api.catalog import catalog
from floeberg.arrow.columns import key_set
from floeberg.scan import delete_index
from floeberg.scan.delete_index import DeleteIndex
from models.engine_model import Model, arrow_rows

Keys = list[tuple[Any, ...]]


def new_model(ddl: str, *, partition_by: list[str] | None = None, format_version: int = 2) -> Model:
    lake = catalog("lake", type="memory")
    lake.create_namespace("db")
    return Model(
        lake.create_table("db.t", ddl, partition_by=partition_by or [], format_version=format_version), random.Random(7)
    )


def append(model: Model, *rows: tuple[Any, ...]) -> None:
    model.table.append(arrow_rows([dict(enumerate(row, 1)) for row in rows], model.table.schema))


def delete(model: Model, *rows: tuple[Any, ...], by: tuple[int, ...]) -> None:
    model.commit_equality_deletes([dict(enumerate(row, 1)) for row in rows], by)


def rows(model: Model) -> Keys:
    found = [tuple(row.values()) for row in model.table.scan().to_arrow().to_pylist()]
    return sorted(found, key=repr)


@pytest.mark.parametrize("version", [2, 3])
def test_an_equality_delete_stays_in_its_partition(version: int) -> None:
    model = new_model("p int, k bigint", partition_by=["p"], format_version=version)
    append(model, (1, 5), (2, 5), (None, 5))
    delete(model, (1, 5), by=(2,))
    assert rows(model) == [(2, 5), (None, 5)]


def test_an_equality_delete_of_another_spec_does_not_reach_old_files() -> None:
    model = new_model("p int, k bigint", partition_by=["p"])
    append(model, (1, 5))
    with model.table.update_spec() as update:
        update.add_field("bucket(4, k)")
    append(model, (1, 5))
    delete(model, (1, 5), by=(2,))
    assert rows(model) == [(1, 5)]


def test_an_unpartitioned_equality_delete_reaches_every_older_file() -> None:
    model = new_model("p int, k bigint", partition_by=["p"])
    append(model, (1, 5), (2, 6))
    with model.table.update_spec() as update:
        update.remove_field("p")
    delete(model, (0, 5), by=(2,))
    append(model, (3, 5))
    assert rows(model) == [(2, 6), (3, 5)]


def test_null_equals_only_null_and_nan_only_nan() -> None:
    model = new_model("k double, v bigint")
    append(model, (None, 1), (math.nan, 2), (0.0, 3), (1.0, 4))
    delete(model, (None, 0), by=(1,))
    assert [row[1] for row in sorted(rows(model), key=lambda row: row[1])] == [2, 3, 4]
    delete(model, (math.nan, 0), by=(1,))
    assert [row[1] for row in sorted(rows(model), key=lambda row: row[1])] == [3, 4]


def test_a_row_as_young_as_the_delete_stays() -> None:
    model = new_model("k bigint, v bigint")
    append(model, (1, 1))
    delete(model, (1, 0), by=(1,))
    append(model, (1, 2))
    assert rows(model) == [(1, 2)]


def test_without_scope_rows_of_other_partitions_are_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first test would fail if every equality delete were taken for a global one."""
    original = DeleteIndex.__init__

    def everywhere(self: DeleteIndex, *arguments: Any, **options: Any) -> None:
        original(self, *arguments, **options)
        if self.count:
            self._equality = self._equality.with_columns(is_global=delete_index.pl.lit(True))

    monkeypatch.setattr(DeleteIndex, "__init__", everywhere)
    model = new_model("p int, k bigint", partition_by=["p"])
    append(model, (1, 5), (2, 5))
    delete(model, (1, 5), by=(2,))
    assert rows(model) == []


def test_without_null_safe_comparison_null_keys_are_not_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_set.pc, "is_null", lambda column: key_set.pc.equal(column, column).fill_null(False))
    model = new_model("k bigint, v bigint")
    append(model, (None, 1), (2, 2))
    delete(model, (None, 0), by=(1,))
    assert len(rows(model)) == 2
