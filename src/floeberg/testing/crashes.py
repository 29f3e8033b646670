"""Every point at which a writer can die or a call can fail: at each of its calls to the outside, for each kind of change."""

from __future__ import annotations

from dataclasses import dataclass

from floeberg.testing.faults import CrashPoint, Fault, Faults, ScriptedFaults, SimCrash
from floeberg.testing.scheduler import SimulationFailed
from floeberg.testing.sim_catalogs import LOCATION
from floeberg.testing.sim_reader import Anomaly
from floeberg.testing.simulate import Player, Setting
from floeberg.testing.simulated import SimProcess
from floeberg.testing.workload import Writer


@dataclass(frozen=True, slots=True)
class Crashes:
    """How many points were tried, and after how many of them the change was there."""

    tried: int
    took_effect: int


def quiet_setting(catalog: str, format_version: int, **other: object) -> Setting:
    """A setting in which nothing goes wrong by itself."""
    given: dict[str, object] = {
        "partitioned": True,
        "evolves_spec": False,
        "writers": 1,
        "fault_rate": 0.0,
        "crashes": False,
        "skewed_clocks": False,
        "keeps_versions": None,
        "merges_manifests": True,
    }
    return Setting(catalog=catalog, format_version=format_version, **{**given, **other})  # type: ignore[arg-type]


def crash_everywhere(kind: str, setting: Setting, seed: object = 0) -> Crashes:
    """Makes one change again and again, and dies at each point in turn; each time the table must be whole, the change
    there or not there, and another writer able to go on. Raises SimulationFailed, which names the point."""
    calls = _make(kind, setting, seed, None)[0]
    took_effect = 0
    for number in range(1, calls + 1):
        for after in (False, True):
            try:
                took_effect += _make(kind, setting, seed, CrashPoint(number, after))[1]
            except Anomaly as error:
                when = "after" if after else "before"
                raise SimulationFailed(
                    f"{kind} on {setting.catalog} that dies {when} call {number} of {calls}: {error}"
                ) from error
    return Crashes(2 * calls, took_effect)


def fail_everywhere(kind: str, setting: Setting, fault: Fault, seed: object = 0) -> Crashes:
    """Makes one change again and again, and lets one call fail each time: what the writer is told must be true. Raises
    SimulationFailed, which names the call."""
    calls = _make(kind, setting, seed, None)[0]
    took_effect = 0
    for number in range(1, calls + 1):
        try:
            took_effect += _make(kind, setting, seed, None, ScriptedFaults({number: fault}))[1]
        except Anomaly as error:
            raise SimulationFailed(
                f"{kind} on {setting.catalog} with {fault.value} at call {number} of {calls}: {error}"
            ) from error
    return Crashes(calls, took_effect)


def _make(
    kind: str, setting: Setting, seed: object, crash: CrashPoint | None, faults: Faults | None = None
) -> tuple[int, bool]:
    """How many calls the change made, and whether it took effect."""
    player = Player(seed, setting)
    process: SimProcess = player.world.process("writer", crash=crash, faults=faults)
    writer = Writer(process.name, player.shared, player.world.seed, location=LOCATION)
    first = player.catalog.count() - 1
    try:
        player.write(process, writer, [kind])
    except SimCrash as died:
        if crash is None:
            raise SimulationFailed("a writer died without a cause") from died
    if crash is None and faults is None and not player.history.done:
        raise SimulationFailed(f"{kind} has nothing to do in {setting}")
    before = player.catalog.count()
    player.judge(first)
    return process.calls, before > first + 1
