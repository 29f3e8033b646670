"""A session with a catalog attached, once for each module."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import floeberg as fb


@pytest.fixture(scope="module")
def session(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The run's session with `lake` attached, which has a namespace `db`."""
    lake = fb.catalog("lake", warehouse=str(tmp_path_factory.mktemp("lake")))
    lake.create_namespace("db")
    fb.attach(spark, lake)
    spark.lake = lake
    yield spark
    fb.detach(spark)
    lake.close()
