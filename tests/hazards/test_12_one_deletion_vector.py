"""Hazard 12: two live deletion vectors for one file, or a false conflict when the window holds two. A new vector replaces the
old one in the same snapshot, and what is live is looked at when it commits."""

from __future__ import annotations

from dataclasses import replace

import pytest

from floeberg.commit import producer
from floeberg.commit.row_delta import RowDelta
from floeberg.errors import ValidationConflict
from floeberg.expr.build import eq
from floeberg.spec.snapshots.manifest_entry import DataFile, ManifestContent
from floeberg.testing.crashes import quiet_setting
from floeberg.testing.decoding import decoded_once
from floeberg.testing.sim_catalogs import FILESYSTEM, ROWS
from floeberg.testing.simulate import run_history
from floeberg.testing.table_builder import TableBuilder


def built() -> TableBuilder:
    return TableBuilder(partition_by=["p"], format_version=3).append((1, 0), (2, 0), (3, 0), (4, 1), (5, 1), (6, 1))


def vectors(builder: TableBuilder) -> dict[str, DataFile]:
    found = [entry.data_file for entry in builder.live(ManifestContent.DELETES)]
    assert len({file.referenced_data_file for file in found}) == len(found), "one vector a data file"
    return {file.referenced_data_file: file for file in found}


def delete(builder: TableBuilder, p: int, *positions: int) -> RowDelta:
    """Deletes rows of the file of a partition; the old vector goes."""
    file = next(file for file in builder.data() if file.partition == (p,))
    old = vectors(builder).get(file.file_path)
    return RowDelta(
        added=[builder.deletes(file, *positions)],
        removed_deletes=[] if old is None else [old],
        view=builder.view(eq("p", p)),
    )


def test_vectors_replace_each_other():
    builder = built()
    for positions in ((0,), (0, 1), (0, 1, 2)):
        builder.table._commit(delete(builder, 0, *positions))
        assert len(vectors(builder)) == 1
    assert [row[0] for row in builder.rows()] == [4, 5, 6]


def test_two_vectors_in_the_window_are_no_conflict_for_another_file():
    builder = built()
    mine = delete(builder, 1, 0)
    other = TableBuilder.__new__(TableBuilder)
    other.__dict__ = {**builder.__dict__, "table": builder.second()}
    for positions in ((0,), (0, 1)):
        other.table._commit(delete(other, 0, *positions))
    builder.table._commit(mine)
    assert len(vectors(builder)) == 2
    assert [row[0] for row in builder.rows()] == [3, 5, 6]


def test_two_vectors_in_the_window_conflict_for_the_same_file():
    builder = built()
    mine = delete(builder, 0, 2)
    other = TableBuilder.__new__(TableBuilder)
    other.__dict__ = {**builder.__dict__, "table": builder.second()}
    for positions in ((0,), (0, 1)):
        other.table._commit(delete(other, 0, *positions))
    with pytest.raises(ValidationConflict, match="same data files"):
        builder.table._commit(mine)


def second_vector() -> int:
    """A writer that forgets the old vector; how many are live for its file."""
    builder = built()
    builder.table._commit(delete(builder, 0, 0))
    forgetful = replace(delete(builder, 0, 0, 1), removed_deletes=[])
    builder.table._commit(forgetful)
    return len(builder.live(ManifestContent.DELETES))


def test_what_is_live_is_looked_at_when_a_vector_commits():
    with pytest.raises(ValidationConflict, match="has a deletion vector already"):
        second_vector()


def test_without_the_look_two_would_be_live(monkeypatch):
    monkeypatch.setattr(producer, "no_second_vector", lambda *given, **named: None)
    assert second_vector() == 2


@pytest.mark.parametrize("catalog", [FILESYSTEM, ROWS])
def test_no_simulated_commit_leaves_two(catalog):
    kinds = ("row_delta", "rewrite_files", "fast_append", "transaction")
    setting = replace(quiet_setting(catalog, 3), writers=4, kinds=kinds)
    with decoded_once():
        for seed in range(8):
            run_history(f"12-{seed}", setting)
