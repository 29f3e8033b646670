"""A table that we and the Java runtime change and maintain at once, and the rows that it must hold."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import pyarrow as pa

import floeberg as fb
from floeberg.commit.row_delta import RowDelta
from floeberg.errors import CommitConflict, ValidationConflict
from floeberg.testing.table_builder import TableBuilder
from lakes.held_pointer import HeldPointer

Rows = dict[int, str]
"""The value of each id; a row's partition is `id % 3`."""
Change = dict[int | str, str | None]
"""The new value of keys, None where the row goes; `below 6` and `overwritten` are sets of keys."""
PARTITIONS: Final = 3
OVERWRITTEN: Final = 2
"""The partition that the Java runtime overwrites."""
PROPERTIES: Final = {
    "write.delete.mode": "merge-on-read",
    "write.update.mode": "merge-on-read",
    "write.merge.mode": "copy-on-write",
    "maintain.min-small-files": "2",
}
LATER: Final = "2999-01-01T00:00:00Z"

OUR_MAINTENANCE: Final[Mapping[str, Callable[[fb.Table], object]]] = {
    "compact": lambda table: table.maintenance.compact(options={"rewrite-all": "true"}),
    "sort": lambda table: table.maintenance.compact(options={"rewrite-all": "true"}, sort_order="id desc"),
    "rewrite_deletes": lambda table: table.maintenance.rewrite_deletes(options={"rewrite-all": "true"}),
    "convert": lambda table: table.maintenance.rewrite_deletes(equality="convert"),
    "rewrite_manifests": lambda table: table.maintenance.rewrite_manifests(),
    "expire_snapshots": lambda table: table.maintenance.expire_snapshots(older_than=LATER),
    "remove_orphans": lambda table: table.maintenance.remove_orphans(dry_run=False),
    "maintain": lambda table: table.maintenance.maintain(),
    "statistics": lambda table: table.maintenance.compute_table_stats(),
}
OUR_WRITES: Final = ("append", "delete", "update", "upsert", "equality_delete", "overwrite")
JAVA_MAINTENANCE: Final[Mapping[str, str]] = {
    "rewrite_data_files": "table => 'db.{name}', options => map('rewrite-all', 'true')",
    "rewrite_position_delete_files": "table => 'db.{name}', options => map('rewrite-all', 'true')",
    "rewrite_manifests": "table => 'db.{name}'",
    "expire_snapshots": "table => 'db.{name}', older_than => TIMESTAMP '2999-01-01 00:00:00'",
    "remove_orphan_files": "table => 'db.{name}'",
}
JAVA_WRITES: Final = ("insert", "delete", "update", "merge", "insert_overwrite")


