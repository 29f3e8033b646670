"""The Arrow engine and the Spark engine give the same rows: on golden tables and on random ones, with filters."""

from __future__ import annotations

import random
from typing import Any

import pytest

from engine_filters import random_filter
from engine_model import random_model
from floeberg.api.catalog import Catalog
from floeberg.errors import FloebergError
from floeberg.expr.nodes import TRUE
from floeberg.spark.read.frame import table_frame
from golden_tables import RECORDED, open_golden
from spark_rows import arrow_rows, loaded, spark_rows

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


TABLES = 20
FILTERS = 3


@pytest.mark.parametrize("seed", range(TABLES))
def test_random_tables_and_filters_give_the_same_rows(spark: Any, lake: Catalog, seed: int) -> None:
    """Filters are pushed into planning and applied by the oracle to rows of a superset: nothing may be lost."""
    rng = random.Random(seed)
    model = random_model(lake, "db.r", rng, steps=5)
    table = model.table
    rows = model.expected()
    for where in [TRUE, *(random_filter(rng, table.schema, rows) for _ in range(FILTERS - 1))]:
        frame = table_frame(spark, loaded(table), where=where)
        found, expected = spark_rows(frame), arrow_rows(table, where=where)
        if where is TRUE:
            assert found == expected, model.done
        else:
            assert _is_within(expected, found), (where, model.done)


def _is_within(part: list[str], whole: list[str]) -> bool:
    left = list(whole)
    for row in part:
        if row not in left:
            return False
        left.remove(row)
    return True
