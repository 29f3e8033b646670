"""The stores of one table of a REST catalog, with the credentials that the server vends for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from floeberg.catalogs.rest.credential_source import CredentialSource
from floeberg.catalogs.rest.results import TableResult
from floeberg.catalogs.rest.vended import Vended, renewed_vended_options, vended_options
from floeberg.effects.protocols import Effects, Store
from floeberg.errors import UnsupportedFeature
from floeberg.storage.prefixed import StoreOptions
from floeberg.storage.registry import StoreRegistry
from floeberg.storage.renewed import RenewedStores
from floeberg.storage.secret import Secret

REMOTE_SIGNING: Final = "s3.remote-signing-enabled"

Renew = Callable[[Vended], Vended]
"""What a server vends in the place of what ends."""
Source = Callable[[Vended], CredentialSource | None]


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
        source: Source,
    ) -> None:
        self._table = table
        self._own = own
        self._ask = renew
        self._source = source
        self._vended = Vended()
        self._stores = RenewedStores(
            f"table {table}", effects, StoreOptions(own), renew=self._renewed, everywhere=everywhere, own=own
        )

    def __repr__(self) -> str:
        return f"VendedStores({self._table}, {self._stores!r})"

    def take(self, result: TableResult) -> None:
        """Works with what a load of the table gave; an answer to a commit gives nothing, and takes nothing away."""
        if result.vended.config or result.vended.credentials:
            self._stores.put(self._taken(result.vended))

    @property
    def store_options(self) -> StoreOptions:
        """The options that hold now, for making the same stores in another process: fresh ones where they end soon."""
        return self._stores.store_options

    @property
    def credential_source(self) -> CredentialSource | None:
        """Where another process asks for fresh credentials; None where those that there are do not end, or where the user
        forbids it."""
        return None if self._stores.store_options.ends_ms is None else self._source(self._vended)

    @property
    def wants_server_planning(self) -> bool:
        """Whether the table's configuration says that its scans are planned by the server."""
        return str(self._vended.config.get("scan-planning-mode", "client")).lower() == "server"

    def for_location(self, location: str) -> Store:
        return self._stores.for_location(location)

    def _renewed(self) -> StoreOptions:
        vended = self._ask(self._vended)
        options = renewed_vended_options(self._own, vended, f"table {self._table}")
        self._vended = vended
        return options

    def _taken(self, vended: Vended) -> StoreOptions:
        self._refuse_remote_signing(vended)
        self._vended = vended
        return vended_options(self._own, vended)

    def _refuse_remote_signing(self, vended: Vended) -> None:
        """Signing by the server is not supported; without credentials in its place nothing could be read."""
        has_own = any(key.startswith("s3.") for key in self._own)
        configs = (vended.config, *(one.config for one in vended.credentials))
        asks = str(vended.config.get(REMOTE_SIGNING, "false")).lower() == "true"
        if asks and not has_own and not any("s3.access-key-id" in config for config in configs):
            raise UnsupportedFeature(
                f"table {self._table}: the server wants to sign every request to S3 itself (remote signing), which is not "
                "supported; let it vend credentials, or give the catalog s3.access-key-id and s3.secret-access-key"
            )
