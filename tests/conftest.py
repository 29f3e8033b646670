"""Settings for every test."""

from __future__ import annotations

import pytest
from hypothesis import settings

# A busy machine is no failure: examples have no deadline.
settings.register_profile("floeberg", deadline=None)
settings.load_profile("floeberg")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest tests come first: at the end, one process would run them while the others have nothing left to do."""
    longest = ("test_tpcds.py", "test_killed_pipeline.py", "test_exactly_once.py")
    items.sort(key=lambda item: item.path.name not in longest)
