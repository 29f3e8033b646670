"""The HTTP client of one REST catalog, as its settings say."""

from __future__ import annotations

from typing import Final

import httpx

from floeberg.catalogs.rest.authentication import authentication
from floeberg.catalogs.rest.http import RestClient
from floeberg.catalogs.rest.settings import RestSettings
from floeberg.effects.protocols import Effects
from floeberg.errors import InvalidInput
from floeberg.storage.secret import Secret

ACCESS_DELEGATION: Final = "X-Iceberg-Access-Delegation"
CLIENT_VERSION: Final = "X-Client-Version"


def connect(
    name: str, settings: RestSettings, *, effects: Effects, transport: httpx.BaseTransport | None = None
) -> RestClient:
    """A client that has sent nothing yet. Raises InvalidInput for settings that do not fit."""
    client = _http_client(name, settings, transport)
    try:
        return RestClient(
            settings.uri,
            client=client,
            authentication=authentication(name, settings, client=client, effects=effects),
            effects=effects,
            secrets=settings.secrets,
        )
    except BaseException:
        client.close()
        raise


def _http_client(name: str, settings: RestSettings, transport: httpx.BaseTransport | None) -> httpx.Client:
    timeout = httpx.Timeout(
        settings.read_timeout_ms / 1000,
        connect=settings.connect_timeout_ms / 1000,
        pool=settings.connect_timeout_ms / 1000,
    )
    headers = {
        CLIENT_VERSION: "floeberg",
        ACCESS_DELEGATION: "vended-credentials",
        **{key: value.reveal() if isinstance(value, Secret) else value for key, value in settings.headers.items()},
    }
    certificate, key = settings.text("ssl.client.cert"), settings.text("ssl.client.key")
    cert = None if certificate is None else (certificate, key) if key else certificate
    verify: bool | str = settings.text("ssl.cabundle") or True
    try:
        return httpx.Client(headers=headers, timeout=timeout, transport=transport, verify=verify, cert=cert)
    except OSError as error:
        raise InvalidInput(
            f"catalog {name}: the certificates of ssl.cabundle, ssl.client.cert and ssl.client.key cannot be read in this "
            f"process: {error}"
        ) from error
