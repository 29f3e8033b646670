"""The Java runtime reads what our maintenance leaves behind and maintains it, and we read what its maintenance leaves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import floeberg as fb
from lakes.cdc_tables import make_cdc_tables, rewrite_in_steps
from lakes.maintained_tables import changed_table, maintained_tables
from peers.java_peer import JavaRuntime, lake_of_both

pytestmark = pytest.mark.java


@pytest.fixture(scope="module")
def lake(spark: Any, runtime: JavaRuntime, tmp_path_factory: pytest.TempPathFactory) -> Iterator[fb.Catalog]:
    with lake_of_both(spark, runtime, tmp_path_factory.mktemp("maintained"), "kept", "db") as made:
        yield made


def _rows(found: list[dict[str, Any]]) -> set[tuple[Any, ...]]:
    return {tuple(row.values()) for row in found}


def test_java_reads_our_maintained_tables_and_we_read_them_after_its_own(
    runtime: JavaRuntime, lake: fb.Catalog
) -> None:
    for name, (builder, rows) in maintained_tables(lake).items():
        (found,) = runtime.run(f"SELECT id, p, v FROM kept.db.{name}")
        assert _rows(found) == rows, name
        runtime.run(
            f"CALL kept.system.rewrite_data_files(table => 'db.{name}', options => map('rewrite-all', 'true'))",
            f"CALL kept.system.rewrite_position_delete_files('db.{name}')",
        )
        builder.table.refresh()
        assert {tuple(row) for row in builder.rows()} == rows, name
        builder.table.maintenance.compact(options={"rewrite-all": "true"})
        (found,) = runtime.run(f"SELECT id, p, v FROM kept.db.{name}")
        assert _rows(found) == rows, name


@pytest.mark.parametrize("version", [2, 3])
def test_the_same_files_are_rewritten_as_by_java(runtime: JavaRuntime, lake: fb.Catalog, version: int) -> None:
    counts = {}
    for engine in ("ours", "java"):
        builder = changed_table(lake, f"same_{engine}_{version}", version)
        if engine == "ours":
            done = builder.table.maintenance.compact()
            counts[engine] = (done.rewritten_data_files, done.added_data_files)
        else:
            (found,) = runtime.run(f"CALL kept.system.rewrite_data_files('db.same_{engine}_{version}')")
            counts[engine] = (found[0]["rewritten_data_files_count"], found[0]["added_data_files_count"])
    assert counts["ours"] == counts["java"]


def test_tables_of_change_events_are_the_same_after_each_rewrite(
    spark: Any, runtime: JavaRuntime, lake: fb.Catalog
) -> None:
    for name, rows in make_cdc_tables(spark, "kept").items():
        for step in rewrite_in_steps(lake.load_table(f"db.{name}"), spark):
            (found,) = runtime.run(f"SELECT * FROM kept.db.{name}")
            assert len(found) == len(rows), (name, step)
            assert {(row["id"], row["name"]) for row in found} == rows, (name, step)
