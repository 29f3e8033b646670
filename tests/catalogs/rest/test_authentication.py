"""How requests show who sends them, and that no credential is ever seen elsewhere (hazard 32)."""

from __future__ import annotations

import base64
import json
import logging
import pickle
import traceback
from urllib.parse import parse_qs

import httpx
import pytest

from catalogs.rest.scripted import URI, MovingClock, ScriptedServer, error, quick_effects
from floeberg.api.catalog import Catalog
from floeberg.errors import FloebergError, InvalidInput, Unauthorized, UnsupportedFeature
from floeberg.storage.secret import Secret

TOKENS = "POST /v1/oauth/tokens"
SENTINEL = "sentinel-5ecret"


class TokenServer:
    """Gives tokens t0, t1, … and keeps the forms it was sent."""

    def __init__(self, *, expires_in: int | None = 3600) -> None:
        self.forms: list[dict[str, str]] = []
        self.headers: list[httpx.Headers] = []
        self._expires_in = expires_in

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.forms.append({key: values[0] for key, values in parse_qs(request.content.decode()).items()})
        self.headers.append(request.headers)
        body: dict[str, object] = {"access_token": f"{SENTINEL}-t{len(self.forms) - 1}", "token_type": "bearer"}
        return httpx.Response(200, json=body | ({"expires_in": self._expires_in} if self._expires_in else {}))


def shown(server: ScriptedServer) -> list[str | None]:
    """The Authorization of the requests to the catalog."""
    return [one.headers.get("Authorization") for one in server.requests if not one.url.path.endswith("/oauth/tokens")]


def test_without_credentials_nothing_is_shown(server: ScriptedServer) -> None:
    server.open()
    assert shown(server) == [None]


def test_a_token_is_shown_as_it_is(server: ScriptedServer) -> None:
    server.open(token="abc").table_exists(Catalog(server.open()).identifier("db.t"))
    assert shown(server)[0] == "Bearer abc"


def test_a_user_and_password(server: ScriptedServer) -> None:
    server.open(rest__auth__type="basic", rest__auth__basic__username="me", rest__auth__basic__password="pw")
    assert shown(server) == ["Basic " + base64.b64encode(b"me:pw").decode()]


def test_fixed_headers_go_with_every_request(server: ScriptedServer) -> None:
    server.open(**{"header.X-Tenant": "blue", "header.Authorization": "Custom x"}).load_table(
        Catalog(server.open()).identifier("db.t")
    )
    mine = [one for one in server.requests if one.headers.get("x-tenant") == "blue"]
    assert len(mine) == 2
    assert {one.headers["authorization"] for one in mine} == {"Custom x"}
    assert all(one.headers["x-iceberg-access-delegation"] == "vended-credentials" for one in server.requests)


def test_client_credentials_give_a_token_that_is_renewed_before_it_ends(server: ScriptedServer) -> None:
    tokens = TokenServer(expires_in=600)
    server.script[TOKENS] = [tokens] * 10
    effects = quick_effects()
    cat = Catalog(server.open(effects=effects, credential=f"me:{SENTINEL}", scope="a b", audience="x"))
    assert tokens.forms == [
        {
            "grant_type": "client_credentials",
            "client_id": "me",
            "client_secret": SENTINEL,
            "scope": "a b",
            "audience": "x",
        }
    ]
    clock = effects.clock
    assert isinstance(clock, MovingClock)
    clock.ahead_ms = 500_000
    cat.load_table("db.t")
    assert len(tokens.forms) == 1
    clock.ahead_ms = 560_000
    cat.load_table("db.t")
    assert len(tokens.forms) == 2
    assert shown(server)[-1] == f"Bearer {SENTINEL}-t1"


def test_a_token_that_cannot_be_renewed_yet_is_used_as_long_as_it_lasts(server: ScriptedServer) -> None:
    server.script[TOKENS] = [TokenServer(expires_in=600), "503"]
    effects = quick_effects()
    cat = Catalog(server.open(effects=effects, credential="me:pw"))
    effects.clock.ahead_ms = 560_000  # type: ignore[attr-defined]
    assert cat.load_table("db.t").name == "lake.db.t"


