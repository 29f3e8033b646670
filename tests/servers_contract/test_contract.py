"""The contract of all our catalogs, kept by servers that nobody here wrote. Where a server differs, its own answer is
asserted instead."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import ModuleType

import pytest

from catalogs import test_concurrency, test_namespaces, test_tables, test_views
from lakes.catalogs_lake import Lake
from servers_contract.capabilities import DIFFERENCES


def cases(module: ModuleType) -> list[Callable[[Lake], None]]:
    functions = [one for name, one in inspect.getmembers(module, inspect.isfunction) if name.startswith("test_")]
    return [one for one in functions if list(inspect.signature(one).parameters) == ["lake"]]


@pytest.mark.parametrize(
    "case",
    [*cases(test_tables), *cases(test_namespaces), *cases(test_views), *cases(test_concurrency)],
    ids=lambda case: case.__name__.removeprefix("test_"),
)
def test_the_contract_of_catalogs(lake: Lake, case: Callable[[Lake], None]) -> None:
    DIFFERENCES[lake.kind].get(case.__name__, case)(lake)
