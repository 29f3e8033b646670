from __future__ import annotations

import threading

import pytest

from floeberg.errors import PreconditionFailed, StorageError
from floeberg.testing.faults import CrashPoint, RandomFaults
from floeberg.testing.scheduler import Scheduler, SimulationFailed, replayable
from floeberg.testing.simulated import SimProcess, SimWorld


def take_names(process: SimProcess) -> list[str]:
    """Tries to take ten names, with a wait after each loss."""
    owned = []
    for number in range(10):
        try:
            process.store.create(f"s3://b/v{number}", process.name.encode())
        except PreconditionFailed:
            process.effects.sleeper.sleep_ms(process.effects.rng.uniform(0, 50))
        except StorageError:
            continue
        else:
            owned.append(f"v{number}")
    return owned


def history(seed: int, *, writers: int = 3, rate: float = 0.1) -> tuple[Scheduler, list]:
    world = SimWorld(seed)
    scheduler = Scheduler(world)
    for number in range(writers):
        process = world.process(f"w{number}", faults=RandomFaults(f"{seed} {number}", rate=rate))
        scheduler.spawn(process, lambda process=process: take_names(process))
    tasks = scheduler.run()
    world.settle()
    return scheduler, [(task.result, task.has_crashed) for task in tasks]


def test_a_seed_gives_one_history_call_by_call_and_another_seed_another():
    first, second, other = history(7), history(7), history(8)
    assert first[0].world.log == second[0].world.log
    assert first[1] == second[1]
    assert first[0].world.disk.objects == second[0].world.disk.objects
    assert first[0].world.time_ms == second[0].world.time_ms
    assert first[0].world.log != other[0].world.log


def test_histories_interleave_in_many_ways():
    orders = {tuple(call.process for call in history(seed, rate=0)[0].world.log) for seed in range(30)}
    assert len(orders) == 30
    assert sum(history(seed)[0].switches for seed in range(10)) > 100


def test_only_one_process_runs_at_a_time():
    world = SimWorld(3)
    scheduler = Scheduler(world)
    inside = []
    worst = []

    def body(process: SimProcess) -> None:
        for _ in range(50):
            inside.append(process.name)
            worst.append(len(inside))
            inside.remove(process.name)
            process.store.exists("s3://b/x")

    for number in range(5):
        process = world.process(f"w{number}")
        scheduler.spawn(process, lambda process=process: body(process))
    scheduler.run()
    assert max(worst) == 1
    assert len(worst) == 250


def test_sleepers_wake_in_the_order_of_their_times():
    world = SimWorld(1)
    scheduler = Scheduler(world)
    woken = []
    for name, wait_ms in (("late", 3000), ("early", 10), ("middle", 500)):
        process = world.process(name)

        def body(process=process, wait_ms=wait_ms) -> None:
            process.effects.sleeper.sleep_ms(wait_ms)
            woken.append((process.name, process.effects.clock.monotonic_ms()))

        scheduler.spawn(process, body)
    scheduler.run()
    assert woken == [("early", 10), ("middle", 500), ("late", 3000)]


def test_a_crash_ends_one_process_and_the_others_go_on():
    world = SimWorld(1)
    scheduler = Scheduler(world)
    doomed = world.process("doomed", crash=CrashPoint(3, after=True))
    healthy = world.process("healthy")
    first = scheduler.spawn(doomed, lambda: take_names(doomed))
    second = scheduler.spawn(healthy, lambda: take_names(healthy))
    scheduler.run()
    assert first.has_crashed
    assert first.result is None
    assert not second.has_crashed
    assert doomed.calls == 3


def test_a_process_can_be_killed_while_it_sleeps():
    world = SimWorld(1)
    scheduler = Scheduler(world)
    sleeper, killer = world.process("sleeper"), world.process("killer")

    def sleep_for_ever() -> None:
        while True:
            sleeper.effects.sleeper.sleep_ms(1_000_000)

    victim = scheduler.spawn(sleeper, sleep_for_ever)

    def kill() -> None:
        killer.effects.sleeper.sleep_ms(10)
        scheduler.kill(victim)

    scheduler.spawn(killer, kill)
    scheduler.run()
    assert victim.has_crashed


def test_errors_of_ours_are_outcomes_and_others_fail_with_the_seed():
    world = SimWorld("seed-77")
    scheduler = Scheduler(world)
    process = world.process("w")
    task = scheduler.spawn(process, lambda: process.store.read("s3://b/nope"))
    scheduler.run()
    assert "nope" in str(task.error)
    scheduler = Scheduler(world)
    scheduler.spawn(process, lambda: 1 // 0)
    with pytest.raises(SimulationFailed, match=r"seed-77.*w raised ZeroDivisionError"):
        scheduler.run()


def test_histories_without_an_end_fail_with_the_seed():
    world = SimWorld(78)
    scheduler = Scheduler(world, max_steps=100)
    process = world.process("w")

    def for_ever() -> None:
        while True:
            process.store.exists("s3://b/x")

    scheduler.spawn(process, for_ever)
    with pytest.raises(SimulationFailed, match=r"78.*no end after 100 steps"):
        scheduler.run()


def test_what_fails_in_a_check_says_which_seed_replays_it():
    with pytest.raises(AssertionError) as caught, replayable(41):
        raise AssertionError("rows were lost")
    assert caught.value.__notes__ == ["replay with seed 41"]


def test_no_thread_stays_and_the_world_is_as_before():
    before = set(threading.enumerate())
    scheduler, _ = history(1)
    started = [thread for thread in set(threading.enumerate()) - before if "_live" in thread.name]
    assert started == []
    assert scheduler.world.pause is not scheduler.pause
    assert Scheduler(SimWorld(1)).run() == []


def test_exactly_one_winner_per_name_in_every_history():
    for seed in range(40):
        with replayable(seed):
            scheduler, outcomes = history(seed)
            claimed = [name for result, _ in outcomes for name in result]
            assert len(claimed) == len(set(claimed))
            for result, task in zip(outcomes, scheduler.tasks, strict=True):
                for name in result[0]:
                    assert scheduler.world.disk.objects[f"s3://b/{name}"][0] == task.process.name.encode()
