"""Several processes of a simulated world, one at a time, in an order drawn from a seed.

Each process is real, synchronous code in a thread of its own, and exactly one thread runs: at each call to the outside
and each sleep it may hand over to another. The same seed gives the same order, call by call.

    world = SimWorld(seed)
    scheduler = Scheduler(world)
    for number in range(3):
        process = world.process(f"writer-{number}", faults=RandomFaults(f"{seed} {number}", rate=0.05))
        scheduler.spawn(process, lambda process=process: append_rows(process))
    scheduler.run()          # raises SimulationFailed, which names the seed, on what no process may raise
"""

from __future__ import annotations

import contextlib
import random
import threading
from collections.abc import Callable, Iterator

from floeberg.errors import FloebergError
from floeberg.testing.faults import SimCrash
from floeberg.testing.simulated import SimProcess, SimWorld

MAX_STEPS = 100_000
STUCK_SECONDS = 120


class SimulationFailed(AssertionError):
    """A history went wrong; the message names the seed that replays it."""


class Task:
    """One process and what became of it."""

    def __init__(self, process: SimProcess, body: Callable[[], object]) -> None:
        self.process = process
        self.body = body
        self.result: object = None
        self.error: FloebergError | None = None
        self.failure: BaseException | None = None
        self.is_done = False
        self.has_crashed = False
        self.wake_ms: float = 0
        self.baton = threading.Lock()
        self.baton.acquire()


class Scheduler:
    """Runs tasks until all are done. While it runs, the world's pauses and sleeps are its own."""

    def __init__(self, world: SimWorld, *, max_steps: int = MAX_STEPS) -> None:
        self.world = world
        self.tasks: list[Task] = []
        self.steps = 0
        self.switches = 0
        self._max_steps = max_steps
        self._random = random.Random(f"schedule {world.seed}")
        self._running: Task | None = None
        self._finished = threading.Lock()
        self._finished.acquire()
        self._failed: str | None = None

    def spawn(self, process: SimProcess, body: Callable[[], object]) -> Task:
        """Adds a process; its code begins when the scheduler runs."""
        task = Task(process, body)
        self.tasks.append(task)
        return task

    def run(self) -> list[Task]:
        """Runs every task to its end: a result, an error of ours, or a crash.

        Raises:
            SimulationFailed: a task raised anything else, or they never end.
        """
        if not self.tasks:
            return self.tasks
        self.world.pause, self.world.sleep, saved = self.pause, self.sleep, (self.world.pause, self.world.sleep)
        threads = [threading.Thread(target=self._live, args=(task,), daemon=True) for task in self.tasks]
        for thread in threads:
            thread.start()
        self._running = self._choose()
        self._running.baton.release()
        if not self._finished.acquire(timeout=STUCK_SECONDS):
            raise SimulationFailed(f"seed {self.world.seed!r}: {self._running.process.name} never goes on")
        for thread in threads:
            thread.join()
        self.world.pause, self.world.sleep = saved
        self._raise_failures()
        return self.tasks

    def pause(self) -> None:
        """The running task may lose the baton here."""
        self.steps += 1
        if self.steps > self._max_steps:
            self._failed = f"no end after {self._max_steps} steps"
            for task in self.tasks:
                task.process.is_dead = True
            return
        self._hand_over()

    def sleep(self, duration_ms: float) -> None:
        """The running task goes on only when that time has passed in the world."""
        task = self._running
        if task is not None:
            task.wake_ms = self.world.time_ms + duration_ms
        self.pause()

    def kill(self, task: Task) -> None:
        """The task's process dies at its next call to the outside."""
        task.process.is_dead = True
        task.wake_ms = self.world.time_ms

    def _hand_over(self) -> None:
        current = self._running
        following = self._choose()
        if current is None or following is current:
            return
        self.switches += 1
        self._running = following
        following.baton.release()
        current.baton.acquire()

    def _choose(self) -> Task:
        """A task that is awake; when all sleep, time moves to the first that wakes."""
        waiting = [task for task in self.tasks if not task.is_done]
        awake = [task for task in waiting if task.wake_ms <= self.world.time_ms]
        if not awake:
            self.world.time_ms = min(task.wake_ms for task in waiting)
            awake = [task for task in waiting if task.wake_ms <= self.world.time_ms]
        return awake[0] if len(awake) == 1 else awake[self._random.randrange(len(awake))]

    def _live(self, task: Task) -> None:
        """The life of one task's thread: wait for the baton, run, pass it on."""
        task.baton.acquire()
        try:
            task.result = task.body()
        except SimCrash:
            task.has_crashed = True
        except FloebergError as error:
            task.error = error
        except BaseException as failure:
            task.failure = failure
        task.is_done = True
        if all(other.is_done for other in self.tasks):
            self._finished.release()
        else:
            self._running = self._choose()
            self._running.baton.release()

    def _raise_failures(self) -> None:
        if self._failed is not None:
            raise SimulationFailed(f"seed {self.world.seed!r}: {self._failed}")
        for task in self.tasks:
            if task.failure is not None:
                name, failure = task.process.name, task.failure
                raise SimulationFailed(
                    f"seed {self.world.seed!r}: {name} raised {type(failure).__name__}: {failure} (step {self.steps})"
                ) from failure


@contextlib.contextmanager
def replayable(seed: int | str) -> Iterator[None]:
    """Whatever fails inside says which seed replays it."""
    try:
        yield
    except Exception as error:
        error.add_note(f"replay with seed {seed!r}")
        raise
