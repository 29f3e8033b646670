"""What maintenance found not worth doing at its last look: it is planned again only when enough has been added since."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from floeberg.commit.commit import commit_operations
from floeberg.commit.history import REPLACE
from floeberg.commit.pointer import TablePointer, TableState
from floeberg.commit.table_changes import ChangeProperties
from floeberg.spec.metadata.table_metadata import TableMetadata

LAST_LOOK: Final = "maintain.last-look."
"""The table properties that hold, for each action, the snapshot at which it was planned and nothing was worth doing."""
PLANNED_ACTIONS: Final = frozenset({"compact", "rewrite_deletes"})
"""Those whose figures can look worse than the files are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Added:
    """What writers have added since the last look, by the summaries of their snapshots."""

    data_files: int = 0
    delete_files: int = 0
    position_deletes: int = 0
    equality_deletes: int = 0


def added_since_last_look(metadata: TableMetadata, action: str) -> Added | None:
    """None where the action was never planned in vain, or where the history does not say what came since."""
    looked_at = metadata.properties.get(f"{LAST_LOOK}{action}")
    if looked_at is None:
        return None
    totals = dict.fromkeys(("data-files", "delete-files", "position-deletes", "equality-deletes"), 0)
    for snapshot in metadata.ancestors(metadata.current_snapshot_id):
        if str(snapshot.snapshot_id) == looked_at:
            return Added(**{name.replace("-", "_"): number for name, number in totals.items()})
        if snapshot.operation == REPLACE:
            continue
        for name in totals:
            text = snapshot.summary.get(f"added-{name}", "0")
            if "total-data-files" not in snapshot.summary or not text.isdigit():
                return None
            totals[name] += int(text)
    return None


def remember_looks(pointer: TablePointer, state: TableState, looked_at: Mapping[str, int]) -> TableState:
    """The table, which says from now on that actions were planned in vain, and at which snapshots."""
    if not looked_at:
        return state
    properties = {f"{LAST_LOOK}{action}": str(snapshot_id) for action, snapshot_id in looked_at.items()}
    return commit_operations(pointer, state, [ChangeProperties(set=properties)]).state
