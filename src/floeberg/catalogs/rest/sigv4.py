"""AWS signatures (SigV4), by botocore where it is installed."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any, Final

import httpx

from floeberg.catalogs.rest.http import Authentication
from floeberg.catalogs.rest.settings import RestSettings
from floeberg.errors import InvalidInput, Unauthorized, UnsupportedFeature
from floeberg.storage.secret import Secret

DEFAULT_SERVICE: Final = "execute-api"
_RELOCATED: Final = "Original-Authorization"
_NOT_SIGNED: Final = ("connection", "user-agent", "accept-encoding", "content-length", "transfer-encoding")


class SigV4:
    """Signs every request, also those of another authentication, whose header moves out of the signature's way."""

    def __init__(self, name: str, settings: RestSettings, *, inner: Authentication) -> None:
        self._name = name
        self._inner = inner
        self._service = settings.text("rest.signing-name") or DEFAULT_SERVICE
        self._auth = _load(name, "botocore.auth")
        self._requests = _load(name, "botocore.awsrequest")
        self._key = settings.secret("rest.access-key-id")
        self._secret_key = settings.secret("rest.secret-access-key")
        self._session_token = settings.secret("rest.session-token")
        self._session = None if self._secret_key else _load(name, "botocore.session").get_session()
        region = settings.text("rest.signing-region") or settings.stores.get("client.region")
        self._region = str(region) if region else self._session and self._session.get_config_variable("region")
        if not self._region:
            raise InvalidInput(f"catalog {name}: signed requests need rest.signing-region")

    def __repr__(self) -> str:
        return f"SigV4({self._service!r}, {self._region!r})"

    @property
    def secrets(self) -> tuple[Secret, ...]:
        own = (self._secret_key, self._session_token)
        return (*(one for one in own if one), *self._inner.secrets)

    def sign(self, request: httpx.Request) -> None:
        self._inner.sign(request)
        if (other := request.headers.pop("Authorization", None)) is not None:
            request.headers[_RELOCATED] = other
        headers = {key: value for key, value in request.headers.items() if key.lower() not in _NOT_SIGNED}
        signed = self._requests.AWSRequest(
            method=request.method, url=str(request.url), data=request.content, headers=headers
        )
        self._auth.SigV4Auth(self._credentials(), self._service, self._region).add_auth(signed)
        for key, value in signed.headers.items():
            request.headers[key] = value

    def renew(self) -> bool:
        return self._inner.renew()

    def handed_on(self) -> Mapping[str, Secret]:
        return self._inner.handed_on()

    def _credentials(self) -> Any:
        if self._secret_key is not None:
            if self._key is None:
                raise InvalidInput(f"catalog {self._name}: rest.secret-access-key needs rest.access-key-id")
            token = None if self._session_token is None else self._session_token.reveal()
            credentials = _load(self._name, "botocore.credentials")
            return credentials.Credentials(self._key.reveal(), self._secret_key.reveal(), token)
        found = self._session and self._session.get_credentials()
        if not found:
            raise Unauthorized(
                f"catalog {self._name}: no AWS credentials were found; give rest.access-key-id and rest.secret-access-key, or "
                "set them up as for the AWS tools"
            )
        return found.get_frozen_credentials()


def _load(name: str, module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise UnsupportedFeature(
            f"catalog {name}: requests signed for AWS (rest.sigv4-enabled) need botocore: pip install botocore"
        ) from error
