"""Random histories of writes and maintenance on a simulated store, checked against a model after each step.

Every retained snapshot must read as it did when it was made, and every row must keep its id. Maintenance runs beside
writers, and other maintenance, that commit in the middle of it, and may be killed at any call to the store.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields
from functools import partial
from typing import Final

from floeberg.api.table import Table
from floeberg.commit.row_delta import RowDelta
from floeberg.errors import ValidationConflict
from floeberg.maintenance.rewrite.arrow_engine import ArrowEngine
from floeberg.maintenance.rewrite.compact import RewriteRequest, rewrite_data_files
from floeberg.maintenance.rewrite.delete_files import DeleteRewriteRequest, convert_equality_deletes
from floeberg.testing.faults import CrashPoint, SimCrash
from floeberg.testing.interrupted_engine import InterruptedEngine
from floeberg.testing.sim_catalogs import sim_lake
from floeberg.testing.simulated import SimWorld
from floeberg.testing.table_builder import TableBuilder

Rows = dict[int, tuple[int, str]]
"""What a table holds: partition and value by id."""

_DAY_MS: Final = 24 * 60 * 60 * 1000
_NAME: Final = "db.t"
_MODES: Final = ("merge-on-read", "copy-on-write")


@dataclass(slots=True)
class Counts:
    """What happened in a history, so that a test can tell that it was worth running."""

    commits: int = 0
    carried_deletes: int = 0
    redone_groups: int = 0
    crashes: int = 0
    expired_snapshots: int = 0
    orphans_removed: int = 0
    steps: dict[str, int] = field(default_factory=dict)

    def add(self, other: Counts) -> None:
        """Adds what happened in another history."""
        for name in (one.name for one in fields(self) if one.name != "steps"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for kind, number in other.steps.items():
            self.steps[kind] = self.steps.get(kind, 0) + number


def run_maintenance(seeds: Iterable[int], *, steps: int = 12) -> Counts:
    """Runs the histories of seeds, on version 2 and 3 in turn, and adds up what happened. Raises AssertionError that names
    the seed."""
    total = Counts()
    for seed in seeds:
        try:
            found = MaintenanceHistory(seed, format_version=2 + seed % 2).run(steps)
        except AssertionError as error:
            raise AssertionError(f"maintenance history {seed}: {error}") from error
        total.add(found)
    return total


class MaintenanceHistory:
    """One history. Everything follows from the seed."""

    def __init__(self, seed: int | str, *, format_version: int) -> None:
        self._chance = random.Random(f"maintenance {seed}")
        self._world = SimWorld(seed)
        self._processes = 0
        self._version = format_version
        self._next_id = 0
        mode = self._chance.choice(_MODES)
        self._builder = TableBuilder(
            partition_by=self._chance.choice([(), ("p",)]),
            format_version=format_version,
            properties={"write.delete.mode": mode, "write.update.mode": mode},
            in_catalog=sim_lake(self._process()),
            name=_NAME,
        )
        self._rows: Rows = {}
        self._row_ids: dict[int, int] = {}
        self._snapshots: dict[int, Rows] = {}
        self._is_beside = False
        self.counts = Counts()

    def run(self, steps: int) -> Counts:
        """Runs so many steps; raises AssertionError when the table and the model differ."""
        self._append()
        for _ in range(steps):
            kind = self._chance.choice(
                [
                    "write",
                    "write",
                    "write",
                    "compact",
                    "compact",
                    "deletes",
                    "convert",
                    "manifests",
                    "expire",
                    "orphans",
                ]
            )
            self.counts.steps[kind] = self.counts.steps.get(kind, 0) + 1
            self._world.time_ms += self._chance.choice([1_000, _DAY_MS, 4 * _DAY_MS])
            getattr(self, f"_{kind}")()
            self._check_current()
            if kind in ("expire", "orphans"):
                self._check_every_snapshot()
        self._check_every_snapshot()
        self.counts.commits = len(self._snapshots)
        return self.counts

    # writers

    def _write(self) -> None:
        self._chance.choice(
            [self._append, self._append, self._delete, self._update, self._delete_by_key, self._evolve]
        )()

    def _append(self) -> None:
        new = {self._new_id(): (self._chance.randrange(3), "new") for _ in range(self._chance.randint(1, 6))}
        table = self._writer()
        table.append(self._builder.arrow([(key, p, v) for key, (p, v) in new.items()]))
        self._rows = {**self._rows, **new}
        self._saw(table)

    def _delete(self) -> None:
        gone = self._some()
        table = self._writer()
        table.delete(f"id in ({', '.join(map(str, gone or [-1]))})")
        self._rows = {key: row for key, row in self._rows.items() if key not in gone}
        self._saw(table)

    def _update(self) -> None:
        changed = self._some()
        value = f"v{self._new_id()}"
        table = self._writer()
        table.update({"v": value}, where=f"id in ({', '.join(map(str, changed or [-1]))})")
        self._rows = {key: (p, value if key in changed else v) for key, (p, v) in self._rows.items()}
        self._saw(table)

    def _delete_by_key(self) -> None:
        """An equality delete, of the spec and partition that the row's file has now."""
        gone = self._some()[:1]
        if not gone:
            return
        table = self._writer()
        (place,) = table.scan(where=f"id = {gone[0]}", metadata_columns=["_file"]).to_arrow()["_file"].to_pylist()
        file = next(task.data_file for task in table.scan().plan() if task.data_file.file_path == place)
        self._builder.table.refresh()
        table._commit(RowDelta(added=[self._builder.equality_deletes((gone[0],), of=file)]))
        self._rows = {key: row for key, row in self._rows.items() if key not in gone}
        self._saw(table)

    def _evolve(self) -> None:
        """Another partition spec or mode for what is written from now on."""
        table = self._writer()
        if self._chance.random() < 0.5:
            mode = self._chance.choice(_MODES)
            with table.update_properties() as properties:
                properties.set({"write.delete.mode": mode, "write.update.mode": mode})
            return
        names = {partition_field.name for partition_field in table.spec.fields}
        with table.update_spec() as spec:
            if "id_bucket_2" in names:
                spec.remove_field("id_bucket_2")
            else:
                spec.add_field("bucket(2, id)")

    # maintenance

    def _compact(self) -> None:
        options = {"rewrite-all": self._chance.choice(["true", "false"]), "min-input-files": "2"}
        options["partial-progress.enabled"] = self._chance.choice(["true", "false"])
        options["remove-dangling-deletes"] = self._chance.choice(["true", "false"])
        request = RewriteRequest(
            options=options, sort_order=self._chance.choice([None, None, "id desc", "zorder(id, p)"])
        )

        def work(table: Table) -> None:
            engine = InterruptedEngine(ArrowEngine(table._pointer), *self._others())
            done = rewrite_data_files(table._pointer, table._state, engine, request)
            self.counts.carried_deletes += done.carried_deletes
            self.counts.redone_groups += done.redone_groups

        self._maintain(work)

    def _deletes(self) -> None:
        self._maintain(lambda table: table.maintenance.rewrite_deletes(options={"min-input-files": "2"}))

    def _convert(self) -> None:
        def work(table: Table) -> None:
            engine = InterruptedEngine(ArrowEngine(table._pointer), *self._others())
            convert_equality_deletes(table._pointer, table._state, engine, DeleteRewriteRequest())

        self._maintain(work)

    def _manifests(self) -> None:
        self._maintain(lambda table: table.maintenance.rewrite_manifests())

    def _expire(self) -> None:
        def work(table: Table) -> None:
            last = self._chance.randint(1, 3)
            now_ms = table._pointer.effects.clock.now_ms()
            done = table.maintenance.expire_snapshots(older_than=now_ms, retain_last=last, clean_expired_metadata=True)
            self.counts.expired_snapshots += len(done.snapshot_ids)

        self._maintain(work)

    def _orphans(self) -> None:
        def work(table: Table) -> None:
            self.counts.orphans_removed += len(table.maintenance.remove_orphans(dry_run=False).locations)

        self._maintain(work)

    def _maintain(self, work: Callable[[Table], object]) -> None:
        """Maintenance in a process of its own, which now and then dies in the middle of it."""
        crash = None
        if self._chance.random() < 0.25:
            crash = CrashPoint(self._chance.randint(20, 150), after=self._chance.random() < 0.5)
        table = self._table(crash=crash)
        try:
            work(table)
        except SimCrash:
            self.counts.crashes += 1
        except ValidationConflict:
            return  # a writer came first each time
        finally:
            self._saw(self._table())

    def _others(self) -> list[Callable[[], object]]:
        """What others do in the middle of it: writers, and now and then maintenance in another process."""
        if self._is_beside:
            return []
        writes = [self._append, self._delete, self._update, self._delete_by_key]
        works = [self._compact, self._deletes, self._convert, self._manifests, self._expire]
        kinds = [*writes, *writes, *works]
        return [partial(self._beside, self._chance.choice(kinds)) for _ in range(self._chance.choice([0, 1, 1, 2]))]

    def _beside(self, work: Callable[[], object]) -> None:
        self._is_beside = True
        try:
            work()
        finally:
            self._is_beside = False
        self._check_current()

    # the model

    def _check_current(self) -> None:
        table = self._table()
        lineage = ["_row_id"] if self._version > 2 else False
        found = table.scan(metadata_columns=lineage).to_arrow().to_pylist()
        assert _model(found) == self._rows, _difference(_model(found), self._rows)
        assert len(found) == len(self._rows), "a row is there twice"
        for row in found if lineage else ():
            known = self._row_ids.setdefault(row["id"], row["_row_id"])
            assert row["_row_id"] == known, f"row {row['id']} had the id {known} and has {row['_row_id']}"

    def _check_every_snapshot(self) -> None:
        table = self._table()
        for snapshot in table.snapshots:
            found = _model(table.scan(snapshot_id=snapshot.snapshot_id).to_arrow().to_pylist())
            expected = self._snapshots[snapshot.snapshot_id]
            assert found == expected, f"snapshot {snapshot.snapshot_id}: {_difference(found, expected)}"

    def _saw(self, table: Table) -> None:
        """Remembers what snapshots that are new hold: of maintenance, which changes no row, what the table held before."""
        for snapshot in table.snapshots:
            self._snapshots.setdefault(snapshot.snapshot_id, self._rows)

    # plumbing

    def _process(self, crash: CrashPoint | None = None):  # type: ignore[no-untyped-def]
        self._processes += 1
        return self._world.process(f"process {self._processes}", crash=crash)

    def _table(self, *, crash: CrashPoint | None = None) -> Table:
        return sim_lake(self._process(crash)).load_table(_NAME)

    def _writer(self) -> Table:
        """The table for a writer; what maintenance committed so far is seen before its rows change."""
        table = self._table()
        self._saw(table)
        return table

    def _new_id(self) -> int:
        self._next_id += 1
        return self._next_id

    def _some(self) -> list[int]:
        return self._chance.sample(sorted(self._rows), min(len(self._rows), self._chance.randint(1, 3)))


def _model(found: list[dict[str, object]]) -> Rows:
    return {row["id"]: (row["p"], row["v"]) for row in found}  # type: ignore[misc]


def _difference(found: Rows, expected: Rows) -> str:
    lost = sorted(expected.keys() - found.keys())
    revived = sorted(found.keys() - expected.keys())
    changed = sorted(key for key in found.keys() & expected.keys() if found[key] != expected[key])
    return f"lost {lost}, revived {revived}, changed {changed}"


def main(arguments: list[str] | None = None) -> int:
    """Runs histories and prints what they reached; 1 when one went wrong."""
    parser = argparse.ArgumentParser(description="random histories of writes and maintenance")
    parser.add_argument("--histories", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    given = parser.parse_args(arguments)
    try:
        total = run_maintenance(range(given.first, given.first + given.histories))
    except AssertionError as failed:
        sys.stdout.write(f"ANOMALY {failed}\n")
        return 1
    sys.stdout.write(f"{given.histories} histories: {total}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
