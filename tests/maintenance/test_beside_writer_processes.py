"""Every maintenance operation, in a process of its own, against every writer operation: no row is lost, doubled or revived."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import floeberg as fb
from floeberg.commit.row_delta import RowDelta
from floeberg.errors import CommitConflict, ValidationConflict
from floeberg.testing.table_builder import TableBuilder

WRITES = ("append", "delete", "update", "upsert", "equality_delete", "overwrite")
OPERATIONS = (
    "compact", "sort", "rewrite_deletes", "convert", "rewrite_manifests", "expire_snapshots", "remove_orphans", "maintain",
    "statistics",
)  # fmt: skip
ROUNDS = 3
PROPERTIES = {
    "write.delete.mode": "merge-on-read",
    "write.update.mode": "merge-on-read",
    "maintain.min-small-files": "3",
    "commit.retry.num-retries": "100",
    "commit.retry.min-wait-ms": "2",
    "commit.retry.max-wait-ms": "50",
}


class Writer:
    """One table, one kind of write, and what the table holds by its own account."""

    def __init__(self, lake: fb.Catalog, write: str, version: int) -> None:
        self.write = write
        self.builder = TableBuilder(
            "id bigint, v string", format_version=version, properties=PROPERTIES, in_catalog=lake, name=f"db.{write}"
        )
        self.rows = dict.fromkeys(range(12), "first")
        for start in range(0, 12, 6):
            self.builder.append(*[(number, "first") for number in range(start, start + 6)])
        self.orphan = Path(self.builder.table.location.removeprefix("file://")) / "data" / "orphan.parquet"
        self.orphan.write_bytes(b"x")
        os.utime(self.orphan, (0, 0))

    def run(self, number: int) -> None:
        """One commit; one that maintenance kept from committing is made again."""
        while True:
            try:
                self._commit(number)
                return
            except (CommitConflict, ValidationConflict):
                self.builder.table.refresh()

    def _commit(self, number: int) -> None:
        table, value = self.builder.table, f"round {number}"
        match self.write:
            case "append":
                self.builder.append((100 + number, value))
                self.rows[100 + number] = value
            case "delete":
                self.builder.delete(f"id = {number}")
                self.rows.pop(number, None)
            case "update":
                table.update({"v": value}, where="id < 5")
                self.rows.update(dict.fromkeys([key for key in self.rows if key < 5], value))
            case "upsert":
                table.upsert(self.builder.arrow([(number, value), (200 + number, value)]), on=["id"])
                self.rows.update({number: value, 200 + number: value})
            case "equality_delete":
                table.refresh()
                table._commit(RowDelta(added=[self.builder.equality_deletes((number,))]))
                self.rows.pop(number, None)
            case "overwrite":
                table.overwrite(self.builder.arrow([(number, value)]), where=f"id = {number}")
                self.rows[number] = value

    def check(self) -> None:
        table = self.builder.table.refresh()
        found = table.scan().to_arrow().to_pylist()
        assert len(found) == len(self.rows), self.write
        assert {row["id"]: row["v"] for row in found} == self.rows, self.write
        for snapshot in table.snapshots:
            table.scan(snapshot_id=snapshot.snapshot_id).to_arrow()
        current = table.metadata.current_snapshot_id
        assert current is not None
        assert table.maintenance.check(snapshot_ids=[current], read_rows=True).ok, self.write


@pytest.mark.parametrize("operation", OPERATIONS)
def test_maintenance_in_another_process_changes_no_row(operation: str, tmp_path: Path) -> None:
    version = 2 + OPERATIONS.index(operation) % 2
    warehouse, stop = tmp_path / "lake", tmp_path / "stop"
    lake = fb.catalog("lake", warehouse=str(warehouse), properties={"local.fsync": "false"})
    writers = [Writer(lake, write, version) for write in WRITES]
    script = Path(__file__).parent / "processes" / "maintainer.py"
    command = [sys.executable, str(script), str(warehouse), operation, str(stop), *WRITES]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        threads = []
        try:
            assert process.stdout.readline() == "READY\n"
            threads = [threading.Thread(target=_write, args=(writer,)) for writer in writers[:2]]
            for thread in threads:
                thread.start()
            for number in range(ROUNDS):
                for writer in writers[2:]:
                    writer.run(number)
        finally:
            for thread in threads:
                thread.join()
            stop.touch()
        done = process.stdout.readline().split()
    assert done[0] == "DONE"
    for writer in writers:
        writer.check()
        assert writer.orphan.exists() is (operation != "remove_orphans")


def _write(writer: Writer) -> None:
    for number in range(ROUNDS):
        writer.run(number)
