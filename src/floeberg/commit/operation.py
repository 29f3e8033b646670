"""Operations: what a commit consists of. Each holds an intent that turns metadata into updates and can be replayed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from floeberg.commit.workspace import Workspace
from floeberg.spec.changes.updates import MetadataUpdate
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.metadata.table_properties import check_texts
from floeberg.spec.snapshots.refs import MAIN_BRANCH


class Named(Protocol):
    """What a change of the table's definition needs of its surroundings: the table's name, for messages."""

    @property
    def identifier(self) -> str: ...


class Operation(Protocol):
    """One change of a table. It holds the intent only, so that it can be replayed on whatever is there."""

    def updates(self, base: TableMetadata, workspace: Workspace) -> Sequence[MetadataUpdate]:
        """The change as updates of `base`; empty when there is nothing to do. Manifests that it needs are written through the
        workspace. Raises ValidationConflict when a concurrent commit conflicts with it, InvalidInput when it can never
        apply."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotTarget:
    """Where a snapshot goes: the branch, or nowhere yet (`stage_only`), and what its summary says besides the counts.

    With `begins_branch`, a table without snapshots on `main` gets the branch by this very snapshot.
    """

    branch: str = MAIN_BRANCH
    stage_only: bool = False
    summary: Mapping[str, str] = field(default_factory=dict)
    begins_branch: bool = False

    def __post_init__(self) -> None:
        check_texts(self.summary, what="snapshot property")
