"""Runs a command beside a standalone Spark cluster: one master and two workers from the installed pyspark.

`python tools/with_cluster.py pytest …` sets FLOEBERG_MASTER for the command, and stops the cluster whatever comes of it.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

import pyspark

WORKERS = 2
CORES = "1"
MEMORY = "1g"
WAIT_SECONDS = 600
STARTED = re.compile(r"Starting Spark master at (spark://\S+)")
REGISTERED = "Successfully registered with master"


def main(command: list[str]) -> int:
    """The command's exit code."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # so that the cluster is stopped then too
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="floeberg-cluster-")))
        master_log = folder / "master.log"
        _start(stack, master_log, "master.Master", "--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
        master = _wait_for(master_log, STARTED)
        for number in range(WORKERS):
            log, work = folder / f"worker-{number}.log", folder / f"work-{number}"
            options = ["--host", "127.0.0.1", "--cores", CORES, "--memory", MEMORY, "--webui-port", "0"]
            _start(stack, log, "worker.Worker", *options, "--work-dir", str(work), master)
        for number in range(WORKERS):
            _wait_for(folder / f"worker-{number}.log", re.compile(f"({REGISTERED})"))
        environment = {**os.environ, "FLOEBERG_MASTER": master, "FLOEBERG_SPARK": "cluster"}
        return subprocess.run(command, env=environment, check=False).returncode


def _start(stack: ExitStack, log: Path, name: str, *options: str) -> None:
    """A process of the cluster in a group of its own, with which its executors end too."""
    home = Path(pyspark.__file__).parent
    launcher = [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", *options]
    environment = {**os.environ, "SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_NO_DAEMONIZE": "1"}
    output = stack.enter_context(log.open("w"))
    process = subprocess.Popen(
        launcher, env=environment, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
    )
    stack.callback(_stop, process)


def _stop(process: subprocess.Popen[bytes]) -> None:
    for sign in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, sign)
        except ProcessLookupError:
            break
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            continue


def _wait_for(log: Path, wanted: re.Pattern[str]) -> str:
    """What the log says. Raises RuntimeError with the log when it does not say it in time."""
    end = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < end:
        if found := wanted.search(log.read_text()):
            return found[1]
        time.sleep(0.2)
    raise RuntimeError(f"the cluster did not start; {log.name} says:\n{log.read_text()[-2000:]}")


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
