"""The peers that live in environments of their own, made by `make interop-peers`."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
PEERS = ROOT / ".cache" / "peers"


def peer_python(name: str) -> str:
    """The interpreter of a peer's environment; skips where it was not made."""
    python = PEERS / name / "bin" / "python"
    if not (PEERS / name / "ready").exists() or not python.exists():
        pytest.skip(f"the peer {name} is not installed in {PEERS.relative_to(ROOT)}: make interop-peers")
    return str(python)


def ask(name: str, script: str, *arguments: str) -> list[dict[str, Any]]:
    """The rows that a peer's script prints, one JSON object a line."""
    command = [peer_python(name), str(Path(__file__).parent / "interop" / script), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return [json.loads(line) for line in done.stdout.splitlines()]
