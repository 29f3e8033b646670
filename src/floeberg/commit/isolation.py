"""How much a row-level operation checks of what others committed since it was planned."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from floeberg.commit.history import ConcurrentChanges, concurrent_changes
from floeberg.commit.workspace import Workspace
from floeberg.expr.nodes import TRUE, Expression
from floeberg.spec.metadata import TableMetadata


class IsolationLevel(StrEnum):
    """`serializable`: the result is that of some serial order. `snapshot`: two writers never change the same row, but a
    row that was added meanwhile and matches the condition may be missed."""

    SERIALIZABLE = "serializable"
    SNAPSHOT = "snapshot"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadView:
    """What an operation looked at when it was planned: the snapshot, and which rows (`conflict_filter`)."""

    starting_snapshot_id: int | None
    conflict_filter: Expression = TRUE
    isolation: IsolationLevel = IsolationLevel.SERIALIZABLE

    def changes_since(self, base: TableMetadata, workspace: Workspace, *, branch: str) -> ConcurrentChanges:
        return concurrent_changes(base, workspace, branch=branch, starting_snapshot_id=self.starting_snapshot_id)
