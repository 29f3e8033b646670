"""Random tables times random filters: the engine against a plain model, 2,000 pairs, no row lost and none too many."""

from __future__ import annotations

import random

import pytest

from floeberg.api.catalog import catalog
from models.engine_model import random_model
from models.engine_rows import assert_same_rows, matching, rows_of
from strategies.engine_filters import random_filter

TABLES = 300
FILTERS_PER_TABLE = 7
BATCH = 25


@pytest.mark.parametrize("first", range(0, TABLES, BATCH))
def test_random_tables_and_filters_give_what_the_model_gives(first: int) -> None:
    lake = catalog("lake", type="memory")
    lake.create_namespace("db")
    for seed in range(first, first + BATCH):
        rng = random.Random(seed)
        model = random_model(lake, f"db.t{seed}", rng)
        schema, expected = model.schema, model.expected()
        what = f"seed {seed}, v{model.table.format_version}, {model.done}"
        assert_same_rows(rows_of(model.table.scan().to_arrow(), schema), expected, what)
        assert model.table.scan().count() == len(expected)
        for _ in range(FILTERS_PER_TABLE):
            where = random_filter(rng, schema, expected)
            options = {"threads": rng.choice(["1", "1", "4"])}
            found = rows_of(model.table.scan(where=where, options=options).to_arrow(), schema)
            assert_same_rows(found, matching(where, expected, schema), f"{what}: {where}")
