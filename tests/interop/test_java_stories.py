"""The same statements on our Spark engine and on the Java runtime: every reader gives the same rows of either's table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import floeberg as fb
from peers.interop_stories import LINEAGE, ROWS, STORIES, Story
from peers.java_peer import JavaRuntime, lake_of_both
from spark_runs.corpus_scripts import shown_row
from spark_runs.shown_arrow import shown_arrow

pytestmark = pytest.mark.java


@pytest.fixture(scope="module")
def lake(spark: Any, runtime: JavaRuntime, tmp_path_factory: pytest.TempPathFactory) -> Iterator[fb.Catalog]:
    with lake_of_both(spark, runtime, tmp_path_factory.mktemp("both"), "both", "ours", "theirs") as made:
        yield made


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.name)
def test_each_reads_what_the_other_wrote(lake: fb.Catalog, spark: Any, runtime: JavaRuntime, story: Story) -> None:
    for statement in story.on(f"both.ours.{story.name}"):
        spark.sql(statement)
    runtime.run(*story.on(f"both.theirs.{story.name}"))
    rows = {writer: read_by_all(lake, spark, runtime, writer, story) for writer in ("ours", "theirs")}
    same = len(story.reads)
    assert rows["ours"][:same] == rows["theirs"][:same]


def read_by_all(lake: fb.Catalog, spark: Any, runtime: JavaRuntime, writer: str, story: Story) -> list[list[str]]:
    """The rows of each read, on which all readers agree."""
    reads = [*story.reads, *story.lineage]
    queries = [read.replace("{t}", f"both.{writer}.{story.name}") for read in reads]
    found = []
    for read, query, java in zip(reads, queries, runtime.ask(queries), strict=True):
        assert not java.error, f"{query}: {java.error}"
        own = sorted(shown_row(row) for row in spark.sql(query).collect())
        assert own == sorted(java.shown), f"{query}: our Spark engine and the Java runtime"
        if read in (ROWS, LINEAGE):
            columns = ["_row_id", "_last_updated_sequence_number"] if read == LINEAGE else False
            scan = lake.load_table(f"{writer}.{story.name}").scan(metadata_columns=columns)
            assert shown_arrow(scan.to_arrow()) == own, f"{query}: our Arrow engine and our Spark engine"
        found.append(own)
    return found
