"""The real effects: the machine's clock, its entropy, and real waiting."""

from __future__ import annotations

import random
import time
import uuid

from floeberg.effects.protocols import Effects


class SystemClock:
    """The machine's clock."""

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic_ms(self) -> int:
        return time.monotonic_ns() // 1_000_000


class SystemIds:
    """Random ids from the machine's entropy."""

    def uuid(self) -> uuid.UUID:
        return uuid.uuid4()

    def snapshot_id(self) -> int:
        """As the reference implementation draws them: the two halves of a random uuid folded together, sign dropped."""
        number = uuid.uuid4().int
        return (number >> 64 ^ number & 0xFFFF_FFFF_FFFF_FFFF) & 0x7FFF_FFFF_FFFF_FFFF


class SystemRng:
    """Chance from the machine's entropy."""

    def __init__(self) -> None:
        self._random = random.SystemRandom()

    def uniform(self, low: float, high: float) -> float:
        return self._random.uniform(low, high)


class SystemSleeper:
    """Real waiting."""

    def sleep_ms(self, duration_ms: float) -> None:
        time.sleep(duration_ms / 1000)


def system_effects() -> Effects:
    """The effects of a real process."""
    return Effects(clock=SystemClock(), ids=SystemIds(), rng=SystemRng(), sleeper=SystemSleeper())
