"""DuckDB with its iceberg extension, from the packages that the tests install: an independent reader."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import duckdb
import pytest


def connect() -> Any:
    """A connection that can `iceberg_scan`. The lock has the packages: without them the environment is broken."""
    connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    for name in ("avro", "iceberg"):
        load_extension(connection, name)
    connection.execute("SET TimeZone = 'UTC'")
    return connection


def load_extension(connection: Any, name: str) -> None:
    """Loads an extension of DuckDB from its package."""
    found = importlib.util.find_spec(f"duckdb_extension_{name}")
    if found is None or found.origin is None:
        pytest.fail(f"the package duckdb-extension-{name} is not installed")
    file = next(Path(found.origin).parent.rglob(f"{name}.duckdb_extension"), None)
    if file is None:
        pytest.fail(f"the package duckdb-extension-{name} has no extension for this platform")
    connection.execute(f"LOAD '{file}'")
