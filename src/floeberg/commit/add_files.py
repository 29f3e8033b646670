"""Adds data files that another writer left: an append of files that the table may hold already, whose columns may have names
and no field ids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from floeberg.commit.append import only_data
from floeberg.commit.history import APPEND
from floeberg.commit.operation import SnapshotTarget
from floeberg.commit.producer import SnapshotChange, branch_head, produce_snapshot
from floeberg.commit.workspace import Workspace
from floeberg.errors import FileAlreadyExists, ValidationConflict
from floeberg.spec.changes.updates import MetadataUpdate, SetProperties
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.metadata.table_name_mapping import table_name_mapping
from floeberg.spec.schemas.name_mapping import (
    NAME_MAPPING_PROPERTY,
    NameMapping,
    create_name_mapping,
    update_name_mapping,
    with_names_of,
    write_name_mapping,
)
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.snapshots.manifest_entry import DataFile, ManifestContent
from floeberg.storage.location import parse

_SHOWN = 10


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AddFiles:
    """Adds files of other writers. `schema_id` is the schema that they were checked against; `name_mapping` has names that
    the table's mapping is to have, None when all files have field ids."""

    files: Sequence[DataFile]
    schema_id: int
    name_mapping: NameMapping | None = None
    check_duplicates: bool = True
    target: SnapshotTarget = SnapshotTarget()

    def updates(self, base: TableMetadata, workspace: Workspace) -> list[MetadataUpdate]:
        only_data(self.files, workspace.identifier, what="add_files")
        if base.current_schema_id != self.schema_id:
            raise ValidationConflict(
                f"table {workspace.identifier}: its schema changed while files were being added; add them again",
                table=workspace.identifier,
                retry_can_help=True,
            )
        if self.check_duplicates:
            refuse_duplicates([file.file_path for file in self.files], base, workspace, branch=self.target.branch)
        change = SnapshotChange(operation=APPEND, added=self.files)
        made = produce_snapshot(base, workspace, key=self, target=self.target, change=change)
        return [*self._mapping_updates(base), *made]

    def _mapping_updates(self, base: TableMetadata) -> list[MetadataUpdate]:
        if self.name_mapping is None:
            return []
        mapping = with_names_of(import_mapping(base), self.name_mapping)
        if mapping == table_name_mapping(base):
            return []
        return [SetProperties({NAME_MAPPING_PROPERTY: write_name_mapping(mapping)})]


def import_mapping(metadata: TableMetadata) -> NameMapping:
    """The name mapping that files without field ids are imported with: the table's, with every present column in it."""
    known = table_name_mapping(metadata)
    if known is None:
        return create_name_mapping(metadata.current_schema)
    return update_name_mapping(known, Schema(), metadata.current_schema)


def refuse_duplicates(locations: Sequence[str], metadata: TableMetadata, workspace: Workspace, *, branch: str) -> None:
    """Raises FileAlreadyExists when the branch holds one of the files, under whatever spelling of its location."""
    head = branch_head(metadata, branch, workspace, begins=True)
    if head is None:
        return
    manifests = [one for one in workspace.manifests(head, metadata) if one.content is ManifestContent.DATA]
    values = [spelling for location in locations for spelling in parse(location).spellings]
    found = sorted(
        entry.data_file.file_path for entry in workspace.find(manifests, metadata, column="file_path", values=values)
    )
    if found:
        more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
        raise FileAlreadyExists(
            f"table {workspace.identifier} holds these files already: {', '.join(found[:_SHOWN])}{more}; their rows would be "
            "there twice. Add only new files (partition_filter), or pass check_duplicate_files => false",
            table=workspace.identifier,
        )
