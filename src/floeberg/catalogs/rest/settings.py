"""The settings of a REST catalog, under the Java runtime's names and PyIceberg's where they differ."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final
from urllib.parse import urlsplit

from floeberg.errors import InvalidInput, UnsupportedFeature
from floeberg.storage.prefixed import combined, without_credentials_of
from floeberg.storage.registry import OPTIONS
from floeberg.storage.secret import Secret, redact, seal_options

HEADER_PREFIX: Final = "header."
STORE_WORDS: Final = (*OPTIONS, "client")
SNAPSHOT_MODES: Final = ("all", "refs")
AUTH_TYPES: Final = ("none", "bearer", "basic", "oauth2", "sigv4")
TOKEN_TYPES: Final = tuple(
    f"urn:ietf:params:oauth:token-type:{kind}" for kind in ("access_token", "id_token", "jwt", "saml2", "saml1")
)
"""Keys that give a user's token, which is exchanged for one of the catalog, the preferred first."""

_OWN: Final = frozenset(
    {"prefix", "warehouse", "token", "credential", "scope", "audience", "resource", "oauth2-server-uri",
     "rest.authorization-url", "token-expires-in-ms", "token-refresh-enabled", "token-exchange-enabled",
     "rest.auth.type", "auth.type", "rest.auth.basic.username", "rest.auth.basic.password", "rest.sigv4-enabled",
     "rest.signing-region", "rest.signing-name", "rest.access-key-id", "rest.secret-access-key",
     "rest.session-token", "rest.sigv4.delegate-auth-type", "rest.auth.sigv4.delegate-auth-type", "rest-page-size",
     "rest.page-size", "snapshot-loading-mode", "rest-metrics-reporting-enabled", "rest-scan-planning-enabled",
     "scan-planning-mode", "rest.client.connection-timeout-ms", "rest.client.socket-timeout-ms",
     "view-endpoints-supported", "namespace-separator", "rest.namespace-separator", "ssl.cabundle",
     "ssl.client.cert", "ssl.client.key"}
)  # fmt: skip
_MEANINGLESS: Final = re.compile(
    r"rest\.(client\..*|http-client-impl|proxy\..*)|py-.*|io\.manifest\..*|auth\.session-timeout-ms|rest-table-cache\..*"
)
"""What other libraries tune of their own HTTP clients, sessions and caches."""
_DEFAULT_CONNECT_MS: Final = 10_000
_DEFAULT_READ_MS: Final = 60_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RestSettings:
    """What the user, and the server where it may, say of one REST catalog. Credentials are Secrets."""

    uri: str
    options: Mapping[str, str | Secret] = field(default_factory=dict)
    """Everything but the options of stores and headers."""
    headers: Mapping[str, str | Secret] = field(default_factory=dict)
    stores: Mapping[str, str | Secret] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"RestSettings({self.uri!r})"

    def text(self, key: str, *others: str) -> str | None:
        """The value under the first of the names that is set."""
        for name in (key, *others):
            value = self.options.get(name)
            if value is not None:
                return value.reveal() if isinstance(value, Secret) else value
        return None

    def secret(self, key: str) -> Secret | None:
        value = self.options.get(key)
        return Secret(value) if isinstance(value, str) else value

    def flag(self, key: str, *, default: bool) -> bool:
        value = self.text(key)
        return default if value is None else value.strip().lower() == "true"

    def milliseconds(self, key: str) -> int | None:
        """Raises InvalidInput for what is no number."""
        value = self.text(key)
        if value is None:
            return None
        if not value.strip().isdecimal():
            raise InvalidInput(f"the option {key} must be a number of milliseconds, not {value!r}")
        return int(value)

    @property
    def connect_timeout_ms(self) -> int:
        return self.milliseconds("rest.client.connection-timeout-ms") or _DEFAULT_CONNECT_MS

    @property
    def read_timeout_ms(self) -> int:
        return self.milliseconds("rest.client.socket-timeout-ms") or _DEFAULT_READ_MS

    @property
    def page_size(self) -> int | None:
        """How many names one page of a listing holds; None where the server decides."""
        value = self.text("rest-page-size", "rest.page-size")
        if value is None:
            return None
        if not value.strip().isdecimal() or int(value) < 1:
            raise InvalidInput(f"the option rest-page-size must be a positive number, not {value!r}")
        return int(value)

    @property
    def snapshot_mode(self) -> str:
        """`all`, or `refs` to load the snapshots that branches and tags point to first and the rest when asked for."""
        mode = (self.text("snapshot-loading-mode") or "all").lower()
        if mode not in SNAPSHOT_MODES:
            raise InvalidInput(f"the option snapshot-loading-mode must be all or refs, not {mode!r}")
        return mode

    @property
    def wants_server_planning(self) -> bool:
        return self.flag("rest-scan-planning-enabled", default=False) or self.text("scan-planning-mode") == "server"

    @property
    def secrets(self) -> tuple[Secret, ...]:
        """Every credential that is known, for masking texts."""
        values = (*self.options.values(), *self.headers.values(), *self.stores.values())
        return tuple(value for value in values if isinstance(value, Secret))


