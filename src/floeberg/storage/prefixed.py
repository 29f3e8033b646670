"""Stores whose credentials differ by the prefix of a location, as a REST catalog vends them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from floeberg.effects.protocols import Effects, Store
from floeberg.storage.registry import OPTIONS, StoreRegistry
from floeberg.storage.secret import Secret, is_secret_name

_ALIASES: Final = {"s3a": "s3", "s3n": "s3"}
_IDENTITIES: Final = ("s3.access-key-id", "adls.account-name", "adls.client-id", "adls.tenant-id")


@dataclass(frozen=True, slots=True)
class StoreOptions:
    """Options of stores: those for every location, and those for locations below a prefix, which stand in their place."""

    everywhere: Mapping[str, str | Secret] = field(default_factory=dict)
    below: Mapping[str, Mapping[str, str | Secret]] = field(default_factory=dict)
    ends_ms: int | None = None
    """When the first of the credentials among them ends; None where none does."""
    renew_at_ms: int | None = field(default=None, compare=False)
    """When they shall be renewed, as the process decided that got them."""

    def __repr__(self) -> str:
        return f"StoreOptions(below {sorted(self.below)})"

    def prefix_of(self, location: str) -> str | None:
        """The longest prefix that the location lies below."""
        found = [prefix for prefix in self.below if _lies_below(location, prefix)]
        return max(found, key=len, default=None)


class PrefixedStores:
    """One registry for each prefix, made at first use."""

    def __init__(self, effects: Effects, options: StoreOptions, *, everywhere: StoreRegistry | None = None) -> None:
        self._effects = effects
        self.store_options = options
        self._registries: dict[str | None, StoreRegistry] = {} if everywhere is None else {None: everywhere}

    def __repr__(self) -> str:
        return f"PrefixedStores({self.store_options!r})"

    def for_location(self, location: str) -> Store:
        prefix = self.store_options.prefix_of(location)
        registry = self._registries.get(prefix)
        if registry is None:
            options = self.store_options.everywhere if prefix is None else self.store_options.below[prefix]
            registry = self._registries.setdefault(prefix, StoreRegistry(self._effects, options))
        return registry.for_location(location)


def combined(own: Mapping[str, str | Secret], given: Mapping[str, str | Secret]) -> dict[str, str | Secret]:
    """The user's options of stores with those that a server gives. Credentials come from one side whole: the server's take
    the place of the user's, and where it gives none, its endpoint is not believed, because the user's credentials would
    be sent there."""
    known = {key: value for key, value in given.items() if _is_known(key)}
    result = dict(own)
    for word in OPTIONS:
        theirs = {key: value for key, value in known.items() if key.startswith(f"{word}.")}
        mine = {key: value for key, value in own.items() if key.startswith(f"{word}.") and _identifies(key)}
        if any(_identifies(key) for key in theirs):
            result = {key: value for key, value in result.items() if key not in mine} | theirs
        elif mine:
            result |= {key: value for key, value in theirs.items() if not _is_address(key)}
        else:
            result |= theirs
    if "client.region" in known:
        result["client.region"] = known["client.region"]
    return result


def without_credentials_of(own: Mapping[str, str | Secret], given: Mapping[str, str]) -> dict[str, str]:
    """What a server gives but for credentials of stores for which the user has some."""
    words = {key.partition(".")[0] for key in own if _identifies(key)}
    return {key: value for key, value in given.items() if not (_identifies(key) and key.partition(".")[0] in words)}


def has_credentials(options: Mapping[str, str | Secret]) -> bool:
    """Whether credentials of a store are among options."""
    return any(_identifies(key) and key.partition(".")[0] in OPTIONS for key in options)


def _is_known(key: str) -> bool:
    return key == "client.region" or key in OPTIONS.get(key.partition(".")[0], ())


def _identifies(key: str) -> bool:
    return key in _IDENTITIES or is_secret_name(key)


def _is_address(key: str) -> bool:
    return key.endswith((".endpoint", ".service.host", ".host", ".port"))


def _lies_below(location: str, prefix: str) -> bool:
    """Whether a location lies below a prefix; the aliases of S3's scheme mean the same. A prefix names a folder or a
    scheme alone (`s3`)."""
    place, start = _normal(location), _normal(prefix)
    if "://" not in start:
        return place.partition("://")[0] == start.rstrip(":/")
    start = start.rstrip("/")
    return place == start or place.startswith(f"{start}/") or start.endswith(":/")


def _normal(location: str) -> str:
    scheme, separator, rest = location.partition("://")
    return f"{_ALIASES.get(scheme, scheme)}{separator}{rest}"
