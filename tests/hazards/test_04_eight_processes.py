"""Hazard 4, end to end: eight processes commit fifty times each to one table, on files and on SQLite. All 400 commits are
there, none is lost and none is there twice."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from floeberg.api.table import Table
from floeberg.commit.append import Append
from floeberg.commit.workspace import Workspace
from floeberg.spec.snapshots.manifest_entry import DataFile, FileFormat
from floeberg.storage.local import LocalStore
from hazards.commit_racer import lake

PROCESSES, COMMITS = 8, 50
RETRIES = {
    "commit.retry.num-retries": "10000",
    "commit.retry.min-wait-ms": "100",
    "commit.retry.max-wait-ms": "2000",
}


def new_table(kind: str, folder: Path) -> Table:
    catalog = lake(kind, str(folder))
    catalog.create_namespace("db")
    return catalog.create_table("db.t", "id bigint", properties=RETRIES, format_version=3)


def live_paths(table: Table) -> Counter[str]:
    workspace = Workspace(table._pointer)
    manifests = workspace.manifests(table.current_snapshot, table.metadata)
    return Counter(e.data_file.file_path for m in manifests for e in workspace.live_entries(m, table.metadata))


@pytest.mark.parametrize("kind", ["filesystem", "sql"])
def test_all_commits_of_eight_processes_are_there_once(kind, tmp_path):
    table = new_table(kind, tmp_path)
    racer = Path(__file__).with_name("commit_racer.py")
    racers = [
        subprocess.Popen(
            [sys.executable, str(racer), kind, str(tmp_path), f"p{number}", str(COMMITS)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(PROCESSES)
    ]
    results = []
    for process in racers:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in racers:
        out, err = process.communicate()
        assert process.returncode == 0, err
        results.append([int(line) for line in out.split()])
    table.refresh()
    acknowledged = [snapshot_id for ids in results for snapshot_id in ids]
    total = PROCESSES * COMMITS
    assert len(acknowledged) == len(set(acknowledged)) == total
    assert set(table.metadata.snapshots.ids()) == set(acknowledged)
    paths = live_paths(table)
    assert len(paths) == total
    assert set(paths.values()) == {1}
    assert sorted(s.sequence_number for s in table.snapshots) == list(range(1, total + 1))
    assert table.current_snapshot.summary["total-data-files"] == str(total)
    assert sorted(snapshot.first_row_id for snapshot in table.snapshots)[-1] < table.metadata.next_row_id


def race_of_two(folder: Path) -> int:
    """Two writers who read the same state and commit one after the other; how many of their files are there."""
    new_table("filesystem", folder)
    first, second = (lake("filesystem", str(folder)).load_table("db.t") for _ in range(2))
    for name, table in (("a", first), ("b", second)):
        file = DataFile(
            file_path=f"{table.location}/{name}", file_format=FileFormat.PARQUET, record_count=1, file_size_in_bytes=1
        )
        table._commit(Append(files=[file]))
    return len(live_paths(lake("filesystem", str(folder)).load_table("db.t")))


def test_a_store_that_writes_over_would_lose_a_commit(tmp_path, monkeypatch):
    assert race_of_two(tmp_path / "right") == 2
    monkeypatch.setattr(LocalStore, "create", LocalStore.replace)
    assert race_of_two(tmp_path / "wrong") == 1
