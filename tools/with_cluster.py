"""Runs a command beside a standalone Spark cluster: one master and two workers from the installed pyspark.

`python tools/with_cluster.py pytest …` sets FLOEBERG_MASTER for the command, and stops the cluster whatever comes of it. Where
no cluster can be, it says so and runs nothing.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

import pyspark

WORKERS = ("127.0.0.1", "localhost")
"""The hosts of the workers. They have two names, because Spark starts no copy of a slow task on the same host."""
CORES = "1"
MEMORY = "1g"
NEEDED_KB = 5 * 1024**2
"""For master, workers, an executor each, the driver and their Python workers."""
WAIT_SECONDS = 600
STARTED = re.compile(r"Starting Spark master at (spark://\S+)")
REGISTERED = "Successfully registered with master"


def main(command: list[str]) -> int:
    """The command's exit code."""
    if missing := _what_is_missing():
        print(f"SKIPPED: no Spark cluster can be started here: {missing}")
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # so that the cluster is stopped then too
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="floeberg-cluster-")))
        master_log = folder / "master.log"
        address = ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0"]
        process = _start(stack, master_log, "master.Master", *address)
        master = _wait_for(process, master_log, STARTED)
        workers = {}
        for number, host in enumerate(WORKERS):
            log, work = folder / f"worker-{number}.log", folder / f"work-{number}"
            options = ["--host", host, "--cores", CORES, "--memory", MEMORY, "--webui-port", "0"]
            workers[log] = _start(stack, log, "worker.Worker", *options, "--work-dir", str(work), master)
        for log, process in workers.items():
            _wait_for(process, log, re.compile(f"({REGISTERED})"))
        environment = {**os.environ, "FLOEBERG_MASTER": master, "FLOEBERG_SPARK": "cluster"}
        return subprocess.run(command, env=environment, check=False).returncode


def _what_is_missing() -> str:
    """Why no cluster can be started; empty when it can."""
    if not (Path(pyspark.__file__).parent / "bin" / "spark-class").exists():
        return "this pyspark has no scripts to start one (is it pyspark-client?)"
    try:
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
    except OSError as error:
        return f"no port of 127.0.0.1 can be opened ({error})"
    memory = Path("/proc/meminfo")
    available = re.search(r"MemAvailable: +(\d+) kB", memory.read_text()) if memory.exists() else None
    if available and int(available[1]) < NEEDED_KB:
        return f"it needs {NEEDED_KB // 1024} MB of memory, and {int(available[1]) // 1024} are free"
    return ""


def _start(stack: ExitStack, log: Path, name: str, *options: str) -> subprocess.Popen[bytes]:
    """A process of the cluster in a group of its own, with which its executors end too."""
    home = Path(pyspark.__file__).parent
    launcher = [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", *options]
    environment = {**os.environ, "SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_NO_DAEMONIZE": "1"}
    output = stack.enter_context(log.open("w"))
    process = subprocess.Popen(
        launcher, env=environment, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
    )
    stack.callback(_stop, process)
    return process


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


def _wait_for(process: subprocess.Popen[bytes], log: Path, wanted: re.Pattern[str]) -> str:
    """What the log says. Raises RuntimeError with the log when the process ends or does not say it in time."""
    end = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < end and process.poll() is None:
        if found := wanted.search(log.read_text()):
            return found[1]
        time.sleep(0.2)
    raise RuntimeError(f"the cluster did not start; {log.name} says:\n{log.read_text()[-2000:]}")


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
