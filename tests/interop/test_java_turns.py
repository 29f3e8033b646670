"""Our Spark engine and the Java runtime change one table in turns, at random; after each step both read what a plain model
holds, row ids and sequence numbers included."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

import floeberg as fb
from models.spark_evolving_model import RowModel
from peers.java_peer import JavaRuntime, lake_of_both
from spark_runs.corpus_scripts import shown_row

pytestmark = pytest.mark.java

STEPS = 5


@dataclass
class InTurns:
    """Passes for a session: a change is made by either engine, a query is answered by both."""

    spark: Any
    runtime: JavaRuntime
    lake: fb.Catalog
    rng: random.Random
    by_java: float
    """The share of changes that the Java runtime makes."""
    done: list[str] = field(default_factory=list)

    def sql(self, statement: str) -> Any:
        if statement.startswith("SELECT"):
            return self._asked_of_both(statement)
        # The Java runtime does not know the defaults of columns.
        by_java = self.rng.random() < self.by_java and " DEFAULT " not in statement
        self.done.append(f"{'Java' if by_java else 'Floeberg'}: {statement}")
        if by_java:
            self.runtime.run(statement)
            return None
        return self.spark.sql(statement)

    def _asked_of_both(self, query: str) -> Any:
        frame = self.spark.sql(query)
        (java,) = self.runtime.ask([query])
        assert not java.error, (java.error, self.done)
        assert sorted(shown_row(row) for row in frame.collect()) == sorted(java.shown), self.done
        return frame


@pytest.fixture(scope="module")
def lake(spark: Any, runtime: JavaRuntime, tmp_path_factory: pytest.TempPathFactory) -> Iterator[fb.Catalog]:
    with lake_of_both(spark, runtime, tmp_path_factory.mktemp("turns"), "turns", "db") as made:
        yield made


@pytest.mark.parametrize("seed", range(8))
def test_changes_in_turns_agree_with_a_plain_model(
    lake: fb.Catalog, spark: Any, runtime: JavaRuntime, seed: int
) -> None:
    turns = InTurns(spark, runtime, lake, random.Random(1000 + seed), by_java=1.0 if seed % 4 == 3 else 0.5)
    model = RowModel.create(turns, f"turns.db.t{seed}", seed)
    for _ in range(STEPS):
        model.step()
