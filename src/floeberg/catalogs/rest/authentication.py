"""How requests show who sends them: not at all, by a token, a user and password, OAuth2, or AWS signatures over these."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Final

import httpx

from floeberg.catalogs.rest.http import Authentication
from floeberg.catalogs.rest.oauth2 import OAuth2
from floeberg.catalogs.rest.settings import AUTH_TYPES, TOKEN_TYPES, RestSettings
from floeberg.catalogs.rest.sigv4 import SigV4
from floeberg.effects.protocols import Effects
from floeberg.errors import InvalidInput
from floeberg.storage.secret import Secret

_CLASSES: Final = {
    "org.apache.iceberg.rest.auth.noopauthmanager": "none",
    "org.apache.iceberg.rest.auth.basicauthmanager": "basic",
    "org.apache.iceberg.rest.auth.oauth2manager": "oauth2",
    "org.apache.iceberg.aws.rest.sigv4authmanager": "sigv4",
    "legacyoauth2": "oauth2",
    "noop": "none",
}


class FixedHeaders:
    """The same headers with every request: a bearer token, a user and password, or none."""

    def __init__(self, headers: Mapping[str, Secret]) -> None:
        self._headers = dict(headers)

    def __repr__(self) -> str:
        return f"FixedHeaders({', '.join(self._headers)})"

    @property
    def secrets(self) -> tuple[Secret, ...]:
        return tuple(self._headers.values())

    def sign(self, request: httpx.Request) -> None:
        for name, value in self._headers.items():
            request.headers[name] = value.reveal()

    def renew(self) -> bool:
        return False

    def handed_on(self) -> Mapping[str, Secret]:
        return {}


def authentication(name: str, settings: RestSettings, *, client: httpx.Client, effects: Effects) -> Authentication:
    """The authentication that the settings ask for: by `rest.auth.type`, or by the credentials that are given. Raises
    InvalidInput, and UnsupportedFeature when a signature needs botocore and it is not installed."""
    stated = settings.text("rest.auth.type", "auth.type")
    kind = None if stated is None else _CLASSES.get(stated.lower(), stated.lower())
    if kind is None:
        kind = "sigv4" if settings.flag("rest.sigv4-enabled", default=False) else _implied(settings)
    if kind not in AUTH_TYPES:
        raise InvalidInput(f"catalog {name}: unknown rest.auth.type {stated!r}; one of {', '.join(AUTH_TYPES)}")
    if kind != "sigv4":
        return _plain(name, kind, settings, client=client, effects=effects)
    delegate = settings.text("rest.auth.sigv4.delegate-auth-type", "rest.sigv4.delegate-auth-type")
    inner = _CLASSES.get(delegate.lower(), delegate.lower()) if delegate else _implied(settings)
    return SigV4(name, settings, inner=_plain(name, inner, settings, client=client, effects=effects))


def _implied(settings: RestSettings) -> str:
    """What the given credentials mean where nothing names the kind."""
    if settings.text("credential") or any(settings.text(key) for key in TOKEN_TYPES):
        return "oauth2"
    if settings.text("token"):
        return "oauth2" if settings.text("oauth2-server-uri", "rest.authorization-url") else "bearer"
    return "none"


def _plain(name: str, kind: str, settings: RestSettings, *, client: httpx.Client, effects: Effects) -> Authentication:
    if kind == "none":
        return FixedHeaders({})
    if kind == "bearer":
        token = settings.secret("token")
        if not token:
            raise InvalidInput(f"catalog {name}: rest.auth.type=bearer needs a token")
        return FixedHeaders({"Authorization": Secret(f"Bearer {token.reveal()}")})
    if kind == "basic":
        user, password = settings.text("rest.auth.basic.username"), settings.text("rest.auth.basic.password")
        if user is None or password is None:
            raise InvalidInput(
                f"catalog {name}: rest.auth.type=basic needs rest.auth.basic.username and rest.auth.basic.password"
            )
        return FixedHeaders({"Authorization": basic(user, password)})
    if kind == "oauth2":
        return OAuth2(name, settings, client=client, effects=effects)
    raise InvalidInput(f"catalog {name}: requests cannot be signed twice; {kind!r} is no authentication below sigv4")


def basic(user: str, password: str) -> Secret:
    """The header value of a user and password."""
    return Secret("Basic " + base64.b64encode(f"{user}:{password}".encode()).decode())
