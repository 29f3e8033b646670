"""PostgreSQL, Kafka and Debezium on this machine, for as long as a block lasts. They listen on 127.0.0.1 only."""

from __future__ import annotations

import base64
import glob
import os
import pwd
import shutil
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).parent
CACHE = HERE.parents[1] / ".cache" / "demo-cdc"
CLASSPATH_GOAL = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:build-classpath"
HEAP = ("-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


def class_path(pom: str) -> str:
    """The jars of a pom, fetched by Maven the first time."""
    if shutil.which("mvn") is None or shutil.which("java") is None:
        sys.exit("demo-cdc fetches Kafka and Debezium by Maven and runs them on Java: install both (mvn, java)")
    found = CACHE / f"{Path(pom).stem}.classpath"
    if not found.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        print(f"fetching the jars of {pom} …", flush=True)
        part = found.with_suffix(".part")
        command = ["mvn", "-B", "-q", "-f", str(HERE / pom), CLASSPATH_GOAL, f"-Dmdep.outputFile={part}"]
        if subprocess.run(command, check=False).returncode:
            sys.exit(f"Maven cannot resolve {pom}: demo-cdc cannot run here")
        part.rename(found)
    return found.read_text().strip()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def wait_until(what: str, is_true: Callable[[], bool], seconds: int = 180) -> None:
    deadline = time.monotonic() + seconds
    while not is_true():
        if time.monotonic() > deadline:
            sys.exit(f"after {seconds} s still not there: {what}")
        time.sleep(0.5)


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def java(name: str, folder: Path, *command: str) -> Iterator[None]:
    """A Java server; what it has to say goes to `<folder>/<name>.log`."""
    with (folder / f"{name}.log").open("w") as log:
        jars = class_path("servers.xml")
        process = subprocess.Popen(["java", *HEAP, "-cp", jars, *command], stdout=log, stderr=log, cwd=folder)
        try:
            yield
        finally:
            process.terminate()
            process.wait()


class Postgres:
    """A server with logical decoding."""

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        self._data = folder / "postgres"
        found = shutil.which("initdb")
        programs = [found] if found else sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"))
        if not programs:
            sys.exit("demo-cdc needs a PostgreSQL server (Debian: apt install postgresql): there is no initdb here")
        self._programs = Path(programs[-1]).resolve().parent
        # PostgreSQL refuses to run as root.
        self._user = "postgres" if os.getuid() == 0 else None
        self._data.mkdir(mode=0o700)
        if self._user is not None:
            pwd.getpwnam(self._user)
            shutil.chown(self._data, self._user)

    def _run(self, *command: str) -> None:
        program = str(self._programs / command[0])
        done = subprocess.run(
            [program, *command[1:]],
            user=self._user,
            cwd="/",
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
        )
        if done.returncode:
            sys.exit(f"PostgreSQL: {command[0]} failed; see {self._data}")

    def start(self) -> None:
        self._run(
            "initdb",
            "--no-sync",
            "--encoding=UTF8",
            "--locale=C",
            "--username=shop",
            "--auth=trust",
            "-D",
            str(self._data),
        )
        options = f"-k '' -h 127.0.0.1 -p {self.port} -c wal_level=logical -c fsync=off"
        self._run("pg_ctl", "-w", "-D", str(self._data), "-l", str(self._data / "log"), "-o", options, "start")

    def stop(self) -> None:
        self._run("pg_ctl", "-m", "immediate", "-D", str(self._data), "stop")

    def sql(self, text: str) -> list[tuple[str, ...]]:
        """Runs SQL, and gives what it selects as texts."""
        address = ["-h", "127.0.0.1", "-p", str(self.port), "-U", "shop", "-d", "postgres"]
        command = [
            str(self._programs / "psql"),
            *address,
            "-qAt",
            "-F",
            "\t",
            "-P",
            "null=NULL",
            "-v",
            "ON_ERROR_STOP=1",
            "-c",
            text,
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"PostgreSQL: {done.stderr}")
        return [tuple(line.split("\t")) for line in done.stdout.splitlines()]


@contextmanager
def postgres(folder: Path) -> Iterator[Postgres]:
    server = Postgres(folder)
    server.start()
    try:
        yield server
    finally:
        server.stop()


def properties(path: Path, **settings: object) -> str:
    path.write_text("".join(f"{key.replace('__', '.')}={value}\n" for key, value in settings.items()))
    return str(path)


@contextmanager
def kafka(folder: Path) -> Iterator[str]:
    """The address of one node that is broker and controller."""
    port, control = free_port(), free_port()
    settings = properties(
        folder / "kafka.properties",
        process__roles="broker,controller",
        node__id=1,
        controller__quorum__voters=f"1@127.0.0.1:{control}",
        controller__listener__names="CONTROLLER",
        listeners=f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{control}",
        advertised__listeners=f"PLAINTEXT://127.0.0.1:{port}",
        listener__security__protocol__map="PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        log__dirs=folder / "kafka",
        offsets__topic__replication__factor=1,
        transaction__state__log__replication__factor=1,
        transaction__state__log__min__isr=1,
        share__coordinator__state__topic__replication__factor=1,
        share__coordinator__state__topic__min__isr=1,
    )
    cluster = base64.urlsafe_b64encode(b"k" + uuid.uuid4().bytes[1:]).decode().rstrip("=")
    with java("kafka-format", folder, "kafka.tools.StorageTool", "format", "-t", cluster, "-c", settings):
        wait_until("Kafka's folder", (folder / "kafka" / "meta.properties").exists)
    with java("kafka", folder, "kafka.Kafka", settings):
        wait_until("Kafka", lambda: listens(port))
        yield f"127.0.0.1:{port}"


@contextmanager
def debezium(folder: Path, brokers: str, database: Postgres, table: str) -> Iterator[None]:
    """Debezium's connector in Kafka Connect: the changes of a table become messages of the topic `shop.<table>`."""
    port = free_port()
    worker = properties(
        folder / "worker.properties",
        bootstrap__servers=brokers,
        key__converter="org.apache.kafka.connect.json.JsonConverter",
        value__converter="org.apache.kafka.connect.json.JsonConverter",
        offset__storage__file__filename=folder / "connect.offsets",
        offset__flush__interval__ms=1000,
        listeners=f"http://127.0.0.1:{port}",
    )
    connector = properties(
        folder / "connector.properties",
        name="shop",
        connector__class="io.debezium.connector.postgresql.PostgresConnector",
        tasks__max=1,
        database__hostname="127.0.0.1",
        database__port=database.port,
        database__user="shop",
        database__password="not-asked-for",
        database__dbname="postgres",
        topic__prefix="shop",
        table__include__list=table,
        plugin__name="pgoutput",
        publication__autocreate__mode="filtered",
    )
    with java("debezium", folder, "org.apache.kafka.connect.cli.ConnectStandalone", worker, connector):
        slots = "SELECT 1 FROM pg_replication_slots WHERE active"
        wait_until("Debezium's replication slot", lambda: bool(database.sql(slots)))
        yield
