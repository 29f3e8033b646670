"""The large golden collection beside this repository: tables that other engines wrote, and what they must read as."""

from __future__ import annotations

import json
from typing import Any

import pytest

from floeberg.api.catalog import open_table
from floeberg.api.table import Table
from floeberg.errors import FloebergError, PuffinCorrupt, UnsupportedFeature
from golden_collection.golden_files import SHARED

REFUSED: dict[str, tuple[type[FloebergError], str]] = {
    "impala/iceberg_with_key_metadata": (UnsupportedFeature, "encrypted"),
    "duckdb-iceberg/legacy_bare_deletion_vector": (PuffinCorrupt, "not in a Puffin file"),
}
WITHOUT_IDS = ("dremio/internal_metadata_inconsistent_partitions",)
"""Files without field ids whose columns are not at the positions of the table's."""


def entries() -> list[dict[str, Any]]:
    if not SHARED.is_dir():
        return []
    tables: list[dict[str, Any]] = json.loads((SHARED / "golden.json").read_text())["tables"]
    return tables


ENTRIES = {entry["id"]: entry for entry in entries()}
READABLE = sorted(set(ENTRIES) - set(REFUSED))


def need_collection() -> None:
    """Skips where the collection is missing."""
    if not SHARED.is_dir():
        pytest.skip(f"the golden collection is not at {SHARED}")


def open_entry(entry: dict[str, Any], *, lenient: bool = True) -> Table:
    moved = {old: str(SHARED / new) for old, new in entry["relocate"].items()}
    return open_table(str(SHARED / entry["path"] / entry["metadata"]), relocate=moved, lenient=lenient)


def options_of(entry: dict[str, Any]) -> dict[str, str]:
    options: dict[str, str] = {}
    if "naive_rows_scheme_insensitive" in entry["checked"]:
        options["match-delete-paths-without-scheme"] = "true"
    if entry["id"] in WITHOUT_IDS:
        options["match-columns-by-name"] = "true"
    return options
