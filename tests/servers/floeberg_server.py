"""Our own server, in a thread of the test's process or as a process that can be killed."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import uvicorn

from floeberg.server.http.app import make_app
from floeberg.server.http.listening import TimedProtocol
from floeberg.server.served_catalog import ServedCatalog
from floeberg.server.settings import ServerSettings


@contextmanager
def server_in_thread(catalogs: Iterable[ServedCatalog], settings: ServerSettings | None = None) -> Iterator[str]:
    """The address of a server over the catalogs, for as long as the block lasts."""
    app = make_app(catalogs, settings or ServerSettings())
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(128)
        config = uvicorn.Config(app, http=TimedProtocol, log_level="warning", lifespan="off", ws="none")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


@dataclass(slots=True)
class ServerProcess:
    """`floeberg serve` as a process."""

    arguments: tuple[str, ...]
    port: int
    environment: Mapping[str, str]
    script: Path | None = None
    """What runs instead of `floeberg serve`, given the same arguments."""
    process: subprocess.Popen[str] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Starts it, and waits until it listens."""
        program = (
            ["-c", "from floeberg.cli.main import main; main()", "serve"] if self.script is None else [str(self.script)]
        )
        command = [sys.executable, *program, *self.arguments, "--port", str(self.port)]
        self.process = subprocess.Popen(
            command, stderr=subprocess.PIPE, text=True, env={**os.environ, **self.environment}
        )
        assert self.process.stderr is not None
        line = self.process.stderr.readline()
        assert "serving" in line, line + self.process.stderr.read()

    def kill(self) -> None:
        """Ends it at once, whatever it is doing."""
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.wait()

    def wait(self) -> int:
        assert self.process is not None
        assert self.process.stderr is not None
        code = self.process.wait()
        self.process.stderr.close()
        return code


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
