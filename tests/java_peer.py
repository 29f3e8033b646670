"""The Java Iceberg library, asked through Spark in an environment of its own, with jars that Maven fetches."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from peers import peer_python

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
class JavaPeer:
    """A HadoopCatalog `h` and a JdbcCatalog `j`."""

    warehouse: Path
    database: Path
    jdbc_warehouse: Path

    def run(self, *statements: str) -> list[list[dict[str, Any]]]:
        """The rows of each statement, in one Spark session."""
        if shutil.which("java") is None:
            pytest.skip("Java is not installed here")
        script = Path(__file__).parent / "interop" / "java" / "run_statements.py"
        arguments = [jar(RUNTIME), jar(SQLITE), str(self.warehouse), str(self.database), str(self.jdbc_warehouse)]
        done = subprocess.run(
            [peer_python("java"), str(script), *arguments],
            input=json.dumps(statements),
            capture_output=True,
            text=True,
            timeout=900,
            check=False,
        )
        lines = [line.removeprefix("ROWS ") for line in done.stdout.splitlines() if line.startswith("ROWS ")]
        assert len(lines) == len(statements), f"{statements[len(lines)]}: {done.stderr[-3000:]}"
        return [json.loads(line)["rows"] for line in lines]
