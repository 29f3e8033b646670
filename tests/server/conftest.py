"""Catalogs behind our server, and a client without a network."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import floeberg as fb
from servers.rest_lake import AppClient, RestLake, open_lake


@pytest.fixture(params=["sql", "filesystem"])
def lake(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[RestLake]:
    """A catalog of each kind, with a namespace `db`."""
    with open_lake(request.param, tmp_path) as opened:
        yield opened


@pytest.fixture
def sql_lake(tmp_path: Path) -> Iterator[RestLake]:
    with open_lake("sql", tmp_path) as opened:
        yield opened


@pytest.fixture
def rest(lake: RestLake) -> AppClient:
    return lake.client


@pytest.fixture
def catalog(lake: RestLake) -> fb.Catalog:
    return lake.catalog
