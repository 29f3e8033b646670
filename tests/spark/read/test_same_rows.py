"""The Arrow engine and the Spark engine give the same rows: on golden tables and on random ones, with filters."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from floeberg.api.catalog import Catalog
from floeberg.api.table import Table
from floeberg.errors import FloebergError
from floeberg.expr.bind import bind
from floeberg.expr.nodes import Expression, predicates
from floeberg.spark.entry.to_spark import to_spark
from floeberg.spark.read.frame import table_frame
from floeberg.spec.types import TimestampNsType, TimestamptzNsType, TimeType, UuidType
from golden_collection.golden_shared import ENTRIES, READABLE, need_collection, open_entry, options_of
from golden_collection.golden_tables import RECORDED, open_golden
from models.engine_model import random_model
from spark_runs.spark_rows import arrow_rows, loaded, spark_rows
from strategies.engine_filters import random_filter

SCHEMELESS = {"match-delete-paths-without-scheme": "true"}
REFUSED = {"legacy_bare_deletion_vector"}


@pytest.mark.parametrize("name", sorted(set(RECORDED) - REFUSED))
def test_a_golden_table_reads_the_same(spark: Any, name: str) -> None:
    options = SCHEMELESS if name == "pos_and_multi_eq_ids" else {}
    table = open_golden(name)
    frame = table_frame(spark, loaded(table), options=options)
    assert spark_rows(frame) == arrow_rows(table, options=options)


def test_a_refused_table_is_refused_here_too(spark: Any) -> None:
    with pytest.raises(FloebergError, match="not in a Puffin file"):
        table_frame(spark, loaded(open_golden("legacy_bare_deletion_vector"))).collect()


NULL_VARIANTS = "impala/trino_variant"
"""Spark's own toArrow, by which rows are compared here, fails on a variant that is null."""


@pytest.mark.golden_shared
@pytest.mark.parametrize("name", sorted({*READABLE} - {NULL_VARIANTS}) or ["none"])
def test_a_table_of_the_collection_reads_the_same(spark: Any, name: str) -> None:
    need_collection()
    entry = ENTRIES[name]
    table, options = open_entry(entry), options_of(entry)
    frame = table_frame(spark, loaded(table), options=options)
    assert spark_rows(frame) == arrow_rows(table, options=options)


TABLES = 60
FILTERS = 2
NOT_SPARKS_OWN = (TimeType, TimestampNsType, TimestamptzNsType, UuidType)
"""Types that Spark has in another form, so that a literal of theirs means something else there."""


@pytest.mark.parametrize("seed", range(TABLES))
def test_random_tables_and_filters_give_the_same_rows(spark: Any, lake: Catalog, seed: int) -> None:
    """With a filter that Spark can be given, exactly the same rows; else planning by it may lose none of them."""
    rng = random.Random(seed)
    model = random_model(lake, "db.r", rng, steps=5)
    table = model.table
    rows = model.expected()
    assert spark_rows(table_frame(spark, loaded(table))) == arrow_rows(table), model.done
    for _ in range(FILTERS):
        where = random_filter(rng, table.schema, rows)
        expected = arrow_rows(table, where=where)
        if is_for_spark(where, table):
            found = spark_rows(to_spark(spark, loaded(table), where=str(where)))
            assert found == expected, (where, model.done)
        else:
            lost = Counter(expected) - Counter(spark_rows(table_frame(spark, loaded(table), where=where)))
            assert not lost, (where, model.done)


def is_for_spark(where: Expression, table: Table) -> bool:
    """Whether the filter means the same as text in Spark's SQL, which has an overflow at the least of all dates."""
    bound = bind(where, table.schema)
    return "-5877641" not in str(where) and not any(
        isinstance(one.term.reference.type, NOT_SPARKS_OWN) for one in predicates(bound)
    )
