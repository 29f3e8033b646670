"""iceberg-rust (pyiceberg-core) opens what we commit. It needs an environment of its own (`make interop-peers`), and
locations that are URIs: it refuses bare paths."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import floeberg as fb
from floeberg.arrow.columns.types import arrow_schema
from lakes.interop_tables import KINDS, Shared
from peers.environments import Request, ask
from spark_runs.shown_arrow import shown_arrow

pytestmark = pytest.mark.peers


def test_iceberg_rust_opens_tables_that_we_committed(tmp_path: Path) -> None:
    tables: dict[str, Shared] = {}
    with fb.catalog("lake", warehouse=f"file://{tmp_path}/w") as cat:
        cat.create_namespace("db")
        for version in (1, 2, 3):
            for kind, make in KINDS.items():
                tables[f"{kind}{version}"] = make(cat, f"db.{kind}{version}", version)
    answers = ask("core", [Request(shared.metadata_location) for shared in tables.values()])
    for (name, shared), answer in zip(tables.items(), answers, strict=True):
        wanted = pa.Table.from_pylist(shared.branches["main"], schema=arrow_schema(shared.table.schema))
        assert (answer.error, answer.columns) == ("", wanted.column_names), name
        assert answer.rows == shown_arrow(wanted), name
