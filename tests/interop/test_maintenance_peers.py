"""What maintenance leaves behind, read by DuckDB, iceberg-rust and Sail: the rows from before it."""

from __future__ import annotations

import pytest

import floeberg as fb
from interop.test_row_level_peers import READERS
from lakes.maintained_tables import Maintained, maintained_tables
from peers.environments import Request
from spark_runs.shown_arrow import shown_arrow

pytestmark = pytest.mark.peers


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Maintained]:
    """The folder is a URI, which iceberg-rust wants."""
    return maintained_tables(fb.catalog("lake", warehouse=f"file://{tmp_path_factory.mktemp('maintained')}"))


@pytest.mark.parametrize("peer", READERS)
def test_a_peer_reads_the_rows_from_before_the_maintenance(tables: dict[str, Maintained], peer: str) -> None:
    requests = [Request(str(one.table.metadata_location), "SELECT id, p, v FROM t") for one, _ in tables.values()]
    different = []
    for (name, (builder, rows)), answer in zip(tables.items(), READERS[peer](requests), strict=True):
        assert {tuple(row) for row in builder.rows()} == rows, name
        expected = shown_arrow(builder.table.scan().to_arrow())
        if answer.error or sorted(answer.rows) != expected:
            different.append(f"{name}: {answer.error or sorted(set(answer.rows) ^ set(expected))[:4]}")
    assert not different, "\n".join(different)
