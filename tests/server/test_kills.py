"""Commits of several processes through a server that is killed and restarted meanwhile: none is lost, none is there twice.

FLOEBERG_KILL_WORKERS, FLOEBERG_KILL_COMMITS and FLOEBERG_KILLS make it larger (`make test-kills`).
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

import floeberg as fb
from servers.floeberg_server import ServerProcess, free_port
from servers.postgres_server import running_postgres

WORKERS = int(os.environ.get("FLOEBERG_KILL_WORKERS", "2"))
COMMITS = int(os.environ.get("FLOEBERG_KILL_COMMITS", "6"))
KILLS = int(os.environ.get("FLOEBERG_KILLS", "3"))
FOLDER = Path(__file__).parents[1] / "killed_servers"
TAG = "row"


def tags(catalog: fb.Catalog, name: str) -> list[str]:
    return [one.summary[TAG] for one in catalog.load_table(f"db.{name}").snapshots if TAG in one.summary]


def start_clients(url: str) -> list[subprocess.Popen[str]]:
    script = str(FOLDER / "appending_client.py")
    return [
        subprocess.Popen([sys.executable, script, url, f"w{number}", str(COMMITS)], stdout=subprocess.PIPE, text=True)
        for number in range(WORKERS)
    ]


def keep_killing(server: ServerProcess, clients: list[subprocess.Popen[str]], log: Path) -> int:
    """Kills and restarts the server while clients work, in turns between a swap and its answer and at any moment. How often
    it was killed."""
    chance = random.Random(7)
    killed = 0
    while any(client.poll() is None for client in clients):
        assert server.process is not None
        if server.process.poll() is None:
            if server.arguments[0] == "0" and killed < KILLS and chance.random() < 0.2:
                server.process.kill()
            time.sleep(0.05)
            continue
        server.wait()
        killed += 1
        within = "0" if killed >= KILLS or killed % 3 == 2 else str(chance.randrange(1, 4))
        server.arguments = (within, *server.arguments[1:])
        server.start()
    return killed


def check_kills(folder: Path, uri: str) -> None:
    warehouse = str(folder / "lake")
    log = folder / "kills"
    log.touch()
    with fb.catalog("lake", type="sql", uri=uri, warehouse=warehouse) as catalog:
        catalog.create_namespace("db")
        for name in ("a", "b"):
            catalog.create_table(f"db.{name}", "id bigint", format_version=3)
        given = ("2", str(log), "--catalog", "lake", "--type", "sql", "--uri", uri, "--warehouse", warehouse)
        server = ServerProcess(given, free_port(), {}, script=FOLDER / "dying_server.py")
        server.start()
        clients = start_clients(server.url)
        try:
            killed = keep_killing(server, clients, log)
        finally:
            server.kill()
        lines = [json.loads(line) for client in clients for line in client.communicate()[0].splitlines()]
        assert [client.returncode for client in clients] == [0] * WORKERS
        told = Counter(line["tag"] for line in lines)
        assert len(told) == WORKERS * COMMITS
        assert Counter(tags(catalog, "a")) == told
        both = {tag for tag in told if int(tag.split(".")[1]) % 3 == 0}
        assert Counter(tags(catalog, "b")) == Counter(both)
        between = log.read_text().split()
        assert killed >= KILLS
        assert len(between) >= KILLS // 2
        assert max(line["lost"] for line in lines) > 0


def test_no_commit_is_lost_or_doubled_when_the_server_is_killed(tmp_path: Path) -> None:
    check_kills(tmp_path, f"sqlite:///{tmp_path}/lake.db")


@pytest.mark.postgres
@pytest.mark.skipif("FLOEBERG_KILLS" not in os.environ, reason="a part of `make test-kills`")
def test_no_commit_is_lost_or_doubled_on_postgresql(tmp_path: Path) -> None:
    with running_postgres() as uri:
        check_kills(tmp_path, uri)
