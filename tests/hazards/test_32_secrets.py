"""Hazard 32: credentials in logs, representations, errors and pickles; state shared between catalogs."""

from __future__ import annotations

import copy
import dataclasses
import http.server
import json
import logging
import pickle
import threading
import traceback
from collections.abc import Callable

import msgspec
import pytest

from floeberg.effects.system import system_effects
from floeberg.errors import FloebergError, SecurityError, Unavailable
from floeberg.storage import location as location_module
from floeberg.storage.location import parse
from floeberg.storage.registry import StoreRegistry
from floeberg.storage.retrying import RetryingStore
from floeberg.storage.secret import Secret, TravellingSecret, is_secret_name, redact, redact_options, seal_options
from floeberg.testing.simulated import SimWorld

SENTINEL = "S3NTIN3L-vErY+sEcReT/abcdef=="
OPTIONS = {
    "s3.access-key-id": "AKIAEXAMPLE",
    "s3.secret-access-key": SENTINEL,
    "s3.session-token": SENTINEL + "2",
    "s3.endpoint": "http://127.0.0.1:1",
    "adls.account-key": SENTINEL,
    "adls.sas-token": f"?sv=2024&sig={SENTINEL}",
    "adls.client-secret": SENTINEL,
    "gcs.service-account-key": SENTINEL,
    "credential": f"client:{SENTINEL}",
    "token": SENTINEL,
    "rest.oauth2.password": SENTINEL,
    "uri": f"postgresql+psycopg://user:{SENTINEL.replace('/', '_')}@host/db",
}


@dataclasses.dataclass(frozen=True)
class Holder:
    token: Secret


def shown(secret: Secret | TravellingSecret) -> list[str]:
    """Every way in which a secret might be printed, as text; a refusal counts as printed nothing."""

    def refused(call: Callable[[], object]) -> str:
        try:
            return str(call())
        except (FloebergError, TypeError) as error:
            return f"{error} {error!r}"

    return [
        repr(secret),
        str(secret),
        f"{secret}",
        f"{secret!r:>40}",
        f"{secret:>40}",
        "%s %r" % (secret, secret),  # noqa: UP031
        repr({"a": [secret]}),
        repr(Holder(secret)),
        str(dataclasses.asdict(Holder(secret))),
        repr(copy.deepcopy(secret)),
        repr(copy.copy(secret)),
        refused(lambda: json.dumps({"a": secret})),
        refused(lambda: json.dumps({"a": secret}, default=str)),
        refused(lambda: msgspec.json.encode({"a": secret})),
        refused(lambda: msgspec.json.encode({"a": secret}, enc_hook=repr)),
        refused(lambda: vars(secret)),
        repr(dir(secret)),
    ]


def leaks(texts: list[str]) -> list[str]:
    return [text for text in texts if "S3NTIN3L" in text]


def test_a_secret_shows_itself_nowhere():
    secret = Secret(SENTINEL)
    assert leaks(shown(secret)) == []
    for level in range(6):
        with pytest.raises(SecurityError):
            pickle.dumps(secret, protocol=level)
    assert secret.reveal() == SENTINEL
    assert secret == Secret(SENTINEL)
    assert secret != Secret("other")
    assert secret != SENTINEL
    assert bool(secret)
    assert not Secret("")
    assert len({secret, Secret(SENTINEL)}) == 1


def test_a_secret_that_travels_to_another_process_is_serialised_and_shown_nowhere(monkeypatch):
    travelling = TravellingSecret(Secret(SENTINEL))
    assert leaks(shown(travelling)) == []
    arrived = pickle.loads(pickle.dumps(travelling))
    assert arrived == travelling
    assert arrived.arrived() == Secret(SENTINEL)
    assert arrived != TravellingSecret(Secret("other"))
    monkeypatch.setenv("TRAVELLING", SENTINEL)
    by_name = TravellingSecret(Secret.from_env("TRAVELLING"))
    assert SENTINEL.encode() not in pickle.dumps(by_name)
    assert pickle.loads(pickle.dumps(by_name)).arrived() == Secret(SENTINEL)
    spelled = pickle.loads(pickle.dumps(TravellingSecret(Secret("secret:env:TRAVELLING"))))
    assert spelled.arrived() == Secret("secret:env:TRAVELLING"), "what a server sends names no variable of ours"


def test_a_secret_in_a_traceback_stays_masked():
    def fail(credential: Secret) -> None:
        raise ValueError(f"cannot use {credential}")

    try:
        fail(Secret(SENTINEL))
    except ValueError as error:
        captured = traceback.TracebackException.from_exception(error, capture_locals=True)
        assert leaks(list(captured.format())) == []


def test_options_are_sealed_and_shown_masked():
    sealed = seal_options(OPTIONS)
    assert leaks([repr(sealed), str(redact_options(OPTIONS)), str(redact_options(sealed))]) == []
    assert redact_options(OPTIONS)["s3.access-key-id"] == "AKIAEXAMPLE"
    assert redact_options(OPTIONS)["uri"] == "postgresql+psycopg://user:***@host/db"
    assert redact_options({"warehouse": "s3://b/x", "s3.region": "eu"}) == {"warehouse": "s3://b/x", "s3.region": "eu"}
    assert is_secret_name("My.API-Key")
    assert not is_secret_name("s3.endpoint")


