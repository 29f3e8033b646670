"""Settings for every test."""

from __future__ import annotations

import pytest
from hypothesis import settings

# A busy machine is no failure: examples have no deadline.
settings.register_profile("floeberg", deadline=None)
settings.load_profile("floeberg")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest test comes first: at the end, one process would run it while the others have nothing left to do."""
    items.sort(key=lambda item: item.path.name != "test_tpcds.py")
