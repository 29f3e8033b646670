"""Stores whose credentials are renewed while they are used."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from floeberg.effects.protocols import FileInfo
from floeberg.errors import StorageError
from floeberg.storage import renewed
from floeberg.storage.prefixed import StoreOptions
from floeberg.storage.renewed import RenewedStores
from floeberg.testing.simulated import EPOCH_MS, SimWorld

HOUR_MS = 3_600_000
FOLDER = "s3://b/x"


@dataclass
class Bucket:
    """Lists some names, which takes seven minutes for each at the first time, with credentials that last an hour."""

    names: list[str]
    world: SimWorld = field(default_factory=SimWorld)
    seen: set[str] = field(default_factory=set)
    asked: int = 0

    def now_ms(self) -> int:
        return EPOCH_MS + int(self.world.time_ms)

    def renewed(self) -> StoreOptions:
        self.asked += 1
        ends_ms = self.now_ms() + HOUR_MS
        return StoreOptions({}, {"s3://b": {"s3.session-token": f"{ends_ms}"}}, ends_ms)

    def names_listed(self) -> list[str]:
        stores = RenewedStores("table lake.db.t", self.world.process().effects, self.renewed(), renew=self.renewed)
        return [info.location.removeprefix(f"{FOLDER}/") for info in stores.for_location(FOLDER).list(FOLDER)]


@dataclass
class Listing:
    """A client of the bucket."""

    bucket: Bucket
    ends_ms: int

    def list(self, prefix: str) -> Iterator[FileInfo]:
        for name in self.bucket.names:
            if name not in self.bucket.seen:
                self.bucket.world.time_ms += 7 * 60_000
            self.bucket.seen.add(name)
            if self.bucket.now_ms() >= self.ends_ms:
                raise StorageError("the token has ended")
            yield FileInfo(f"{prefix}/{name}", 1, 0)


def opened(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> Bucket:
    class Clients:
        def __init__(self, effects: object, options: StoreOptions, *, everywhere: object) -> None:
            self.store_options = options
            self._listing = Listing(bucket, options.ends_ms or 0)

        def for_location(self, location: str) -> Listing:
            return self._listing

    monkeypatch.setattr(renewed, "PrefixedStores", Clients)
    return bucket


def test_a_listing_that_outlives_its_credentials_goes_on_with_fresh_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    bucket = opened(Bucket([f"{number:02}" for number in range(24)]), monkeypatch)
    assert bucket.names_listed() == bucket.names
    assert bucket.asked == 4


@pytest.mark.parametrize(("swapped", "said"), [(1, "the token has ended"), (20, "is listed after")])
def test_of_a_store_that_lists_in_another_order_nothing_is_left_out(
    swapped: int, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"{number:02}" for number in range(24)]
    names.insert(swapped, names.pop(0))
    bucket = opened(Bucket(names), monkeypatch)
    with pytest.raises(StorageError, match=said):
        bucket.names_listed()
