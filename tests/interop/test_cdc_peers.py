"""What batches of CDC events leave behind (equality deletes, global and of partitions, deletes of positions) is read alike
by DuckDB, iceberg-rust and Sail."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import floeberg as fb
from interop.test_row_level_peers import READERS
from lakes.cdc_tables import make_cdc_tables
from peers.environments import Request

pytestmark = pytest.mark.peers

CANNOT = {"duckdb": {"cdc_by_key": "Comparison on NULL values"}}
"""What a peer fails on, and what its error says: DuckDB on equality deletes of the partitions of two specs."""


@pytest.fixture(scope="module")
def made(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, tuple[str, set[Any]]]]:
    """Each table's metadata and rows; the folder is a URI, which iceberg-rust wants."""
    with fb.catalog("lake", warehouse=f"file://{tmp_path_factory.mktemp('cdc')}") as lake:
        lake.create_namespace("db")
        fb.attach(spark, lake)
        tables = make_cdc_tables(spark, "lake")
        yield {name: (str(lake.load_table(f"db.{name}").metadata_location), rows) for name, rows in tables.items()}
        fb.detach(spark)


@pytest.mark.parametrize("peer", READERS)
def test_a_peer_reads_the_rows_that_the_events_leave(made: dict[str, tuple[str, set[Any]]], peer: str) -> None:
    different = []
    for name, (location, rows) in made.items():
        (answer,) = READERS[peer]([Request(location, "SELECT * FROM t")])
        known = CANNOT.get(peer, {}).get(name.rpartition("_")[0])
        if known is not None:
            assert known in answer.error, name
            continue
        expected = sorted(f"{key} | {value}" for key, value in rows)
        if answer.error or sorted(answer.rows) != expected:
            different.append(f"{name}: {answer.error or answer.rows} instead of {expected}")
    assert not different, "\n".join(different)
