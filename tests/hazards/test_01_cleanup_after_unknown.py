"""Hazard 1: cleaning up after an unknown outcome deletes what was committed. Three outcomes; files go only on proof."""

from __future__ import annotations

import pytest

from floeberg.commit.append import Append
from floeberg.commit.commit import commit_operations
from floeberg.commit.delete_files import DeleteFiles
from floeberg.commit.overwrite import Overwrite
from floeberg.commit.rewrite_manifests import RewriteManifests
from floeberg.commit.row_delta import RowDelta
from floeberg.errors import CommitUnknown
from floeberg.expr.build import eq
from floeberg.testing.simulated import SimWorld
from floeberg.testing.table_builder import TableBuilder
from lakes.stub_pointer import StubPointer


class Forgetful(StubPointer):
    """Applies every change and raises, and shows the table as it was before for a while: nobody can tell."""

    def __init__(self, pointer, before) -> None:
        super().__init__(pointer, "unknown after")
        self.before = before

    def refresh(self):
        return self.before


def built() -> TableBuilder:
    return (
        TableBuilder(partition_by=["p"], effects=SimWorld(1).process("w").effects).append((1, 0), (2, 0)).append((3, 1))
    )


CHANGES = {
    "append": lambda b: Append(files=b.data_files((9, 0))),
    "delete": lambda b: DeleteFiles(row_filter=eq("p", 1)),
    "overwrite": lambda b: Overwrite(added=b.data_files((9, 1)), row_filter=eq("p", 1)),
    "row delta": lambda b: RowDelta(added=[b.deletes(b.data()[0], 0)], view=b.view()),
    "manifests": lambda b: RewriteManifests(),
}


def live_files(builder: TableBuilder) -> list[str]:
    """Reads every live row, and so every live file."""
    builder.table.refresh()
    builder.rows()
    return [entry.data_file.file_path for entry in builder.live()]


@pytest.mark.parametrize("change", CHANGES)
def test_a_commit_that_took_effect_and_was_not_acknowledged_keeps_all_its_files(change):
    builder = built()
    pointer = Forgetful(builder.table._pointer, builder.table._state)
    with pytest.raises(CommitUnknown, match="Nothing was cleaned up"):
        commit_operations(pointer, builder.table._state, [CHANGES[change](builder)])
    assert builder.second().current_snapshot.snapshot_id != builder.table.current_snapshot.snapshot_id
    assert live_files(builder)


def test_without_the_third_outcome_live_files_would_be_gone(monkeypatch):
    monkeypatch.setattr(CommitUnknown, "cleanup_safe", True)
    builder = built()
    pointer = Forgetful(builder.table._pointer, builder.table._state)
    with pytest.raises(CommitUnknown):
        commit_operations(pointer, builder.table._state, [CHANGES["append"](builder)])
    with pytest.raises(Exception, match=r"(?i)not there|not exist|no such|missing|snap-"):
        live_files(builder)
