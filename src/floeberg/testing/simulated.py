"""A simulated world: time, chance and ids that repeat from a seed, and processes that can fail and die.

world = SimWorld(seed=7)
process = world.process("writer-1", faults=RandomFaults(7, rate=0.1))
stores, effects = FixedStores(process.store), process.effects
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable
from typing import TypeVar

from floeberg.effects.protocols import Capabilities, Effects
from floeberg.errors import StorageError, Throttled, Unavailable, WriteRefused
from floeberg.testing.faults import APPLICABLE, WRITES, Call, CrashPoint, Fault, Faults, NoFaults, SimCrash
from floeberg.testing.sim_store import SimDisk, SimStore

T = TypeVar("T")

EPOCH_MS = 1_700_000_000_000
TIMEOUT_MS = 30_000
ALL_CAPABILITIES = Capabilities(create_if_absent=True, atomic_rename=True, list_consistent=True)

Pause = Callable[[], None]
"""Called before each call to the outside, so that another process may run."""
Sleep = Callable[[float], None]


class SimClock:
    """Time that passes only when the world says so. A process's wall clock can be wrong; monotonic time cannot."""

    def __init__(self, world: SimWorld, *, skew_ms: int = 0) -> None:
        self._world = world
        self.skew_ms = skew_ms

    def now_ms(self) -> int:
        return EPOCH_MS + int(self._world.time_ms) + self.skew_ms

    def monotonic_ms(self) -> int:
        return int(self._world.time_ms)


class SimIds:
    """Ids from a seed; `repeat` makes coming ids collide with ids given before."""

    def __init__(self, seed: int | str) -> None:
        self._random = random.Random(f"ids {seed}")
        self._last_uuid: uuid.UUID | None = None
        self._last_snapshot_id: int | None = None
        self._repeats = 0
        self._forced: list[int] = []

    def repeat(self, count: int) -> None:
        """The next `count` ids are those given last."""
        self._repeats = count

    def force_snapshot_id(self, snapshot_id: int) -> None:
        """The next snapshot id is this one."""
        self._forced.append(snapshot_id)

    def uuid(self) -> uuid.UUID:
        if self._take_repeat() and self._last_uuid is not None:
            return self._last_uuid
        self._last_uuid = uuid.UUID(int=self._random.getrandbits(128), version=4)
        return self._last_uuid

    def snapshot_id(self) -> int:
        if self._forced:
            self._last_snapshot_id = self._forced.pop(0)
            return self._last_snapshot_id
        if self._take_repeat() and self._last_snapshot_id is not None:
            return self._last_snapshot_id
        self._last_snapshot_id = self._random.randrange(1, 1 << 63)
        return self._last_snapshot_id

    def _take_repeat(self) -> bool:
        if self._repeats == 0:
            return False
        self._repeats -= 1
        return True


class SimRng:
    """Chance from a seed."""

    def __init__(self, seed: int | str) -> None:
        self._random = random.Random(f"chance {seed}")

    def uniform(self, low: float, high: float) -> float:
        return self._random.uniform(low, high)


class SimSleeper:
    """Waiting that costs no time: the world's clock moves, and others may run meanwhile."""

    def __init__(self, sleep: Sleep) -> None:
        self._sleep = sleep

    def sleep_ms(self, duration_ms: float) -> None:
        self._sleep(duration_ms)


