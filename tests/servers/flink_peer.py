"""Flink as a process that answers statements of SQL. `make test-flink` makes its environment."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from peers.environments import peer_python


@dataclass(frozen=True, slots=True)
class Flink:
    """A running process; its tables live in catalogs that statements make."""

    process: subprocess.Popen[str]
    errors: Path

    def run(self, *statements: str) -> list[list[str]]:
        """The rows of the last statement, as text. Raises AssertionError with Flink's message where one fails."""
        rows: list[list[str]] = []
        for statement in statements:
            found = self._ask(statement)
            assert "error" not in found, f"{statement}: {found['error']}"
            rows = found["rows"]
        return rows

    def _ask(self, statement: str) -> dict[str, list[list[str]]]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(statement) + "\n")
        self.process.stdin.flush()
        for line in self.process.stdout:
            if line.startswith("ANSWER "):
                found: dict[str, list[list[str]]] = json.loads(line.removeprefix("ANSWER "))
                return found
        raise AssertionError(f"Flink ended: {self.errors.read_text()[-3000:]}")


@contextmanager
def running_flink(folder: Path) -> Iterator[Flink]:
    """Starts the peer; skips where its environment was not made."""
    script = Path(__file__).parents[1] / "engines" / "flink" / "run_statements.py"
    errors = folder / "flink.log"
    command = [peer_python("flink"), str(script)]
    with errors.open("w") as log, subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, cwd=folder,
        env={**os.environ, "TZ": "UTC", "JAVA_TOOL_OPTIONS": "-Xmx768m"},
    ) as process:  # fmt: skip
        yield Flink(process, errors)
        assert process.stdin is not None
        process.stdin.close()
        process.wait()
