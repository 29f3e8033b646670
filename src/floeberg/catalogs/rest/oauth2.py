"""OAuth2: a token for client credentials, renewed before it ends, and exchanged for a user's where one is given.

https://datatracker.ietf.org/doc/html/rfc6749#section-4.4, https://datatracker.ietf.org/doc/html/rfc8693
"""

from __future__ import annotations

import base64
import binascii
import logging
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import httpx
import msgspec

from floeberg.catalogs.rest.http import Answer, json_object, post_form
from floeberg.catalogs.rest.settings import TOKEN_TYPES, RestSettings, origin
from floeberg.effects.protocols import Effects
from floeberg.errors import CatalogError, FloebergError, InvalidInput, Unauthorized, Unavailable
from floeberg.storage.secret import Secret, redact

logger = logging.getLogger("floeberg.rest")

DEFAULT_PATH: Final = "v1/oauth/tokens"
DEFAULT_SCOPE: Final = "catalog"
ACCESS_TOKEN: Final = "urn:ietf:params:oauth:token-type:access_token"
_EXCHANGE: Final = "urn:ietf:params:oauth:grant-type:token-exchange"
_EARLY_SHARE: Final = 0.1
_EARLIEST_MS: Final = 60_000
_LIFETIME_WITHOUT_CLAIM_MS: Final = 3_600_000


@dataclass(frozen=True, slots=True)
class Token:
    """A bearer token, and when it shall be renewed (None: never by itself)."""

    value: Secret
    renew_at_ms: int | None = None


