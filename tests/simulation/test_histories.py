"""Random histories of two to five writers over the real commit code, on files and on pointer rows, with faults, crashes and
clocks that are wrong. `make sim N=…` plays more of them, and a failure prints the seed that replays it."""

from __future__ import annotations

import pytest

from floeberg.testing.scheduler import SimulationFailed
from floeberg.testing.simulate import Setting, main, meet_missing, run_histories, run_history
from floeberg.testing.workload import PLANS

HISTORIES = 2_000


def test_no_history_has_an_anomaly_and_every_pair_of_changes_meets(capsys):
    totals = run_histories(range(HISTORIES))
    meet_missing(totals)
    with capsys.disabled():
        print(f"\n{totals.report()}")
    assert totals.histories >= HISTORIES
    assert totals.missing_pairs() == []
    for name in PLANS:
        assert totals.changes[name, "committed"] > 20, name
    assert min(totals.outcomes.values()) > 20, totals.outcomes


def test_a_seed_replays_its_history():
    first, second = run_history(77), run_history(77)
    assert [(one.step.tag, one.outcome) for one in first.done] == [(one.step.tag, one.outcome) for one in second.done]
    assert (first.steps, first.states, first.pairs) == (second.steps, second.states, second.pairs)


def test_settings_reach_every_corner():
    settings = [Setting.draw(seed) for seed in range(HISTORIES)]
    for name in set(Setting.__slots__) - {"store_overwrites", "kinds"}:
        assert len({getattr(setting, name) for setting in settings}) > 1, name
    assert {setting.writers for setting in settings} == {2, 3, 4, 5}


def test_the_command_reports_counts_and_names_the_seed_of_an_anomaly(capsys, monkeypatch):
    assert main(["--histories", "3", "--first", "5"]) == 0
    assert "3 histories" in capsys.readouterr().out

    def broken(seed: object) -> None:
        raise SimulationFailed(f"history {seed!r}: wrong")

    monkeypatch.setattr("floeberg.testing.simulate.run_history", broken)
    assert main(["--seed", "9"]) == 1
    assert "history '9'" in capsys.readouterr().out


@pytest.mark.parametrize("seed", [821, 10673])
def test_histories_that_once_went_wrong_stay_right(seed):
    run_history(seed)
