"""Random histories: a changelog applied to the start rebuilds the end, in all of its forms, and so does a stream of it."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from typing import Any

import pytest

from floeberg.arrow.scan.changelog import read_changes
from floeberg.arrow.scan.execute import table_reader
from floeberg.scan.streaming import StreamOffset, StreamOptions, StreamPlanner
from models.changelog_history import History, applied, by_type

Change = dict[str, Any]
SEEDS = 40
GROUPS = 4
STEPS = 6


def check_changes(history: History, start: int | None, end: int) -> list[Change]:
    changes = history.table.scan_changes(start, end).to_arrow().to_pylist()
    assert applied(history.rows_at(start), changes) == history.rows_at(end)
    changed = history.changed_snapshots(start, end)
    assert {(row["_change_ordinal"], row["_commit_snapshot_id"]) for row in changes} <= {
        (ordinal, snapshot.snapshot_id) for ordinal, snapshot in enumerate(changed)
    }
    for ordinal, snapshot in enumerate(changed):
        own = [row for row in changes if row["_change_ordinal"] == ordinal]
        came, went = by_type(own, "INSERT"), by_type(own, "DELETE")
        expected = history.net(snapshot.parent_snapshot_id, snapshot.snapshot_id)
        if not history.has_dropped:
            # Without a column that was dropped since, rows of different partitions can be equal.
            assert (went, came) == expected
        else:
            assert (went - came, came - went) == expected
    return changes


def check_carried_over(history: History, start: int | None, end: int, changes: list[Change]) -> None:
    everything = history.table.scan_changes(start, end, keep_carried_over=True).to_arrow().to_pylist()
    assert applied(history.rows_at(start), everything) == history.rows_at(end)
    assert len(everything) >= len(changes)


def check_net_changes(history: History, start: int | None, end: int, _: list[Change]) -> None:
    changes = history.table.scan_changes(start, end, net_changes=True).to_arrow().to_pylist()
    assert (by_type(changes, "DELETE"), by_type(changes, "INSERT")) == history.net(start, end)


def check_updates(history: History, start: int | None, end: int, plain: list[Change]) -> None:
    changes = history.table.scan_changes(start, end, identifier_columns=["id"]).to_arrow().to_pylist()
    assert applied(history.rows_at(start), changes) == history.rows_at(end)
    kinds: dict[tuple[int, int], set[str]] = {}
    for row in plain:
        kinds.setdefault((row["_change_ordinal"], row["id"]), set()).add(row["_change_type"])
    updates = {"DELETE": "UPDATE_BEFORE", "INSERT": "UPDATE_AFTER"}
    expected = Counter(
        (row["_change_ordinal"], row["id"], updates[row["_change_type"]])
        if len(kinds[row["_change_ordinal"], row["id"]]) == 2
        else (row["_change_ordinal"], row["id"], row["_change_type"])
        for row in plain
    )
    assert Counter((row["_change_ordinal"], row["id"], row["_change_type"]) for row in changes) == expected
    for before, after in itertools.pairwise(changes):
        if before["_change_type"] == "UPDATE_BEFORE":
            assert (after["id"], after["_change_type"]) == (before["id"], "UPDATE_AFTER")


def check_stream(history: History, start: int | None, rng: random.Random) -> None:
    """In batches of random size, planned anew for each one as by a query that is started again."""
    limits = rng.choice([{}, {"max_files": 1}, {"max_files": 3}, {"max_rows": 5}])
    table = history.table
    schema, store_for = table.schema, table._pointer.store_for
    reader = table_reader(table.metadata, schema, store_for=store_for)

    def planner() -> StreamPlanner:
        options = StreamOptions(changes=True, from_snapshot_id=start, **limits)
        return StreamPlanner(identifier="t", metadata=table.metadata, options=options, store_for=store_for)

    offset, rows, last_ordinal, batches = planner().initial(), Counter(), -1, 0
    while (end := planner().advance(offset)) != offset:
        assert StreamOffset.from_json(end.to_json()) == end
        changes: list[Change] = []
        for part in planner().between(offset, end):
            changes += read_changes(part, reader, schema).read_all().to_pylist()
        if changes:
            assert min(row["_change_ordinal"] for row in changes) >= last_ordinal
            last_ordinal = max(row["_change_ordinal"] for row in changes)
        rows, offset, batches = applied(rows, changes), end, batches + 1
    assert rows == history.rows_at(table.current_snapshot.snapshot_id)
    assert limits or batches <= 1


def run_seed(seed: int) -> None:
    rng = random.Random(seed)
    history = History(rng)
    history.run(STEPS)
    ids: list[int | None] = [None, *(snapshot.snapshot_id for snapshot in history.snapshots)]
    try:
        end = rng.choice([ids[-1], ids[-1], rng.choice(ids[1:])])
        assert end is not None
        start = rng.choice([None, rng.choice(ids[: ids.index(end)])])
        changes = check_changes(history, start, end)
        rng.choice([check_net_changes, check_updates, check_carried_over])(history, start, end, changes)
        if rng.random() < 0.5:
            check_stream(history, rng.choice(ids), rng)
    except AssertionError as error:
        raise AssertionError(f"seed {seed}: {history.done}: {error}") from error


@pytest.mark.parametrize("group", range(GROUPS))
def test_changes_rebuild_the_end_from_the_start(group: int) -> None:
    for seed in range(group * SEEDS // GROUPS, (group + 1) * SEEDS // GROUPS):
        run_seed(seed)
