"""Random sequences of INSERT, DELETE, UPDATE and MERGE, of compactions, and of changes of schema and spec, against a plain
model: rows and lineage are equal after each step.

`FLOEBERG_MODEL_SEQUENCES` says how many sequences are run, `FLOEBERG_MODEL_FIRST` where to begin; `make model` runs many.
"""

from __future__ import annotations

import os
from typing import Any

import pytest

from models.spark_evolving_model import RowModel

FIRST = int(os.environ.get("FLOEBERG_MODEL_FIRST", "0"))
SEQUENCES = int(os.environ.get("FLOEBERG_MODEL_SEQUENCES", "25"))
STEPS = 4


@pytest.mark.parametrize("seed", range(FIRST, FIRST + SEQUENCES))
def test_random_changes_agree_with_a_plain_model(session: Any, seed: int) -> None:
    model = RowModel.create(session, f"lake.db.model_{seed}", seed)
    for _ in range(STEPS):
        model.step()
    session.sql(f"DROP TABLE {model.name} PURGE")
