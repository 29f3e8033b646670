"""The checker is worth what it notices: each protection that is switched off must show as an anomaly."""

from __future__ import annotations

from dataclasses import replace

import pytest

from floeberg.commit import overwrite, rewrite_files, row_delta
from floeberg.errors import CommitUnknown
from floeberg.testing.decoding import decoded_once
from floeberg.testing.scheduler import SimulationFailed
from floeberg.testing.sim_catalogs import FILESYSTEM
from floeberg.testing.simulate import Setting, run_history


def nothing(*arguments: object, **named: object) -> None:
    """A protection that is switched off."""


def play(most: int, changed: dict[str, object]) -> None:
    with decoded_once():
        for seed in range(most):
            run_history(seed, replace(Setting.draw(seed), **changed))


def first_anomaly(kinds: str, **changed: object) -> str:
    """What the first history of these kinds of change that goes wrong says."""
    quiet = {"fault_rate": 0, "crashes": False, "writers": 4, "evolves_spec": False, "kinds": tuple(kinds.split())}
    with pytest.raises(SimulationFailed) as failed:
        play(300, {**quiet, **changed})
    return str(failed.value)


@pytest.mark.parametrize(
    ("module", "name", "kinds"),
    [
        (overwrite, "no_new_deletes_for", "overwrite_files row_delta upsert"),
        (overwrite, "no_added_data_files", "overwrite_files fast_append"),
        (rewrite_files, "no_new_deletes_for", "rewrite_files row_delta"),
        (row_delta, "data_files_exist", "row_delta rewrite_files"),
        (row_delta, "no_added_data_files", "row_delta fast_append"),
        (row_delta, "no_concurrent_deletes_on", "row_delta upsert"),
        (rewrite_files, "rows_keep_their_ids", "rewrite_files upgrade fast_append"),
    ],
    ids=lambda given: getattr(given, "__name__", given),
)
def test_a_missing_validation_is_noticed(module, name, kinds, monkeypatch):
    monkeypatch.setattr(module, name, nothing)
    assert "replay it with" in first_anomaly(kinds)


def test_parts_of_another_attempt_are_noticed(monkeypatch):
    monkeypatch.setattr("floeberg.commit.workspace._entry_key", lambda entry: (entry.status, entry.data_file.identity))
    assert "replay it with" in first_anomaly("transaction fast_append")


def test_cleaning_up_after_an_unknown_outcome_is_noticed(monkeypatch):
    monkeypatch.setattr(CommitUnknown, "cleanup_safe", True)
    assert "missing" in first_anomaly("fast_append transaction", fault_rate=0.08)


def test_a_store_that_overwrites_is_noticed():
    assert "replay it with" in first_anomaly("fast_append", catalog=FILESYSTEM, store_overwrites=True)