@pytest.mark.parametrize(
    "text",
    [
        f"s3://AKIA:{SENTINEL.replace('/', '_')}@bucket/x",
        f"https://acc.blob.core.windows.net/c/f?sv=1&sig={SENTINEL}&se=2",
        f"https://b.s3.amazonaws.com/k?X-Amz-Credential={SENTINEL}&X-Amz-Signature={SENTINEL}",
        f"Authorization: Bearer {SENTINEL}",
        f"authorization=Basic {SENTINEL}",
        f'{{"secret-access-key": "{SENTINEL}"}}',
        f"{{'s3.session-token': '{SENTINEL}'}}",
        f"AccountKey={SENTINEL};EndpointSuffix=core.windows.net",
        f"password={SENTINEL}",
        f"SharedAccessSignature={SENTINEL}",
        f"<SecretAccessKey>{SENTINEL}</SecretAccessKey>",
        f"oauth2 client_secret:{SENTINEL} failed",
    ],
)
def test_text_from_elsewhere_is_redacted(text):
    assert leaks([redact(text)]) == []
    assert "***" in redact(text)


@pytest.mark.parametrize(
    "text",
    [
        "s3://bucket/wh/db/t/data/part=1/f.parquet",
        "abfss://container@account.dfs.core.windows.net/x",
        "/wh/db/tokens/metadata/v1.metadata.json",
        "file:/x/a=b/c:d",
        "Server returned non-2xx status code: 412 Precondition Failed",
    ],
)
def test_harmless_text_stays_readable(text):
    assert redact(text) == text


def test_a_known_secret_is_masked_wherever_it_stands():
    assert redact(f"odd place {SENTINEL} here", [Secret(SENTINEL), Secret("")]) == "odd place *** here"


def all_words(error: BaseException) -> list[str]:
    """Whatever logging or a debugger prints of an error."""
    words = ["".join(traceback.format_exception(error)), repr(error), str(error)]
    if isinstance(error, FloebergError):
        words += [repr(error.context), repr(pickle.dumps(error))]
    return words


def every_failure(registry: StoreRegistry) -> list[BaseException]:
    """The errors of every kind of call on stores that cannot be reached or are misconfigured."""
    found: list[BaseException] = []
    for location in ("s3://b/x", "abfs://c@a/x", "gs://b/x", f"s3://K:{SENTINEL.replace('/', '_')}@b/x", "ftp://h/x"):
        for call in ("read", "size", "delete"):
            try:
                store = registry.for_location(location)
                getattr(store.inner, call)(location)
            except Exception as error:
                found.append(error)
    return found


@pytest.mark.s3
def test_no_error_carries_a_secret():
    options = {name: value for name, value in OPTIONS.items() if name != "s3.session-token"}
    options |= {"s3.connect-timeout": "0.2", "s3.request-timeout": "0.5", "adls.endpoint": "http://127.0.0.1:1"}
    options |= {"adls.connect-timeout": "0.2", "gcs.service.host": "http://127.0.0.1:1"}
    failures = every_failure(StoreRegistry(system_effects(), options))
    assert len(failures) >= 12
    for failure in failures:
        assert leaks(all_words(failure)) == []


@pytest.mark.s3
def test_a_server_that_echoes_the_credential_is_masked():
    class Echo(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = f"<Error><Message>bad key {SENTINEL}</Message></Error>".encode()
            self.send_response(400)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args) -> None:
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Echo)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    options = {**OPTIONS, "s3.endpoint": f"http://127.0.0.1:{server.server_port}"}
    with pytest.raises(FloebergError) as caught:
        StoreRegistry(system_effects(), options).for_location("s3://b/x").read("s3://b/x")
    server.shutdown()
    server.server_close()
    thread.join()
    assert "400" in str(caught.value)
    assert leaks(all_words(caught.value)) == []


def test_logs_of_retries_are_masked(caplog):
    class Failing:
        def read(self, location, **_):
            raise Unavailable(f"GET https://h/x?sig={SENTINEL} failed")

    process = SimWorld(1).process()
    with caplog.at_level(logging.DEBUG), pytest.raises(FloebergError):
        RetryingStore(Failing(), process.effects).read(f"https://h/x?sig={SENTINEL}")
    assert len(caplog.records) == 4
    assert leaks([caplog.text, *(record.getMessage() for record in caplog.records)]) == []


def test_registries_show_no_secrets_and_share_no_clients():
    first = StoreRegistry(system_effects(), OPTIONS)
    second = StoreRegistry(system_effects(), {**OPTIONS, "s3.secret-access-key": "other"})
    assert leaks([repr(first), str(first), repr(first.for_location("s3://b/x")), repr(vars(first))]) == []
    assert first.for_location("s3://b/x").inner._client is not second.for_location("s3://b/x").inner._client
    for thing in (first, first.for_location("s3://b/x").inner):
        with pytest.raises(SecurityError) as caught:
            pickle.dumps(thing)
        assert leaks(all_words(caught.value)) == []


def test_a_location_never_keeps_a_credential():
    with pytest.raises(FloebergError) as caught:
        parse(f"s3://KEY:{SENTINEL.replace('/', '_')}@bucket/x")
    assert leaks(all_words(caught.value)) == []


def test_without_the_mask_the_checks_see_the_secret(monkeypatch):
    monkeypatch.setattr(Secret, "__repr__", lambda self: f"Secret({self._value!r})")
    assert leaks(shown(Secret(SENTINEL))) != []


def test_without_redaction_the_checks_see_the_secret(monkeypatch):
    monkeypatch.setattr(location_module, "redact", lambda text: text)
    with pytest.raises(FloebergError) as caught:
        parse(f"s3://KEY:{SENTINEL.replace('/', '_')}@bucket/x")
    assert leaks(all_words(caught.value)) != []


def test_without_the_refusal_a_pickle_holds_the_secret(monkeypatch):
    monkeypatch.setattr(Secret, "__reduce_ex__", lambda self, level: (Secret, (self._value,)))
    assert b"S3NTIN3L" in pickle.dumps(Secret(SENTINEL))