class OAuth2:
    """Bearer tokens from a token server. Thread-safe; one request at a time fetches."""

    def __init__(self, name: str, settings: RestSettings, *, client: httpx.Client, effects: Effects) -> None:
        self._name = name
        self._settings = settings
        self._client = client
        self._effects = effects
        self._lock = threading.Lock()
        self._given = settings.secret("token")
        self._subject = next(((key, token) for key in TOKEN_TYPES if (token := settings.secret(key))), None)
        self._client_id, self._client_secret = _split(settings.secret("credential"))
        self._uri = _token_uri(name, settings)
        self._token: Token | None = None
        self._seen: set[Secret] = set()
        if self._given is None and self._client_secret is None:
            raise InvalidInput(
                f"catalog {name}: OAuth2 needs credential='id:secret' or a token"
                + (" besides the user's token, to exchange it" if self._subject else "")
            )

    def __repr__(self) -> str:
        return f"OAuth2({self._uri!r})"

    @property
    def secrets(self) -> tuple[Secret, ...]:
        known = (self._given, self._client_secret, self._subject[1] if self._subject else None)
        return (*(one for one in known if one), *self._seen)

    def sign(self, request: httpx.Request) -> None:
        request.headers["Authorization"] = f"Bearer {self._current().value.reveal()}"

    def renew(self) -> bool:
        """A new token, when one can be had: with credentials, or in exchange for the one that there is."""
        with self._lock:
            before = self._token
            if not self._can_renew:
                return False
            self._token = self._fetch(before)
            return True

    def handed_on(self) -> Mapping[str, Secret]:
        """The token of now, where only a token that still holds can be exchanged for the next."""
        if self._client_secret is not None or self._subject is not None:
            return {}
        return {"token": self._current().value}

    @property
    def _can_renew(self) -> bool:
        if not self._settings.flag("token-refresh-enabled", default=True):
            return False
        return self._client_secret is not None or self._exchanges

    @property
    def _exchanges(self) -> bool:
        """Whether an old token is exchanged for a new one; without credentials there is no other way."""
        return self._settings.flag("token-exchange-enabled", default=self._client_secret is None)

    def _current(self) -> Token:
        with self._lock:
            token = self._token
            if token is None:
                token = self._token = self._fetch(None)
            elif (
                token.renew_at_ms is not None and self._effects.clock.now_ms() >= token.renew_at_ms and self._can_renew
            ):
                try:
                    token = self._token = self._fetch(token)
                except (Unavailable, CatalogError) as error:
                    logger.warning("catalog %s: the token could not be renewed yet: %s", self._name, error)
            return token

    def _fetch(self, before: Token | None) -> Token:
        """A token of the catalog, exchanged for the user's where there is one."""
        base = self._base(before)
        if self._subject is None:
            return base
        kind, subject = self._subject
        form = {
            "grant_type": _EXCHANGE,
            "subject_token": subject.reveal(),
            "subject_token_type": kind,
            "actor_token": base.value.reveal(),
            "actor_token_type": ACCESS_TOKEN,
        }
        return self._ask(form, authorization=f"Bearer {base.value.reveal()}")

    def _base(self, before: Token | None) -> Token:
        if before is None and self._given is not None:
            return self._with_lifetime(self._given, None)
        if before is not None and self._exchanges and self._subject is None:
            try:
                return self._exchanged(before)
            except Unauthorized:
                if self._client_secret is None:
                    raise
        if self._client_secret is None:
            assert self._given is not None
            return self._with_lifetime(self._given, None)
        form = {"grant_type": "client_credentials", "client_secret": self._client_secret.reveal()}
        if self._client_id:
            form["client_id"] = self._client_id
        return self._ask(form, authorization=None)

    def _exchanged(self, before: Token) -> Token:
        old = before.value.reveal()
        form = {"grant_type": _EXCHANGE, "subject_token": old, "subject_token_type": ACCESS_TOKEN}
        authorization = f"Bearer {old}"
        if self._client_secret is not None and self._client_id:
            pair = f"{self._client_id}:{self._client_secret.reveal()}"
            authorization = "Basic " + base64.b64encode(pair.encode()).decode()
        return self._ask(form, authorization=authorization)

    def _ask(self, form: dict[str, str], *, authorization: str | None) -> Token:
        for key in ("scope", "audience", "resource"):
            value = self._settings.text(key) or (DEFAULT_SCOPE if key == "scope" else None)
            if value:
                form[key] = value
        headers = {} if authorization is None else {"Authorization": authorization}
        answer = post_form(self._client, self._uri, form, headers=headers, mask=self._masked)
        if not answer.is_ok:
            raise self._refused(answer)
        document = json_object(answer, f"the token server at {self._uri}")
        token = document.get("access_token")
        if not isinstance(token, str) or not token:
            raise CatalogError(f"the token server at {self._uri} gave no access_token", catalog=self._name)
        expires = document.get("expires_in")
        lifetime_ms = int(expires) * 1000 if isinstance(expires, int) and expires > 0 else None
        return self._with_lifetime(Secret(token), lifetime_ms)

    def _with_lifetime(self, value: Secret, lifetime_ms: int | None) -> Token:
        self._seen.add(value)
        now_ms = self._effects.clock.now_ms()
        if lifetime_ms is None:
            ends_ms = _end_in_jwt(value.reveal())
            configured = self._settings.milliseconds("token-expires-in-ms")
            if ends_ms is not None:
                lifetime_ms = ends_ms - now_ms
            elif configured is not None or value is not self._given:
                lifetime_ms = configured or _LIFETIME_WITHOUT_CLAIM_MS
        if lifetime_ms is None:
            return Token(value)
        return Token(value, now_ms + lifetime_ms - min(_EARLIEST_MS, int(lifetime_ms * _EARLY_SHARE)))

    def _refused(self, answer: Answer) -> CatalogError:
        """The token server's reason, of which nothing but its two texts is shown."""
        try:
            document = answer.document("the token server's answer")
        except FloebergError:
            document = {}
        reason = ": ".join(str(document[key])[:300] for key in ("error", "error_description") if key in document)
        message = f"catalog {self._name}: the token server at {self._uri} gave no token (status {answer.status}"
        shown = self._masked(
            f"{message}{'; ' + reason if reason else ''}); check credential, scope and oauth2-server-uri"
        )
        kind = Unauthorized if answer.status in (400, 401, 403) else CatalogError
        return kind(shown, catalog=self._name, status=answer.status)

    def _masked(self, text: str) -> str:
        return redact(text, self.secrets)


def _split(credential: Secret | None) -> tuple[str | None, Secret | None]:
    """`id:secret`, or a secret alone."""
    if credential is None:
        return None, None
    left, colon, right = credential.reveal().partition(":")
    return (left, Secret(right)) if colon else (None, Secret(left))


def _token_uri(name: str, settings: RestSettings) -> str:
    """Where tokens come from: the user's oauth2-server-uri, or the catalog's own endpoint."""
    given = settings.text("oauth2-server-uri", "rest.authorization-url")
    if given is None:
        return f"{settings.uri}/{DEFAULT_PATH}"
    if "://" not in given:
        return f"{settings.uri}/{given.lstrip('/')}"
    scheme, host, _ = origin(given)
    if scheme not in ("http", "https") or not host:
        raise InvalidInput(
            f"catalog {name}: oauth2-server-uri must begin with http:// or https://, not {redact(given)}"
        )
    return given


def _end_in_jwt(token: str) -> int | None:
    """When a JSON web token says that it ends; None for other tokens. It is not verified: that is the server's part."""
    parts = token.split(".")
    if len(parts) != 3:
        return None
    try:
        claims = msgspec.json.decode(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except (binascii.Error, ValueError):
        return None
    end = claims.get("exp") if isinstance(claims, dict) else None
    return int(end * 1000) if isinstance(end, int | float) else None
