"""Row ids in table metadata: https://iceberg.apache.org/spec/#row-lineage (seed 004)"""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from floeberg.errors import CommitConflict, InvalidInput
from floeberg.spec.changes import updates as u
from floeberg.spec.changes.table_builder import apply_updates
from floeberg.spec.metadata.table_metadata_json import parse_table_metadata, write_table_metadata
from floeberg.spec.snapshots.row_lineage import add_row_ids, assign_first_row_ids
from strategies.metadata import NOW_MS, committed, new_table, next_snapshot


def test_seed_004_next_row_id_goes_3_5_8() -> None:
    """Three rows, two more, then an update that copies a file of three rows."""
    metadata = new_table(3)
    seen = []
    for snapshot_id, rows in ((1, 3), (2, 2), (3, 3)):
        metadata = parse_table_metadata(write_table_metadata(committed(metadata, snapshot_id, rows=rows)))
        snapshot = metadata.snapshot(snapshot_id)
        seen.append((snapshot.first_row_id, snapshot.added_rows, metadata.next_row_id))
    assert seen == [(0, 3, 3), (3, 2, 5), (5, 3, 8)]


def test_seed_004_upgraded_tables_start_at_0() -> None:
    upgraded = apply_updates(committed(new_table(2), 1), [u.UpgradeFormatVersion(3)], now_ms=NOW_MS)
    assert upgraded.next_row_id == 0
    assert committed(upgraded, 2, rows=4).next_row_id == 4


def test_hazard_21_a_first_row_id_that_was_given_meanwhile_is_a_conflict() -> None:
    base = committed(new_table(3), 1, rows=3)
    planned = next_snapshot(base, 3)
    meanwhile = committed(base, 2, rows=2)
    retried = replace(planned, sequence_number=meanwhile.next_sequence_number)
    with pytest.raises(CommitConflict, match="row id 3"):
        apply_updates(meanwhile, [u.AddSnapshot(retried)], now_ms=NOW_MS)
    again = replace(retried, first_row_id=meanwhile.next_row_id)
    assert apply_updates(meanwhile, [u.AddSnapshot(again)], now_ms=NOW_MS).next_row_id == 6


def test_a_gap_in_row_ids_is_allowed_and_never_given_again() -> None:
    base = new_table(3)
    gapped = replace(next_snapshot(base, 1, rows=2), first_row_id=10)
    assert apply_updates(base, [u.AddSnapshot(gapped)], now_ms=NOW_MS).next_row_id == 12


@pytest.mark.parametrize("missing", ["first_row_id", "added_rows"])
def test_v3_snapshots_need_row_ids(missing: str) -> None:
    base = new_table(3)
    with pytest.raises(InvalidInput, match="first-row-id and added-rows"):
        apply_updates(base, [u.AddSnapshot(replace(next_snapshot(base, 1), **{missing: None}))], now_ms=NOW_MS)


@pytest.mark.parametrize(("first", "rows"), [(2**63 - 1, 1), (5, 2**63), (-1, 3), (3, -1)])
def test_hazard_21_row_ids_never_wrap_around(first: int, rows: int) -> None:
    with pytest.raises(InvalidInput, match="row ids"):
        add_row_ids(first, rows)
    assert add_row_ids(2**63 - 2, 1) == 2**63 - 1


def test_only_manifests_without_a_first_row_id_get_one() -> None:
    """The specification's example: existing manifests keep theirs, new ones count on."""
    assert assign_first_row_ids(1000, [(None, 125), (700, 50), (None, 75), (None, 0)]) == (
        (1000, 700, 1125, 1200),
        1200,
    )


@given(st.integers(0, 2**40), st.lists(st.tuples(st.none() | st.integers(0, 2**20), st.integers(0, 2**20)), max_size=8))
def test_assigned_ranges_never_overlap(next_row_id: int, manifests: list[tuple[int | None, int]]) -> None:
    assigned, following = assign_first_row_ids(next_row_id, manifests)
    ranges = [
        (first, first + rows)
        for first, (given_id, rows) in zip(assigned, manifests, strict=True)
        if given_id is None and first is not None
    ]
    position = next_row_id
    for start, end in ranges:
        assert start == position
        position = end
    assert position == following
