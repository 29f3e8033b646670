"""The Spark session and the catalog of a test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from floeberg.api.attach import attach, detach
from floeberg.api.catalog import Catalog, catalog
from floeberg.spark.read.joins import small_table
from spark_runs.spark_session import CONNECT, KIND, spark_session


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if {"spark", "connect_session"} & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.spark)


@pytest.fixture(scope="session", autouse=True)
def unhurried() -> Iterator[None]:
    """Join pruning takes the time that it needs: a busy machine leaves out the files that a quiet one does."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(small_table, "MAX_MILLISECONDS", 10**9)
        yield


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """The session of this run."""
    with spark_session() as session:
        yield session


@pytest.fixture(scope="session")
def is_connect() -> bool:
    """Whether this run is over Spark Connect."""
    return CONNECT


@pytest.fixture(scope="session")
def few() -> bool:
    """Whether a few examples will do: the whole lot is run on a classic session."""
    return KIND != "classic"


@pytest.fixture
def lake(tmp_path: Path) -> Catalog:
    """A catalog of its own in a temporary folder, with a namespace `db`."""
    lake = catalog("lake", warehouse=str(tmp_path / "warehouse"))
    lake.create_namespace("db")
    return lake


@pytest.fixture(scope="module")
def session(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The run's session with `lake` attached, which has a namespace `db`."""
    lake = catalog("lake", warehouse=str(tmp_path_factory.mktemp("lake")))
    lake.create_namespace("db")
    attach(spark, lake)
    spark.lake = lake
    yield spark
    detach(spark)
    lake.close()
