"""Key values that joins keep: a name mapping that changes gives other ones, under the same snapshot."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from floeberg.commit.append import Append
from floeberg.spec.snapshots.manifest_entry import DataFile, FileFormat

QUERY = "SELECT f.k FROM lake.db.mapped_facts f JOIN lake.db.mapped_keys d ON f.k = d.k WHERE d.v > 0 ORDER BY f.k"


def _mapping(*names: str) -> str:
    """The mapping of `k` by these names, and of `v`."""
    return json.dumps([{"field-id": 1, "names": list(names)}, {"field-id": 2, "names": ["v"]}])


def test_keys_are_read_again_when_the_name_mapping_changes(session: Any, tmp_path: Path) -> None:
    facts = session.lake.create_table("db.mapped_facts", "k bigint")
    for key in range(4):
        facts.append(pa.table({"k": pa.array([key], pa.int64())}))
    keys = session.lake.create_table(
        "db.mapped_keys", "k bigint, v bigint", properties={"schema.name-mapping.default": _mapping("k")}
    )
    path = tmp_path / "imported.parquet"
    pq.write_table(pa.table({"old_k": pa.array([2, 3], pa.int64()), "v": pa.array([1, 1], pa.int64())}), path)
    file = DataFile(
        file_path=str(path), file_format=FileFormat.PARQUET, record_count=2, file_size_in_bytes=path.stat().st_size
    )
    keys._commit(Append(files=[file]))
    assert session.sql(QUERY).collect() == []
    changed = _mapping("k", "old_k")
    session.sql(f"ALTER TABLE lake.db.mapped_keys SET TBLPROPERTIES ('schema.name-mapping.default' = '{changed}')")
    assert [row.k for row in session.sql(QUERY).collect()] == [2, 3]
