"""What a server vends for a table's files, as options of stores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from floeberg.errors import CatalogError
from floeberg.storage.prefixed import StoreOptions, combined, has_credentials
from floeberg.storage.registry import ENDS_AT_MS, end_ms
from floeberg.storage.secret import Secret, seal_options

EXPIRY_KEYS: Final = (*ENDS_AT_MS.values(), "expiration-time")
SNAPSHOTS_OF_REFS: Final = {"snapshots": "refs"}
"""The least that loading a table can be asked for."""
_SAS_PREFIX: Final = "adls.sas-token."
_SAS_END_PREFIX: Final = "adls.sas-token-expires-at-ms."


@dataclass(frozen=True, slots=True)
class StorageCredential:
    """Options of stores, credentials among them, for the locations below a prefix."""

    prefix: str
    config: Mapping[str, str | Secret]

    def __repr__(self) -> str:
        return f"StorageCredential({self.prefix!r})"


@dataclass(frozen=True, slots=True)
class Vended:
    """A table's configuration, and credentials by prefix."""

    config: Mapping[str, str | Secret] = field(default_factory=dict)
    credentials: tuple[StorageCredential, ...] = ()

    def __repr__(self) -> str:
        return f"Vended({self.credentials!r})"

    @property
    def has_ending_config(self) -> bool:
        """Whether the configuration itself holds credentials that end: only loading the table gives others."""
        return _end_ms(self.config) is not None


def vended_by(document: Mapping[str, object]) -> Vended:
    """What the answer to a load of a table vends."""
    return Vended(_sealed(document.get("config")), storage_credentials(document))


def storage_credentials(document: Mapping[str, object]) -> tuple[StorageCredential, ...]:
    """The `storage-credentials` of an answer."""
    listed = document.get("storage-credentials")
    return tuple(
        StorageCredential(str(one["prefix"]), _sealed(one.get("config")))
        for one in (listed if isinstance(listed, list) else [])
        if isinstance(one, dict) and isinstance(one.get("prefix"), str)
    )


def vended_options(own: Mapping[str, str | Secret], vended: Vended) -> StoreOptions:
    """The user's options of stores with what a server vends."""
    below = {one.prefix: combined(own, _readable(one.config)) for one in vended.credentials}
    configs = (vended.config, *(one.config for one in vended.credentials))
    ends = [end for config in configs if (end := _end_ms(config)) is not None]
    return StoreOptions(combined(own, _readable(vended.config)), below, min(ends, default=None))


def renewed_vended_options(own: Mapping[str, str | Secret], vended: Vended, subject: str) -> StoreOptions:
    """The options with what a server vends in the place of credentials that end. Raises CatalogError where it vends none: a
    store without credentials would go on with those of the machine."""
    if not any(has_credentials(config) for config in (vended.config, *(one.config for one in vended.credentials))):
        raise CatalogError(f"{subject}: the server vends no credentials for its files any more")
    return vended_options(own, vended)


def _sealed(value: object) -> dict[str, str | Secret]:
    if not isinstance(value, dict):
        return {}
    return seal_options({str(key): text for key, text in value.items() if isinstance(text, str)})


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
    stated = [value for key, value in config.items() if key.startswith(EXPIRY_KEYS)]
    ends = [end_ms(value.reveal() if isinstance(value, Secret) else value) for value in stated]
    return min((end for end in ends if end is not None), default=None)