def test_a_token_is_exchanged_for_a_new_one(server: ScriptedServer) -> None:
    tokens = TokenServer()
    server.script[TOKENS] = [tokens] * 10
    server.script["GET /v1/namespaces/db/tables/t"] = ["401"]
    cat = Catalog(server.open(token=f"{SENTINEL}-old", oauth2_server_uri="v1/oauth/tokens"))
    cat.load_table("db.t")
    assert tokens.forms == [
        {
            "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
            "subject_token": f"{SENTINEL}-old",
            "subject_token_type": "urn:ietf:params:oauth:token-type:access_token",
            "scope": "catalog",
        }
    ]
    assert shown(server)[-2:] == [f"Bearer {SENTINEL}-old", f"Bearer {SENTINEL}-t0"]


def test_a_users_token_is_exchanged_with_the_catalogs_as_actor(server: ScriptedServer) -> None:
    tokens = TokenServer()
    server.script[TOKENS] = [tokens] * 10
    server.open(credential="me:pw", **{"urn:ietf:params:oauth:token-type:jwt": "user-jwt"})
    actor, exchange = tokens.forms
    assert actor["grant_type"] == "client_credentials"
    assert (exchange["subject_token"], exchange["subject_token_type"]) == (
        "user-jwt",
        "urn:ietf:params:oauth:token-type:jwt",
    )
    assert exchange["actor_token"] == f"{SENTINEL}-t0"
    assert shown(server) == [f"Bearer {SENTINEL}-t1"]


