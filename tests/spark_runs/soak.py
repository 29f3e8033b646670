"""A soak: a stream of change events, two MERGE writers and maintenance in a loop on one table, checked by replaying what each
writer logged in the order of the table's commits.

    python -m spark_runs.soak --minutes 10
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pyarrow.parquet as pq
from pyroaring import BitMap64

import floeberg as fb
from floeberg.api.attach import spark_engine
from floeberg.api.catalog import Catalog
from floeberg.catalogs.base import LoadedTable
from floeberg.commit.workspace import Workspace
from floeberg.errors import CommitConflict, ValidationConflict
from floeberg.maintenance.maintain import maintain_table
from floeberg.maintenance.rewrite.engine import RewriteEngine, RewritePlan, RewrittenGroup
from floeberg.maintenance.rewrite.file_groups import FileGroup
from floeberg.scan.tasks import FileScanTask
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.snapshots.manifest_entry import DataFile, EntryStatus
from floeberg.spec.snapshots.snapshot import Snapshot
from spark_runs.spark_session import spark_session

Row = tuple[int, int, str]
"""v, n and tag of an id: `n` counts the MERGEs since the row was made, `tag` is that of the batch that changed it last."""
TABLE: Final = "db.soak"
ENOUGH_COMMITS: Final = 10
WRITERS: Final = {"A": 100, "B": 200}
"""The first of the ids that a MERGE writer changes; those of the events overlap with both."""
IDS: Final = 200
HELD_ROUNDS: Final = 2
"""In every so many rounds of maintenance a compaction waits for a MERGE before it commits."""
PROPERTIES: Final = {
    "write.merge.mode": "merge-on-read",
    "maintain.min-small-files": "6",
    "maintain.max-delete-files": "6",
    "commit.retry.num-retries": "50",
    "commit.retry.min-wait-ms": "10",
}
MERGE: Final = (
    "MERGE INTO {catalog}.db.soak t USING (SELECT CAST(id AS BIGINT) id, CAST(v AS BIGINT) v, tag FROM VALUES {rows} AS s(id, v, "
    "tag)) s ON t.id = s.id WHEN MATCHED AND s.v % 5 = 0 THEN DELETE "
    "WHEN MATCHED THEN UPDATE SET v = s.v, n = t.n + 1, tag = s.tag "
    "WHEN NOT MATCHED THEN INSERT (id, v, n, tag) VALUES (s.id, s.v, 0, s.tag)"
)


@dataclass(slots=True)
class Report:
    """What happened."""

    commits: dict[str, int] = field(default_factory=dict)
    retries: int = 0
    conflicts: int = 0
    carried: int = 0
    maintained: dict[str, int] = field(default_factory=dict)
    files: list[int] = field(default_factory=list)
    """Live data and delete files after each round of maintenance."""
    read_ms: list[int] = field(default_factory=list)
    added_files: int = 0

    def __str__(self) -> str:
        half = max(1, len(self.read_ms) // 2)
        first, last = (round(statistics.median(part or [0])) for part in (self.read_ms[:half], self.read_ms[half:]))
        return (
            f"commits {self.commits}, maintenance {self.maintained}; {self.retries} retries, {self.conflicts} conflicts, "
            f"{self.carried} compactions with deletes carried over; {self.added_files} files added, at most "
            f"{max(self.files, default=0)} live after maintenance; reading took {first} ms in the first half, {last} ms in "
            "the second"
        )


@dataclass(frozen=True, slots=True)
class _HeldEngine:
    """An engine that lets others commit between the files of a compaction and its commit."""

    engine: RewriteEngine
    wait: Callable[[], None]

    @property
    def runs_groups_at_once(self) -> bool:
        return self.engine.runs_groups_at_once

    def rewrite(self, group: FileGroup, plan: RewritePlan) -> RewrittenGroup:
        done = self.engine.rewrite(group, plan)
        self.wait()
        return done

    def deleted_positions(self, tasks: Sequence[FileScanTask], metadata: TableMetadata) -> Mapping[str, BitMap64]:
        return self.engine.deleted_positions(tasks, metadata)

    def discard(self, files: Sequence[DataFile]) -> None:
        self.engine.discard(files)


class Soak:
    """One run. `spark` is attached to the catalog; every writer has a session of its own."""

    def __init__(self, spark: Any, lake: Catalog, folder: Path, *, seed: int = 1) -> None:
        self._spark, self._lake, self._seed = spark, lake, seed
        self._input, self._checkpoint = folder / "events", str(folder / "checkpoint")
        self._input.mkdir(parents=True)
        self._table = lake.create_table(
            TABLE, "id bigint, v bigint, n bigint, tag string", format_version=3, properties=PROPERTIES
        )
        self._merged: dict[str, list[tuple[int, int]]] = {}
        self._events: dict[str, list[tuple[str, int, int]]] = {}
        self._sessions: list[Any] = []
        self._stopped = threading.Event()
        self._failures: list[BaseException] = []
        self.report = Report()

    def run(self, seconds: float) -> Report:
        """Runs so long, and until every writer has committed often enough and a delete was carried over. Raises
        AssertionError when the table is not what its writers made it."""
        query = self._query()
        work: list[Callable[[], None]] = [lambda w=writer: self._merge(w) for writer in WRITERS]
        threads = [threading.Thread(target=self._guarded, args=(one,)) for one in (*work, self._feed, self._maintain)]
        for thread in threads:
            thread.start()
        started = time.monotonic()
        while not self._failures and query.isActive and (time.monotonic() - started < seconds or not self._enough()):
            time.sleep(1)
        self._stopped.set()
        for thread in threads:
            thread.join()
        if query.isActive:
            query.processAllAvailable()
        query.stop()
        for session in self._sessions:
            fb.detach(session)
        if self._failures or query.exception() is not None:
            raise AssertionError(f"a writer failed: {self._failures or query.exception()}")
        self._round(self._spark)
        self._check()
        return self.report

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:  # whatever it is, it is told where the run ends
            self._failures.append(error)
            self._stopped.set()

    def _merges(self) -> int:
        """The commits of the writer that has the fewest."""
        return min(sum(tag.startswith(f"{writer}-") for tag in list(self._merged)) for writer in WRITERS)

    def _enough(self) -> bool:
        self._table.refresh()
        carried = any(_carries(snapshot) for snapshot in self._table.snapshots)
        return min(self._merges(), len(self._events)) > ENOUGH_COMMITS and carried

    # writers

    def _session(self) -> Any:
        own = self._spark.newSession()
        fb.attach(own, self._lake)
        self._sessions.append(own)
        return own

    def _merge(self, writer: str) -> None:
        session, chance, number = self._session(), random.Random(f"{self._seed} {writer}"), 0
        while not self._stopped.is_set():
            number += 1
            tag = f"{writer}-{number}"
            first = WRITERS[writer] + chance.randrange(IDS)
            rows = [(key, chance.randrange(1000)) for key in range(first, first + 12)]
            rows.append((10_000 + ord(writer), 1))  # never deleted: every batch leaves a row with its tag
            values = ", ".join(f"({key}, {value}, '{tag}')" for key, value in rows)
            while True:
                try:
                    session.sql(MERGE.format(catalog=self._lake.name, rows=values))
                    break
                except (CommitConflict, ValidationConflict):
                    self.report.conflicts += 1
            self._merged[tag] = rows

    def _query(self) -> Any:
        schema = "op string, ord bigint, id bigint, v bigint, n bigint, tag string"
        stream = self._spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).json(str(self._input))
        writer = fb.cdc(
            stream,
            f"{self._lake.name}.{TABLE}",
            keys="id",
            op="op",
            order_by="ord",
            upsert=True,
            checkpoint=self._checkpoint,
        )
        return writer.trigger(processingTime="500 milliseconds").start()

    def _feed(self) -> None:
        chance, number, order = random.Random(f"{self._seed} events"), 0, 0
        while not self._stopped.is_set():
            number += 1
            tag, lines = f"cdc-{number}", []
            events = [("D" if chance.random() < 0.3 else "U", chance.randrange(300)) for _ in range(8)]
            events = [(op, key, chance.randrange(1000)) for op, key in [*events, ("U", 20_000)]]
            for op, key, value in events:
                order += 1
                lines.append(json.dumps({"op": op, "ord": order, "id": key, "v": value, "n": 0, "tag": tag}))
            self._events[tag] = events
            hidden = self._input / f".{number}"
            hidden.write_text("\n".join(lines))
            os.utime(hidden, (1_700_000_000 + number, 1_700_000_000 + number))  # Spark takes files by their times
            hidden.rename(self._input / f"{number:06}.json")
            self._stopped.wait(2)
            while number > 2 * self._merges() + 5 and not self._stopped.is_set():
                self._stopped.wait(0.5)  # no writer is left behind

    def _maintain(self) -> None:
        session, number = self._session(), 0
        while not self._stopped.is_set():
            number += 1
            self._round(session, is_held=number % HELD_ROUNDS == 0)
            self._stopped.wait(1)

    def _round(self, session: Any, *, is_held: bool = False) -> None:
        table = self._lake.load_table(TABLE)
        pointer, state = table._pointer, table._state
        engine = spark_engine(session, LoadedTable(pointer, state))
        if is_held:
            engine = _HeldEngine(engine, wait=self._wait_for_merge)
        try:
            done = maintain_table(pointer, state, engine, measure_reads=True)
        except (CommitConflict, ValidationConflict):
            self.report.conflicts += 1
            return
        for action in done.actions:
            self.report.maintained[action.name] = self.report.maintained.get(action.name, 0) + 1
        if done.actions and done.read_ms_after is not None:
            after = done.actions[-1].after
            self.report.files.append((after.data_files or 0) + (after.delete_files or 0))
            self.report.read_ms.append(done.read_ms_after)

    def _wait_for_merge(self) -> None:
        merged = len(self._merged)
        while len(self._merged) == merged and not self._stopped.is_set():
            self._stopped.wait(0.1)

    # the model

    def _check(self) -> None:
        table = self._lake.load_table(TABLE)
        rows: dict[int, Row] = {}
        for snapshot in reversed(list(table.metadata.ancestors(table.metadata.current_snapshot_id))):
            self._count(snapshot)
            if snapshot.operation != "replace":
                self._replay(rows, self._tag(table, snapshot))
        found = table.scan().to_arrow().to_pylist()
        assert len(found) == len({row["id"] for row in found}), "a row is there twice"
        assert {row["id"]: (row["v"], row["n"], row["tag"]) for row in found} == rows
        report = table.maintenance.check(snapshot_ids=[table.metadata.current_snapshot_id], read_rows=True)
        assert report.ok, report.errors
        assert {*self._merged, *self._events} == {*self._seen}, "a commit is lost, or was made twice"

    @property
    def _seen(self) -> list[str]:
        return [tag for tag in self.report.commits if "-" in tag]

    def _count(self, snapshot: Snapshot) -> None:
        assert snapshot.manifest_list is not None
        attempt = int(Path(snapshot.manifest_list).name.split("-")[2])
        self.report.retries += attempt - 1
        self.report.carried += _carries(snapshot)
        self.report.added_files += int(snapshot.summary.get("added-data-files", 0))

    def _tag(self, table: Any, snapshot: Snapshot) -> str:
        """The batch that a snapshot committed: all rows that it added have its tag."""
        workspace, tags = Workspace(table._pointer), set[str]()
        for manifest in workspace.manifests(snapshot, table.metadata):
            if manifest.added_snapshot_id != snapshot.snapshot_id or manifest.content != 0:
                continue
            for entry in workspace.entries(manifest, table.metadata):
                if entry.status is EntryStatus.ADDED and entry.snapshot_id == snapshot.snapshot_id:
                    path = entry.data_file.file_path.removeprefix("file://")
                    tags |= {*pq.read_table(path, columns=["tag"]).column(0).to_pylist()}
        (tag,) = tags
        assert tag not in self.report.commits, f"{tag} was committed twice"
        self.report.commits[tag] = 1
        return tag

    def _replay(self, rows: dict[int, Row], tag: str) -> None:
        if tag in self._events:
            for op, key, value in self._events[tag]:
                rows.pop(key, None)
                if op == "U":
                    rows[key] = (value, 0, tag)
            return
        before = dict(rows)
        for key, value in self._merged[tag]:
            if key not in before:
                rows[key] = (value, 0, tag)
            elif value % 5 == 0:
                del rows[key]
            else:
                rows[key] = (value, before[key][1] + 1, tag)


def by_writer(report: Report) -> dict[str, int]:
    """The commits of each writer."""
    found: dict[str, int] = {}
    for tag in report.commits:
        writer = tag.partition("-")[0]
        found[writer] = found.get(writer, 0) + 1
    return found


def _carries(snapshot: Snapshot) -> bool:
    """Whether a compaction's snapshot adds deletes for its own new files."""
    summary = snapshot.summary
    return snapshot.operation == "replace" and "added-data-files" in summary and "added-delete-files" in summary


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        spark_session() as spark,
        fb.catalog("lake", warehouse=f"{folder}/lake") as lake,
    ):
        lake.create_namespace("db")
        fb.attach(spark, lake)
        report = Soak(spark, lake, Path(folder), seed=given.seed).run(given.minutes * 60)
        report.commits = by_writer(report)
        print(report)
        fb.detach(spark)


if __name__ == "__main__":
    main()
