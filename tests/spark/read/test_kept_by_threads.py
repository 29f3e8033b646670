"""What a session keeps between statements is shared by the threads that use it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest

from floeberg.scan import kept_keys
from floeberg.scan.kept_keys import KeptKeys
from floeberg.spark.host import kept_frames
from floeberg.spark.host.kept_frames import KeptFrame, KeptFrames
from floeberg.spark.read.parquet import kept_relations
from floeberg.spark.read.parquet.kept_relations import KeptRelation, KeptRelations

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
def test_relations_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_relations, "_MAX_RELATIONS", 2)
    kept = KeptRelations()
    use(kept.get, lambda key: kept.put(key, KeptRelation(None, ["file"] * key)))
    assert kept._files == sum(len(one.listed) for one in kept._kept.values())


@pytest.mark.usefixtures("often_interrupted")
def test_frames_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_frames, "_MAX_FRAMES", 2)
    kept = KeptFrames()
    use(lambda key: kept.get(key, SPARK), lambda key: kept.put(key, KeptFrame(FRAME, None, [], None, key)))
    assert kept._files == sum(one.files for one in kept._kept.values())


@pytest.mark.usefixtures("often_interrupted")
def test_keys_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_keys, "_MAX_KEPT", 2)
    kept = KeptKeys()
    use(kept.get, lambda key: kept.put(key, (key,)))
    assert len(kept._kept) <= 2
