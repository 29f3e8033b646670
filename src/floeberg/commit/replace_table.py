"""Replacing a table's definition (CREATE OR REPLACE, RTAS): history, branches and tags stay, `main` begins anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from floeberg.commit.operation import Named
from floeberg.errors import ValidationConflict
from floeberg.spec.changes.updates import (
    AddPartitionSpec,
    AddSchema,
    AddSortOrder,
    MetadataUpdate,
    RemoveSnapshotRef,
    SetCurrentSchema,
    SetDefaultSortOrder,
    SetDefaultSpec,
    SetLocation,
    UpgradeFormatVersion,
    property_updates,
)
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.partitions.sort_orders import build_sort_order
from floeberg.spec.partitions.specs import PartitionField, PartitionSpec, build_partition_spec
from floeberg.spec.partitions.transforms import VoidTransform
from floeberg.spec.schemas.projection import IdCounter, map_ids
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.snapshots.refs import MAIN_BRANCH
from floeberg.spec.types import IcebergType, ListType, MapType, StructType
from floeberg.spec.values.promotion import can_promote


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReplaceTable:
    """Gives a table another schema, partitioning and order, and no rows; properties are merged into those it has.

    A column keeps its id where its name is there already with a type that can become the new one. `staged` is the table
    for which data files were written already: if another commit came first and took the ids they were written with, the
    replacement is refused.
    """

    schema: Schema
    partition_by: Sequence[str] = ()
    sort_by: Sequence[str] = ()
    properties: Mapping[str, str] = field(default_factory=dict)
    format_version: int | None = None
    location: str | None = None
    staged: TableMetadata | None = None
    case_sensitive: bool = True

    def updates(self, base: TableMetadata, workspace: Named) -> list[MetadataUpdate]:
        version = base.format_version if self.format_version is None else self.format_version
        schema = _with_ids(self.schema, base, format_version=version)
        wanted = build_partition_spec(schema, self.partition_by, case_sensitive=self.case_sensitive)
        spec = _with_field_ids(wanted, base, format_version=version)
        self._check_staged(schema, _as_it_will_be(spec, base), workspace)
        updates: list[MetadataUpdate] = []
        if version != base.format_version:
            updates.append(UpgradeFormatVersion(version))
        if MAIN_BRANCH in base.refs:
            updates.append(RemoveSnapshotRef(MAIN_BRANCH))
        updates += [AddSchema(schema), SetCurrentSchema(), AddPartitionSpec(spec), SetDefaultSpec()]
        order = build_sort_order(schema, self.sort_by, case_sensitive=self.case_sensitive)
        updates += [AddSortOrder(order), SetDefaultSortOrder()]
        if self.location is not None and self.location != base.location:
            updates.append(SetLocation(self.location))
        return [*updates, *property_updates(self.properties)]

    def _check_staged(self, schema: Schema, spec: PartitionSpec, workspace: Named) -> None:
        if self.staged is None:
            return
        same_schema = schema.same_columns(self.staged.current_schema)
        if not same_schema or spec != self.staged.default_spec:
            raise ValidationConflict(
                f"table {workspace.identifier}: another commit changed the schema or the partitioning after the data for its "
                "replacement was written; run the whole statement again",
                table=workspace.identifier,
                retry_can_help=True,
            )


def _as_it_will_be(spec: PartitionSpec, base: TableMetadata) -> PartitionSpec:
    """The spec with the id that it gets when it is added."""
    for known in base.partition_specs:
        if known.compatible_with(spec):
            return known
    return spec.with_id(max((known.spec_id for known in base.partition_specs), default=-1) + 1)


def _with_ids(schema: Schema, base: TableMetadata, *, format_version: int) -> Schema:
    known = base.current_schema
    ids = IdCounter(max(base.last_column_id, known.highest_field_id))

    def id_for(old_id: int) -> int:
        found = known.find(schema.names[old_id])
        if found is not None and _can_become(found.type, schema.by_id[old_id].type, format_version):
            return found.field_id
        return ids.next_id()

    return map_ids(schema, id_for)


def _can_become(old: IcebergType, new: IcebergType, format_version: int) -> bool:
    """Whether a column of one type can go on as another under the same id; members of nested types are asked one by one."""
    for kind in (StructType, ListType, MapType):
        if isinstance(old, kind) or isinstance(new, kind):
            return isinstance(old, kind) and isinstance(new, kind)
    return can_promote(old, new, format_version)


def _with_field_ids(spec: PartitionSpec, base: TableMetadata, *, format_version: int) -> PartitionSpec:
    """A field that some spec of the table has keeps its id. In v1 ids are positions, so what the default spec had stays
    there, and what is no longer wanted becomes void."""
    if format_version == 1:
        return _in_v1(spec, base.default_spec)
    known: dict[tuple[tuple[int, ...], str], int] = {}
    for one in base.partition_specs:
        for old in one.fields:
            known.setdefault((old.source_ids, str(old.transform)), old.field_id)
    last = base.last_partition_id
    fields: list[PartitionField] = []
    for new in spec.fields:
        field_id = known.get((new.source_ids, str(new.transform)))
        if field_id is None:
            last += 1
            field_id = last
        fields.append(replace(new, field_id=field_id))
    return PartitionSpec(spec.spec_id, tuple(fields))


def _in_v1(spec: PartitionSpec, base: PartitionSpec) -> PartitionSpec:
    wanted = list(spec.fields)
    fields: list[PartitionField] = []
    for old in base.fields:
        match = next((new for new in wanted if new.same_definition(old)), None)
        if match is not None:
            wanted.remove(match)
            fields.append(replace(match, field_id=old.field_id))
        elif isinstance(old.transform, VoidTransform):
            fields.append(old)
        else:
            fields.append(replace(old, name=f"{old.name}_{old.field_id}", transform=VoidTransform()))
    start = max((one.field_id for one in fields), default=wanted[0].field_id - 1 if wanted else 0)
    fields += [replace(new, field_id=start + number) for number, new in enumerate(wanted, 1)]
    return PartitionSpec(spec.spec_id, tuple(fields))
