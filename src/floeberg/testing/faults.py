"""What can go wrong between a process and its store, and when."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Protocol


class SimCrash(BaseException):
    """The simulated process died here. Not an Exception, so that no handler of the code under test survives it."""


class Fault(Enum):
    """One thing that goes wrong with one call."""

    ERROR_BEFORE = "error before"
    """Nothing happened, and the caller is told that the store did not answer."""
    ERROR_AFTER = "error after"
    """It took effect, and the caller is told that the store failed."""
    REPLY_LOST = "reply lost"
    """It took effect, and the caller waits for a reply until its time-out."""
    LATE = "late"
    """The caller's time-out passes first; it takes effect some time afterwards."""
    SLOW = "slow"
    """It works, after a long time in which others go on."""
    THROTTLED = "throttled"
    """Nothing happened, and the store asks for fewer requests."""
    REFUSED = "refused"
    """Nothing happened, and the caller is told so: no space, read-only, not allowed."""
    STALE_LISTING = "stale listing"
    """A listing shows a past state (only where the store does not promise better)."""
    TORN = "torn write"
    """A plain write leaves a part of the content (only where the store allows it)."""


READS = frozenset({"read", "read_ranges", "size", "exists", "list", "list_folders"})
WRITES = frozenset({"write", "create", "replace", "delete"})

APPLICABLE: Mapping[Fault, frozenset[str]] = {
    Fault.ERROR_BEFORE: READS | WRITES,
    Fault.ERROR_AFTER: WRITES,
    Fault.REPLY_LOST: WRITES,
    Fault.LATE: WRITES,
    Fault.SLOW: READS | WRITES,
    Fault.THROTTLED: READS | WRITES,
    Fault.REFUSED: frozenset({"write", "create", "replace"}),
    Fault.STALE_LISTING: frozenset({"list", "list_folders"}),
    Fault.TORN: frozenset({"write", "replace"}),
}
"""The operations that a fault can strike. Other operations (an SQL statement) count as `write` when they change."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a process to the outside: its number in that process from 1 on, and what it does."""

    number: int
    process: str
    operation: str
    location: str


class Faults(Protocol):
    """Decides what happens to a call."""

    def strike(self, call: Call) -> Fault | None:
        """The fault of this call, if any."""
        ...


class NoFaults:
    """Everything works."""

    def strike(self, call: Call) -> Fault | None:
        return None


class RandomFaults:
    """Each call fails with the given rate, by one of the kinds, drawn from a seed."""

    def __init__(self, seed: int | str, *, rate: float, kinds: Iterable[Fault] = tuple(Fault)) -> None:
        self._random = random.Random(f"faults {seed}")
        self._rate = rate
        self._kinds = tuple(kinds)

    def strike(self, call: Call) -> Fault | None:
        if self._random.random() >= self._rate:
            return None
        fitting = [kind for kind in self._kinds if call.operation in APPLICABLE[kind]]
        return self._random.choice(fitting) if fitting else None


class ScriptedFaults:
    """The calls of the given numbers fail as given; or the first calls of the given operations."""

    def __init__(
        self, by_number: Mapping[int, Fault] | None = None, *, by_operation: Mapping[str, Fault] | None = None
    ) -> None:
        self._by_number = dict(by_number or {})
        self._by_operation = dict(by_operation or {})

    def strike(self, call: Call) -> Fault | None:
        if call.number in self._by_number:
            return self._by_number.pop(call.number)
        return self._by_operation.pop(call.operation, None)


@dataclass(frozen=True, slots=True)
class CrashPoint:
    """The process dies before or after its call of that number takes effect."""

    number: int
    after: bool
