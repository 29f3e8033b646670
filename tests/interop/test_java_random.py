"""Random tables of ours, read by the Java runtime: evolution, every file format, deletes of every kind, defaults, v1 to v3."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

import floeberg as fb
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.types import BinaryType, FixedType
from models.engine_model import random_model
from peers.java_peer import JavaRuntime, lake_of_both
from spark_runs.corpus_scripts import shown_row

pytestmark = pytest.mark.java

TABLES = 24
REFUSED = {
    "nanoseconds": "Cannot convert unsupported type to Spark",
    "times of day": "does not support time fields",
    "equality deletes with a column of times since dropped": "Unsupported logical type: TIME_MICROS",
    "partitions of fixed, which it reads as if they had a length": "Malformed data. Length is negative",
    "defaults in files that are not Parquet": "default",
}
"""What the Java runtime refuses, and what its errors say."""
WRONG = {15: "it compares the bounds of uuids as signed numbers, and so passes over an equality delete"}
"""Tables that it reads wrongly, by their seeds."""


@pytest.fixture(scope="module")
def lake(spark: Any, runtime: JavaRuntime, tmp_path_factory: pytest.TempPathFactory) -> Iterator[fb.Catalog]:
    with lake_of_both(spark, runtime, tmp_path_factory.mktemp("random"), "chance", "db") as made:
        yield made


def as_text(schema: Schema, table: str) -> str:
    """All rows as text, made by Spark itself: Python has no years beyond 9999."""
    columns = [
        f"hex(`{field.name}`)" if isinstance(field.type, (BinaryType, FixedType)) else f"CAST(`{field.name}` AS STRING)"
        for field in schema.fields
    ]
    return f"SELECT {', '.join(columns)} FROM {table}"


def test_the_java_runtime_reads_random_tables_of_ours(lake: fb.Catalog, spark: Any, runtime: JavaRuntime) -> None:
    models = [random_model(lake, f"db.t{seed}", random.Random(seed)) for seed in range(TABLES)]
    queries = [as_text(model.schema, f"chance.db.t{seed}") for seed, model in enumerate(models)]
    refused: Counter[str] = Counter()
    different = []
    for seed, (model, query, java) in enumerate(zip(models, queries, runtime.ask(queries), strict=True)):
        if java.error:
            reason = next((reason for reason, said in REFUSED.items() if said in java.error), None)
            if reason is None:
                different.append(f"table {seed}, {model.done}: {java.error}")
            else:
                refused[reason] += 1
            continue
        own = Counter(shown_row(row) for row in spark.sql(query).collect())
        assert own.total() == len(model.expected()), model.done
        if (own != Counter(java.shown)) != (seed in WRONG):
            lost, extra = own - Counter(java.shown), Counter(java.shown) - own
            different.append(f"table {seed}, {model.done}: ours alone {lost}, theirs alone {extra}")
    assert not different, "\n".join(different)
    assert refused.total() <= TABLES // 2, f"it refused too many tables to be a proof: {refused}"
