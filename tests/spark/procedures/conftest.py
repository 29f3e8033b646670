"""A session with two catalogs attached, once for each module."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from lakes.spark_lakes import two_catalogs


@pytest.fixture(scope="module")
def session(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The run's session with `lake` and `books` attached."""
    with two_catalogs(spark, tmp_path_factory.mktemp("lakes")) as attached:
        yield attached
