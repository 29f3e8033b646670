"""Requests to an object store that a query over many files makes, beside the Java runtime.

    python -m bench.requests [--files 50 200] [--engines NAME …] [--plot FILE.svg]

A table on a local S3 server (moto), which counts what it is asked for: LIST, HEAD and GET. `java` reads by the Java runtime's
S3FileIO, `floeberg` in Python workers on a stock Spark, `floeberg-s3a` by Spark's own reader through S3A, `floeberg-s3a-listed`
the same with every file listed by Spark. The first query of a session and the second are counted; seconds say little here.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs
from uuid import UUID

import pyarrow as pa
from bench.plan_java import VERSION
from bench.plots import write_plot
from bench.spark_engines import PEERS, ROOT, SETTINGS, maven_jar, runtime_jar

from floeberg.api.attach import attach
from floeberg.api.catalog import Catalog, catalog
from floeberg.arrow.write.table_writer import TableWriter
from floeberg.commit.append import Append
from floeberg.spark.read.parquet import file_log

ENGINES: Final = ("java", "floeberg", "floeberg-s3a", "floeberg-s3a-listed")
JARS: Final = {
    "java": (f"org.apache.iceberg:iceberg-aws-bundle:{VERSION}", "org.xerial:sqlite-jdbc:3.49.1.0"),
    "s3a": ("org.apache.hadoop:hadoop-aws:3.4.2", "software.amazon.awssdk:bundle:2.29.52"),
}
"""S3A needs the whole AWS SDK, of some 600 MB."""
QUERY: Final = "SELECT count(*), sum(v) FROM bench.db.{table} WHERE v >= 0"
ROWS: Final = 100
KINDS: Final = ("LIST", "HEAD", "GET", "PUT", "other")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, nargs="+", default=[50, 200])
    parser.add_argument("--engines", nargs="+", default=list(ENGINES), choices=ENGINES)
    parser.add_argument("--plot", help="write a plot of a first query's requests against files")
    parser.add_argument("--answer", nargs=4, metavar=("ENGINE", "FOLDER", "ENDPOINT", "BUCKET"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.answer is not None:
        _answer(*given.answer)
        return
    with tempfile.TemporaryDirectory(prefix="bench-requests-") as folder:
        points = _compare(Path(folder), given.files, given.engines)
    if given.plot:
        write_plot(given.plot, points, x="data files", y="requests of a first query")


def _compare(folder: Path, sizes: list[int], engines: list[str]) -> dict[str, list[tuple[float, float]]]:
    """Prints the counts; the requests of each engine's first queries by the number of files."""
    endpoint, counts = _counting_server()
    lake = _lake(str(folder), endpoint, "bench")
    lake.create_namespace("db")
    for size in sizes:
        _make(lake, size)
    print(f"{'engine':<20} {'files':>6} {'query':<7}" + "".join(f"{kind:>7}" for kind in KINDS) + "   per data file")
    points: dict[str, list[tuple[float, float]]] = {}
    for engine in engines:
        with _Asked(engine, folder, endpoint) as asked:
            for size in sizes:
                for run in ("first", "second"):
                    counts.clear()
                    rows = asked.rows(QUERY.format(table=f"files{size}"))
                    expected = [[str(size * ROWS), str(sum(range(size * ROWS)))]]
                    assert rows == expected, (engine, rows, expected)
                    shown = "".join(f"{counts[kind]:>7}" for kind in KINDS)
                    print(f"{engine:<20} {size:>6} {run:<7}{shown}   {counts.total() / size:.2f}", flush=True)
                    if run == "first":
                        points.setdefault(engine, []).append((size, counts.total()))
    return points


def _counting_server() -> tuple[str, Counter[str]]:
    """A server with a bucket, and what it was asked for so far."""
    import boto3  # of the environment of the tests alone
    from moto.moto_server import werkzeug_app
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    counts: Counter[str] = Counter()
    dispatcher: Any = werkzeug_app.DomainDispatcherApplication
    call = dispatcher.__call__

    def counted(self: Any, environ: dict[str, Any], start_response: Any) -> Any:
        counts[_kind(environ)] += 1
        return call(self, environ, start_response)

    dispatcher.__call__ = counted
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    endpoint = f"http://{host}:{port}"
    names = {"region_name": "us-east-1", "aws_access_key_id": "test", "aws_secret_access_key": "test"}
    boto3.client("s3", endpoint_url=endpoint, **names).create_bucket(Bucket="bench")
    return endpoint, counts


