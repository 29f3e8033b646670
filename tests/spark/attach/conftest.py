"""A session with two catalogs attached, once for each module."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import floeberg as fb


@pytest.fixture(scope="module")
def session(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The run's session with `lake` (files) and `books` (SQL, which keeps views) attached, standing in neither."""
    folder = tmp_path_factory.mktemp("lakes")
    lake = fb.catalog("lake", warehouse=str(folder / "lake"))
    books = fb.catalog("books", type="sql", uri=f"sqlite:///{folder}/books.db", warehouse=str(folder / "books"))
    lake.create_namespace("db")
    books.create_namespace("db")
    fb.attach(spark, lake, books)
    yield spark
    fb.detach(spark)
    lake.close()
    books.close()
