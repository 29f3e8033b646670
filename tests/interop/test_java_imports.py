"""The Java runtime reads what we imported and moved, and its own import of the same folder has the same rows and partitions."""

from __future__ import annotations

import csv
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import floeberg as fb
from lakes.maintained_tables import changed_table
from peers.java_peer import JavaRuntime, lake_of_both

pytestmark = pytest.mark.java


@pytest.fixture(scope="module")
def lake(spark: Any, runtime: JavaRuntime, tmp_path_factory: pytest.TempPathFactory) -> Iterator[fb.Catalog]:
    with lake_of_both(spark, runtime, tmp_path_factory.mktemp("imported"), "imported", "db") as made:
        yield made


def counted(rows: list[dict[str, Any]]) -> Counter[str]:
    return Counter(str(row) for row in rows)


@pytest.mark.parametrize(("file_format", "version"), [("parquet", 2), ("orc", 3)])
def test_java_s_own_import_of_a_folder_has_the_same_rows_and_partitions(
    spark: Any, runtime: JavaRuntime, lake: fb.Catalog, tmp_path: Path, file_format: str, version: int
) -> None:
    # The runtime does not read the timestamps that Spark writes to ORC as timestamps with time zone, imported or not.
    moment = "TIMESTAMP'2026-05-01 01:02:03.000004'" if file_format == "parquet" else "id"
    spark.sql(
        "SELECT id, IF(id = 0, NULL, CAST(id AS STRING)) AS s, "
        f"{moment} AS ts, "
        "named_struct('x', id, 'y', array(id, NULL)) AS st, "
        "element_at(array('a b/c=%', 'ü', NULL), CAST(id % 3 AS INT) + 1) AS p, "
        "IF(id = 4, NULL, DATE'2026-05-01' + CAST(id % 2 AS INT)) AS d FROM range(0, 6, 1, 2)"
    ).write.partitionBy("p", "d").format(file_format).save(f"{tmp_path}/in")
    kind = "timestamp" if file_format == "parquet" else "bigint"
    columns = f"id bigint, s string, ts {kind}, st struct<x: bigint, y: array<bigint>>, p string, d date"
    counts = {}
    for engine in ("ours", "java"):
        name = f"db.{engine}_{file_format}"
        table = lake.create_table(name, columns, partition_by=["p", "d"], format_version=version)
        if engine == "ours":
            done = table.maintenance.add_files(f"{tmp_path}/in", format=file_format)
            assert done.changed_partitions == 6
            counts[engine] = done.added_files
        else:
            (answer,) = runtime.run(f"CALL imported.system.add_files('{name}', '{file_format}.`{tmp_path}/in`')")
            counts[engine] = answer[0]["added_files_count"]  # it counts no partitions of appended manifests
    assert counts["ours"] == counts["java"]
    ours, java, ours_p, java_p = runtime.run(
        *(f"SELECT * FROM imported.db.{engine}_{file_format}" for engine in ("ours", "java")),
        *(
            f"SELECT partition, record_count, file_count FROM imported.db.{engine}_{file_format}.partitions"
            for engine in ("ours", "java")
        ),
    )
    assert counted(ours) == counted(java)
    assert counted(ours_p) == counted(java_p)
    read = {
        engine: counted(lake.load_table(f"db.{engine}_{file_format}").scan().to_arrow().to_pylist())
        for engine in ("ours", "java")
    }
    assert read["ours"] == read["java"]
    name = f"imported.db.ours_{file_format}"
    runtime.run(f"DELETE FROM {name} WHERE id = 2", f"ALTER TABLE {name} RENAME COLUMN s TO label")
    (found,) = runtime.run(f"SELECT id, label, p FROM {name}")
    table = lake.load_table(f"db.ours_{file_format}")
    assert counted(found) == counted(table.scan(select=["id", "label", "p"]).to_arrow().to_pylist())
    assert len(found) == 5


@pytest.mark.parametrize("version", [2, 3])
def test_java_reads_a_table_that_we_moved_and_stages_as_many_files(
    runtime: JavaRuntime, lake: fb.Catalog, tmp_path: Path, version: int
) -> None:
    builder = changed_table(lake, f"moved_{version}", version)
    table = builder.table
    expected = {tuple(row) for row in builder.rows()}
    target = tmp_path / "a much longer path" / "db" / "t"
    done = table.maintenance.rewrite_table_path(table.location, str(target), staging_location=str(tmp_path / "staging"))
    (answer,) = runtime.run(
        f"CALL imported.system.rewrite_table_path(table => 'db.moved_{version}', source_prefix => '{table.location}', "
        f"target_prefix => '{target}', staging_location => '{tmp_path}/java')"
    )
    assert answer[0]["latest_version"] == done.latest_version
    assert answer[0]["rewritten_manifest_file_paths_count"] == done.rewritten_manifests
    assert answer[0]["rewritten_delete_file_paths_count"] == done.rewritten_delete_files
    for source, to in csv.reader(Path(done.file_list_location).read_text().splitlines()):
        Path(to).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, to)
    gone = Path(table.location).with_name("gone")
    Path(table.location).rename(gone)
    try:
        runtime.open_hadoop(f"moved_{version}", tmp_path / "a much longer path")
        (found,) = runtime.run(f"SELECT id, p, v FROM moved_{version}.db.t")
    finally:
        gone.rename(Path(table.location))
    assert {tuple(row.values()) for row in found} == expected
