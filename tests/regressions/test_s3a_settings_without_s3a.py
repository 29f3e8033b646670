"""Spark 4.1 sets `spark.hadoop.fs.s3a.*` of its own in every session, also where S3A is not on the class path."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from floeberg.spark.read.parquet.paths import hadoop_scheme
from floeberg.storage.location import parse


class _GatewayError(Exception):
    """What the gateway raises for errors that PySpark has no class for."""


class _Reader:
    def schema(self, _: str) -> _Reader:
        return self

    def parquet(self, *_: str) -> Any:
        raise _GatewayError("java.lang.ClassNotFoundException: Class org.apache.hadoop.fs.s3a.S3AFileSystem not found")


def test_a_session_that_has_s3a_settings_but_no_s3a_reads_in_python_workers() -> None:
    settings = {"spark.hadoop.fs.s3a.vectored.read.min.seek.size": "128K"}
    spark = SimpleNamespace(conf=SimpleNamespace(getAll=settings), read=_Reader())
    assert hadoop_scheme(spark, parse("s3://bucket-of-this-test/t/data/a.parquet")) is None
