"""Spark engines side by side: each is a process of its own that answers statements, so that they can take turns.

On one Spark 4.1.1, in the environment `.cache/peers/spark41` (`make bench-spark` builds it): `java` is the Java runtime's
jar, `floeberg` is `attach` on a stock session, `vectored` the same with Hadoop's vectored reads of local files. `sail` is
Sail's own server (`.cache/peers/sail`), where it can. Each answer has the seconds, and the processor seconds of the process and
all its children: the JVM and Spark's Python workers.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Any, Final, Self

from bench.plan_java import VERSION

ROOT: Final = Path(__file__).resolve().parent.parent
PEERS: Final = ROOT / ".cache" / "peers"
RUNTIME: Final = f"org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:{VERSION}"
CATALOG: Final = "bench"
_KEPT: Final[list[Any]] = []
"""Servers that would end when no one holds them."""
SETTINGS: Final = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.memory": "4g",
}


@dataclass(frozen=True, slots=True)
class Answer:
    """What one statement cost, and its rows."""

    seconds: float
    cpu_seconds: float
    rows: list[list[Any]]
    digest: str = ""
    """Of all rows, whatever their order; floating-point numbers are rounded, whose sums depend on it."""


@dataclass(slots=True)
class Engine:
    """An engine's process; `run` asks it, in turn with the others. One that gives no answer is ended, and begun anew for the
    next question."""

    name: str
    warehouse: Path
    patience_seconds: float = 300.0
    environment: Mapping[str, str] = field(default_factory=dict)
    _process: subprocess.Popen[str] | None = field(default=None, init=False)
    _answers: SimpleQueue[str | None] = field(default_factory=SimpleQueue, init=False)

    def __enter__(self) -> Self:
        python = PEERS / ("sail" if self.name == "sail" else "spark41") / "bin" / "python"
        if not python.exists():
            raise SystemExit(f"{python} is not there: make bench-spark builds it")
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)]),
            "PYSPARK_PYTHON": str(python),
            "RUST_LOG": "error",
            "PYTHONWARNINGS": "ignore",
            **self.environment,
        }
        command = [str(python), "-m", "bench.spark_engines", self.name, str(self.warehouse)]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
            stderr=subprocess.DEVNULL,
        )
        self._answers = SimpleQueue()
        threading.Thread(target=_listen, args=(self._process, self._answers), daemon=True).start()
        self._answer()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        if self._process.poll() is None:
            self._process.stdin.close()
            self._process.wait(timeout=60)

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def run(self, statement: str) -> Answer:
        """Runs a statement and takes all its rows. Raises RuntimeError with the engine's own message."""
        return self._ask(statement)

    def call(self, function: str, **arguments: Any) -> Answer:
        """Calls `module:function` with the engine's session and JSON values. Raises RuntimeError with its message."""
        return self._ask({"call": function, "arguments": arguments})

    def _ask(self, question: str | dict[str, Any]) -> Answer:
        if self._process is None or self._process.poll() is not None:
            self.__enter__()
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        found = self._answer()
        if "error" in found:
            raise RuntimeError(f"{self.name}: {found['error']}")
        return Answer(
            seconds=found["seconds"], cpu_seconds=found["cpu_seconds"], rows=found["rows"], digest=found["digest"]
        )

    def _answer(self) -> dict[str, Any]:
        assert self._process is not None
        try:
            line = self._answers.get(timeout=self.patience_seconds)
        except Empty:
            self._process.kill()
            self._process.wait()
            raise RuntimeError(f"{self.name} gave no answer in {self.patience_seconds:.0f} s") from None
        if line is None:
            raise RuntimeError(f"{self.name} ended")
        answer: dict[str, Any] = json.loads(line)
        return answer


def _listen(process: subprocess.Popen[str], answers: SimpleQueue[str | None]) -> None:
    """Passes on what the process answers, and None when it has ended."""
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("ANSWER "):
            answers.put(line.removeprefix("ANSWER "))
    answers.put(None)


def best(engine: Engine, statement: str, *, repeat: int) -> Answer:
    """The least of some runs, seconds and processor seconds each for itself."""
    answers = [engine.run(statement) for _ in range(repeat)]
    return Answer(min(a.seconds for a in answers), min(a.cpu_seconds for a in answers), answers[0].rows)


def runtime_jar() -> Path:
    """The Java runtime's jar."""
    return maven_jar(RUNTIME)


def maven_jar(artifact: str) -> Path:
    """A jar in Maven's own folder, fetched at first use. Raises SystemExit where Maven is missing."""
    group, name, version = artifact.split(":")
    path = Path.home() / ".m2/repository" / group.replace(".", "/") / name / version / f"{name}-{version}.jar"
    if not path.exists():
        if shutil.which("mvn") is None:
            raise SystemExit(f"{artifact} is fetched by Maven, which is not installed here")
        command = ["mvn", "-B", "-q", "dependency:get", f"-Dartifact={artifact}", "-Dtransitive=false"]
        # What Maven prints would stand before the engine's first answer.
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=sys.stderr)
    return path