def rest_settings(
    name: str, *, uri: str | Secret | None, warehouse: str | None, options: Mapping[str, str | Secret]
) -> RestSettings:
    """The settings that the user gives. Raises InvalidInput for a missing or wrong uri and for options that nobody knows."""
    text = uri.reveal() if isinstance(uri, Secret) else uri
    given = {**options, **({} if warehouse is None else {"warehouse": warehouse})}
    for key in given:
        known = (
            key in _OWN
            or key in TOKEN_TYPES
            or key.startswith(HEADER_PREFIX)
            or key.partition(".")[0] in STORE_WORDS
            or _MEANINGLESS.fullmatch(key)
        )
        if not known:
            raise InvalidInput(
                f"catalog {name}: unknown option {key!r} of a REST catalog; docs/guide/rest-catalogs.md lists them"
            )
    return _settings(_checked_uri(name, text), given)


def merged(settings: RestSettings, *, defaults: Mapping[str, str], overrides: Mapping[str, str]) -> RestSettings:
    """The settings with the server's: its defaults below the user's, its overrides above. What decides where requests and
    credentials go, and how the client shows who it is, stays the user's."""
    headers = {f"{HEADER_PREFIX}{key}": value for key, value in settings.headers.items()}
    told = _settings(settings.uri, {**_allowed(defaults), **settings.options, **headers, **_allowed(overrides)})
    below = {**combined(settings.stores, without_credentials_of(settings.stores, defaults)), **settings.stores}
    return replace(told, stores=seal_options(combined(below, overrides)))


def origin(uri: str) -> tuple[str, str, int | None]:
    """Scheme, host and port: what credentials are bound to."""
    parts = urlsplit(uri)
    port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    return parts.scheme, (parts.hostname or "").lower(), port


def _allowed(given: Mapping[str, str]) -> dict[str, str]:
    """What a server may set besides options of stores: its prefix and separator, page sizes. Never the uri, a token's place,
    an authentication or a header."""
    free = ("prefix", "warehouse", "namespace-separator", "rest.namespace-separator", "rest-page-size",
            "snapshot-loading-mode", "rest-metrics-reporting-enabled", "scan-planning-mode",
            "view-endpoints-supported")  # fmt: skip
    return {key: value for key, value in given.items() if key in free}


def _settings(uri: str, given: Mapping[str, str | Secret]) -> RestSettings:
    sealed = seal_options(given)
    headers: dict[str, str | Secret] = {}
    stores: dict[str, str | Secret] = {}
    options: dict[str, str | Secret] = {}
    for key, value in sealed.items():
        if key.startswith(HEADER_PREFIX):
            headers[key.removeprefix(HEADER_PREFIX)] = value
        elif key.partition(".")[0] in STORE_WORDS:
            stores[key] = value
        else:
            options[key] = value
    return RestSettings(uri=uri, options=options, headers=headers, stores=stores)


def _checked_uri(name: str, uri: str | None) -> str:
    if not uri:
        raise InvalidInput(
            f"catalog {name}: a REST catalog needs a uri: catalog({name!r}, type='rest', uri='https://…')"
        )
    parts = urlsplit(uri)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InvalidInput(
            f"catalog {name}: the uri of a REST catalog begins with http:// or https://, not {redact(uri)}"
        )
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise InvalidInput(
            f"catalog {name}: a uri with a user, a password or a query would be written into logs; give the uri alone, and "
            "credentials as token, credential or rest.auth.type=basic"
        )
    return uri.rstrip("/")


def unsupported_endpoint(name: str, what: str, endpoint: str) -> UnsupportedFeature:
    """The error for what the server does not offer."""
    return UnsupportedFeature(
        f"catalog {name}: the REST server does not offer to {what}: its /v1/config does not list {endpoint}",
        catalog=name,
    )