class SharedTable:
    """The table and its rows."""

    def __init__(self, lake: fb.Catalog, name: str, version: int) -> None:
        self.name, self._lake, self._number = name, lake, 0
        self.builder = TableBuilder(
            partition_by=["p"], format_version=version, properties=PROPERTIES, in_catalog=lake, name=f"db.{name}"
        )
        self.rows: Rows = {}
        for start in (0, 6):
            self._put(dict.fromkeys(range(start, start + 6), "first"))
        self.orphan = Path(self.builder.table.location.removeprefix("file://")) / "data" / "orphan.parquet"
        self.orphan.write_bytes(b"x")
        os.utime(self.orphan, (0, 0))
        self._is_cleaned = False

    def _put(self, rows: Rows) -> None:
        self.builder.append(*[(key, key % PARTITIONS, value) for key, value in rows.items()])
        self.rows.update(rows)

    def add_work(self) -> None:
        """New files, deletes by position and a delete by key, so that all maintenance has something to do."""
        self._number += 1
        first = 10_000 + 12 * self._number
        self._put(dict.fromkeys(range(first, first + 6), "work"))
        self.builder.delete(f"id in ({first}, {first + 1}, {first + 2})")
        for key in range(first, first + 3):
            del self.rows[key]
        self.ours("equality_delete", key=first + 3)

    def _key(self) -> int:
        """One of the keys that are there, another one each time."""
        keys = sorted(self.rows)
        return keys[self._number % len(keys)]

    # our part

    def ours(self, operation: str, others: Callable[[], object] = lambda: None, *, key: int | None = None) -> bool:
        """Runs one of our operations, between whose planning and commit `others` act; again after a conflict. Whether they
        acted there."""
        self._number += 1
        table = self._lake.load_table(f"db.{self.name}")
        # Live files are read after the listing of all files, at the second look at the table.
        held = HeldPointer(table._pointer, others, at_refresh=1 if operation == "remove_orphans" else None)
        table._pointer = held  # type: ignore[assignment]
        work, replay = self._our_write(operation, key) if operation in OUR_WRITES else (OUR_MAINTENANCE[operation], {})
        while True:
            try:
                work(table)
                break
            except (CommitConflict, ValidationConflict):
                table.refresh()
        is_held = held.is_passed
        held.release()
        self._is_cleaned |= operation == "remove_orphans"
        self._replay(replay)
        return is_held

    def _our_write(self, operation: str, key: int | None) -> tuple[Callable[[fb.Table], object], Change]:
        key, new, value = self._key() if key is None else key, 1_000 + self._number, f"ours {self._number}"
        changed, added = (self.builder.arrow([(one, one % PARTITIONS, value)]) for one in (key, new))
        match operation:
            case "append":
                return lambda table: table.append(added), {new: value}
            case "delete":
                return lambda table: table.delete(f"id = {key}"), {key: None}
            case "update":
                return lambda table: table.update({"v": value}, where="id < 6"), {"below 6": value}
            case "upsert":
                return lambda table: table.upsert(pa.concat_tables([changed, added]), on=["id"]), {
                    key: value,
                    new: value,
                }
            case "equality_delete":
                return lambda table: self._delete_by_key(table, key), {key: None}
        return lambda table: table.overwrite(changed, where=f"id = {key}"), {key: value}

    def _delete_by_key(self, table: fb.Table, key: int) -> None:
        self.builder.table.refresh()
        files = (task.data_file for task in self.builder.table.scan().plan())
        beside = next(file for file in files if file.partition == (key % PARTITIONS,))
        table._commit(RowDelta(added=[self.builder.equality_deletes((key,), of=beside)]))

    # the Java runtime's part

    def java(self, catalog: str, operation: str) -> tuple[str, Change]:
        """A statement of the Java runtime, and what it changes when it succeeds."""
        self._number += 1
        self._is_cleaned |= operation == "remove_orphan_files"
        if operation in JAVA_MAINTENANCE:
            return f"CALL {catalog}.system.{operation}({JAVA_MAINTENANCE[operation].format(name=self.name)})", {}
        table, key, value = f"{catalog}.db.{self.name}", self._key(), f"java {self._number}"
        new = 3_000 + PARTITIONS * self._number + OVERWRITTEN
        match operation:
            case "insert":
                return f"INSERT INTO {table} VALUES ({new}, {new % PARTITIONS}, '{value}')", {new: value}
            case "delete":
                return f"DELETE FROM {table} WHERE id = {key}", {key: None}
            case "update":
                return f"UPDATE {table} SET v = '{value}' WHERE id < 6", {"below 6": value}
            case "merge":
                source = f"SELECT {key}L AS id, {key % PARTITIONS} AS p, '{value}' AS v"
                return (
                    f"MERGE INTO {table} t USING ({source}) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = s.v "
                    "WHEN NOT MATCHED THEN INSERT *",
                    {key: value},
                )
        statement = f"INSERT OVERWRITE {table} PARTITION (p = {OVERWRITTEN}) SELECT {new}L, '{value}'"
        return statement, {"overwritten": None, new: value}

    def succeeded(self, change: Change) -> None:
        """Replays a statement of the Java runtime."""
        self._replay(change)

    def _replay(self, change: Change) -> None:
        for key, value in change.items():
            if key == "overwritten":
                self.rows = {one: kept for one, kept in self.rows.items() if one % PARTITIONS != OVERWRITTEN}
            elif key == "below 6":
                self.rows.update({one: str(value) for one in self.rows if one < 6})
            elif value is None:
                self.rows.pop(int(key), None)
            else:
                self.rows[int(key)] = value

    # the check

    def check(self) -> None:
        """The current rows are the model's; raises AssertionError."""
        found = self.builder.table.refresh().scan().to_arrow().to_pylist()
        assert sorted((row["id"], row["p"], row["v"]) for row in found) == self.expected()

    def expected(self) -> list[tuple[int, int, str]]:
        return sorted((key, key % PARTITIONS, value) for key, value in self.rows.items())

    def check_all(self) -> None:
        """Every snapshot can be read, the current one is whole, and the orphan is gone if orphans were removed."""
        table = self.builder.table.refresh()
        for snapshot in table.snapshots:
            table.scan(snapshot_id=snapshot.snapshot_id).to_arrow()
        current = table.metadata.current_snapshot_id
        assert current is not None
        report = table.maintenance.check(snapshot_ids=[current], read_rows=True)
        assert report.ok, report.errors
        assert self.orphan.exists() is not self._is_cleaned
