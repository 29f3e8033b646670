"""Random stories of a table: deletes of every kind, evolution, branches, tags and rollbacks beside maintenance. Set
FLOEBERG_STORIES to play more of them."""

from __future__ import annotations

import os

import pytest

from floeberg.arrow.write import table_writer
from floeberg.maintenance import expire
from floeberg.testing.decoding import decoded_once
from models.table_story import DEFINITIONS, MAINTENANCE, REFS, WRITES, run_stories

STORIES = int(os.environ.get("FLOEBERG_STORIES", "7"))


def test_every_branch_tag_and_snapshot_reads_as_the_model_says_and_rows_keep_their_lineage() -> None:
    with decoded_once():
        counts = run_stories(range(STORIES))
    missing = [step for step in (*WRITES, *DEFINITIONS, *REFS, *MAINTENANCE) if counts[step] == 0]
    assert missing == []


def test_a_tag_that_expiry_forgets_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    real = expire._retained_refs
    monkeypatch.setattr(
        expire,
        "_retained_refs",
        lambda base, *, now_ms: {name: ref for name, ref in real(base, now_ms=now_ms).items() if not ref.is_tag},
    )
    with pytest.raises(AssertionError, match="story 10: other snapshots are left than should be"):
        run_stories([10])


def test_rows_that_lose_their_lineage_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_writer, "ROW_LINEAGE_VERSION", 99)
    with pytest.raises(AssertionError, match="story 0: row 2 had the id 1 and has 4"):
        run_stories([0])
