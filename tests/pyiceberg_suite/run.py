"""PyIceberg's integration tests, from its source distribution, against our server over a SQL catalog and S3 (moto).

python -m pyiceberg_suite.run SOURCE [arguments of pytest]      # fails where an outcome is none of those that are known
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import floeberg as fb
from floeberg.server.served_catalog import ServedCatalog
from peers.environments import ROOT
from peers.java_peer import RUNTIME, jar
from pyiceberg_suite.known import KNOWN, reason
from servers.floeberg_server import free_port, server_in_thread
from servers.s3_server import S3Server, running_s3_server

AWS = "org.apache.iceberg:iceberg-aws-bundle:1.12.0"
PEER = ROOT / ".cache" / "peers" / "pyiceberg"
PYTHON = PEER / "bin" / "python"
OUTCOMES = PEER / "outcomes.jsonl"
"""A line for each test of the last run, also of one that was stopped."""


def run_suite(source: Path, folder: Path, arguments: list[str]) -> list[dict[str, str]]:
    """The outcome of each test."""
    with running_s3_server() as s3:
        s3.client().create_bucket(Bucket="warehouse")
        properties = {**s3.options(), "table-default.write.parquet.compression-codec": "zstd"}
        warehouse = "s3://warehouse"
        with fb.catalog(
            "lake", type="sql", uri=f"sqlite:///{folder}/lake.db", warehouse=warehouse, properties=properties
        ) as catalog:
            served = ServedCatalog.of(catalog, warehouse=warehouse, roots=["s3://warehouse", "s3://bucket"])
            with server_in_thread([served]) as url:
                return _run_pytest(source, _environment(url, s3), arguments)


def _environment(url: str, s3: S3Server) -> dict[str, str]:
    return {
        **os.environ,
        "PYTHONPATH": str(Path(__file__).parent),
        "PYSPARK_PYTHON": str(PYTHON),
        "TZ": "UTC",
        "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "admin",
        "AWS_SECRET_ACCESS_KEY": "password",
        "SUITE_CATALOG": url,
        "SUITE_S3": s3.endpoint,
        "SUITE_JARS": f"{jar(RUNTIME)},{jar(AWS)}",
        "SUITE_CONNECT_PORT": str(free_port()),
        "SUITE_OUTCOMES": str(OUTCOMES),
    }


def _run_pytest(source: Path, environment: dict[str, str], arguments: list[str]) -> list[dict[str, str]]:
    command = [str(PYTHON), "-m", "pytest", "-q", "-p", "docker_free", "-p", "no:cacheprovider", "-m", "integration"]
    asked = arguments or ["tests/integration"]
    OUTCOMES.write_text("")
    subprocess.run([*command, "-W", "default", *asked], cwd=source, env=environment, check=False)
    return [json.loads(line) for line in OUTCOMES.read_text().splitlines()]


def report(outcomes: list[dict[str, str]]) -> bool:
    """Prints a table of files and of reasons; whether every failure is one that is known."""
    files = sorted({one["test"].partition("::")[0] for one in outcomes})
    for file in files:
        found = Counter(one["outcome"] for one in outcomes if one["test"].startswith(f"{file}::"))
        print(
            f"| `{file.removeprefix('tests/integration/')}` | {found['passed']} | {found['skipped']} | {found['failed']} |"
        )
    total = Counter(one["outcome"] for one in outcomes)
    print(f"| all | {total['passed']} | {total['skipped']} | {total['failed']} |")
    failed = [one for one in outcomes if one["outcome"] == "failed"]
    for why, number in Counter(reason(one) for one in failed).most_common():
        print(f"{number}: {KNOWN[why].why if why in KNOWN else why}")
    new = [one for one in failed if reason(one) not in KNOWN]
    for one in new:
        print(f"UNEXPECTED {one['test']}: {one['said']}")
    return bool(outcomes) and not new


def main() -> None:
    source, *arguments = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        outcomes = run_suite(Path(source), Path(folder), arguments)
    sys.exit(0 if report(outcomes) else 1)


if __name__ == "__main__":
    main()
