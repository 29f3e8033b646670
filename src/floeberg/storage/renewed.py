"""Stores whose credentials end: they are asked for anew before they do."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from floeberg.effects.protocols import Capabilities, Effects, FileInfo, Store
from floeberg.errors import CatalogError, FloebergError
from floeberg.storage.prefixed import PrefixedStores, StoreOptions
from floeberg.storage.registry import StoreRegistry
from floeberg.storage.retrying import listed_after
from floeberg.storage.secret import Secret

logger = logging.getLogger("floeberg.storage")

EARLY_MS: Final = 5 * 60_000
"""Credentials are renewed this long before they end, and those that last less than 25 minutes by a fifth of what is left."""
_EARLY_SHARE: Final = 5
TRY_AGAIN_MS: Final = 30_000

Renew = Callable[[], StoreOptions]


def timed(options: StoreOptions, now_ms: int) -> StoreOptions:
    """The options with the time at which they shall be renewed. One that stands there already stays: another process, which
    gets them when little of their time is left, is not to start long work with them."""
    if options.ends_ms is None or options.renew_at_ms is not None:
        return options
    left_ms = max(options.ends_ms - now_ms, 0)
    return replace(options, renew_at_ms=options.ends_ms - min(EARLY_MS, left_ms // _EARLY_SHARE))


class RenewedStores:
    """The stores of one table, with options that hold now. A renewal that fails is tried again while the old credentials
    last. Thread-safe; one thread at a time renews."""

    def __init__(
        self,
        subject: str,
        effects: Effects,
        options: StoreOptions,
        *,
        renew: Renew,
        everywhere: StoreRegistry | None = None,
        own: Mapping[str, str | Secret] | None = None,
    ) -> None:
        """`everywhere` are the stores that the user's own options make. `renew` raises FloebergError where it fails."""
        self._subject = subject
        self._effects = effects
        self._renew = renew
        self._everywhere = everywhere
        self._own = own
        self._lock = threading.RLock()
        self._renew_at_ms: int | None = None
        self._stores = self._made(options)
        self.put(options)

    def __repr__(self) -> str:
        return f"RenewedStores({self._subject}, {self._stores.store_options!r})"

    def put(self, options: StoreOptions) -> None:
        """Works with these options from now on; clients of stores are kept where nothing changes."""
        with self._lock:
            options = timed(options, self._effects.clock.now_ms())
            if options != self._stores.store_options:
                self._stores = self._made(options)
            else:
                self._stores.store_options = options
            self._renew_at_ms = None if options.ends_ms is None else options.renew_at_ms

    @property
    def store_options(self) -> StoreOptions:
        """The options that hold now, for making the same stores in another process: fresh ones where they end soon."""
        return self._current().store_options

    def for_location(self, location: str) -> Store:
        stores = self._current()
        options = stores.store_options
        if options.ends_ms is None or (options.prefix_of(location) is None and options.everywhere == self._own):
            return stores.for_location(location)
        return _RenewedStore(self, location)

    def current_store(self, location: str) -> Store:
        """The store of a location with credentials that last a while."""
        return self._current().for_location(location)

    def _made(self, options: StoreOptions) -> PrefixedStores:
        own = options.everywhere == self._own
        return PrefixedStores(self._effects, options, everywhere=self._everywhere if own else None)

    def _current(self) -> PrefixedStores:
        with self._lock:
            now_ms = self._effects.clock.now_ms()
            if self._renew_at_ms is not None and now_ms >= self._renew_at_ms:
                self._try_to_renew(now_ms)
            return self._stores

    def _try_to_renew(self, now_ms: int) -> None:
        """Raises CatalogError where the credentials have ended and there are no others."""
        ends_ms = self._stores.store_options.ends_ms
        assert ends_ms is not None
        try:
            options = self._renew()
            _check_that_they_last(options, now_ms)
        except FloebergError as failed:
            if now_ms >= ends_ms:
                raise CatalogError(
                    f"{self._subject}: the credentials that the catalog vended for its files ended at {_shown(ends_ms)} and "
                    f"cannot be renewed: {failed}; run it again, or let the catalog vend credentials that last longer"
                ) from failed
            logger.warning(
                "%s: credentials that end at %s cannot be renewed yet: %s", self._subject, _shown(ends_ms), failed
            )
            self._renew_at_ms = min(ends_ms, now_ms + TRY_AGAIN_MS)
            return
        self.put(options)


class _RenewedStore:
    """A store that is asked for anew at each call, so that long work outlives its first credentials."""

    def __init__(self, stores: RenewedStores, location: str) -> None:
        self._stores = stores
        self._location = location

    @property
    def capabilities(self) -> Capabilities:
        return self._now(self._location).capabilities

    def read(self, location: str, *, offset: int = 0, length: int | None = None) -> bytes:
        return self._now(location).read(location, offset=offset, length=length)

    def read_ranges(self, location: str, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        return self._now(location).read_ranges(location, ranges)

    def size(self, location: str) -> int:
        return self._now(location).size(location)

    def exists(self, location: str) -> bool:
        return self._now(location).exists(location)

    def write(self, location: str, content: bytes) -> None:
        self._now(location).write(location, content)

    def create(self, location: str, content: bytes) -> None:
        self._now(location).create(location, content)

    def replace(self, location: str, content: bytes) -> None:
        self._now(location).replace(location, content)

    def delete(self, location: str) -> None:
        self._now(location).delete(location)

    def delete_folder(self, location: str) -> None:
        self._now(location).delete_folder(location)

    def list(self, prefix: str) -> Iterator[FileInfo]:
        """Goes on with fresh credentials where they are renewed meanwhile, as far as the store lists by name."""
        store = self._now(prefix)
        found, last, is_ordered = store.list(prefix), "", True
        while (info := next(found, None)) is not None:
            is_ordered = is_ordered and info.location > last
            last = info.location
            yield info
            if is_ordered and (fresh := self._now(prefix)) is not store:
                store, found = fresh, listed_after(last, fresh.list(prefix))

    def list_folders(self, prefix: str) -> Iterator[str]:
        return self._now(prefix).list_folders(prefix)

    def _now(self, location: str) -> Store:
        return self._stores.current_store(location)


def _check_that_they_last(options: StoreOptions, now_ms: int) -> None:
    if options.ends_ms is not None and options.ends_ms <= now_ms:
        raise CatalogError(
            f"the server vends credentials that have ended, at {_shown(options.ends_ms)}; look at its clock and at that of "
            "this machine"
        )


def _shown(time_ms: int) -> str:
    return datetime.fromtimestamp(time_ms / 1000, UTC).isoformat(timespec="seconds")