class SimProcess:
    """One process: its effects, its view of the store, and its death."""

    def __init__(self, world: SimWorld, name: str, *, faults: Faults, crash: CrashPoint | None, skew_ms: int) -> None:
        self.world = world
        self.name = name
        self.faults = faults
        self.crash = crash
        self.calls = 0
        self.is_dead = False
        self.store = SimStore(world.disk, self)
        self.clock = SimClock(world, skew_ms=skew_ms)
        self.ids = SimIds(f"{world.seed} {name}")
        sleeper = SimSleeper(self._sleep)
        self.effects = Effects(clock=self.clock, ids=self.ids, rng=SimRng(f"{world.seed} {name}"), sleeper=sleeper)

    def perform(self, operation: str, location: str, effect: Callable[[], T], *, torn: Pause | None = None) -> T:
        """Runs one call to the outside under the faults and the crash point of this process. Also for what is no store:
        an SQL statement can be performed as `write`."""
        self._die_if_dead()
        self.world.pause()
        self._die_if_dead()
        self.calls += 1
        call = Call(self.calls, self.name, operation, location)
        self.world.begin(call)
        if self.crash == CrashPoint(self.calls, after=False):
            self.die()
        fault = self.faults.strike(call)
        result = effect() if fault is None else self._perform_badly(call, fault, effect, torn)
        if self.crash == CrashPoint(self.calls, after=True):
            self.die()
        return result

    def die(self) -> None:
        """Kills the process: every further call to the outside raises SimCrash, clean-up code included."""
        self.is_dead = True
        raise SimCrash(f"{self.name} died at call {self.calls}")

    def _die_if_dead(self) -> None:
        if self.is_dead:
            raise SimCrash(f"{self.name} is dead")

    def _sleep(self, duration_ms: float) -> None:
        self._die_if_dead()
        self.world.sleep(duration_ms)

    def _perform_badly(self, call: Call, fault: Fault, effect: Callable[[], T], torn: Pause | None) -> T:
        where = f"{call.operation} of {call.location} (simulated {fault.value})"
        if call.operation not in APPLICABLE[fault]:
            return effect()
        if fault is Fault.SLOW:
            self.world.sleep(self.world.random.uniform(1, TIMEOUT_MS))
            self._die_if_dead()
            return effect()
        if fault is Fault.STALE_LISTING and not self.world.disk.capabilities.list_consistent:
            with self.world.disk.in_the_past():
                return effect()
        if fault is Fault.TORN and self.world.disk.torn_writes and torn is not None:
            torn()
            raise Unavailable(where)
        if fault in (Fault.TORN, Fault.STALE_LISTING):
            return effect()
        if fault is Fault.THROTTLED:
            raise Throttled(where)
        if fault is Fault.REFUSED:
            raise WriteRefused(where)
        self._lose(fault, effect)
        raise Unavailable(where)

    def _lose(self, fault: Fault, effect: Callable[[], object]) -> None:
        """Lets the call take effect or not, and the caller wait in vain."""
        if fault in (Fault.ERROR_AFTER, Fault.REPLY_LOST):
            effect()
        if fault is Fault.LATE:
            self.world.later(self.world.random.uniform(0, 2 * TIMEOUT_MS), effect)
        if fault in (Fault.REPLY_LOST, Fault.LATE):
            self.world.sleep(TIMEOUT_MS)
            self._die_if_dead()


class SimWorld:
    """One history: the disk, the time, the log of calls. Everything follows from the seed."""

    def __init__(
        self,
        seed: int | str = 0,
        *,
        capabilities: Capabilities = ALL_CAPABILITIES,
        torn_writes: bool = True,
        create_overwrites: bool = False,
    ) -> None:
        """`create_overwrites` breaks the store's promise silently, to prove that a checker notices."""
        self.seed = seed
        self.time_ms: float = 0
        self.random = random.Random(f"world {seed}")
        self.log: list[Call] = []
        self.disk = SimDisk(
            lambda: EPOCH_MS + int(self.time_ms),
            capabilities=capabilities,
            torn_writes=torn_writes,
            create_overwrites=create_overwrites,
        )
        self.pause: Pause = _no_pause
        self.sleep: Sleep = self._sleep_alone
        self._pending: list[tuple[float, Callable[[], object]]] = []

    def process(
        self,
        name: str = "process",
        *,
        faults: Faults | None = None,
        crash: CrashPoint | None = None,
        skew_ms: int = 0,
    ) -> SimProcess:
        """A new process in this world."""
        return SimProcess(self, name, faults=faults or NoFaults(), crash=crash, skew_ms=skew_ms)

    def begin(self, call: Call) -> None:
        """A call begins: a millisecond passes, and what was late may arrive."""
        self.log.append(call)
        self.time_ms += 1
        self._arrive(self.time_ms)

    def later(self, delay_ms: float, effect: Callable[[], object]) -> None:
        """The effect takes place some time from now, whatever becomes of its process."""
        self._pending.append((self.time_ms + delay_ms, effect))

    def settle(self) -> None:
        """Everything that is still under way arrives."""
        self._arrive(float("inf"))

    def writes(self) -> int:
        """How many calls that change something were made."""
        return sum(call.operation in WRITES for call in self.log)

    def _arrive(self, until_ms: float) -> None:
        if not self._pending:
            return
        due = sorted((pair for pair in self._pending if pair[0] <= until_ms), key=lambda pair: pair[0])
        self._pending = [pair for pair in self._pending if pair[0] > until_ms]
        for _, effect in due:
            try:
                effect()
            except StorageError:
                continue  # it came too late, and nobody waits for the answer

    def _sleep_alone(self, duration_ms: float) -> None:
        self.time_ms += duration_ms


def _no_pause() -> None:
    """One process alone: nobody to hand over to."""
