"""Hazard 22: queries that are killed at any point of an epoch and started again write every row once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import floeberg as fb
from spark_runs.spark_session import KIND

TABLES = ("sink", "cdc", "pair")
POINTS = ("files written", "reply lost", "before the commit log")
SCRIPT = Path(__file__).with_name("killed_queries.py")


class Inputs:
    """What the queries read: one more epoch for each of them before every run."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.epochs = folder, 0
        self.lake = fb.catalog("lake", warehouse=str(folder / "lake"))
        self.lake.create_namespace("db")
        self.lake.create_table("db.sink", "id bigint")
        self.lake.create_table("db.cdc", "id bigint, name string", format_version=3)
        self.lake.create_table("db.origin", "id bigint")
        self.lake.create_table("db.pair", "id bigint")
        for name in ("sink-input", "cdc-input"):
            (folder / name).mkdir()

    def add(self) -> None:
        """An epoch of `cdc` brings a row, updates the one before and deletes the one before that."""
        number = self.epochs
        events = [("I", number, "new"), ("U", number - 1, "updated"), ("D", number - 2, None)]
        lines = [
            json.dumps({"op": op, "ord": number, "id": key, "name": name})
            for op, key, name in events[: min(number, 2) + 1]
        ]
        self._file("cdc-input", number, "\n".join(lines))
        self._file("sink-input", number, json.dumps({"id": number}))
        self.lake.load_table("db.origin").append(pa.table({"id": [number]}))
        self.epochs += 1

    def _file(self, folder: str, number: int, text: str) -> None:
        path = self.folder / folder / f"{number:04}.json"
        path.write_text(text)
        os.utime(path, (1_700_000_000 + number,) * 2)  # Spark takes files in the order of their times

    def rows(self, name: str) -> list[dict[str, Any]]:
        found = self.lake.load_table(f"db.{name}").scan().to_arrow().to_pylist()
        return sorted(found, key=lambda row: row["id"])


def run(folder: Path, epoch: int, points: dict[str, str]) -> None:
    """Runs the queries in a process group of its own. With points, they must die."""
    tests = str(Path(__file__).parents[2])
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([tests, os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, str(SCRIPT), str(folder), str(epoch), *(f"{at}={name}" for at, name in points.items())]
    done = subprocess.run(
        command, env=env, cwd=folder, start_new_session=True, capture_output=True, text=True, check=False
    )
    said = [line for line in done.stderr.splitlines() if not line.startswith("\tat ")]
    assert done.returncode == (-signal.SIGKILL if points else 0), "\n".join(said[-80:])


def check_died(inputs: Inputs, epoch: int, points: dict[str, str]) -> None:
    """Every query was at its point: its files are written, it has committed or not, and Spark does not know."""
    hit = inputs.folder / "hit"
    assert sorted(hit.read_text().splitlines()) == sorted(f"{table}={point}" for table, point in points.items())
    hit.unlink()
    for name, point in points.items():
        checkpoint = inputs.folder / "checkpoints" / name
        assert not (checkpoint / "commits" / str(epoch)).exists()
        table = inputs.lake.load_table(f"db.{name}")
        query_id = json.loads((checkpoint / "metadata").read_text())["id"]
        committed = table.txn_version(query_id)
        assert (-1 if committed is None else committed) == (epoch - 1 if point == "files written" else epoch)
        known = {Path(row["file_path"]).name for row in table.inspect.all_files().to_pylist()}
        uncommitted = {one.name for one in Path(table.location, "data").rglob("*.parquet")} - known
        assert bool(uncommitted) == (point == "files written")
        for one in uncommitted:
            next(Path(table.location, "data").rglob(one)).unlink()  # so that the next run is looked at alone


@pytest.mark.spark
@pytest.mark.skipif(KIND != "classic", reason="the queries start a session of their own")
def test_killed_queries_that_are_started_again_write_each_row_once(tmp_path):
    inputs = Inputs(tmp_path)
    for number in range(len(POINTS)):
        inputs.add()
        points = {table: POINTS[(number + at) % len(POINTS)] for at, table in enumerate(TABLES)}
        run(tmp_path, inputs.epochs - 1, points)
        check_died(inputs, inputs.epochs - 1, points)
    inputs.add()
    run(tmp_path, 0, {})
    last = inputs.epochs - 1
    assert inputs.rows("sink") == inputs.rows("pair") == [{"id": number} for number in range(last + 1)]
    assert inputs.rows("cdc") == [{"id": last - 1, "name": "updated"}, {"id": last, "name": "new"}]
    for name in TABLES:
        appeared = inputs.lake.load_table(f"db.{name}").snapshots
        assert len(appeared) == inputs.epochs
