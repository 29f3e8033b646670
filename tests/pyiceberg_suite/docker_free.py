"""A pytest plugin for PyIceberg's own environment: its integration tests against our server, without docker.

Their source stays as it is. The addresses of its docker containers are replaced by those that the variables below name, its Spark Connect
server by one of this process with the Java runtime, and what needs a Hive metastore is skipped. Each outcome is a line of JSON.
"""

from __future__ import annotations

import ast
import json
import os
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.catalog.rest import RestCatalog
from pyspark.sql import SparkSession
from pyspark.sql.connect.session import SparkSession as ConnectSession

ADDRESSES = {
    "http://localhost:8181": os.environ["SUITE_CATALOG"],
    "http://localhost:9000": os.environ["SUITE_S3"],
}
OUTCOMES = Path(os.environ["SUITE_OUTCOMES"])
NO_HIVE = "needs a Hive metastore"
_open_rest = RestCatalog.__init__


def open_rest(self: RestCatalog, name: str, **properties: Any) -> None:
    given = {key: ADDRESSES.get(value, value) for key, value in properties.items()}
    _open_rest(self, name, **{"s3.region": "us-east-1", **given})


def builder_here(self: SparkSession.Builder, url: str) -> Any:
    """A session of the server of this process, which starts with the settings of PyIceberg's docker image."""
    rest = "spark.sql.catalog.rest"
    port = os.environ["SUITE_CONNECT_PORT"]
    if SparkSession._instantiatedSession is None:
        settings = {
            "spark.connect.grpc.binding.port": port,
            "spark.jars": os.environ["SUITE_JARS"],
            "spark.driver.memory": "1g",
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.sql.shuffle.partitions": "2",
            "spark.sql.ansi.enabled": "false",
            "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
            "spark.sql.defaultCatalog": "rest",
            rest: "org.apache.iceberg.spark.SparkCatalog",
            f"{rest}.type": "rest",
            f"{rest}.uri": os.environ["SUITE_CATALOG"],
            f"{rest}.cache-enabled": "false",
            f"{rest}.io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
            f"{rest}.s3.endpoint": os.environ["SUITE_S3"],
            f"{rest}.s3.path-style-access": "true",
        }
        ConnectSession._start_connect_server("local[2]", settings)
        os.environ["SPARK_CONNECT_MODE_ENABLED"] = "1"
    return ConnectSession.builder.remote(f"sc://localhost:{port}")


RestCatalog.__init__ = open_rest  # type: ignore[method-assign]
SparkSession.Builder.remote = builder_here  # type: ignore[method-assign]


class _WithoutHive(ast.NodeTransformer):
    """Leaves the Hive catalog out of a literal of catalogs."""

    def visit_Dict(self, node: ast.Dict) -> ast.AST:
        kept = [(key, value) for key, value in zip(node.keys, node.values, strict=True) if not _is_hive(key)]
        self.generic_visit(node)
        return ast.copy_location(ast.Dict([key for key, _ in kept], [value for _, value in kept]), node)


def _is_hive(key: ast.expr | None) -> bool:
    return isinstance(key, ast.Constant) and key.value == "hive"


def pytest_sessionstart(session: pytest.Session) -> None:
    """Makes the tables that the tests read, by PyIceberg's own script."""
    script = Path(session.config.rootpath) / "dev" / "provision.py"
    tree = ast.fix_missing_locations(_WithoutHive().visit(ast.parse(script.read_text())))
    exec(compile(tree, str(script), "exec"), {"__name__": "provision"})
    SparkSession._instantiatedSession.sparkContext.setLogLevel("OFF")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "hive" in item.name or "session_catalog_hive" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.skip(reason=NO_HIVE))


class Progress:
    """Prints a line for each file that is done."""

    file = ""
    found: Counter[str] = Counter()
    started = time.monotonic()

    def note(self, test: str, outcome: str) -> None:
        file = test.partition("::")[0]
        if file != self.file:
            self.finish()
            self.file, self.found, self.started = file, Counter(), time.monotonic()
        self.found[outcome] += 1

    def finish(self) -> None:
        if self.file:
            seconds = time.monotonic() - self.started
            print(f"\n{self.file}: {dict(self.found)}, {seconds:.0f} s", file=sys.__stdout__, flush=True)


PROGRESS = Progress()


def pytest_sessionfinish() -> None:
    PROGRESS.finish()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.when != "call" and report.outcome == "passed":
        return
    said = ""
    if report.failed and hasattr(report.longrepr, "reprcrash"):
        said = report.longrepr.reprcrash.message
    elif report.skipped and isinstance(report.longrepr, tuple):
        said = report.longrepr[2]
    PROGRESS.note(report.nodeid, report.outcome)
    line = {"test": report.nodeid, "outcome": report.outcome, "said": said[:2000]}
    with OUTCOMES.open("a") as file:
        file.write(json.dumps(line) + "\n")
