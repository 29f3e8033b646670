"""iceberg-rust (pyiceberg-core) opens what we commit. It needs an environment of its own (`make interop-peers`), and
locations that are URIs: it refuses bare paths."""

from __future__ import annotations

from pathlib import Path

import pytest

import floeberg as fb
from interop_tables import KINDS
from peers import ask

pytestmark = pytest.mark.peers


@pytest.mark.parametrize("version", [1, 2, 3])
def test_iceberg_rust_opens_tables_that_we_committed(tmp_path: Path, version: int) -> None:
    with fb.catalog("lake", warehouse=f"file://{tmp_path}/w") as cat:
        cat.create_namespace("db")
        tables = [make(cat, f"db.{kind}", version) for kind, make in KINDS.items()]
    found = ask("core", "read_with_core.py", *(shared.metadata_location for shared in tables))
    for number, shared in enumerate(tables):
        rows = [one["row"] for one in found if one["table"] == number]
        wanted = shared.branches["main"]
        assert sorted(row["id"] for row in rows) == sorted(str(row["id"]) for row in wanted)
        assert [*rows[0]] == [*wanted[0]]
        if "s" in wanted[0]:
            assert sorted(row["s"] for row in rows) == sorted(str(row["s"]) for row in wanted)
