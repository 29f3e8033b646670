"""Who may ask, how much, and of what form."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from floeberg.errors import InvalidInput
from floeberg.server.served_catalog import ServedCatalog
from floeberg.server.settings import ServerSettings
from floeberg.server.tokens import Tokens
from servers.rest_lake import SCHEMA, TABLES, AppClient, RestLake, open_lake

TOKEN = "sentinel-token-0123456789"
NAMESPACES = "/v1/lake/namespaces"


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.1.2.3", "lake.example.com"])
def test_an_address_that_others_reach_needs_tokens_and_encryption(host: str, tmp_path: Path) -> None:
    tokens = Tokens([TOKEN])
    with pytest.raises(InvalidInput, match="needs tokens"):
        ServerSettings(host=host).check()
    with pytest.raises(InvalidInput, match="encrypted"):
        ServerSettings(host=host, tokens=tokens).check()
    with pytest.raises(InvalidInput, match="both"):
        ServerSettings(host=host, tokens=tokens, tls_certificate=tmp_path / "c").check()
    ServerSettings(host=host, tokens=tokens, insecure_http=True).check()
    ServerSettings(host=host, tokens=tokens, tls_certificate=tmp_path / "c", tls_key=tmp_path / "k").check()


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.8.8.8"])
def test_this_machine_alone_needs_neither(host: str) -> None:
    ServerSettings(host=host).check()


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "", "10.0.0.1", "[::2]"]
)
def test_a_foreign_host_name_is_refused(sql_lake: RestLake, host: str) -> None:
    assert sql_lake.client.get("/v1/config", headers={"Host": host}).status_code == 403


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8181", "127.0.0.1:9", "[::1]:8181"])
def test_the_names_of_this_machine_are_accepted(sql_lake: RestLake, host: str) -> None:
    assert sql_lake.client.get("/v1/config", headers={"Host": host}).status_code == 200


def test_pages_of_other_sites_are_refused_and_nothing_allows_them(sql_lake: RestLake) -> None:
    rest = sql_lake.client
    for origin in ("http://evil.example", "null", "http://127.0.0.1:9999", "http://127.0.0.1:8181.evil.example"):
        answer = rest.post(NAMESPACES, json={"namespace": ["x"]}, headers={"Origin": origin})
        assert answer.status_code == 403
        assert "access-control-allow-origin" not in answer.headers
    assert rest.request("OPTIONS", NAMESPACES, headers={"Origin": "http://evil.example"}).status_code == 403
    assert rest.get("/v1/config", headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403
    assert rest.get(NAMESPACES).json() == {"namespaces": [["db"]]}
    same = rest.post(NAMESPACES, json={"namespace": ["x"]}, headers={"Origin": "http://127.0.0.1:8181"})
    assert same.status_code == 200


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "", "application/jsonx"]
)
def test_a_body_that_a_form_could_send_is_not_read(sql_lake: RestLake, kind: str) -> None:
    answer = sql_lake.client.post(NAMESPACES, content=b'{"namespace":["x"]}', headers={"Content-Type": kind})
    assert answer.status_code == 415
    assert not sql_lake.catalog.namespace_exists("x")


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"3", b'{"namespace":["x"],"namespace":["y"]}', b"\xff", b'{"a":' * 2000]
)
def test_a_body_that_is_no_json_object_is_refused(sql_lake: RestLake, content: bytes) -> None:
    answer = sql_lake.client.post(NAMESPACES, content=content, headers={"Content-Type": "application/json"})
    assert answer.status_code == 400, answer.text
    assert answer.json()["error"]["type"] == "BadRequestException"


async def in_pieces(content: bytes) -> AsyncIterator[bytes]:
    yield content


def test_a_large_request_is_refused_whether_or_not_it_says_so(tmp_path: Path) -> None:
    with open_lake("sql", tmp_path, settings=ServerSettings(max_body_bytes=1000)) as lake:
        large = b'{"namespace":["' + b"x" * 2000 + b'"]}'
        stated = lake.client.post(NAMESPACES, content=large, headers={"Content-Type": "application/json"})
        unstated = lake.client.post(NAMESPACES, content=in_pieces(large), headers={"Content-Type": "application/json"})
        assert (stated.status_code, unstated.status_code) == (413, 413)


def test_a_token_is_asked_for_and_a_wrong_one_is_refused(tmp_path: Path) -> None:
    with open_lake("sql", tmp_path, settings=ServerSettings(tokens=Tokens([TOKEN]))) as lake:
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": TOKEN}, {"Authorization": f"Basic {TOKEN}"},
                        {"Authorization": "Basic " + base64.b64encode(f"me:{TOKEN}".encode()).decode()}):  # fmt: skip
            answer = lake.client.get("/v1/config", headers=headers)
            assert (answer.status_code, answer.json()["error"]["type"]) == (401, "NotAuthorizedException")
            assert TOKEN not in answer.text
            assert "***" not in answer.text
        assert lake.client.get("/v1/config", params={"token": TOKEN}).status_code == 401
        assert lake.client.get("/v1/config", headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 200


def test_a_token_taken_out_of_its_file_no_longer_counts(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_text(f"# engines\n{TOKEN}\nanother-token-0123456789\n")
    tokens = Tokens(file=file)
    assert tokens.accepts(TOKEN)
    file.write_text("another-token-0123456789\n")
    assert not tokens.accepts(TOKEN)
    assert tokens.accepts("another-token-0123456789")


@pytest.mark.parametrize("text", ["", "# none", "short", "with a space in the middle"])
def test_a_token_file_without_a_good_token_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "tokens"
    file.write_text(text)
    with pytest.raises(InvalidInput):
        Tokens(file=file)


def test_a_read_only_server_answers_and_changes_nothing(tmp_path: Path) -> None:
    with open_lake("sql", tmp_path) as lake:
        lake.create()
    with open_lake("sql", tmp_path, read_only=True) as lake:
        rest = lake.client
        assert rest.get(f"{TABLES}/t").status_code == 200
        offered = rest.get("/v1/config").json()["endpoints"]
        assert not [one for one in offered if one.startswith("DELETE")]
        for answer in (
            rest.post(TABLES, json={"name": "u", "schema": SCHEMA}),
            rest.post(f"{TABLES}/t", json={"requirements": [], "updates": []}),
            rest.delete(f"{TABLES}/t", params={"purgeRequested": "true"}),
            rest.post(NAMESPACES, json={"namespace": ["x"]}),
        ):
            assert (answer.status_code, answer.json()["error"]["type"]) == (403, "ForbiddenException")
        assert lake.catalog.list_tables("db") == [lake.catalog.identifier("db.t")]


def test_a_catalog_without_a_folder_of_its_own_is_served_read_only_or_not_at_all(sql_lake: RestLake) -> None:
    with pytest.raises(InvalidInput, match="--root"):
        ServedCatalog.of(sql_lake.catalog)
    assert ServedCatalog.of(sql_lake.catalog, read_only=True).roots == ()


def test_unknown_paths_and_methods_have_the_protocols_error(rest: AppClient) -> None:
    for answer, status in (
        (rest.get("/v1/lake/nothing"), 404),
        (rest.request("PUT", NAMESPACES), 405),
        (rest.get("/v2/config"), 404),
    ):
        assert answer.status_code == status
        assert answer.json()["error"]["code"] == status


def test_no_answer_is_kept_or_guessed_by_a_browser(rest: AppClient) -> None:
    headers = rest.get("/v1/config").headers
    assert headers["cache-control"] == "no-store"
    assert headers["x-content-type-options"] == "nosniff"
    assert "default-src 'none'" in headers["content-security-policy"]
    assert "server" not in headers
