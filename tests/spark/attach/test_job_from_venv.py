"""`venv/bin/python job.py`, where the search path has another Python without our packages, and what a stopped session says."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

JOB = """
import sys
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
import floeberg as fb

spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
lake = fb.catalog("lake", warehouse=sys.argv[1])
lake.create_namespace("db")
fb.attach(spark, lake)
spark.sql("CREATE TABLE lake.db.t (id BIGINT)")
spark.range(3).writeTo("lake.db.t").append()
print("rows", spark.sql("SELECT count(*) FROM lake.db.t").collect()[0][0])
frame = spark.table("lake.db.t")
spark.stop()
for call in (
    lambda: spark.sql("SELECT * FROM lake.db.t"),
    lambda: spark.table("lake.db.t"),
    lambda: frame.where("id > 1"),
):
    try:
        call()
    except AnalysisException as error:
        print("stopped" if "this Spark session is stopped" in str(error) else repr(error))
try:
    fb.attach(spark, lake)
except fb.errors.InvalidInput as error:
    print("stopped" if "this Spark session is stopped" in str(error) else repr(error))
fb.detach(spark)
print("detached")
"""


def test_a_job_of_a_virtual_environment_runs_without_pyspark_python(tmp_path: Path) -> None:
    bare = tmp_path / "bin"
    bare.mkdir()
    # A Python on the search path that has none of our packages, as the system's has not.
    (bare / "python3").write_text(f'#!/bin/sh\nexec "{sys.executable}" -I -S "$@"\n', encoding="utf-8")
    (bare / "python3").chmod(0o755)
    job = tmp_path / "job.py"
    job.write_text(JOB, encoding="utf-8")
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYSPARK_")}
    environment["PATH"] = f"{bare}{os.pathsep}{environment['PATH']}"
    done = subprocess.run(
        [sys.executable, str(job), str(tmp_path / "lake")],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.stdout.split("\n")[:6] == ["rows 3", *["stopped"] * 4, "detached"], done.stderr[-3000:]
