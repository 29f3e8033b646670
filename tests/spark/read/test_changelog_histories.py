"""Random histories through Spark: a changelog applied to the start rebuilds the end, in all of its forms."""

from __future__ import annotations

import random
from typing import Any

import pytest

from models.changelog_history import MODES, History, applied, by_type

STEPS = 3
FORMS = ("", ", identifier_columns => array('id')")


def make_history(lake: Any, *, seed: int, version: int) -> History:
    """Random steps, and then surely an update in each mode and equality deletes."""
    rng = random.Random(seed)
    history = History(rng, versions=[version], in_catalog=lake, name=f"db.history_{seed}")
    history.run(STEPS)
    for mode in MODES:
        history.builder.set({"write.update.mode": mode})
        history.update()
        history._note()
    history.change_events()
    history._note()
    return history


def view(session: Any, history: History, arguments: str) -> list[dict[str, Any]]:
    call = (
        f"CALL lake.system.create_changelog_view(table => '{history.table.name}', changelog_view => 'told'{arguments})"
    )
    session.sql(call)
    rows: list[dict[str, Any]] = session.table("told").toArrow().to_pylist()
    return rows


@pytest.mark.parametrize(("seed", "version"), [(0, 2), (1, 3), (2, 2), (3, 3)])
def test_changes_rebuild_the_end_from_the_start(session: Any, seed: int, version: int) -> None:
    history = make_history(session.lake, seed=seed, version=version)
    *earlier, end = [snapshot.snapshot_id for snapshot in history.snapshots]
    middle = history.rng.choice(earlier)
    for start in (None, middle):
        limit = "" if start is None else f", options => map('start-snapshot-id', '{start}')"
        for form in FORMS:
            changes = view(session, history, limit + form)
            assert applied(history.rows_at(start), changes) == history.rows_at(end), (history.done, form)
        net = view(session, history, f"{limit}, net_changes => true")
        assert (by_type(net, "DELETE"), by_type(net, "INSERT")) == history.net(start, end), history.done
    reader = session.read.option("start-snapshot-id", middle)
    everything = reader.table(f"{history.table.name}.changes").toArrow().to_pylist()
    assert applied(history.rows_at(middle), everything) == history.rows_at(end), history.done
