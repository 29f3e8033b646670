"""A table upgraded from v1 has a sequence number on every snapshot: DuckDB and iceberg-rust do not read it otherwise."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa

from floeberg.api.catalog import catalog
from peers import duckdb_reader


def test_a_table_upgraded_from_v1_is_read_by_duckdb(tmp_path: Path) -> None:
    lake = catalog("lake", warehouse=str(tmp_path))
    lake.create_namespace("db")
    table = lake.create_table("db.t", "id bigint", format_version=1, properties={"write.delete.mode": "merge-on-read"})
    table.append(pa.table({"id": [1, 2, 3, 4]}))
    for version, deleted in ((2, 1), (3, 3)):
        with table.update_properties() as update:
            update.set({"format-version": str(version)})
        table.delete(f"id = {deleted}")
        snapshots = json.loads(Path(str(table.metadata_location)).read_text())["snapshots"]
        assert [one["sequence-number"] for one in snapshots] == list(range(version))
        rows = duckdb_reader.connect().sql(f"SELECT id FROM iceberg_scan('{table.metadata_location}') ORDER BY id")
        assert [row[0] for row in rows.fetchall()] == [one for one in (2, 3, 4) if one != 3 or version == 2]
