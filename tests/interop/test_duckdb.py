"""DuckDB's iceberg extension opens what we commit."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator
from pathlib import Path

import duckdb
import duckdb_extension_avro
import duckdb_extension_iceberg
import pytest

import floeberg as fb
from lakes.interop_tables import KINDS, shown


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    folder = tmp_path_factory.mktemp("duckdb")
    made = duckdb.connect(config={"extension_directory": str(folder)})
    for module in (duckdb_extension_avro, duckdb_extension_iceberg):  # avro comes first: the other needs it
        (extension,) = glob.glob(f"{os.path.dirname(str(module.__file__))}/extensions/*/*.duckdb_extension")
        made.execute(f"LOAD '{extension}'")
    made.execute("SET TimeZone = 'UTC'")
    yield made
    made.close()


def read(connection: duckdb.DuckDBPyConnection, source: str) -> list[dict[str, object]]:
    cursor = connection.execute(f"SELECT * FROM {source}")
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_duckdb_opens_tables_that_we_committed(
    connection: duckdb.DuckDBPyConnection, tmp_path: Path, kind: str, version: int
) -> None:
    with fb.catalog("lake", warehouse=str(tmp_path / "w")) as cat:
        cat.create_namespace("db")
        shared = KINDS[kind](cat, "db.t", version)
    file = shared.metadata_location
    assert shown(read(connection, f"iceberg_scan('{file}')")) == shown(shared.branches["main"])
    for snapshot_id, rows in shared.snapshots.items():
        if kind != "evolved":  # DuckDB reads old snapshots with their own schema
            assert shown(read(connection, f"iceberg_scan('{file}', snapshot_from_id={snapshot_id})")) == shown(rows)
    (count,) = connection.execute(f"SELECT count(*) FROM iceberg_snapshots('{file}')").fetchone() or (0,)
    assert count == len(shared.table.snapshots)


def test_duckdb_finds_our_newest_version_by_the_folder(connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    with fb.catalog("lake", warehouse=str(tmp_path / "w")) as cat:
        cat.create_namespace("db")
        shared = KINDS["branched"](cat, "db.t", 2)
    assert shown(read(connection, f"iceberg_scan('{shared.table.location}')")) == shown(shared.branches["main"])
