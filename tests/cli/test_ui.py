"""`floeberg ui`: the page of a catalog, for this machine alone and read-only."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

import floeberg as fb
from servers.floeberg_server import free_port


def test_it_says_where_the_page_is_shows_tables_and_changes_nothing(tmp_path: Path) -> None:
    warehouse = str(tmp_path / "lake")
    with fb.catalog("lake", warehouse=warehouse) as catalog:
        catalog.create_namespace("db")
        catalog.create_table("db.t", "id bigint")
    port = free_port()
    command = [sys.executable, "-c", "from floeberg.cli.main import main; main()", "ui", "--warehouse", warehouse]
    process = subprocess.Popen([*command, "--no-browser", "--port", str(port)], stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        root = f"http://127.0.0.1:{port}"
        assert process.stderr.readline() == f"look at {root}/ui/ (stop with Ctrl+C)\n"
        with urllib.request.urlopen(f"{root}/ui/default/t/db/t/overview") as answer:
            assert "<h1>t</h1>" in answer.read().decode()
        body = json.dumps({"namespace": ["x"]}).encode()
        request = urllib.request.Request(
            f"{root}/v1/default/namespaces", data=body, headers={"Content-Type": "application/json"}
        )
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request)
        assert refused.value.code == 403
        refused.value.close()
    finally:
        process.send_signal(signal.SIGINT)
        process.wait()
        left = process.stderr.read()
        process.stderr.close()
    assert "Traceback" not in left
