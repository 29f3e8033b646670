"""`floeberg serve` and `floeberg ui`: what they refuse, and that they serve."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

import floeberg as fb
from floeberg.cli.main import BAD_INPUT, run
from servers.floeberg_server import ServerProcess, free_port


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--host", "0.0.0.0"], "needs tokens"),
        (["--tls-cert", "x"], "both a certificate"),
        (["--token-file", "/none"], "cannot be read"),
    ],
)
def test_a_server_that_would_be_open_to_others_does_not_start(
    arguments: list[str], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["serve", "--warehouse", str(tmp_path), *arguments]) == BAD_INPUT
    assert says in capsys.readouterr().err


def test_the_command_serves_every_catalog_of_its_configuration(tmp_path: Path) -> None:
    file = tmp_path / "floeberg.toml"
    file.write_text(
        f'default = "b"\n[catalog.a]\nwarehouse = "{tmp_path}/a"\n[catalog.b]\nwarehouse = "{tmp_path}/b"\n'
    )
    fb.catalog("a", warehouse=f"{tmp_path}/a").create_namespace("in_a")
    server = ServerProcess(("--config", str(file)), free_port(), {"FLOEBERG_SERVER_TOKEN": "sentinel-token-0123456789"})
    server.start()
    try:
        headers = {"Authorization": "Bearer sentinel-token-0123456789"}
        with httpx.Client(base_url=server.url, headers=headers) as client:
            assert client.get("/v1/config").json()["overrides"] == {"prefix": "b"}
            assert client.get("/v1/config", params={"warehouse": "a"}).json()["overrides"] == {"prefix": "a"}
            assert client.get("/v1/a/namespaces").json() == {"namespaces": [["in_a"]]}
            assert "in_a" in client.get("/ui/").text
        assert httpx.get(f"{server.url}/v1/config").status_code == 401
    finally:
        server.kill()
