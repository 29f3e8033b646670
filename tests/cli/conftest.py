"""Runs the command as a shell would, in an empty folder and without the environment's catalogs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from floeberg.cli.main import run


class Result(NamedTuple):
    code: int
    out: str
    err: str


Run = Callable[..., Result]


@pytest.fixture
def floeberg(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> Run:
    (tmp_path / "cwd").mkdir()
    monkeypatch.chdir(tmp_path / "cwd")
    monkeypatch.setenv("HOME", str(tmp_path / "cwd"))
    monkeypatch.delenv("FLOEBERG_CONFIG", raising=False)

    def command(*arguments: str) -> Result:
        code = run(arguments)
        out, err = capfdbinary.readouterr()
        return Result(code, out.decode("utf-8", "surrogateescape"), err.decode())

    return command
