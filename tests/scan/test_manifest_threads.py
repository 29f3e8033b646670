"""How many manifests are worked on at a time."""

from __future__ import annotations

import threading
import time

import pytest

from floeberg.errors import StorageError
from floeberg.scan import manifest_threads
from floeberg.scan.manifest_threads import ManifestThreads
from floeberg.spec.snapshots.manifest_entry import ManifestFile


def _manifests(count: int, length: int) -> list[ManifestFile]:
    return [
        ManifestFile(manifest_path=f"m{number}.avro", manifest_length=length, partition_spec_id=0, added_snapshot_id=1)
        for number in range(count)
    ]


class Gauge:
    """An action that counts how many of its kind are under way."""

    def __init__(self, threads: ManifestThreads) -> None:
        self._threads = threads
        self._lock = threading.Lock()
        self._under_way = 0
        self.most = 0

    def __call__(self, manifest: ManifestFile) -> str:
        with self._lock:
            self._under_way += 1
            self.most = max(self.most, self._under_way)
        time.sleep(0.002)
        try:
            return self._threads.decoded(lambda: manifest.manifest_path.encode(), bytes.decode)
        finally:
            with self._lock:
                self._under_way -= 1


@pytest.mark.parametrize("threads", [1, 2, 8])
@pytest.mark.parametrize("length", [0, 10, 40])
def test_results_come_in_the_order_of_the_manifests(threads: int, length: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifest_threads, "AHEAD_BYTES", 35)
    own = ManifestThreads(threads)
    manifests = _manifests(30, length)
    assert list(own.in_order(Gauge(own), manifests)) == [manifest.manifest_path for manifest in manifests]


def test_large_manifests_are_not_all_read_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifest_threads, "AHEAD_BYTES", 50)
    monkeypatch.setattr(manifest_threads, "PROCESSORS", 2)
    most = {}
    for length in (1, 10, 1_000):
        own = ManifestThreads(8)
        gauge = Gauge(own)
        list(own.in_order(gauge, _manifests(40, length)))
        most[length] = gauge.most
    assert most[1] <= 8
    assert most[10] <= 5
    assert most[1_000] <= 3


def test_few_threads_work_on_few_manifests_ahead_of_what_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many processors there are: results that no one takes yet are held."""
    monkeypatch.setattr(manifest_threads, "PROCESSORS", 64)
    begun: list[str] = []
    results = ManifestThreads(2).in_order(lambda manifest: begun.append(manifest.manifest_path), _manifests(40, 1))
    next(results)
    time.sleep(0.2)  # what was begun ahead is done by then
    assert len(begun) <= 4
    assert len(list(results)) == 39


def test_an_error_of_one_manifest_ends_the_rest() -> None:
    seen: list[str] = []

    def action(manifest: ManifestFile) -> str:
        seen.append(manifest.manifest_path)
        if manifest.manifest_path == "m3.avro":
            raise StorageError("gone")
        return manifest.manifest_path

    with pytest.raises(StorageError, match="gone"):
        list(ManifestThreads(2).in_order(action, _manifests(1_000, 1)))
    assert len(seen) < 1_000
