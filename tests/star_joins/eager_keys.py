"""Join keys that leave out rows of small tables, too: they do so of large ones alone, for which it pays."""

from __future__ import annotations

import random
from typing import Any

import pytest

from floeberg.spark.query import statement_keys
from floeberg.spark.read.joins import row_filter


def use_every_key(patch: pytest.MonkeyPatch, chance: random.Random) -> dict[str, Any]:
    """Keys of every table leave out rows, by one of the ways in which they may; which one."""
    chosen = {"written out": chance.choice([0, 10]), "in a condition": chance.choice([2, 1_000])}
    patch.setattr(row_filter, "LEAST_ROWS", 0)
    patch.setattr(row_filter, "TIMES_LARGER", 1)
    patch.setattr(row_filter, "MOST_LEFT", float("inf"))
    patch.setattr(row_filter, "_WRITTEN_OUT", chosen["written out"])
    patch.setattr(statement_keys, "MAX_WRITTEN", chosen["in a condition"])
    return chosen
