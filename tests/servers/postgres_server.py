"""A PostgreSQL server of this test run, for tests with the marker `postgres`. Skips where none is installed."""

from __future__ import annotations

import glob
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

PASSWORD = "sentinel-Pa55word"


def _binaries() -> Path:
    found = shutil.which("initdb")
    if found:
        return Path(found).parent
    folders = sorted(glob.glob("/usr/lib/postgresql/*/bin"), key=lambda one: [part.zfill(4) for part in one.split("/")])
    for folder in reversed(folders):
        if Path(folder, "initdb").exists():
            return Path(folder)
    pytest.skip("no PostgreSQL server is installed here (initdb is neither on the path nor in /usr/lib/postgresql)")


def _user() -> str | None:
    """PostgreSQL refuses to run as root; None means that we are not."""
    if os.getuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            pwd.getpwnam(name)
        except KeyError:
            continue
        return name
    pytest.skip("PostgreSQL does not run as root, and there is no user postgres or nobody")


def _run(command: list[str], user: str | None) -> None:
    done = subprocess.run(command, user=user, cwd="/", capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"PostgreSQL could not be started: {' '.join((done.stderr or done.stdout).split())[:300]}")


@contextmanager
def running_postgres() -> Iterator[str]:
    """The address of a fresh server that only listens on a socket in a folder of its own."""
    binaries, user = _binaries(), _user()
    with tempfile.TemporaryDirectory(prefix="pg-", ignore_cleanup_errors=True) as base:
        folder, secret = Path(base, "data"), Path(base, "password")
        secret.write_text(PASSWORD)
        if user is not None:
            os.chmod(base, 0o755)
            for path in (base, secret):
                shutil.chown(path, user)
        login = ["--username=floeberg", f"--pwfile={secret}", "--auth=scram-sha-256"]
        _run([str(binaries / "initdb"), "--no-sync", "--encoding=UTF8", "--locale=C", *login, "-D", str(folder)], user)
        options = f"-k {base} -c listen_addresses='' -c fsync=off"
        control = [str(binaries / "pg_ctl"), "-D", str(folder), "-l", str(folder / "log"), "-w"]
        # pg_ctl leaves the server with its output open: it must not be ours.
        started = subprocess.run(
            [*control, "-o", options, "start"], user=user, cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        if started.returncode:
            pytest.skip("PostgreSQL could not be started")
        try:
            yield f"postgresql://floeberg:{PASSWORD}@/postgres?host={base}"
        finally:
            _run([*control, "-m", "immediate", "stop"], user)
