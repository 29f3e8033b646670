"""Isolation levels: which concurrent commits conflict with a row-level operation."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from floeberg.commit.history import ConcurrentChanges, concurrent_changes
from floeberg.commit.workspace import Workspace
from floeberg.expr.nodes import TRUE, Expression
from floeberg.spec.metadata.table_metadata import TableMetadata


class IsolationLevel(StrEnum):
    """`serializable`: the result is that of some serial order. `snapshot`: two writers never change the same row, but a
    row that was added or changed meanwhile and matches the condition may be missed."""

    SERIALIZABLE = "serializable"
    SNAPSHOT = "snapshot"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadView:
    """What an operation read when it was planned: the snapshot, and which rows.

    `conflict_filter` None means the operation's own filter (the one that it overwrites by), or every row.
    """

    starting_snapshot_id: int | None
    conflict_filter: Expression | None = None
    isolation: IsolationLevel = IsolationLevel.SERIALIZABLE

    @property
    def is_serializable(self) -> bool:
        return self.isolation is IsolationLevel.SERIALIZABLE

    def reads(self, *others: Expression | None) -> Expression:
        """Which rows were read: the filter, or the first of the others, or all."""
        return next((one for one in (self.conflict_filter, *others) if one is not None), TRUE)

    def changes_since(self, base: TableMetadata, workspace: Workspace, *, branch: str) -> ConcurrentChanges:
        """The changes committed since. Raises ValidationConflict when the history since the starting snapshot is incomplete."""
        return concurrent_changes(base, workspace, branch=branch, starting_snapshot_id=self.starting_snapshot_id)
