"""A check between operations of one commit: the schema is the one that files were written under."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from floeberg.commit.operation import Named
from floeberg.errors import ValidationConflict
from floeberg.spec.metadata import TableMetadata
from floeberg.spec.schema import Schema
from floeberg.spec.updates import MetadataUpdate


@dataclass(frozen=True, slots=True, eq=False)
class SchemaStays:
    """Refuses the commit when another one came first and gave the new columns' ids to others."""

    schema: Schema

    def updates(self, base: TableMetadata, workspace: Named) -> Sequence[MetadataUpdate]:
        if not base.current_schema.same_columns(self.schema):
            raise ValidationConflict(
                f"table {workspace.identifier}: another commit changed the schema after the data with its new columns was "
                "written; run the whole statement again",
                table=workspace.identifier,
                retry_can_help=True,
            )
        return []