def _kind(environ: dict[str, Any]) -> str:
    method = environ["REQUEST_METHOD"]
    if method == "GET":
        key = environ["PATH_INFO"].strip("/").partition("/")[2]
        asks = parse_qs(environ.get("QUERY_STRING", ""), keep_blank_values=True)
        return "LIST" if not key or "list-type" in asks else "GET"
    return method if method in KINDS else "other"


def _store_options(endpoint: str) -> dict[str, str]:
    return {
        "s3.endpoint": endpoint,
        "s3.region": "us-east-1",
        "s3.access-key-id": "test",
        "s3.secret-access-key": "test",
    }


def _lake(folder: str, endpoint: str, bucket: str) -> Catalog:
    uri = f"sqlite:///{folder}/lake.db"
    return catalog("bench", type="sql", uri=uri, warehouse=f"s3://{bucket}/wh", properties=_store_options(endpoint))


def _make(lake: Catalog, files: int) -> None:
    table = lake.create_table(f"db.files{files}", "v bigint, w string", format_version=2)
    writer = TableWriter(table.metadata, table._pointer.store_for, UUID(int=files))
    written = []
    for number in range(files):
        values = list(range(number * ROWS, (number + 1) * ROWS))
        written += writer.write_data(pa.table({"v": values, "w": [f"text {value}" for value in values]}))
    table._commit(Append(files=written))


class _Asked:
    """An engine in a process of its own, on Spark 4.1."""

    def __init__(self, engine: str, folder: Path, endpoint: str) -> None:
        python = PEERS / "spark41" / "bin" / "python"
        path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
        environment = {**os.environ, "PYTHONPATH": path, "PYSPARK_PYTHON": str(python), "PYTHONWARNINGS": "ignore"}
        command = [str(python), "-m", "bench.requests", "--answer", engine, str(folder), endpoint, "bench"]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
            stderr=subprocess.DEVNULL,
        )

    def __enter__(self) -> _Asked:
        self._line()
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=60)

    def rows(self, query: str) -> list[list[str]]:
        assert self._process.stdin is not None
        self._process.stdin.write(query + "\n")
        self._process.stdin.flush()
        found: list[list[str]] = json.loads(self._line())
        return found

    def _line(self) -> str:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("ANSWER "):
                return line.removeprefix("ANSWER ")
        raise SystemExit("the engine ended")


def _answer(engine: str, folder: str, endpoint: str, bucket: str) -> None:
    """The process of an engine: a session, then the rows of each query that comes in."""
    from pyspark.sql import SparkSession

    settings = {**SETTINGS, "spark.driver.memory": "1g", **_settings(engine, folder, endpoint, bucket)}
    builder = SparkSession.builder.master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    if engine != "java":
        if engine == "floeberg-s3a-listed":
            file_log.MIN_REMOTE_FILES = sys.maxsize  # type: ignore[misc]
        attach(spark, _lake(folder, endpoint, bucket))
    spark.sql("SELECT count(*) FROM range(10)").collect()
    print("ANSWER []", flush=True)
    for query in sys.stdin:
        rows = spark.sql(query).collect()
        print("ANSWER " + json.dumps([[str(value) for value in row] for row in rows]), flush=True)
    spark.stop()


def _settings(engine: str, folder: str, endpoint: str, bucket: str) -> dict[str, str]:
    if engine == "java":
        options = {
            **_store_options(endpoint),
            "type": "jdbc",
            "uri": f"jdbc:sqlite:{folder}/lake.db",
            "warehouse": f"s3://{bucket}/wh",
            "io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
            "s3.path-style-access": "true",
            "client.region": "us-east-1",
        }
        return {
            "spark.jars": _joined(runtime_jar(), *map(maven_jar, JARS["java"])),
            "spark.sql.catalog.bench": "org.apache.iceberg.spark.SparkCatalog",
            **{f"spark.sql.catalog.bench.{name}": value for name, value in options.items()},
        }
    if engine == "floeberg":
        return {}
    s3a = {
        "endpoint": endpoint,
        "endpoint.region": "us-east-1",
        "access.key": "test",
        "secret.key": "test",
        "path.style.access": "true",
        "connection.ssl.enabled": "false",
    }
    return {
        "spark.jars": _joined(*map(maven_jar, JARS["s3a"])),
        **{f"spark.hadoop.fs.s3a.{name}": value for name, value in s3a.items()},
    }


def _joined(*jars: Path) -> str:
    return ",".join(map(str, jars))


if __name__ == "__main__":
    main()
