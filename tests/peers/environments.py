"""The peers that live in environments of their own, made by `make interop-peers`."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PEERS = ROOT / ".cache" / "peers"


@dataclass(frozen=True)
class Request:
    """A table by its newest metadata file, and a query of it under the name `t`."""

    metadata_location: str
    query: str = "SELECT * FROM t"


@dataclass(frozen=True)
class PeerAnswer:
    """Rows as the text of SQL scripts, in any order; or the peer's error."""

    rows: list[str] = field(default_factory=list)
    columns: list[str] = field(default_factory=list)
    error: str = ""


def peer_python(name: str) -> str:
    """The interpreter of a peer's environment; skips where it was not made."""
    python = PEERS / name / "bin" / "python"
    if not (PEERS / name / "ready").exists() or not python.exists():
        pytest.skip(f"the peer {name} is not installed in {PEERS.relative_to(ROOT)}: make interop-peers")
    return str(python)


def ask(name: str, requests: list[Request]) -> list[PeerAnswer]:
    """A peer's answers, all from one process."""
    command = [peer_python(name), str(Path(__file__).parents[1] / "interop" / f"read_with_{name}.py")]
    asked = json.dumps([{"metadata_location": one.metadata_location, "query": one.query} for one in requests])
    done = subprocess.run(command, input=asked, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    answers = [PeerAnswer(**json.loads(line)) for line in done.stdout.splitlines() if line.startswith("{")]
    assert len(answers) == len(requests), done.stderr[-2000:]
    return answers
