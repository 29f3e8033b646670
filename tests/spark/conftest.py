"""One Spark session for a whole test run: a classic one, or one over Spark Connect.

pyspark's functions belong to one of the two for the life of a process, so a run is either: `pytest tests/spark` is
classic, and `FLOEBERG_SPARK=connect pytest -m connect tests/spark` runs the marked core over Connect.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from floeberg.api.catalog import Catalog, catalog

CONNECT = os.environ.get("FLOEBERG_SPARK") == "connect"
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.memory": "1g",
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.artifact.isolation.enabled": "false",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if {"spark", "connect_session"} & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.spark)


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """The session of this run."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["TZ"] = "UTC"
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.remote("local[2]") if CONNECT else SparkSession.builder.master("local[2]")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    with warnings.catch_warnings():
        # Over Connect the settings of the server are given to the session once more, which warns of each static one.
        warnings.filterwarnings("ignore", message="Failed to set|.*CANNOT_MODIFY_CONFIG", category=UserWarning)
        session = builder.getOrCreate()
    yield session
    session.stop()


@pytest.fixture(scope="session")
def is_connect() -> bool:
    """Whether this run is over Spark Connect."""
    return CONNECT


@pytest.fixture
def lake(tmp_path: Path) -> Catalog:
    """A catalog of its own in a temporary folder, with a namespace `db`."""
    lake = catalog("lake", warehouse=str(tmp_path / "warehouse"))
    lake.create_namespace("db")
    return lake
