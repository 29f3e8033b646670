"""What a session keeps between statements is shared by the threads that use it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest

from floeberg.scan.last_used import LastUsed
from floeberg.spark.host.calls.kept_frames import KeptFrame, KeptFrames

SPARK: Any = object()
FRAME = SimpleNamespace(sparkSession=SPARK)


@pytest.fixture
def often_interrupted() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def use(get: Callable[[int], object], put: Callable[[int], None]) -> None:
    """Threads ask for few things, of which still fewer are kept."""

    def work(seed: int) -> None:
        for number in range(seed, 4_000):
            key = number * 7 % 5
            if get(key) is None:
                put(key)

    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(work, seed) for seed in range(4)]:
            done.result()


@pytest.mark.usefixtures("often_interrupted")
def test_values_are_kept_within_their_bounds() -> None:
    kept: LastUsed[int] = LastUsed(most=3, most_size=6)
    use(kept.get, lambda key: kept.put(key, key, size=key))
    assert len(kept._kept) <= 3
    assert kept._size == sum(one.size for one in kept._kept.values()) <= 6


def test_what_is_too_large_is_not_kept_and_what_is_replaced_counts_once() -> None:
    kept: LastUsed[str] = LastUsed(most=2, most_size=6)
    kept.put("large", "x", size=7)
    for _ in range(3):
        kept.put("a", "x", size=4)
    kept.put("b", "y", size=2)
    assert [kept.get(key) for key in ("large", "a", "b")] == [None, "x", "y"]
    kept.put("c", "z")
    assert [kept.get(key) for key in ("a", "b", "c")] == [None, "y", "z"]


def test_a_frame_of_another_session_is_not_used() -> None:
    kept = KeptFrames()
    kept.put("key", KeptFrame(FRAME, None, [], None, 1))
    assert kept.get("key", SPARK) is not None
    assert kept.get("key", object()) is None
