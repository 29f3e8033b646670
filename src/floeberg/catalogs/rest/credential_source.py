"""Where another process asks for fresh credentials of a table's files. Spark's tasks carry it, so it needs no HTTP library
before it asks."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from floeberg.effects.protocols import Effects
from floeberg.errors import UnsupportedFeature
from floeberg.storage.prefixed import StoreOptions
from floeberg.storage.secret import Secret, TravellingSecret

RENEWAL_ENABLED: Final = "client.refresh-credentials-enabled"
"""The Java runtime's name for the setting that forbids renewal."""

Packed = tuple[tuple[str, str | TravellingSecret], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CredentialSource:
    """One request to one server, with what shows who asks. Its text shows no credential. Two that are equal have the same
    rights."""

    catalog: str
    subject: str
    uri: str
    path: str
    by_endpoint: bool
    """Whether the path is the server's endpoint for credentials; otherwise it loads the table."""
    options: Packed
    headers: Packed
    stores: Packed
    """The user's own options of stores."""
    config: Packed
    """The table's configuration, which an endpoint for credentials does not tell again."""

    def __repr__(self) -> str:
        return f"CredentialSource({self.uri!r}, {self.path!r})"

    def renewed(self, effects: Effects) -> StoreOptions:
        """Options of stores with fresh credentials. Raises Unavailable, Unauthorized, TableNotFound and other
        FloebergErrors."""
        try:
            requests = importlib.import_module("floeberg.catalogs.rest.credential_requests")
        except ModuleNotFoundError as error:
            raise UnsupportedFeature(
                f"{self.subject}: asking the catalog for fresh credentials needs {error.name} in this process; install it on "
                "Spark's executors: pip install 'floeberg[rest]'"
            ) from error
        options: StoreOptions = requests.renewed_options(self, effects)
        return options


def packed(options: Mapping[str, str | Secret]) -> Packed:
    """Options as they travel."""
    return tuple(
        (key, TravellingSecret(value) if isinstance(value, Secret) else value) for key, value in sorted(options.items())
    )


def unpacked(options: Packed) -> dict[str, str | Secret]:
    """Options as they were. Raises InvalidInput where a credential that travels by its name is not found here."""
    return {key: value.arrived() if isinstance(value, TravellingSecret) else value for key, value in options}
