"""A change of rows that found none to change, beside the other changes of its transaction."""

from __future__ import annotations

from dataclasses import dataclass

from floeberg.commit.isolation import ReadView
from floeberg.commit.matching import FileMatcher
from floeberg.commit.validations import no_added_data_files
from floeberg.commit.workspace import Workspace
from floeberg.spec.changes.updates import MetadataUpdate
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.snapshots.refs import MAIN_BRANCH


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FoundNoRows:
    """Changes nothing. Under serializable isolation it refuses a commit after others added rows that it would have changed:
    two transactions that delete what is there and insert would both insert."""

    view: ReadView
    branch: str = MAIN_BRANCH

    def updates(self, base: TableMetadata, workspace: Workspace) -> list[MetadataUpdate]:
        if self.view.is_serializable:
            changes = self.view.changes_since(base, workspace, branch=self.branch)
            matcher = FileMatcher(base, self.view.reads())
            no_added_data_files(changes, matcher.may_match, what="this transaction, which found no such rows,")
        return []
