"""One Spark session for a whole test run: a classic one, one over Spark Connect, or one on a cluster.

pyspark's functions belong to classic sessions or to Connect for the life of a process, so a run is either:
`pytest tests/spark` is classic, `make test-connect` runs the marked core over Connect, and `make test-cluster` runs it on
a master and two workers in processes of their own. `core` is a classic session for the marked core alone (on another pyspark).
"""

from __future__ import annotations

import os
import socket
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

KIND = os.environ.get("FLOEBERG_SPARK", "classic")
CONNECT = KIND == "connect"
CLUSTER = KIND == "cluster"
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.memory": os.environ.get("FLOEBERG_SPARK_MEMORY", "1g"),
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.artifact.isolation.enabled": "false",
    # A session of some minutes spends more on compiling for speed than it gains by it.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}
TOO_SLOW = "connect back"
"""In the error of a stream whose source runs in Python: Spark waits 10 seconds for that process, which a busy machine may not
keep."""
STARTS = 5
"""How often a query that failed so is started."""
CLUSTER_SETTINGS = {
    "spark.driver.host": "127.0.0.1",
    "spark.executor.memory": "768m",
    "spark.executor.cores": "1",
    "spark.executorEnv.TZ": "UTC",
    "spark.speculation": "true",
    "spark.speculation.minTaskRuntime": "8s",
    "spark.speculation.multiplier": "1.1",
}


def _port_of_our_own() -> int:
    """A local Connect server and its client meet at port 15002, where another run on this machine may be: not here."""
    from pyspark.sql.connect.client.core import DefaultChannelBuilder

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
    DefaultChannelBuilder.default_port = staticmethod(lambda: port)
    return port


@contextmanager
def spark_session() -> Iterator[Any]:
    """The session of this run; it ends with the run."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["TZ"] = "UTC"
    from pyspark.sql import SparkSession

    master = os.environ["FLOEBERG_MASTER"] if CLUSTER else "local[2]"
    builder = SparkSession.builder.remote(master) if CONNECT else SparkSession.builder.master(master)
    for name, value in {**SETTINGS, **(CLUSTER_SETTINGS if CLUSTER else {})}.items():
        builder = builder.config(name, value)
    with tempfile.TemporaryDirectory(prefix="spark-warehouse-") as folder:  # of this process: tests run side by side
        builder = builder.config("spark.sql.warehouse.dir", folder)
        if CONNECT:
            builder = builder.config("spark.connect.grpc.binding.port", str(_port_of_our_own()))
        with warnings.catch_warnings():
            # Over Connect the server's settings are given to the session once more, which warns of each static one.
            warnings.filterwarnings("ignore", message="Failed to set|.*CANNOT_MODIFY_CONFIG", category=UserWarning)
            session = builder.getOrCreate()
        yield session
        session.stop()
