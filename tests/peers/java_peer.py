"""The Java Iceberg runtime, asked through Spark in an environment of its own, with jars that Maven fetches."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import floeberg as fb
from peers.environments import peer_python

RUNTIME = "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0"
SQLITE = "org.xerial:sqlite-jdbc:3.50.3.0"


def jar(artifact: str) -> str:
    """The jar of an artifact in Maven's own folder; skips where it cannot be fetched."""
    group, name, version = artifact.split(":")
    path = Path.home() / ".m2/repository" / group.replace(".", "/") / name / version / f"{name}-{version}.jar"
    if path.exists():
        return str(path)
    if shutil.which("mvn") is None:
        pytest.skip(f"Maven is not installed here, and {path.name} is not in its folder")
    command = ["mvn", "-B", "-q", "dependency:get", f"-Dartifact={artifact}", "-Dtransitive=false"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if not path.exists():
        pytest.skip(f"Maven could not fetch {artifact}: {' '.join(done.stdout.split())[:300]}")
    return str(path)


@dataclass(frozen=True)
class Answer:
    """What a statement gave: rows, the same as the text of SQL scripts, or an error."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)
    error: str = ""


class JavaRuntime:
    """One Spark session with the Java runtime, for all tests of a run: its start is what costs."""

    def __init__(self, process: subprocess.Popen[str], errors: Path) -> None:
        self._process = process
        self._errors = errors

    def ask(self, statements: Sequence[str], settings: Mapping[str, str] | None = None) -> list[Answer]:
        """The answers to statements, each run after the one before it, failed or not."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"settings": settings or {}, "statements": [*statements]}) + "\n")
        self._process.stdin.flush()
        return [self._answer() for _ in statements]

    def _answer(self) -> Answer:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("ANSWER "):
                return Answer(**json.loads(line.removeprefix("ANSWER ")))
        raise AssertionError(f"the Java runtime ended: {self._errors.read_text()[-3000:]}")

    def run(self, *statements: str) -> list[list[dict[str, Any]]]:
        """The rows of statements of which none fails."""
        answers = self.ask(statements)
        for statement, answer in zip(statements, answers, strict=True):
            assert not answer.error, f"{statement}: {answer.error}"
        return [answer.rows for answer in answers]

    def open_hadoop(self, name: str, warehouse: Path) -> None:
        """Gives the session a HadoopCatalog."""
        self._open(name, {"type": "hadoop", "warehouse": str(warehouse)})

    def open_jdbc(self, name: str, database: Path, warehouse: Path) -> None:
        """Gives the session a JdbcCatalog on SQLite."""
        settings = {"type": "jdbc", "uri": f"jdbc:sqlite:{database}", "jdbc.schema-version": "V1"}
        self._open(name, {**settings, "warehouse": str(warehouse)})

    def open_rest(self, name: str, uri: str, token: str, settings: Mapping[str, str] | None = None) -> None:
        """Gives the session a RESTCatalog."""
        self._open(name, {"type": "rest", "uri": uri, "token": token, **(settings or {})})

    def _open(self, name: str, settings: Mapping[str, str]) -> None:
        """The Java catalog keeps tables in a cache of the session, which does not see what others commit: not here."""
        prefix = f"spark.sql.catalog.{name}"
        own = {f"{prefix}.{key}": value for key, value in settings.items()}
        self.ask([], {prefix: "org.apache.iceberg.spark.SparkCatalog", f"{prefix}.cache-enabled": "false", **own})


@contextmanager
def java_runtime() -> Iterator[JavaRuntime]:
    """Starts the peer; skips where Java, Maven or the peer's environment is missing."""
    if shutil.which("java") is None:
        pytest.skip("Java is not installed here")
    script = Path(__file__).parents[1] / "interop" / "java" / "run_statements.py"
    command = [peer_python("java"), str(script), jar(RUNTIME), jar(SQLITE)]
    with tempfile.TemporaryDirectory() as folder:
        errors = Path(folder) / "errors"
        # The runtime makes a warehouse folder for Spark's own catalog where it is started.
        with errors.open("w") as log, subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, cwd=folder,
            env={**os.environ, "TZ": "UTC", "PYSPARK_PYTHON": command[0]},
        ) as process:  # fmt: skip
            yield JavaRuntime(process, errors)


@contextmanager
def lake_of_both(spark: Any, runtime: JavaRuntime, folder: Path, name: str, *namespaces: str) -> Iterator[fb.Catalog]:
    """One warehouse that both engines have under a name."""
    runtime.open_hadoop(name, folder)
    with fb.catalog(name, warehouse=str(folder)) as lake:
        for namespace in namespaces:
            lake.create_namespace(namespace)
        fb.attach(spark, lake)
        yield lake
        fb.detach(spark)
