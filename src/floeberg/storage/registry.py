"""Which store a location is in. One registry belongs to one catalog: nothing is shared between catalogs."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Iterable, Mapping
from typing import Final, NoReturn, Protocol

from floeberg.effects.protocols import Effects, Store
from floeberg.errors import InvalidInput, SecurityError, UnsupportedFeature
from floeberg.storage.local import LocalStore
from floeberg.storage.location import SCHEMES, Location, parse
from floeberg.storage.memory import MemoryStore
from floeberg.storage.retrying import RetryingStore
from floeberg.storage.secret import Secret, redact, redact_options, seal_options

OPTIONS = {
    "s3": {
        "s3.endpoint",
        "s3.region",
        "s3.access-key-id",
        "s3.secret-access-key",
        "s3.session-token",
        "s3.session-token-expires-at-ms",
        "s3.path-style-access",
        "s3.anonymous",
        "s3.connect-timeout",
        "s3.request-timeout",
    },
    "gcs": {
        "gcs.service.host",
        "gcs.credentials-file",
        "gcs.service-account-key",
        "gcs.oauth2.token",
        "gcs.oauth2.token-expires-at",
        "gcs.no-auth",
        "gcs.connect-timeout",
        "gcs.request-timeout",
    },
    "adls": {
        "adls.account-name",
        "adls.account-key",
        "adls.sas-token",
        "adls.sas-token-expires-at-ms",
        "adls.tenant-id",
        "adls.client-id",
        "adls.client-secret",
        "adls.endpoint",
        "adls.connect-timeout",
        "adls.request-timeout",
    },
    "hdfs": {"hdfs.host", "hdfs.port", "hdfs.user", "hdfs.kerberos-ticket"},
    "local": {"local.fsync"},
}
"""The options of stores, by their first word, as the other Iceberg libraries name them; `client.region` counts too."""

ENDS_AT_MS: Final = {
    "s3": "s3.session-token-expires-at-ms",
    "gs": "gcs.oauth2.token-expires-at",
    "abfs": "adls.sas-token-expires-at-ms",
}
"""By scheme, the option that says when vended credentials end, so that an error after it can tell."""
_NEVER_MS: Final = 253_402_300_800_000

_EXTRAS = {"s3": "s3", "gs": "s3", "abfs": "s3"}


def end_ms(text: str) -> int | None:
    """When credentials end, as an option says it; None for what is no time, and for one after the year 9999, by which servers
    say that they do not end."""
    return int(text) if text.isdecimal() and len(text) < 16 and int(text) < _NEVER_MS else None


class Stores(Protocol):
    """Something that knows the store of a location."""

    def for_location(self, location: str) -> Store:
        """The store that the location is in."""
        ...


class FixedStores:
    """One store for everything (tests, simulation)."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def for_location(self, location: str) -> Store:
        return self.store


class StoreRegistry:
    """Stores by scheme and authority, made at first use with the operator's options and kept."""

    def __init__(
        self,
        effects: Effects,
        options: Mapping[str, str | Secret] | None = None,
        *,
        allowed_schemes: Iterable[str] | None = None,
        stores: Mapping[str, Store] | None = None,
    ) -> None:
        """`stores` gives the store of a scheme outright; `allowed_schemes` refuses all others.

        Raises:
            UnsupportedFeature: an option for a store that is not known here (it might be one that protects data).
        """
        self._effects = effects
        self._options = seal_options(options or {})
        self._stores = dict(stores or {})
        self._cache: dict[tuple[str, str], Store] = {}
        self._lock = threading.Lock()
        self._allowed = frozenset(SCHEMES.values())
        if allowed_schemes is not None:
            unknown = [scheme for scheme in allowed_schemes if scheme not in SCHEMES]
            if unknown:
                raise InvalidInput(f"unknown schemes {unknown}; known are {', '.join(SCHEMES)}")
            self._allowed = frozenset(SCHEMES[scheme] for scheme in allowed_schemes)
        _check_options(self._options)

    def __repr__(self) -> str:
        return f"StoreRegistry({redact_options(self._options)})"

    def __reduce__(self) -> NoReturn:
        raise SecurityError("a StoreRegistry holds credentials and is never serialised; make one in the other process")

    @property
    def options(self) -> Mapping[str, str | Secret]:
        """The operator's options, for making the same stores in another process."""
        return dict(self._options)

    def for_location(self, location: str) -> Store:
        """The store that the location is in.

        Raises:
            InvalidInput: the location is malformed, or its scheme is not allowed.
            UnsupportedFeature: the client library for it is not installed.
        """
        parsed = parse(location)
        if parsed.scheme not in self._allowed:
            raise InvalidInput(
                f"{redact(location)}: the scheme {parsed.scheme} is not allowed here; allowed are "
                f"{', '.join(sorted(self._allowed))}",
                location=redact(location),
            )
        if (given := self._stores.get(parsed.scheme)) is not None:
            return given
        identity = (parsed.scheme, "" if parsed.scheme == "memory" else parsed.authority)
        with self._lock:
            store = self._cache.get(identity)
            if store is None:
                store = self._cache[identity] = self._open(parsed)
            return store

    def _open(self, location: Location) -> Store:
        if location.scheme == "file":
            fsync = str(self._options.get("local.fsync", "true")).lower() != "false"
            return LocalStore(self._effects.ids, fsync=fsync)
        if location.scheme == "memory":
            return MemoryStore(self._effects.clock)
        root = parse(f"{location.scheme}://{location.authority}/")
        if location.scheme == "hdfs":
            module, opener = "floeberg.storage.hdfs", "open_hdfs_store"
        else:
            module, opener = "floeberg.storage.object_store", "open_object_store"
        store: Store = getattr(_load(module, location), opener)(root, self._options, self._effects.ids)
        return RetryingStore(store, self._effects)


def _load(module: str, location: Location) -> object:
    """Imports a store's module at first use: its client library is optional."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        extra = _EXTRAS.get(location.scheme)
        hint = f"pip install 'floeberg[{extra}]'" if extra else "install pyarrow with Hadoop support"
        raise UnsupportedFeature(
            f"{location.scheme}://{location.authority} needs {error.name}, which is not installed: {hint}"
        ) from error


def _check_options(options: Mapping[str, object]) -> None:
    for name in options:
        known = OPTIONS.get(name.partition(".")[0])
        if known is not None and name not in known:
            raise UnsupportedFeature(
                f"the option {name!r} is not supported; known are {', '.join(sorted(known))}", option=name
            )
