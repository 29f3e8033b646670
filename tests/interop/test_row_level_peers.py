"""What row-level statements on our Spark engine leave behind, read by DuckDB, iceberg-rust and Sail.

Where a peer cannot read a table, its failure is written down here and checked, so that we notice when it can.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import floeberg as fb
from peers import duckdb_reader
from peers.environments import PeerAnswer, Request, ask
from peers.interop_stories import LINEAGE, ROWS, STORIES
from spark_runs.shown_arrow import shown_arrow

pytestmark = pytest.mark.peers

NAMES = (
    "row_level_v2_copy_on_write", "row_level_v2_merge_on_read", "row_level_v3_copy_on_write", "row_level_v3_merge_on_read",
    "evolved_v2", "evolved_v3", "nested_v3", "branched_v3", "upgraded",
)  # fmt: skip
CHOSEN = [story for story in STORIES if story.name in NAMES]
LINEAGE_COLUMNS = ["_row_id", "_last_updated_sequence_number"]

CANNOT: dict[str, dict[str, str]] = {
    "duckdb": {},
    "core": {"lineage": "No field named _row_id", "nested_v3": "Incorrect number of arrays for StructArray fields"},
    "sail": {"lineage": 'Identifier("_row_id")]) is missing'},
}
"""For each peer, what it fails on (`lineage`, or the rows of a story), and what its error says."""


@pytest.fixture(scope="module")
def lake(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[fb.Catalog]:
    """Every chosen story, run on our Spark engine; the folder is a URI, which iceberg-rust wants."""
    with fb.catalog("lake", warehouse=f"file://{tmp_path_factory.mktemp('peers')}") as made:
        made.create_namespace("db")
        fb.attach(spark, made)
        for story in CHOSEN:
            for statement in story.on(f"lake.db.{story.name}"):
                spark.sql(statement)
        yield made
        fb.detach(spark)


def duckdb_answers(requests: list[Request]) -> list[PeerAnswer]:
    connection = duckdb_reader.connect()
    return [_duckdb_answer(connection, request) for request in requests]


def _duckdb_answer(connection: Any, request: Request) -> PeerAnswer:
    source = f"iceberg_scan('{request.metadata_location.removeprefix('file://')}')"
    try:
        found = connection.sql(request.query.replace("FROM t", f"FROM {source}")).to_arrow_table()
    except Exception as error:  # whatever fails is the answer
        return PeerAnswer(error=f"{type(error).__name__}: {error}")
    return PeerAnswer(rows=shown_arrow(found), columns=found.column_names)


READERS: dict[str, Callable[[list[Request]], list[PeerAnswer]]] = {
    "duckdb": duckdb_answers,
    "core": lambda requests: ask("core", requests),
    "sail": lambda requests: ask("sail", requests),
}


@pytest.mark.parametrize("peer", READERS)
def test_a_peer_reads_the_rows_and_the_lineage_that_we_read(lake: fb.Catalog, peer: str) -> None:
    asked = [
        (story.name, kind, read)
        for story in CHOSEN
        for kind, read in (("rows", ROWS), *(("lineage", read) for read in story.lineage))
    ]
    tables = {story.name: lake.load_table(f"db.{story.name}") for story in CHOSEN}
    requests = [Request(str(tables[name].metadata_location), read.replace("{t}", "t")) for name, _, read in asked]
    different = []
    for (name, kind, read), answer in zip(asked, READERS[peer](requests), strict=True):
        columns = LINEAGE_COLUMNS if read == LINEAGE else False
        own = shown_arrow(tables[name].scan(metadata_columns=columns).to_arrow())
        known = CANNOT[peer].get(name if kind == "rows" else kind)
        if known is not None:
            if known not in answer.error:
                different.append(f"{name} ({kind}) no longer fails with {known}: {answer.error or answer.rows[:3]}")
        elif answer.error:
            different.append(f"{name} ({kind}) fails: {answer.error}")
        elif sorted(answer.rows) != own:
            lost, extra = sorted(set(own) - set(answer.rows)), sorted(set(answer.rows) - set(own))
            different.append(f"{name} ({kind}): ours alone {lost[:4]}, theirs alone {extra[:4]}")
    assert not different, "\n".join(different)
