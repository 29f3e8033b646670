"""Random histories of several writers over the real commit code, judged by the model.

python -m floeberg.testing.simulate --histories 2000        # prints counts; an anomaly prints its seed
python -m floeberg.testing.simulate --seed 1234             # replays one history
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import Final

from floeberg.commit.append import Append
from floeberg.commit.commit import commit_operations
from floeberg.commit.operation import Operation, SnapshotTarget
from floeberg.commit.pointer import TablePointer, TableState
from floeberg.effects.protocols import Capabilities
from floeberg.errors import CommitUnknown, FloebergError, InvalidInput, StorageError
from floeberg.spec.changes.table_builder import apply_updates
from floeberg.spec.changes.updates import create_table_updates
from floeberg.spec.partitions.specs import build_partition_spec
from floeberg.testing.decoding import decoded_once
from floeberg.testing.faults import CrashPoint, Fault, NoFaults, RandomFaults
from floeberg.testing.history_checker import Done, HistoryChecker, Outcome
from floeberg.testing.model import Change, TableModel
from floeberg.testing.planning import TAG, Shared, Step
from floeberg.testing.scheduler import Scheduler, SimulationFailed
from floeberg.testing.sim_catalogs import FILESYSTEM, LOCATION, ROWS, SimCatalog
from floeberg.testing.sim_reader import Anomaly, SimReader
from floeberg.testing.sim_rows import SCHEMA, Row, StoredRow, data_file
from floeberg.testing.simulated import SimProcess, SimWorld
from floeberg.testing.workload import FIXED_SPEC, OF_DEFINITION, PLANS, Writer

ENOUGH: Final = 1000
"""So many histories let nearly every pair of changes meet; the rest is brought together."""
EXCUSED: Final = ("some but not all", "points to it", "partition field", "no field")
"""What may be wrong with a change that was right when it was planned: a file holds rows of several partitions (the spec
changed), a snapshot to be expired is a branch's by now, the spec was changed twice."""
CAPABILITIES: Final = Capabilities(create_if_absent=True, atomic_rename=False, list_consistent=True)
RETRY_PROPERTIES: Final = {"commit.status-check.num-retries": "2"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What one history is played in, drawn from its seed."""

    catalog: str
    format_version: int
    partitioned: bool
    evolves_spec: bool
    writers: int
    fault_rate: float
    crashes: bool
    skewed_clocks: bool
    keeps_versions: int | None
    merges_manifests: bool
    kinds: tuple[str, ...] = ()
    """Only these kinds of change; none means all that make sense."""
    store_overwrites: bool = False
    """A store that breaks its promise, to prove that the checker notices."""

    @classmethod
    def draw(cls, seed: object) -> Setting:
        chance = random.Random(f"setting {seed}")
        return cls(
            catalog=chance.choice([FILESYSTEM, ROWS]),
            format_version=chance.choices([1, 2, 3], weights=[1, 4, 5])[0],
            partitioned=chance.random() < 0.7,
            evolves_spec=chance.random() < 0.15,
            writers=chance.randrange(2, 6),
            fault_rate=chance.choice([0, 0, 0.02, 0.08]),
            crashes=chance.random() < 0.15,
            skewed_clocks=chance.random() < 0.15,
            keeps_versions=chance.choice([None, None, None, 1, 3]),
            merges_manifests=chance.random() < 0.3,
        )

    def properties(self) -> dict[str, str]:
        given = dict(RETRY_PROPERTIES)
        if self.keeps_versions is not None:
            given["write.metadata.previous-versions-max"] = str(self.keeps_versions)
            given["write.metadata.delete-after-commit.enabled"] = "true"
        if self.merges_manifests:
            given["commit.manifest.min-count-to-merge"] = "2"
        return given

    def beginning(self) -> Setting:
        """What of it decides how the table is made."""
        return replace(
            self,
            evolves_spec=False,
            writers=0,
            fault_rate=0,
            crashes=False,
            skewed_clocks=False,
            store_overwrites=False,
        )

    def draw_changes(self, chance: random.Random) -> list[str]:
        """One to three kinds of change that make sense here, those of rows more often than those of the definition."""
        sensible = [name for name in PLANS if (name not in FIXED_SPEC if self.evolves_spec else name != "evolve_spec")]
        fitting = self.kinds or sensible
        weights = [5 if name == "evolve_spec" else 1 if name in OF_DEFINITION else 2 for name in fitting]
        return chance.choices(fitting, weights=weights, k=chance.randrange(1, 4))


@dataclass(slots=True)
class History:
    """What happened in one history."""

    seed: object
    setting: Setting
    done: list[Done] = field(default_factory=list)
    pairs: Counter[tuple[str, str]] = field(default_factory=Counter)
    steps: int = 0
    states: int = 0


def make_table(process: SimProcess, catalog: SimCatalog, setting: Setting) -> TableState:
    """An empty table, published."""
    spec = build_partition_spec(SCHEMA, ["p"] if setting.partitioned else [])
    metadata = apply_updates(
        None,
        create_table_updates(
            table_uuid=str(process.ids.uuid()),
            location=LOCATION,
            schema=SCHEMA,
            spec=spec,
            properties=setting.properties(),
            format_version=setting.format_version,
        ),
        now_ms=process.clock.now_ms(),
    )
    return catalog.pointer(process).create(metadata)


def first_rows(process: SimProcess, catalog: SimCatalog, shared: Shared) -> TableState:
    """Rows to begin with, in two commits; a branch that is ahead, and a snapshot that is staged."""
    pointer = catalog.pointer(process)
    for number in range(2):
        state = pointer.refresh()
        partitioned = not state.metadata.default_spec.is_unpartitioned
        new = []
        for p in range(3):
            rows = [StoredRow(Row(2 * i + number, p, shared.next_value + i)) for i in range(4)]
            shared.next_value += len(rows)
            path = f"{LOCATION}/data/first-{number}-{p}.parquet"
            new.append(data_file(path, rows, spec_id=0, partition=(p,) if partitioned else ()))
        for one in new:
            process.store.write(one.file.file_path, one.content)
        tag = f"first.{number}"
        operations: list[Operation] = [
            Append(files=[one.file for one in new], target=SnapshotTarget(summary={TAG: tag}))
        ]
        state = commit_operations(pointer, state, operations).state
    writer = Writer("first", shared, process.world.seed, location=LOCATION)
    for kind in ("branch_append", "stage"):
        step = writer.plan(kind, state)
        assert step is not None
        run_step(process, pointer, state, Done(step, 0))
        state = pointer.refresh()
    return state


def run_step(process: SimProcess, pointer: TablePointer, state: TableState, one: Done) -> None:
    """Writes a step's files and commits it; notes what the writer was told."""
    step = one.step
    try:
        for path, content in {new.file.file_path: new.content for new in step.files}.items():
            process.store.write(path, content)
        commit_operations(pointer, state, step.operations)
    except CommitUnknown as unknown:
        one.outcome, one.error = Outcome.UNKNOWN, unknown
    except FloebergError as error:
        one.outcome, one.error = Outcome.REJECTED, error
        if isinstance(error, InvalidInput) and not any(words in str(error) for words in EXCUSED):
            raise Anomaly(f"{step.name} {step.tag} was called wrong: {error}") from error
    else:
        one.outcome = Outcome.COMMITTED


@dataclass(frozen=True, slots=True)
class _Begun:
    """A table as histories begin with it."""

    world: SimWorld
    catalog: SimCatalog
    next_value: int
    changes: dict[str, Change]


@lru_cache(maxsize=256)
def _begun(setting: Setting) -> _Begun:
    """The table that all histories of a setting begin with, made once."""
    world = SimWorld("beginning", capabilities=CAPABILITIES)
    catalog = SimCatalog(world, setting.catalog)
    shared = Shared(SimReader(world.disk), TableModel())
    process = world.process("setup")
    make_table(process, catalog, setting)
    first_rows(process, catalog, shared)
    return _Begun(world, catalog, shared.next_value, shared.changes)


class Player:
    """Plays one history."""

    def __init__(self, seed: object, setting: Setting) -> None:
        overwrites = setting.store_overwrites
        self.world = SimWorld(f"{seed}", capabilities=CAPABILITIES, create_overwrites=overwrites)
        self.setting = setting
        begun = _begun(setting.beginning())
        self.world.time_ms = begun.world.time_ms
        self.world.disk.objects.update(begun.world.disk.objects)
        self.catalog = begun.catalog.copied(self.world)
        self.reader = SimReader(self.world.disk)
        self.shared = Shared(self.reader, TableModel(), begun.next_value, dict(begun.changes))
        self.history = History(seed, setting)
        self.random = random.Random(f"player {seed}")

    def play(self) -> History:
        """Lets the writers loose, and judges what they did. Raises Anomaly, SimulationFailed."""
        first = self.catalog.count() - 1
        scheduler = Scheduler(self.world)
        for number in range(self.setting.writers):
            process = self._process(f"w{number}")
            writer = Writer(process.name, self.shared, self.world.seed, location=LOCATION)
            kinds = self.setting.draw_changes(self.random)
            scheduler.spawn(process, partial(self.write, process, writer, kinds))
        scheduler.run()
        self.judge(first)
        self.history.steps = scheduler.steps
        return self.history

    def judge(self, first: int) -> None:
        """Checks every state from the first on, and that life goes on. Raises Anomaly."""
        self.world.settle()
        states = self.catalog.states()[first:]
        checker = HistoryChecker(self.reader, self.shared)
        checker.check(states, self.history.done)
        self._check_end()
        self._count(checker, states, first)

    def _process(self, name: str) -> SimProcess:
        chance = self.random
        faults = (
            RandomFaults(f"{self.world.seed} {name}", rate=self.setting.fault_rate, kinds=tuple(Fault))
            if self.setting.fault_rate
            else NoFaults()
        )
        crash = CrashPoint(chance.randrange(1, 60), after=chance.random() < 0.5)
        skew_ms = chance.choice([-3_600_000, -90_000, 0, 3_600_000]) if self.setting.skewed_clocks else 0
        is_doomed = self.setting.crashes and chance.random() < 0.5
        return self.world.process(name, faults=faults, crash=crash if is_doomed else None, skew_ms=skew_ms)

    def write(self, process: SimProcess, writer: Writer, kinds: list[str]) -> None:
        """One writer's life: plans and commits one change after the other."""
        pointer = self.catalog.pointer(process)
        for kind in kinds:
            try:
                state = pointer.refresh()
            except StorageError:
                continue
            step = writer.plan(kind, state)
            if step is not None:
                one = Done(step, self.catalog.count())
                self.history.done.append(one)
                run_step(process, pointer, state, one)

    def _check_end(self) -> None:
        """Someone who comes afterwards can read the table and write to it."""
        survivor = self.world.process("survivor")
        pointer = self.catalog.pointer(survivor)
        state = pointer.refresh()
        if state.metadata != self.catalog.states()[-1].metadata:
            raise Anomaly("a reader who comes afterwards sees another state than the last one")
        step: Step | None = Writer("survivor", self.shared, self.world.seed, location=LOCATION).plan(
            "fast_append", state
        )
        assert step is not None
        one = Done(step, self.catalog.count())
        run_step(survivor, pointer, state, one)
        if one.outcome is not Outcome.COMMITTED:
            raise Anomaly(f"nobody can write any more: {one.error}") from one.error

    def _count(self, checker: HistoryChecker, states: list[TableState], first: int) -> None:
        """Which kinds of change met: one was planned before the other was committed, and tried to commit after it."""
        made = {place: tag for tag, place in checker.places.items()}
        names = {one.step.tag: one.step.name for one in self.history.done}
        self.history.states = len(states)
        for one in self.history.done:
            last = checker.places.get(one.step.tag, len(states))
            for place in range(one.seen - first, last):
                if (tag := made.get(place)) is not None and tag != one.step.tag:
                    self.history.pairs[one.step.name, names[tag]] += 1


def run_history(seed: object, setting: Setting | None = None) -> History:
    """Plays the history of a seed. Raises SimulationFailed, which names the seed, for any anomaly."""
    try:
        return Player(seed, setting or Setting.draw(seed)).play()
    except (Anomaly, SimulationFailed) as error:
        raise SimulationFailed(
            f"history {seed!r}: {error}\nreplay it with: python -m floeberg.testing.simulate --seed {seed}"
        ) from error


@dataclass(slots=True)
class Totals:
    """Counts over many histories."""

    histories: int = 0
    states: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    pairs: Counter[tuple[str, str]] = field(default_factory=Counter)
    changes: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add(self, history: History) -> None:
        self.histories += 1
        self.states += history.states
        self.pairs += history.pairs
        for one in history.done:
            self.outcomes[one.outcome] += 1
            self.changes[one.step.name, one.outcome] += 1

    def missing_pairs(self) -> list[tuple[str, str]]:
        """Pairs of changes that never met. A spec changes only where partitions have no meaning of their own."""
        return [
            (a, b)
            for a in PLANS
            for b in PLANS
            if (a, b) not in self.pairs and not ("evolve_spec" in (a, b) and {a, b} & {*FIXED_SPEC})
        ]

    def report(self) -> str:
        lines = [f"{self.histories} histories, {self.states} states: " + _listed(self.outcomes)]
        for name in PLANS:
            mine = Counter({outcome: n for (change, outcome), n in self.changes.items() if change == name})
            met = sum(n for (change, _), n in self.pairs.items() if change == name)
            lines.append(f"  {name:20} {_listed(mine)}; met others {met} times")
        missing = self.missing_pairs()
        lines.append(f"pairs of changes that met: {len(self.pairs)}; that never did: {len(missing)} {missing[:10]}")
        return "\n".join(lines)


def meet_missing(totals: Totals, *, most: int = 60) -> None:
    """Plays histories of two kinds of change each, until those that chance never let meet have met. Raises
    SimulationFailed at an anomaly."""
    with decoded_once():
        for a, b in totals.missing_pairs():
            for number in range(most):
                seed = f"{a} beside {b} {number}"
                drawn = Setting.draw(seed)
                version = max(2, drawn.format_version) if "upgrade" not in (a, b) else 2
                evolves = "evolve_spec" in (a, b)
                totals.add(
                    run_history(
                        seed, replace(drawn, kinds=(a, b), writers=5, format_version=version, evolves_spec=evolves)
                    )
                )
                if (a, b) in totals.pairs:
                    break


def run_histories(seeds: Iterable[object], *, until: Callable[[], bool] | None = None) -> Totals:
    """Plays the histories of the seeds, as far as `until` lets. Raises SimulationFailed at the first anomaly."""
    totals = Totals()
    with decoded_once():
        for seed in seeds:
            totals.add(run_history(seed))
            if until is not None and until():
                break
    return totals


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{number} {name}" for name, number in sorted(counts.items()))


def main(arguments: list[str] | None = None) -> int:
    """Runs histories and prints what they reached; 1 when one went wrong."""
    parser = argparse.ArgumentParser(description="random histories of writers over the real commit code")
    parser.add_argument("--histories", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--seed", help="replay this one history")
    given = parser.parse_args(arguments)
    seeds = [given.seed] if given.seed is not None else range(given.first, given.first + given.histories)
    try:
        totals = run_histories(seeds)
        if given.histories >= ENOUGH and given.seed is None:
            meet_missing(totals)
    except SimulationFailed as failed:
        sys.stdout.write(f"ANOMALY {failed}\n")
        return 1
    sys.stdout.write(totals.report() + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
