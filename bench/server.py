"""Our server beside the Java reference server: 20 clients that ask at a fixed rate, and the processor time of a request.

    python -m bench.server [--seconds 60] [--rate 40] [--rounds 3]

Both serve a SQLite catalog and local files. The clients load tables, list them and commit properties to four tables that
they share; the servers take turns, a third of the time each, after a warm-up. Anything but success and a conflict is an error.
`make test-servers` fetches the Java server.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import os
import random
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import httpx

CLIENTS: Final = 20
TABLES: Final = 4
SNAPSHOTS: Final = 50
WARM_UP_S: Final = 15.0
ROOT: Final = Path(__file__).parent.parent
JAVA_CLASS_PATH: Final = ROOT / ".cache" / "servers" / "iceberg-rest" / "cp.txt"
_TICKS: Final = os.sysconf("SC_CLK_TCK")
_TICKS_FIELDS: Final = slice(11, 13)
_MIX: Final = ("load",) * 12 + ("list",) * 3 + ("commit",) * 3 + ("exists",) * 2
_SCHEMA: Final = {
    "type": "struct",
    "fields": [{"id": number, "name": f"c{number}", "type": "long", "required": False} for number in range(1, 11)],
}


@dataclass(slots=True)
class Server:
    """A running server, and what its clients saw."""

    name: str
    url: str
    warehouse: str
    process: subprocess.Popen[bytes]
    prefix: str = ""
    uuids: list[str] = field(default_factory=list)
    statuses: Counter[tuple[str, int]] = field(default_factory=Counter)
    latencies_ms: dict[str, list[float]] = field(default_factory=dict)
    cpu_s: float = 0.0

    @property
    def namespace(self) -> str:
        return f"{self.url}/v1/{self.prefix}namespaces/db"

    def processor_s(self) -> float:
        """The processor time of the process so far."""
        stat = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, stat[_TICKS_FIELDS])) / _TICKS


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running(name: str, folder: Path) -> Iterator[Server]:
    """A server over an empty catalog in a folder."""
    port = free_port()
    warehouse = folder / "warehouse"
    warehouse.mkdir(parents=True)
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    if name == "ours":
        uri = f"sqlite:///{folder}/catalog.db"
        command = [sys.executable, "-c", "from floeberg.cli.main import main; main()", "serve", "--type", "sql"]
        command += ["--uri", uri, "--warehouse", str(warehouse), "--port", str(port)]
    else:
        environment |= {
            "CATALOG_WAREHOUSE": str(warehouse), "CATALOG_URI": f"jdbc:sqlite:file:{folder}/catalog.db",
            "CATALOG_REST_PORT": str(port), "CATALOG_IO__IMPL": "org.apache.iceberg.hadoop.HadoopFileIO",
            "CATALOG_JDBC_SCHEMA__VERSION": "V1",
        }  # fmt: skip
        command = ["java", "-Xmx512m", "-cp", JAVA_CLASS_PATH.read_text(), "org.apache.iceberg.rest.RESTCatalogServer"]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    server = Server(name, f"http://127.0.0.1:{port}", str(warehouse), process)
    try:
        while not answers(f"{server.url}/v1/config"):
            if process.poll() is not None:
                raise SystemExit(f"{name} ended: {(folder / 'log').read_text()[-2000:]}")
            time.sleep(0.2)
        yield server
    finally:
        process.terminate()
        process.wait()


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def prepare(server: Server) -> None:
    """Makes the tables, each with a history."""
    with httpx.Client(timeout=60) as client:
        prefix = client.get(f"{server.url}/v1/config").json()["overrides"].get("prefix")
        server.prefix = f"{prefix}/" if prefix else ""
        expect(client.post(f"{server.url}/v1/{server.prefix}namespaces", json={"namespace": ["db"]}))
        for number in range(TABLES):
            made = client.post(f"{server.namespace}/tables", json={"name": f"t{number}", "schema": _SCHEMA})
            metadata = expect(made).json()["metadata"]
            server.uuids.append(metadata["table-uuid"])
            now = int(time.time() * 1000)
            updates: list[dict[str, Any]] = [
                {"action": "add-snapshot", "snapshot": snapshot(metadata["location"], place, now)}
                for place in range(1, SNAPSHOTS + 1)
            ]
            updates.append(
                {"action": "set-snapshot-ref", "ref-name": "main", "type": "branch", "snapshot-id": SNAPSHOTS}
            )
            expect(client.post(f"{server.namespace}/tables/t{number}", json={"requirements": [], "updates": updates}))


def snapshot(location: str, place: int, now: int) -> dict[str, Any]:
    counts = ("added-data-files", "added-records", "total-data-files", "total-records", "total-files-size")
    document: dict[str, Any] = {
        "snapshot-id": place, "sequence-number": place, "timestamp-ms": now + place, "schema-id": 0,
        "manifest-list": f"{location}/metadata/snap-{place}-1-9c12d441-03fe-4693-9a96-a0705ddf69c1.avro",
        "summary": {"operation": "append", **{name: str(place * 1000) for name in counts}},
    }  # fmt: skip
    return document | ({"parent-snapshot-id": place - 1} if place > 1 else {})


def expect(answer: httpx.Response) -> httpx.Response:
    if answer.status_code not in (200, 204):
        raise SystemExit(f"{answer.request.method} {answer.request.url}: {answer.status_code} {answer.text[:500]}")
    return answer


async def load(server: Server, *, seconds: float, rate: float, counted: bool) -> None:
    """Every client sends at its own fixed times, whether or not the answer before was slow."""
    limits = httpx.Limits(max_connections=CLIENTS, max_keepalive_connections=CLIENTS)
    async with httpx.AsyncClient(timeout=60, limits=limits) as client:
        before = server.processor_s()
        await asyncio.gather(
            *(one_client(server, client, at, seconds, rate / CLIENTS, counted) for at in range(CLIENTS))
        )
        if counted:
            server.cpu_s += server.processor_s() - before


async def one_client(
    server: Server, client: httpx.AsyncClient, number: int, seconds: float, rate: float, counted: bool
) -> None:
    rng = random.Random(number)
    start = time.monotonic() + number / CLIENTS / rate
    for turn in itertools.count():
        due = start + turn / rate
        if due >= start + seconds:
            return
        await asyncio.sleep(max(0.0, due - time.monotonic()))
        kind = rng.choice(_MIX)
        began = time.monotonic()
        answer = await ask(server, client, kind, rng)
        if counted:
            server.latencies_ms.setdefault(kind, []).append((time.monotonic() - began) * 1000)
            server.statuses[kind, answer.status_code] += 1


async def ask(server: Server, client: httpx.AsyncClient, kind: str, rng: random.Random) -> httpx.Response:
    table = rng.randrange(TABLES)
    at = f"{server.namespace}/tables/t{table}"
    if kind == "list":
        return await client.get(f"{server.namespace}/tables")
    if kind == "exists":
        return await client.head(at)
    if kind == "load":
        return await client.get(at)
    update = {"action": "set-properties", "updates": {f"p{rng.randrange(10)}": str(rng.random())}}
    requirement = {"type": "assert-table-uuid", "uuid": server.uuids[table]}
    return await client.post(at, json={"requirements": [requirement], "updates": [update]})


def report(servers: list[Server]) -> int:
    """Prints what was measured; how many requests ended with an error."""
    failed = 0
    print(
        f"{'server':8}{'requests':>10}{'CPU ms a request':>18}{'conflicts':>11}{'errors':>8}   median / 95 % in ms, by kind"
    )
    for server in servers:
        count = sum(server.statuses.values())
        conflicts = sum(found for (_, status), found in server.statuses.items() if status == 409)
        errors = {key: found for key, found in server.statuses.items() if key[1] not in (200, 204, 409)}
        failed += sum(errors.values())
        times = ", ".join(
            f"{kind} {statistics.median(found):.0f} / {statistics.quantiles(found, n=20)[18]:.0f}"
            for kind, found in sorted(server.latencies_ms.items())
        )
        per_request = server.cpu_s / count * 1000
        print(f"{server.name:8}{count:>10}{per_request:>18.2f}{conflicts:>11}{sum(errors.values()):>8}   {times}")
        if errors:
            print(f"  {errors}")
    return failed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--rate", type=float, default=40, help="requests a second, of all clients together")
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    names = ["ours"]
    if JAVA_CLASS_PATH.is_file() and shutil.which("java"):
        names.append("java")
    else:
        print("SKIPPED: the Java reference server is not here; make test-servers fetches it, and it needs Java")
    with tempfile.TemporaryDirectory(prefix="bench-server-") as folder, ExitStack() as stack:
        servers = [stack.enter_context(running(name, Path(folder) / name)) for name in names]
        for server in servers:
            prepare(server)
            asyncio.run(load(server, seconds=WARM_UP_S, rate=given.rate, counted=False))
        for _ in range(given.rounds):
            for server in servers:
                asyncio.run(load(server, seconds=given.seconds / given.rounds, rate=given.rate, counted=True))
        return report(servers)


if __name__ == "__main__":
    sys.exit(main())
