"""Hazard 4: a compare-and-swap that silently becomes an overwrite loses acknowledged rows.

Here the store's part: `create` has exactly one winner, and a store that cannot promise it refuses.
"""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from floeberg.effects.protocols import Capabilities
from floeberg.errors import PreconditionFailed, UnsupportedFeature
from floeberg.testing.scheduler import Scheduler
from floeberg.testing.simulated import SimWorld

PROCESSES = 8
NAMES = 50
RACER = Path(__file__).with_name("create_racer.py")


def run_race(kind: str, root: Path) -> dict[int, list[int]]:
    """Name → the processes that were told that they own it."""
    racers = [
        subprocess.Popen(
            [sys.executable, str(RACER), kind, str(number)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for number in range(PROCESSES)
    ]
    for racer in racers:
        assert racer.stdout.readline() == "ready\n"
    owners: dict[int, list[int]] = {}
    for name in range(NAMES):
        for racer in racers:
            racer.stdin.write(f"{root}/metadata/v{name}.metadata.json\n")
        for racer in racers:
            racer.stdin.flush()
        replies = [racer.stdout.readline().strip() for racer in racers]
        owners[name] = [number for number, reply in enumerate(replies) if reply == "created"]
    for racer in racers:
        racer.stdin.close()
        assert racer.wait() == 0
        racer.stdout.close()
    return owners


def lost_updates(owners: dict[int, list[int]], root: Path) -> list[int]:
    """The names that do not have exactly one owner whose whole content is there."""
    return [
        name
        for name, claimed in owners.items()
        if len(claimed) != 1
        or (root / "metadata" / f"v{name}.metadata.json").read_bytes() != f"{claimed[0]}".encode() * 1000
    ]


def test_eight_processes_that_race_for_a_name_have_one_winner_each_time(tmp_path):
    owners = run_race("safe", tmp_path)
    assert lost_updates(owners, tmp_path) == []
    assert len(list((tmp_path / "metadata").iterdir())) == NAMES, "no temporary file stays"


def test_the_race_finds_a_store_that_checks_and_then_renames_over(tmp_path):
    assert lost_updates(run_race("overwriting", tmp_path), tmp_path) != []


def simulated_race(world: SimWorld) -> list[str]:
    """Four simulated writers try to take twenty names; what each was told to own."""
    scheduler = Scheduler(world)
    owned: list[str] = []
    for number in range(4):
        process = world.process(f"writer-{number}")

        def take(process=process) -> None:
            for name in range(20):
                try:
                    process.store.create(f"memory://w/v{name}", process.name.encode())
                except PreconditionFailed:
                    continue
                owned.append(f"v{name}")

        scheduler.spawn(process, take)
    scheduler.run()
    return owned


def test_simulated_writers_have_one_winner_each_and_the_check_finds_a_broken_store():
    assert set(Counter(simulated_race(SimWorld(4))).values()) == {1}
    assert max(Counter(simulated_race(SimWorld(4, create_overwrites=True))).values()) > 1


def test_a_store_without_the_capability_refuses_and_writes_nothing():
    world = SimWorld(4, capabilities=Capabilities(create_if_absent=False, atomic_rename=False, list_consistent=True))
    store = world.process().store
    with pytest.raises(UnsupportedFeature):
        store.create("memory://w/v1", b"x")
    assert list(store.list("memory://w/")) == []
