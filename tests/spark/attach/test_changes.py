"""The metadata table `changes`: what came and went, with what a rewrite only carried over."""

from __future__ import annotations

from typing import Any

import pytest

from floeberg.errors import InvalidInput


def test_changes_are_read_by_name_and_between_snapshots(session: Any) -> None:
    session.sql("CREATE TABLE lake.db.log (id BIGINT, name STRING)")
    session.sql("INSERT INTO lake.db.log SELECT /*+ COALESCE(1) */ id, 'a' FROM range(3)")
    session.sql("UPDATE lake.db.log SET name = 'b' WHERE id = 1")
    first, second = (
        row[0] for row in session.sql("SELECT snapshot_id FROM lake.db.log.snapshots ORDER BY committed_at").collect()
    )
    inserted = [(id, "a", "INSERT", 0, first) for id in range(3)]
    rewritten = [(id, "a", "DELETE", 1, second) for id in range(3)]
    written = [(0, "a", "INSERT", 1, second), (1, "b", "INSERT", 1, second), (2, "a", "INSERT", 1, second)]
    frame = session.sql("SELECT * FROM lake.db.log.changes")
    assert frame.columns == ["id", "name", "_change_type", "_change_ordinal", "_commit_snapshot_id"]
    assert sorted(tuple(row) for row in frame.collect()) == sorted([*inserted, *rewritten, *written])
    since = session.read.format("iceberg").option("start-snapshot-id", first).load("lake.db.log.changes")
    found = sorted(tuple(row)[:3] for row in since.where("id = 1").collect())
    assert found == [(1, "a", "DELETE"), (1, "b", "INSERT")]
    assert session.table("lake.db.log.changes").where("_change_type = 'DELETE'").count() == 3
    with pytest.raises(InvalidInput, match="range of snapshots"):
        session.sql(f"SELECT * FROM lake.db.log.changes VERSION AS OF {first}")
