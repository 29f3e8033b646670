"""Sessions that are started once for all tests beside other engines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from peers.java_peer import JavaRuntime, java_runtime
from spark_runs.spark_session import spark_session


@pytest.fixture(scope="session")
def runtime() -> Iterator[JavaRuntime]:
    """Spark with the Java runtime."""
    with java_runtime() as started:
        yield started


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """Spark without it, for our engine."""
    with spark_session() as session:
        yield session
