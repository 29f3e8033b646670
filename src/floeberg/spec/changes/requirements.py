"""What must still hold for a commit to be applied, as data: the REST catalog's requirements.

https://iceberg.apache.org/spec/#commit-conflict-resolution-and-retry
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import ClassVar, Final, NoReturn

from floeberg.errors import CommitConflict, InvalidInput, MetadataCorrupt
from floeberg.spec.changes import updates as u
from floeberg.spec.json.documents import Document
from floeberg.spec.json.fields import JsonFields
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.metadata.view_metadata import ViewMetadata

Metadata = TableMetadata | ViewMetadata


@dataclass(frozen=True, slots=True)
class Requirement:
    """One condition. `type` is its name in JSON."""

    type: ClassVar[str] = ""

    def check(self, metadata: Metadata | None) -> None:
        """Raises CommitConflict unless it holds for the metadata as it is now (None: there is no such table or view)."""
        raise AssertionError("every requirement says what it checks")

    def to_json(self) -> Document:
        raise AssertionError("every requirement has a JSON form")

    def _failed(self, message: str, metadata: Metadata | None) -> NoReturn:
        name = "" if metadata is None else f"{metadata.location}: "
        raise CommitConflict(f"{name}{message}; refresh and try again", requirement=self.type)

    def _table(self, metadata: Metadata | None) -> TableMetadata:
        if metadata is None:
            self._failed("the table is not there any more", metadata)
        if not isinstance(metadata, TableMetadata):
            raise InvalidInput(f"{self.type} is a requirement of tables, not of views")
        return metadata


@dataclass(frozen=True, slots=True)
class AssertCreate(Requirement):
    """The table does not exist."""

    type = "assert-create"

    def check(self, metadata: Metadata | None) -> None:
        if metadata is not None:
            self._failed("it was created meanwhile", metadata)

    def to_json(self) -> Document:
        return {"type": self.type}


@dataclass(frozen=True, slots=True)
class AssertTableUuid(Requirement):
    """The table is still that one, and not another of the same name."""

    type = "assert-table-uuid"
    uuid: str

    def check(self, metadata: Metadata | None) -> None:
        table = self._table(metadata)
        if (table.table_uuid or "").lower() != self.uuid.lower():
            self._failed(f"the table uuid is {table.table_uuid}, not {self.uuid}", metadata)

    def to_json(self) -> Document:
        return {"type": self.type, "uuid": self.uuid}


@dataclass(frozen=True, slots=True)
class AssertViewUuid(Requirement):
    """The view is still that one, and not another of the same name."""

    type = "assert-view-uuid"
    uuid: str

    def check(self, metadata: Metadata | None) -> None:
        if metadata is None:
            self._failed("the view is not there any more", metadata)
        if not isinstance(metadata, ViewMetadata):
            raise InvalidInput(f"{self.type} is a requirement of views, not of tables")
        if metadata.view_uuid.lower() != self.uuid.lower():
            self._failed(f"the view uuid is {metadata.view_uuid}, not {self.uuid}", metadata)

    def to_json(self) -> Document:
        return {"type": self.type, "uuid": self.uuid}


@dataclass(frozen=True, slots=True)
class AssertRefSnapshotId(Requirement):
    """A branch or tag points to that snapshot; with None, it does not exist."""

    type = "assert-ref-snapshot-id"
    ref: str
    snapshot_id: int | None

    def check(self, metadata: Metadata | None) -> None:
        found = self._table(metadata).find_ref(self.ref)
        if found is None and self.snapshot_id is not None:
            self._failed(f"branch or tag {self.ref!r} is gone; it was at snapshot {self.snapshot_id}", metadata)
        if found is None or found.snapshot_id == self.snapshot_id:
            return
        kind = "branch" if found.is_branch else "tag"
        if self.snapshot_id is None:
            self._failed(f"{kind} {self.ref!r} was created meanwhile", metadata)
        self._failed(f"{kind} {self.ref!r} is at snapshot {found.snapshot_id}, not {self.snapshot_id}", metadata)

    def to_json(self) -> Document:
        return {"type": self.type, "ref": self.ref, "snapshot-id": self.snapshot_id}


@dataclass(frozen=True, slots=True)
class AssertLastAssignedFieldId(Requirement):
    """No column id was given meanwhile."""

    type = "assert-last-assigned-field-id"
    last_assigned_field_id: int

    def check(self, metadata: Metadata | None) -> None:
        table = self._table(metadata)
        if table.last_column_id != self.last_assigned_field_id:
            self._failed(f"the last column id is {table.last_column_id}, not {self.last_assigned_field_id}", metadata)

    def to_json(self) -> Document:
        return {"type": self.type, "last-assigned-field-id": self.last_assigned_field_id}


@dataclass(frozen=True, slots=True)
class AssertCurrentSchemaId(Requirement):
    """The current schema was not changed meanwhile."""

    type = "assert-current-schema-id"
    current_schema_id: int

    def check(self, metadata: Metadata | None) -> None:
        table = self._table(metadata)
        if table.current_schema_id != self.current_schema_id:
            self._failed(f"the current schema is {table.current_schema_id}, not {self.current_schema_id}", metadata)

    def to_json(self) -> Document:
        return {"type": self.type, "current-schema-id": self.current_schema_id}


@dataclass(frozen=True, slots=True)
class AssertLastAssignedPartitionId(Requirement):
    """No partition field id was given meanwhile."""

    type = "assert-last-assigned-partition-id"
    last_assigned_partition_id: int

    def check(self, metadata: Metadata | None) -> None:
        table = self._table(metadata)
        if table.last_partition_id != self.last_assigned_partition_id:
            self._failed(
                f"the last partition field id is {table.last_partition_id}, not {self.last_assigned_partition_id}",
                metadata,
            )

    def to_json(self) -> Document:
        return {"type": self.type, "last-assigned-partition-id": self.last_assigned_partition_id}


@dataclass(frozen=True, slots=True)
class AssertDefaultSpecId(Requirement):
    """The default partition spec was not changed meanwhile."""

    type = "assert-default-spec-id"
    default_spec_id: int

    def check(self, metadata: Metadata | None) -> None:
        table = self._table(metadata)
        if table.default_spec_id != self.default_spec_id:
            self._failed(f"the default spec is {table.default_spec_id}, not {self.default_spec_id}", metadata)

    def to_json(self) -> Document:
        return {"type": self.type, "default-spec-id": self.default_spec_id}


@dataclass(frozen=True, slots=True)
class AssertDefaultSortOrderId(Requirement):
    """The default sort order was not changed meanwhile."""

    type = "assert-default-sort-order-id"
    default_sort_order_id: int

    def check(self, metadata: Metadata | None) -> None:
        table = self._table(metadata)
        if table.default_sort_order_id != self.default_sort_order_id:
            self._failed(
                f"the default sort order is {table.default_sort_order_id}, not {self.default_sort_order_id}", metadata
            )

    def to_json(self) -> Document:
        return {"type": self.type, "default-sort-order-id": self.default_sort_order_id}


def _ref_from_json(fields: JsonFields) -> Requirement:
    """A null `snapshot-id` says that the ref must not exist."""
    return AssertRefSnapshotId(fields.text("ref"), fields.optional_integer("snapshot-id"))


_READ: Final[dict[str, Callable[[JsonFields], Requirement]]] = {
    AssertCreate.type: lambda fields: AssertCreate(),
    AssertTableUuid.type: lambda fields: AssertTableUuid(fields.text("uuid")),
    AssertViewUuid.type: lambda fields: AssertViewUuid(fields.text("uuid")),
    AssertRefSnapshotId.type: _ref_from_json,
    AssertLastAssignedFieldId.type: lambda fields: AssertLastAssignedFieldId(fields.int32("last-assigned-field-id")),
    AssertCurrentSchemaId.type: lambda fields: AssertCurrentSchemaId(fields.int32("current-schema-id")),
    AssertLastAssignedPartitionId.type: lambda fields: AssertLastAssignedPartitionId(
        fields.int32("last-assigned-partition-id")
    ),
    AssertDefaultSpecId.type: lambda fields: AssertDefaultSpecId(fields.int32("default-spec-id")),
    AssertDefaultSortOrderId.type: lambda fields: AssertDefaultSortOrderId(fields.int32("default-sort-order-id")),
}


def requirement_from_json(value: object, where: str = "requirement") -> Requirement:
    """A requirement from decoded JSON. Raises MetadataCorrupt."""
    fields = JsonFields(value, where)
    kind = fields.text("type").lower()
    read = _READ.get(kind)
    if read is None:
        raise MetadataCorrupt(f"{where}: unknown type {kind[:60]!r}", where=where)
    return read(fields)


def check_requirements(requirements: Iterable[Requirement], metadata: Metadata | None) -> None:
    """Raises CommitConflict for the first that does not hold."""
    for requirement in requirements:
        requirement.check(metadata)


def requirements_for(base: TableMetadata | None, updates: Iterable[u.MetadataUpdate]) -> tuple[Requirement, ...]:
    """What must still hold when the updates, planned on `base`, are applied to what the table is by then.

    The seed of this is the specification's conflict rules: adding data needs no more than the branch at the snapshot it
    was planned on; changes of schemas, specs and orders need these unchanged, and removals of snapshots every ref."""
    if base is None:
        return (AssertCreate(),)
    found: dict[Requirement, None] = {}
    if base.table_uuid is not None:
        found[AssertTableUuid(base.table_uuid)] = None
    planned = tuple(updates)
    on_refs = {update.ref.snapshot_id for update in planned if isinstance(update, u.SetSnapshotRef)}
    for update in planned:
        found |= dict.fromkeys(_requirements_of(update, base))
        if isinstance(update, u.AddSnapshot) and not on_refs:
            found |= dict.fromkeys(_branches_at(update.snapshot.parent_snapshot_id, base))
    return tuple(found)


def _requirements_of(update: u.MetadataUpdate, base: TableMetadata) -> tuple[Requirement, ...]:
    match update:
        case u.SetSnapshotRef(ref_name=name) | u.RemoveSnapshotRef(ref_name=name):
            ref = base.find_ref(name)
            return (AssertRefSnapshotId(name, None if ref is None else ref.snapshot_id),)
        case u.AddSchema():
            return (AssertLastAssignedFieldId(base.last_column_id),)
        case u.SetCurrentSchema():
            return (AssertCurrentSchemaId(base.current_schema_id),)
        case u.AddPartitionSpec():
            # A spec of fields that were there before assigns no field id, but takes the next spec id: files that were written
            # under that id must not become those of another spec. Whoever adds one makes it the default.
            return AssertLastAssignedPartitionId(base.last_partition_id), AssertDefaultSpecId(base.default_spec_id)
        case u.SetDefaultSpec():
            return (AssertDefaultSpecId(base.default_spec_id),)
        case u.SetDefaultSortOrder():
            return (AssertDefaultSortOrderId(base.default_sort_order_id),)
        case u.RemoveSnapshots():
            return tuple(AssertRefSnapshotId(name, ref.snapshot_id) for name, ref in base.refs.items())
        case u.RemovePartitionSpecs():
            return (AssertDefaultSpecId(base.default_spec_id), *_branches_unchanged(base))
        case u.RemoveSchemas():
            return (AssertCurrentSchemaId(base.current_schema_id), *_branches_unchanged(base))
        case _:
            return ()


def _branches_at(snapshot_id: int | None, base: TableMetadata) -> tuple[Requirement, ...]:
    """The branches that a snapshot which goes to no branch yet was validated on: those at its parent."""
    return tuple(
        AssertRefSnapshotId(name, ref.snapshot_id)
        for name, ref in base.refs.items()
        if ref.is_branch and ref.snapshot_id == snapshot_id
    )


def _branches_unchanged(base: TableMetadata) -> tuple[Requirement, ...]:
    """So that no branch gained files of what is being removed."""
    return tuple(AssertRefSnapshotId(name, ref.snapshot_id) for name, ref in base.refs.items() if ref.is_branch)