def process_tree(root: int) -> dict[int, int]:
    """A process and all below it, with their clock ticks of processor time, those of ended ones included."""
    children: dict[int, list[int]] = {}
    spent: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):  # it ended between the listing and the reading
            continue
        children.setdefault(int(fields[1]), []).append(int(entry.name))
        spent[int(entry.name)] = sum(int(value) for value in fields[11:15])
    found: dict[int, int] = {}
    waiting = [root]
    while waiting:
        one = waiting.pop()
        found[one] = spent.get(one, 0)
        waiting += children.get(one, [])
    return found


def process_tree_seconds(root: int) -> float:
    """Processor seconds of a process and all below it, those that have ended included."""
    return sum(process_tree(root).values()) / os.sysconf("SC_CLK_TCK")


def _serve(engine: str, warehouse: str) -> None:
    """The process of an engine: a session, then one answer a line."""
    session = {"java": _java, "floeberg": _floeberg, "vectored": _vectored, "sail": _sail}[engine](warehouse)
    _say({})
    for line in sys.stdin:
        question = json.loads(line)
        cpu, started = process_tree_seconds(os.getpid()), time.perf_counter()
        try:
            rows = _rows(session, question)
        except Exception as error:  # whatever went wrong is told to the one who asked
            _say({"error": f"{type(error).__name__}: {' '.join(str(error).split())[:600]}"})
            continue
        seconds = time.perf_counter() - started
        spent = process_tree_seconds(os.getpid()) - cpu
        shown = [[str(value) for value in row] for row in rows[:50]]
        _say({"seconds": seconds, "cpu_seconds": spent, "rows": shown, "digest": _digest(rows)})
    session.stop()


def _rows(session: Any, question: str | dict[str, Any]) -> list[list[Any]]:
    if isinstance(question, str):
        return [list(row) for row in session.sql(question).collect()]
    module, _, function = question["call"].partition(":")
    found: list[list[Any]] = getattr(importlib.import_module(module), function)(session, **question["arguments"])
    return found


def _digest(rows: list[list[Any]]) -> str:
    texts = [repr([f"{value:.9g}" if isinstance(value, float) else str(value) for value in row]) for row in rows]
    return f"{len(rows)} rows, {hashlib.sha256(chr(10).join(sorted(texts)).encode()).hexdigest()}"


def _say(answer: dict[str, Any]) -> None:
    sys.stdout.write(f"ANSWER {json.dumps(answer)}\n")
    sys.stdout.flush()


def _classic(settings: dict[str, str]) -> Any:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]")
    for name, value in {**SETTINGS, **settings}.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


def _java(warehouse: str) -> Any:
    return _classic(
        {
            "spark.jars": str(runtime_jar()),
            "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
            f"spark.sql.catalog.{CATALOG}": "org.apache.iceberg.spark.SparkCatalog",
            f"spark.sql.catalog.{CATALOG}.type": "hadoop",
            f"spark.sql.catalog.{CATALOG}.warehouse": warehouse,
            # The Java runtime's catalog remembers tables for 30 s; here tables change under it.
            f"spark.sql.catalog.{CATALOG}.cache-enabled": "false",
        }
    )


def _floeberg(warehouse: str) -> Any:
    import floeberg as fb

    session = _classic({})
    fb.attach(session, fb.catalog(CATALOG, warehouse=warehouse))
    return session


def _vectored(warehouse: str) -> Any:
    from floeberg.spark.read.parquet import scan

    scan.OF_LOCAL_FILES.clear()
    return _floeberg(warehouse)


def _sail(warehouse: str) -> Any:
    from pysail.spark import SparkConnectServer
    from pyspark.sql import SparkSession

    server = SparkConnectServer("127.0.0.1", 0)
    server.start(background=True)
    _KEPT.append(server)
    host, port = server.listening_address
    session = SparkSession.builder.remote(f"sc://{host}:{port}").getOrCreate()
    for folder in sorted(path for path in (Path(warehouse) / "db").iterdir() if path.is_dir()):
        session.read.format("iceberg").load(str(folder)).createOrReplaceTempView(f"db_{folder.name}")
    return session


def arguments(description: str, *, rows: int = 6_000_000) -> argparse.ArgumentParser:
    """The options that the Spark benchmarks share."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--rows", type=int, default=rows)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--folder", default=str(Path(tempfile.gettempdir()) / "floeberg-bench-spark"))
    return parser


if __name__ == "__main__":
    _serve(sys.argv[1], sys.argv[2])
