"""REST catalog servers that others wrote, started here: the Java reference server and Nessie. `make test-servers` fetches them."""

from __future__ import annotations

import os
import re
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

import floeberg as fb
from servers.s3_server import S3Server

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


def newer_java(version: int) -> str | None:
    """A Java of a version or newer, where one is installed beside the default."""
    for release in sorted(Path("/usr/lib/jvm").glob("*/release"), reverse=True):
        stated = re.search(r'JAVA_VERSION="(\d+)', release.read_text(errors="replace"))
        if stated and int(stated[1]) >= version:
            return str(release.parent / "bin" / "java")
    return None


@contextmanager
def running_nessie(folder: Path, s3: S3Server) -> Iterator[RestServer]:
    """Project Nessie, in memory, over an S3 server of this process."""
    java = newer_java(21)
    if not NESSIE_JAR.is_file() or java is None:
        pytest.skip(f"SKIPPED: Nessie is not here; {HOW_TO}, and it needs Java 21 or newer")
    port, management = free_port(), free_port()
    bucket = s3.new_bucket()
    properties = {
        "quarkus.http.host": "127.0.0.1",
        "quarkus.http.port": str(port),
        "quarkus.management.port": str(management),
        "quarkus.management.host": "127.0.0.1",
        "quarkus.otel.sdk.disabled": "true",
        "nessie.version.store.type": "IN_MEMORY",
        "nessie.catalog.default-warehouse": "wh",
        "nessie.catalog.warehouses.wh.location": f"s3://{bucket}/wh",
        "nessie.catalog.service.s3.default-options.endpoint": s3.endpoint,
        "nessie.catalog.service.s3.default-options.path-style-access": "true",
        "nessie.catalog.service.s3.default-options.region": "us-east-1",
        "nessie.catalog.service.s3.default-options.access-key": "urn:nessie-secret:quarkus:my.s3",
        "my.s3.name": "test",
        "my.s3.secret": "test",
    }
    command = [java, "-Xmx512m", "-XX:+UseSerialGC", *(f"-D{key}={value}" for key, value in properties.items())]
    uri = f"http://127.0.0.1:{port}/iceberg"
    options = s3.options()

    def forget() -> None:
        with fb.catalog("clean", type="rest", uri=uri, properties=options) as cat:
            _drop_all(cat)
        s3.empty(bucket)

    ready = f"{uri}/v1/config"
    with _running([*command, "-jar", str(NESSIE_JAR)], {}, ready=ready, log=folder / "nessie.log"):
        yield RestServer("nessie", uri, f"s3://{bucket}/wh", forget, options=options)


def _drop_all(cat: fb.Catalog, parent: tuple[str, ...] = ()) -> None:
    for namespace in cat.list_namespaces(parent):
        _drop_all(cat, namespace)
        for table in cat.list_tables(namespace):
            cat.drop_table(table)
        for view in cat.list_views(namespace):
            cat.drop_view(view)
        cat.drop_namespace(namespace)
