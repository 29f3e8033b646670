"""A Spark session with two catalogs attached, for tests that need one that keeps views and registers tables."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import floeberg as fb


@contextmanager
def two_catalogs(spark: Any, folder: Path) -> Iterator[Any]:
    """The session with `lake` (files) and `books` (SQL) attached, which have a namespace `db` each; they are its attributes
    too."""
    spark.lake = fb.catalog("lake", warehouse=str(folder / "lake"))
    spark.books = fb.catalog("books", type="sql", uri=f"sqlite:///{folder}/books.db", warehouse=str(folder / "books"))
    spark.lake.create_namespace("db")
    spark.books.create_namespace("db")
    fb.attach(spark, spark.lake, spark.books)
    try:
        yield spark
    finally:
        fb.detach(spark)
        spark.lake.close()
        spark.books.close()
