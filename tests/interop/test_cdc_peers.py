"""What batches of CDC events leave behind (equality deletes, global and of partitions, deletes of positions) is read alike
by DuckDB, iceberg-rust and Sail, and after each rewrite of it too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import floeberg as fb
from interop.test_row_level_peers import READERS
from lakes.cdc_tables import make_cdc_tables, rewrite_in_steps
from peers.environments import Request

pytestmark = pytest.mark.peers

CANNOT = {"duckdb": {"cdc_by_key": "Comparison on NULL values"}}
"""What a peer fails on, and what its error says: DuckDB on equality deletes of the partitions of two specs."""


@pytest.fixture(scope="module")
def made(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, tuple[str, set[Any]]]]:
    """Each table's metadata and rows, as the events leave it and after each rewrite; the folder is a URI, which iceberg-rust
    wants."""
    with fb.catalog("lake", warehouse=f"file://{tmp_path_factory.mktemp('cdc')}") as lake:
        lake.create_namespace("db")
        fb.attach(spark, lake)
        found: dict[str, tuple[str, set[Any]]] = {}
        for name, rows in make_cdc_tables(spark, "lake").items():
            table = lake.load_table(f"db.{name}")
            found[name] = (str(table.metadata_location), rows)
            for step in rewrite_in_steps(table, spark):
                found[f"{name} {step}"] = (str(table.metadata_location), rows)
        yield found
        fb.detach(spark)


@pytest.mark.parametrize("peer", READERS)
def test_a_peer_reads_the_rows_that_the_events_leave(made: dict[str, tuple[str, set[Any]]], peer: str) -> None:
    cannot = {name: CANNOT.get(peer, {}).get(name.rpartition("_")[0]) for name in made if " " not in name}
    read = {name: one for name, one in made.items() if not cannot.get(name)}
    different = []
    answers = READERS[peer]([Request(location, "SELECT * FROM t") for location, _ in read.values()])
    for (name, (_, rows)), answer in zip(read.items(), answers, strict=True):
        expected = sorted(f"{key} | {value}" for key, value in rows)
        if answer.error or sorted(answer.rows) != expected:
            different.append(f"{name}: {answer.error or answer.rows} instead of {expected}")
    assert not different, "\n".join(different)
    for name, reason in cannot.items():
        if reason is not None:
            (answer,) = READERS[peer]([Request(made[name][0], "SELECT * FROM t")])
            assert reason in answer.error, name
