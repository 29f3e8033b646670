"""Random histories of commits over two tables: what one of them holds of a transaction, the other holds too."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from floeberg.catalogs.identifiers import Identifier
from floeberg.catalogs.metadata_files import decode_metadata
from floeberg.catalogs.pointed import PointedCatalog
from floeberg.catalogs.pointer_rows import TABLE, PointerSwap
from floeberg.catalogs.several_tables import TableOperations, commit_tables
from floeberg.commit.append import Append
from floeberg.commit.commit import commit_operations
from floeberg.commit.operation import SnapshotTarget
from floeberg.effects.protocols import Capabilities
from floeberg.errors import CommitUnknown, FloebergError
from floeberg.spec.changes.table_builder import apply_updates
from floeberg.spec.changes.updates import create_table_updates
from floeberg.storage.location import parse
from floeberg.storage.registry import FixedStores
from floeberg.testing.faults import CrashPoint, Fault, NoFaults, RandomFaults
from floeberg.testing.history_checker import Outcome
from floeberg.testing.scheduler import Scheduler
from floeberg.testing.sim_catalogs import SharedRows, SimRows
from floeberg.testing.sim_reader import Anomaly
from floeberg.testing.sim_rows import SCHEMA
from floeberg.testing.simulated import SimProcess, SimWorld

TABLES: Final = (Identifier(("db",), "a"), Identifier(("db",), "b"))
TAG: Final = "transaction"
ALONE: Final = "alone"
_CAPABILITIES: Final = Capabilities(create_if_absent=True, atomic_rename=False, list_consistent=True)
_PROPERTIES: Final = {"commit.status-check.num-retries": "2", "commit.retry.num-retries": "6"}


class _OneByOne(SimRows):
    """Rows that are put one after the other: what a commit over several tables must not be, to prove that it shows."""

    def swap_all(self, swaps: Sequence[PointerSwap]) -> bool:
        done = [self.swap(one.identifier, TABLE, expected=one.expected or "", location=one.location) for one in swaps]
        return all(done)


@dataclass(slots=True)
class TablesHistory:
    """What happened: what each writer was told of each transaction, and the pointers after every change."""

    outcomes: dict[str, Outcome] = field(default_factory=dict)
    states: list[dict[Identifier, str]] = field(default_factory=list)
    found: set[str] = field(default_factory=set)


class TablesPlayer:
    """Plays one history of writers that commit to both tables, beside one that commits to the first alone."""

    def __init__(self, seed: object, *, one_by_one: bool = False) -> None:
        self._random = random.Random(f"tables {seed}")
        self._world = SimWorld(f"{seed}", capabilities=_CAPABILITIES)
        self._rows = SharedRows()
        self._contents: dict[str, bytes] = {}
        self._world.disk.watch = self._saw
        self._kind = _OneByOne if one_by_one else SimRows
        self.history = TablesHistory()

    def play(self) -> TablesHistory:
        """Raises Anomaly when a transaction is in one table and not in the other, or is not what its writer was told."""
        setup = self._catalog(self._world.process("setup"))
        for identifier in TABLES:
            updates = create_table_updates(
                table_uuid=str(setup.effects.ids.uuid()),
                location=f"s3://lake/db/{identifier.name}",
                schema=SCHEMA,
                properties=_PROPERTIES,
                format_version=3,
            )
            setup.rows.insert(identifier, TABLE, self._first_file(setup, identifier, updates))
        rate = self._random.choice([0, 0.03, 0.1])
        scheduler = Scheduler(self._world)
        for number in range(3):
            process = self._process(f"w{number}", rate)
            scheduler.spawn(process, partial(self._write_both, process))
        scheduler.spawn(alone := self._process(ALONE, rate), partial(self._write_one, alone))
        scheduler.run()
        self._world.settle()
        self._judge()
        return self.history

    def _first_file(self, catalog: PointedCatalog, identifier: Identifier, updates: Sequence[object]) -> str:
        metadata = apply_updates(None, updates, now_ms=catalog.effects.clock.now_ms())  # type: ignore[arg-type]
        return catalog._pointer(identifier).write_file(metadata, base_location=None)

    def _process(self, name: str, rate: float) -> SimProcess:
        faults = RandomFaults(f"{self._world.seed} {name}", rate=rate, kinds=tuple(Fault)) if rate else NoFaults()
        crash = CrashPoint(self._random.randrange(1, 60), after=self._random.random() < 0.5)
        return self._world.process(name, faults=faults, crash=crash if self._random.random() < 0.3 else None, skew_ms=0)

    def _catalog(self, process: SimProcess) -> PointedCatalog:
        rows = self._kind(process, self._rows, lambda location: self._moved())
        stores = FixedStores(process.store)
        return PointedCatalog("lake", warehouse="s3://lake", rows=rows, stores=stores, effects=process.effects)

    def _write_both(self, process: SimProcess) -> None:
        catalog = self._catalog(process)
        for number in range(3):
            tag = f"{process.name}.{number}"
            self.history.outcomes[tag] = Outcome.UNKNOWN  # what a writer that dies was told
            try:
                operation = Append(files=[], target=SnapshotTarget(summary={TAG: tag}))
                parts = [TableOperations(one, catalog.load_table(one), [operation]) for one in TABLES]
                commit_tables(catalog, parts)
            except CommitUnknown:
                continue
            except FloebergError:
                self.history.outcomes[tag] = Outcome.REJECTED
            else:
                self.history.outcomes[tag] = Outcome.COMMITTED

    def _write_one(self, process: SimProcess) -> None:
        catalog = self._catalog(process)
        for number in range(3):
            try:
                loaded = catalog.load_table(TABLES[0])
                target = SnapshotTarget(summary={ALONE: str(number)})
                commit_operations(loaded.pointer, loaded.state, [Append(files=[], target=target)])
            except FloebergError:
                continue

    def _saw(self, uri: str, content: bytes) -> None:
        if uri.endswith(".metadata.json"):
            self._contents[uri] = content

    def _moved(self) -> None:
        self.history.states.append({one: self._rows.get(one, TABLE) or "" for one in TABLES})

    def _judge(self) -> None:
        for state in self.history.states:
            tags = [self._tags(location) for location in state.values() if location]
            if len(tags) == len(TABLES) and tags[0] != tags[1]:
                raise Anomaly(f"transactions {tags[0] ^ tags[1]} are in one table and not in the other")
        self.history.found = self._tags(self.history.states[-1][TABLES[1]])
        for tag, outcome in self.history.outcomes.items():
            is_there = tag in self.history.found
            if outcome is Outcome.COMMITTED and not is_there:
                raise Anomaly(f"transaction {tag} was acknowledged and is lost")
            if outcome is Outcome.REJECTED and is_there:
                raise Anomaly(f"transaction {tag} was rejected and is there")

    def _tags(self, location: str) -> set[str]:
        uri = parse(location).uri
        metadata = decode_metadata(self._contents[uri], uri)
        tags = [snapshot.summary.get(TAG) for snapshot in metadata.snapshots]
        found = {tag for tag in tags if tag is not None}
        if len(found) != len([tag for tag in tags if tag is not None]):
            raise Anomaly(f"a transaction is twice in {location}")
        return found