def test_the_end_of_a_token_without_expires_in_is_read_from_itself(server: ScriptedServer) -> None:
    effects = quick_effects()
    claims = base64.urlsafe_b64encode(json.dumps({"exp": effects.clock.now_ms() // 1000 + 100}).encode()).decode()
    jwt = f"head.{claims.rstrip('=')}.tail"
    server.script[TOKENS] = [
        lambda request: httpx.Response(200, json={"access_token": jwt}),
        TokenServer(),
    ]
    cat = Catalog(server.open(effects=effects, credential="me:pw"))
    effects.clock.ahead_ms = 95_000  # type: ignore[attr-defined]
    cat.load_table("db.t")
    assert shown(server)[-1] == f"Bearer {SENTINEL}-t0"


def test_a_refusal_of_the_token_server_is_told_without_the_secret(server: ScriptedServer) -> None:
    body = {"error": "invalid_client", "error_description": f"{SENTINEL} is wrong"}
    server.script[TOKENS] = [lambda request: httpx.Response(401, json=body)] * 3
    with pytest.raises(Unauthorized, match="invalid_client") as caught:
        server.open(credential=f"me:{SENTINEL}")
    assert SENTINEL not in "".join(traceback.format_exception(caught.value))


def test_signatures_of_aws_cover_the_request_and_move_another_header(server: ScriptedServer) -> None:
    pytest.importorskip("botocore")
    server.open(
        token="abc", rest__sigv4_enabled="true", rest__signing_region="eu-west-1", rest__signing_name="glue",
        rest__access_key_id="AKIA", rest__secret_access_key=SENTINEL,
    )  # fmt: skip
    sent = server.requests[0].headers
    assert sent["authorization"].startswith("AWS4-HMAC-SHA256 Credential=AKIA/")
    assert "/eu-west-1/glue/aws4_request" in sent["authorization"]
    assert "host" in sent["authorization"]
    assert sent["original-authorization"] == "Bearer abc"
    assert "x-amz-date" in sent


def test_without_botocore_signatures_say_what_to_install(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    for module in ("botocore", "botocore.auth"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(UnsupportedFeature, match="pip install botocore"):
        server.open(rest__sigv4_enabled="true", rest__signing_region="x")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rest__auth__type": "kerberos"}, "unknown rest.auth.type"),
        ({"rest__auth__type": "basic"}, "needs rest.auth.basic"),
        ({"rest__auth__type": "bearer"}, "needs a token"),
        ({"rest__auth__type": "oauth2"}, "needs credential"),
        ({"token_expires_in_ms": "soon", "credential": "a:b"}, "must be a number"),
        ({"tokn": "x"}, "unknown option 'tokn'"),
    ],
)
def test_settings_that_do_not_fit_are_refused(server: ScriptedServer, options: dict[str, str], message: str) -> None:
    server.script[TOKENS] = [TokenServer(expires_in=None)]
    with pytest.raises(InvalidInput, match=message):
        server.open(**options)


def test_secrets_are_in_no_log_error_or_text(server: ScriptedServer, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    server.script[TOKENS] = [TokenServer()] * 100
    server.credentials = [
        {"prefix": "s3://b/", "config": {"s3.access-key-id": "A", "s3.secret-access-key": f"{SENTINEL}-s3"}}
    ]
    server.table_config = {"token": f"{SENTINEL}-table"}
    backend = server.open(
        credential=f"me:{SENTINEL}", s3__secret_access_key=f"{SENTINEL}-own", **{"header.X-Api-Key": f"{SENTINEL}-h"}
    )
    cat = Catalog(backend)
    table = cat.load_table("db.t")
    texts = [
        repr(cat),
        repr(backend),
        repr(table),
        repr(table._pointer),
        repr(table._pointer.stores),
        repr(backend._session),
    ]
    server.script["GET .*"] = [
        lambda request: error(500, f"bad Bearer {SENTINEL}-t0 token={SENTINEL}"),
        lambda request: error(400, f"{SENTINEL}-t0 is no token"),
        "refused", "lost", "403", "refused", "lost",
    ]  # fmt: skip
    for _ in range(2):
        with pytest.raises(FloebergError) as caught:
            table.refresh()
        texts.append("".join(traceback.format_exception(caught.value)))
    assert SENTINEL not in "\n".join([*texts, caplog.text])
    with pytest.raises(FloebergError, match="never serialised"):
        pickle.dumps(Secret("x"))


@pytest.mark.parametrize(
    "options",
    [
        {"token": SENTINEL},
        {"header.X-Api-Key": SENTINEL},
        {"rest__auth__type": "basic", "rest__auth__basic__username": "me", "rest__auth__basic__password": SENTINEL},
    ],
)
def test_a_server_that_repeats_a_secret_is_not_quoted(server: ScriptedServer, options: dict[str, str]) -> None:
    cat = Catalog(server.open(**options))
    server.script["GET .*"] = [lambda request: error(400, f"who is {SENTINEL}?")]
    with pytest.raises(FloebergError, match=r"who is \*\*\*\?") as caught:
        cat.load_table("db.t")
    assert SENTINEL not in "".join(traceback.format_exception(caught.value))


def test_a_uri_that_holds_credentials_is_refused() -> None:
    from floeberg.catalogs.rest.settings import rest_settings

    for uri in ("https://me:pw@host/api", "https://host/api?token=x", "ftp://host", "host", None):
        with pytest.raises(InvalidInput) as caught:
            rest_settings("lake", uri=uri, warehouse=None, options={})
        assert "pw@" not in str(caught.value)


@pytest.mark.parametrize("place", ["defaults", "overrides"])
def test_a_server_sends_credentials_nowhere_else(
    server: ScriptedServer, place: str, caplog: pytest.LogCaptureFixture
) -> None:
    server.config[place] = {
        "uri": "http://evil.test/", "oauth2-server-uri": "http://evil.test/tokens", "token": "theirs",
        "header.Authorization": "theirs", "credential": "a:b", "rest.auth.type": "none", "ssl.cabundle": "/x",
        "prefix": "ws", "s3.endpoint": "http://evil.test", "io-impl": "os.system",
    }  # fmt: skip
    server.script[TOKENS] = [TokenServer(expires_in=1)] * 10
    backend = server.open(credential="me:pw", s3__access_key_id="A", s3__secret_access_key="S")
    assert "credentials are sent to" in caplog.text
    assert not backend.table_exists(Catalog(backend).identifier("db.t"))
    assert {one.url.host for one in server.requests} == {"catalog.test"}
    assert server.requests[-1].url.path == "/api/v1/ws/namespaces/db/tables/t"
    assert all(one.headers["authorization"].startswith("Bearer sentinel") for one in server.requests[1::2])
    stores = Catalog(backend)._backend._tables.pointer(Catalog(backend).identifier("db.t")).stores
    assert "s3.endpoint" not in stores.store_options.everywhere


def test_redirects_are_followed_nowhere(server: ScriptedServer) -> None:
    server.script["GET /v1/namespaces/db/tables/t"] = [
        lambda request: httpx.Response(307, headers={"location": "http://evil.test/"})
    ]
    with pytest.raises(FloebergError, match="status 307"):
        Catalog(server.open(token="abc")).load_table("db.t")
    assert {one.url.host for one in server.requests} == {"catalog.test"}
    assert str(server.requests[0].url).startswith(URI)
