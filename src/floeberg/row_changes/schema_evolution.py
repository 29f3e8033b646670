"""New columns of written rows: the table's schema takes them in the commit that adds the rows (`mergeSchema`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from floeberg.commit.operation import Named, Operation
from floeberg.commit.staging import preview
from floeberg.commit.table_changes import ChangeSchema
from floeberg.errors import ValidationConflict
from floeberg.spec.changes.updates import MetadataUpdate
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.schemas.schema import Schema


@dataclass(frozen=True, slots=True)
class EvolvedSchema:
    """A table's metadata with the new columns, and the operations that add them; none when there are no new columns."""

    metadata: TableMetadata
    operations: tuple[Operation, ...] = ()


def evolve_schema(metadata: TableMetadata, rows: Schema, *, case_sensitive: bool) -> EvolvedSchema:
    """The table's schema with the columns that only `rows` has. They are optional: existing rows have no value."""
    change = ChangeSchema(edit=lambda update: update.union_by_name(rows), case_sensitive=case_sensitive)
    evolved = preview(metadata, [change])
    if evolved.current_schema.same_columns(metadata.current_schema):
        return EvolvedSchema(metadata)
    return EvolvedSchema(evolved, (change, RequireSchema(evolved.current_schema)))


@dataclass(frozen=True, slots=True, eq=False)
class RequireSchema:
    """Refuses the commit when a concurrent commit gave the new columns' ids to other columns."""

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
