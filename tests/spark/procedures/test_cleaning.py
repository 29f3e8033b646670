"""CALL expire_snapshots, rewrite_manifests and remove_orphan_files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from floeberg.errors import InvalidInput


def rows(frame: Any) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in frame.collect()]


def made(session: Any, name: str) -> Path:
    """`lake.db.<name>` with three snapshots, and its folder."""
    session.sql(f"CREATE TABLE lake.db.{name} (id BIGINT, p INT) USING iceberg PARTITIONED BY (p)")
    table = session.lake.load_table(f"db.{name}")
    for number in range(3):
        table.append(session.range(number, number + 4).selectExpr("id", "CAST(id % 2 AS INT) p").toArrow())
    return Path(table.location.removeprefix("file://"))


def test_manifests_are_rewritten_and_orphans_removed(session: Any) -> None:
    folder = made(session, "cleaned")
    answer = session.sql("CALL lake.system.rewrite_manifests(table => 'db.cleaned', sort_by => array('p'))")
    assert answer.columns == ["rewritten_manifests_count", "added_manifests_count"]
    assert rows(answer) == [(3, 1)]
    orphan = folder / "data" / "orphan.parquet"
    orphan.write_bytes(b"x")
    os.utime(orphan, (0, 0))
    answer = session.sql("CALL lake.system.remove_orphan_files(table => 'db.cleaned', dry_run => true)")
    assert answer.columns == ["orphan_file_location"]
    assert rows(answer) == [(str(orphan),)]
    assert orphan.exists()
    with pytest.raises(InvalidInput, match="24 hours"):
        session.sql("CALL lake.system.remove_orphan_files(table => 'db.cleaned', older_than => now())")
    session.sql(
        f"SELECT '{orphan}' AS file_path, TIMESTAMP '1970-01-01' AS last_modified UNION ALL "
        f"SELECT '{orphan}.2', TIMESTAMP '2999-01-01'"
    ).createOrReplaceTempView("listed_files")
    call = "CALL lake.system.remove_orphan_files(table => 'db.cleaned', file_list_view => 'listed_files')"
    assert rows(session.sql(call)) == [(str(orphan),)]
    assert not orphan.exists()
    assert session.sql("SELECT * FROM lake.db.cleaned").count() == 12
    for arguments, message in (
        ("prefix_mismatch_mode => 'maybe'", "prefix_mismatch_mode"),
        ("location => '/somewhere/else'", "not in the table's folders"),
        ("location => '/x', file_list_view => 'listed_files'", "not both"),
    ):
        with pytest.raises(InvalidInput, match=message):
            session.sql(f"CALL lake.system.remove_orphan_files(table => 'db.cleaned', {arguments})")


def test_snapshots_expire_by_time_number_and_name(session: Any) -> None:
    made(session, "expired")
    first = session.lake.load_table("db.expired").snapshots[0].snapshot_id
    call = f"CALL lake.system.expire_snapshots(table => 'db.expired', snapshot_ids => array({first}))"
    assert rows(session.sql(call))[0][4] == 1
    call = "CALL lake.system.expire_snapshots(table => 'db.expired', older_than => TIMESTAMP '2999-01-01', retain_last => 1)"
    assert rows(session.sql(call))[0][4] == 1
    assert session.sql("SELECT * FROM lake.db.expired").count() == 12
