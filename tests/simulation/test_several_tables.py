"""Commits over several tables in a simulated world, with faults, crashes and answers that are lost or late."""

from __future__ import annotations

from collections import Counter

import pytest

from floeberg.testing.history_checker import Outcome
from floeberg.testing.sim_reader import Anomaly
from floeberg.testing.simulate_tables import TablesPlayer

SEEDS = 100


def test_no_history_leaves_a_transaction_in_one_table_alone() -> None:
    outcomes: Counter[Outcome] = Counter()
    unknown_but_there = 0
    for seed in range(SEEDS):
        history = TablesPlayer(seed).play()
        outcomes.update(history.outcomes.values())
        unknown_but_there += sum(history.outcomes[tag] is Outcome.UNKNOWN for tag in history.found)
    assert outcomes[Outcome.COMMITTED] > SEEDS
    assert outcomes[Outcome.UNKNOWN] > 0
    assert outcomes[Outcome.REJECTED] > 0
    assert unknown_but_there > 0


def test_rows_that_are_put_one_by_one_are_noticed() -> None:
    for seed in range(10):
        with pytest.raises(Anomaly, match="in one table and not in the other"):
            TablesPlayer(seed, one_by_one=True).play()
