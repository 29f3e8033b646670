"""Credentials for files that a server vends: by the prefix of a location, and renewed before they end."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from floeberg.catalogs.rest.results import StorageCredential, TableResult
from floeberg.effects.protocols import Capabilities, Effects, FileInfo, Store
from floeberg.errors import CatalogError, UnsupportedFeature
from floeberg.storage.prefixed import PrefixedStores, StoreOptions, combined
from floeberg.storage.registry import ENDS_AT_MS, StoreRegistry
from floeberg.storage.secret import Secret

EXPIRY_KEYS: Final = (*ENDS_AT_MS.values(), "expiration-time")
EARLY_MS: Final = 5 * 60_000
"""Credentials are renewed this long before they end."""
REMOTE_SIGNING: Final = "s3.remote-signing-enabled"
_SAS_PREFIX: Final = "adls.sas-token."
_SAS_END_PREFIX: Final = "adls.sas-token-expires-at-ms."

Renew = Callable[[], Sequence[StorageCredential] | TableResult]


class VendedStores:
    """The stores of one table: with the server's credentials where it vends some, with the user's options elsewhere."""

    def __init__(
        self,
        table: str,
        *,
        own: Mapping[str, str | Secret],
        everywhere: StoreRegistry,
        effects: Effects,
        renew: Renew,
    ) -> None:
        self._table = table
        self._own = own
        self._everywhere = everywhere
        self._effects = effects
        self._renew = renew
        self._lock = threading.RLock()
        self._config: Mapping[str, str | Secret] = {}
        self._ends_ms: int | None = None
        self._stores = PrefixedStores(effects, StoreOptions(own), everywhere=everywhere)

    def __repr__(self) -> str:
        return f"VendedStores({self._table}, {self._stores.store_options!r})"

    def take(self, result: TableResult) -> None:
        """Works with what a load of the table gave; an answer to a commit gives nothing, and takes nothing away."""
        with self._lock:
            if result.config or result.credentials:
                self._config = result.config
                self._put(result.credentials)

    @property
    def store_options(self) -> StoreOptions:
        """The options that hold now, for making the same stores in another process: fresh ones where they end soon."""
        return self._current().store_options

    @property
    def wants_server_planning(self) -> bool:
        """Whether the table's configuration says that its scans are planned by the server."""
        return str(self._config.get("scan-planning-mode", "client")).lower() == "server"

    def for_location(self, location: str) -> Store:
        stores = self._current()
        if self._ends_ms is None:
            return stores.for_location(location)
        if stores.store_options.prefix_of(location) is None and not self._config:
            return stores.for_location(location)
        return _RenewedStore(self, location)

    def current_store(self, location: str) -> Store:
        """The store of a location with credentials that last a while."""
        return self._current().for_location(location)

    def _current(self) -> PrefixedStores:
        with self._lock:
            if self._ends_ms is not None and self._effects.clock.now_ms() >= self._ends_ms - EARLY_MS:
                found = self._renew()
                if isinstance(found, TableResult):
                    self._config, found = found.config, found.credentials
                self._put(found)
            return self._stores

    def _put(self, credentials: Sequence[StorageCredential]) -> None:
        self._refuse_remote_signing(credentials)
        below = {one.prefix: combined(self._own, _readable(one.config)) for one in credentials}
        everywhere = combined(self._own, _readable(self._config))
        ends = [end for config in (self._config, *(one.config for one in credentials)) if (end := _end_ms(config))]
        options = StoreOptions(everywhere, below)
        before = self._stores.store_options
        if (before.everywhere, before.below) != (options.everywhere, options.below):
            unchanged = options.everywhere == dict(self._own)
            self._stores = PrefixedStores(self._effects, options, everywhere=self._everywhere if unchanged else None)
        new_end = min(ends, default=None)
        if new_end is not None and self._ends_ms == new_end and self._effects.clock.now_ms() >= new_end:
            raise CatalogError(f"table {self._table}: the server vends credentials that have ended; look at its clock")
        self._ends_ms = new_end

    def _refuse_remote_signing(self, credentials: Sequence[StorageCredential]) -> None:
        """Signing by the server is not supported; without credentials in its place nothing could be read."""
        has_own = any(key.startswith("s3.") for key in self._own)
        vended = any("s3.access-key-id" in config for config in (self._config, *(one.config for one in credentials)))
        asks = str(self._config.get(REMOTE_SIGNING, "false")).lower() == "true"
        if asks and not has_own and not vended:
            raise UnsupportedFeature(
                f"table {self._table}: the server wants to sign every request to S3 itself (remote signing), which is not "
                "supported; let it vend credentials, or give the catalog s3.access-key-id and s3.secret-access-key"
            )


class _RenewedStore:
    """A store that is asked for anew at each call, so that long work outlives its first credentials."""

    def __init__(self, stores: VendedStores, location: str) -> None:
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
        return self._now(prefix).list(prefix)

    def list_folders(self, prefix: str) -> Iterator[str]:
        return self._now(prefix).list_folders(prefix)

    def _now(self, location: str) -> Store:
        return self._stores.current_store(location)


def _readable(config: Mapping[str, str | Secret]) -> dict[str, str | Secret]:
    """The options as our stores name them: a SAS token is vended under the name of its account."""
    result = dict(config)
    for key, value in config.items():
        if key.startswith(_SAS_PREFIX):
            result.setdefault("adls.sas-token", value)
            result.setdefault("adls.account-name", key.removeprefix(_SAS_PREFIX).partition(".")[0])
        elif key.startswith(_SAS_END_PREFIX):
            result.setdefault("adls.sas-token-expires-at-ms", value)
    return result


def _end_ms(config: Mapping[str, str | Secret]) -> int | None:
    ends = []
    for key, value in config.items():
        if key.startswith(EXPIRY_KEYS):
            text = value.reveal() if isinstance(value, Secret) else value
            if text.isdecimal():
                ends.append(int(text))
    return min(ends, default=None)
