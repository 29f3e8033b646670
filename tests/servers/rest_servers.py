"""REST catalog servers that others wrote, started here: the Java reference server and Nessie. `make test-servers` fetches them."""

from __future__ import annotations

import os
import shutil
import socket
import sqlite3
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
SERVERS = ROOT / ".cache" / "servers"
CLASS_PATH = SERVERS / "iceberg-rest" / "cp.txt"
NESSIE_JAR = SERVERS / "nessie" / "nessie-quarkus-0.99.0-runner.jar"
HOW_TO = "make test-servers fetches it by Maven"


@dataclass(frozen=True)
class RestServer:
    """A running server."""

    kind: str
    uri: str
    warehouse: str
    """Where its tables go."""
    forget: Callable[[], None]
    """Takes everything out of the catalog, whatever state it is in."""
    options: dict[str, str] = field(default_factory=dict)
    table_properties: dict[str, str] = field(default_factory=dict)
    """What it puts into every new table."""


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextmanager
def _running(command: list[str], environment: dict[str, str], *, ready: str, log: Path) -> Iterator[None]:
    with log.open("wb") as output:
        process = subprocess.Popen(command, env={**os.environ, **environment}, stdout=output, stderr=output)
        try:
            while not _answers(ready):
                if process.poll() is not None:
                    raise AssertionError(f"the server ended: {log.read_text(errors='replace')[-3000:]}")
                time.sleep(0.2)
            yield
        finally:
            process.terminate()
            process.wait()


def _answers(uri: str) -> bool:
    try:
        with urllib.request.urlopen(uri) as answer:
            return answer.status == 200
    except urllib.error.HTTPError:
        return False
    except OSError:
        return False


@contextmanager
def running_java_server(folder: Path) -> Iterator[RestServer]:
    """The reference server of the Iceberg project, on SQLite and local files."""
    if not CLASS_PATH.is_file() or shutil.which("java") is None:
        pytest.skip(f"SKIPPED: the Java reference server is not here; {HOW_TO}, and it needs Java")
    port = free_port()
    database = folder / "catalog.db"
    warehouse = folder / "warehouse"
    environment = {
        "CATALOG_WAREHOUSE": str(warehouse),
        "CATALOG_URI": f"jdbc:sqlite:file:{database}",
        "CATALOG_REST_PORT": str(port),
        "CATALOG_IO__IMPL": "org.apache.iceberg.hadoop.HadoopFileIO",
        "CATALOG_JDBC_SCHEMA__VERSION": "V1",
    }
    main = "org.apache.iceberg.rest.RESTCatalogServer"
    command = ["java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", CLASS_PATH.read_text(), main]

    def forget() -> None:
        with sqlite3.connect(database, timeout=30) as connection:
            for table in ("iceberg_tables", "iceberg_namespace_properties"):
                connection.execute(f"DELETE FROM {table}")
        connection.close()
        shutil.rmtree(warehouse, ignore_errors=True)
        warehouse.mkdir()

    uri = f"http://127.0.0.1:{port}"
    with _running(command, environment, ready=f"{uri}/v1/config", log=folder / "server.log"):
        yield RestServer(
            "java", uri, str(warehouse), forget, table_properties={"write.parquet.compression-codec": "zstd"}
        )
