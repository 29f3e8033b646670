"""Trino, started from the jars that Maven fetches, with our server as its REST catalog. `make test-trino` fetches it."""

from __future__ import annotations

import os
import subprocess
import time
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx
import pytest

from servers.rest_servers import SERVERS, free_port, newer_java

VERSION: Final = "483"
CLASS_PATHS: Final = SERVERS / "trino"
SETTINGS: Final = {
    "coordinator": "true",
    "node-scheduler.include-coordinator": "true",
    "node.bind-ip": "127.0.0.1",
    "node.internal-address": "127.0.0.1",
    "query.max-memory-per-node": "256MB",
    "memory.heap-headroom-per-node": "128MB",
    "catalog.management": "static",
    "web-ui.enabled": "false",
}


@dataclass(frozen=True, slots=True)
class Trino:
    """A running Trino with one catalog, asked by its HTTP protocol."""

    uri: str

    def run(self, *statements: str) -> list[list[Any]]:
        """The rows of the last statement. Raises AssertionError with Trino's message where one fails."""
        rows: list[list[Any]] = []
        for statement in statements:
            rows = self._ask(statement)
        return rows

    def error(self, statement: str) -> str:
        """The message of a statement that fails."""
        with pytest.raises(AssertionError) as found:
            self._ask(statement)
        return str(found.value)

    def _ask(self, statement: str) -> list[list[Any]]:
        rows: list[list[Any]] = []
        headers = {"X-Trino-User": "test", "X-Trino-Time-Zone": "UTC"}
        with httpx.Client(headers=headers, timeout=None) as client:
            answer = client.post(f"{self.uri}/v1/statement", content=statement.encode())
            while True:
                answer.raise_for_status()
                found = answer.json()
                rows += found.get("data") or []
                assert "error" not in found, f"{statement}: {found['error']['message']}"
                if "nextUri" not in found:
                    return rows
                answer = client.get(found["nextUri"])


@contextmanager
def running_trino(folder: Path, catalog: str, settings: Mapping[str, str]) -> Iterator[Trino]:
    """Trino with a catalog of the connector `iceberg`; skips where its jars or a Java of 24 or newer are missing."""
    java = newer_java(24)
    missing = [name for name in ("main", "iceberg", "hdfs") if not (CLASS_PATHS / f"{name}.txt").is_file()]
    if java is None or missing:
        pytest.skip("SKIPPED: Trino is not here; make test-trino fetches it by Maven, and it needs Java 24 or newer")
    port = free_port()
    _write_plugin(folder / "plugin" / "iceberg")
    _write_properties(folder / "catalog" / f"{catalog}.properties", {"connector.name": "iceberg", **settings})
    own = {
        "http-server.http.port": str(port),
        "discovery.uri": f"http://127.0.0.1:{port}",
        "node.environment": "test",
        "plugin.dir": str(folder / "plugin"),
        "catalog.config-dir": str(folder / "catalog"),
    }
    _write_properties(folder / "config.properties", {**SETTINGS, **own})
    (folder / "log.properties").write_text("io.trino=WARN\n")
    command = [
        java, "-Xmx1g", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "--add-modules=jdk.incubator.vector",
        "--enable-native-access=ALL-UNNAMED", "--sun-misc-unsafe-memory-access=allow", "-Djdk.attach.allowAttachSelf=true",
        f"-Dconfig={folder / 'config.properties'}", f"-Dlog.levels-file={folder / 'log.properties'}",
        "-cp", (CLASS_PATHS / "main.txt").read_text().strip(), str(Path(__file__).parent / "trino" / "Launcher.java"), VERSION,
    ]  # fmt: skip
    log = folder / "trino.log"
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, cwd=folder, env={**os.environ, "TZ": "UTC"})
        try:
            _wait_until_started(process, f"http://127.0.0.1:{port}", log)
            yield Trino(f"http://127.0.0.1:{port}")
        finally:
            process.kill()
            process.wait()


def _write_plugin(folder: Path) -> None:
    """The plugin as Trino's tarball has it: links to its jars, a jar that names its class, and Hadoop's in a folder."""
    for name, where in (("iceberg", folder), ("hdfs", folder / "hdfs")):
        where.mkdir(parents=True)
        for jar in (CLASS_PATHS / f"{name}.txt").read_text().strip().split(":"):
            (where / Path(jar).name).symlink_to(jar)
    with zipfile.ZipFile(folder / "services.jar", "w") as services:
        services.writestr("META-INF/services/io.trino.spi.Plugin", "io.trino.plugin.iceberg.IcebergPlugin\n")


def _write_properties(path: Path, settings: Mapping[str, str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))


def _wait_until_started(process: subprocess.Popen[bytes], uri: str, log: Path) -> None:
    while not _has_started(uri):
        if process.poll() is not None:
            raise AssertionError(f"Trino ended: {log.read_text(errors='replace')[-3000:]}")
        time.sleep(0.3)


def _has_started(uri: str) -> bool:
    try:
        answer = httpx.get(f"{uri}/v1/info", timeout=5)
    except httpx.TransportError:
        return False
    return answer.status_code == 200 and answer.json()["starting"] is False
