"""The pipeline of `examples/pipeline`, once from end to end: `python killed_pipeline.py <folder>`. Whoever starts it kills it."""

from __future__ import annotations

import sys
from pathlib import Path

import floeberg as fb
from pipeline.steps import create_tables, run
from spark_runs.spark_session import spark_session

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    with spark_session() as spark, fb.catalog("lake", warehouse=str(folder / "lake")) as lake:
        fb.attach(spark, lake)
        create_tables(lake)
        run(spark, lake, folder)
