"""Changes of a table's definition: schema, partition spec, sort order, properties, location, version, statistics.

Each holds the edit, not its result, so that it can be replayed on the schema or spec that the table has when it commits.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from floeberg.commit.operation import Named
from floeberg.errors import InvalidInput
from floeberg.spec.changes.updates import (
    AddPartitionSpec,
    AddSchema,
    AddSortOrder,
    MetadataUpdate,
    RemovePartitionStatistics,
    RemoveProperties,
    RemoveStatistics,
    SetCurrentSchema,
    SetDefaultSortOrder,
    SetDefaultSpec,
    SetLocation,
    SetPartitionStatistics,
    SetProperties,
    SetStatistics,
    UpgradeFormatVersion,
)
from floeberg.spec.evolution.partition_update import PartitionSpecUpdate
from floeberg.spec.evolution.schema_update import SchemaUpdate, partition_sources
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.metadata.table_name_mapping import table_name_mapping
from floeberg.spec.metadata.table_properties import check_commit_properties, renamed_properties
from floeberg.spec.partitions.sort_orders import SortOrder, build_sort_order
from floeberg.spec.schemas.name_mapping import NAME_MAPPING_PROPERTY, update_name_mapping, write_name_mapping
from floeberg.spec.snapshots.statistics import PartitionStatisticsFile, StatisticsFile

FORMAT_VERSION = "format-version"
RESERVED_PROPERTIES = frozenset(
    {"uuid", "snapshot-count", "current-snapshot-summary", "current-snapshot-id", "current-snapshot-timestamp-ms",
     "current-schema", "default-partition-spec", "default-sort-order"}
)  # fmt: skip
"""Names that the reference implementation derives and does not store."""


def schema_update_of(
    base: TableMetadata, *, case_sensitive: bool = True, allow_incompatible: bool = False
) -> SchemaUpdate:
    """A SchemaUpdate on a table's current schema that knows what the table needs."""
    return SchemaUpdate(
        base.current_schema,
        format_version=base.format_version,
        last_column_id=base.last_column_id,
        partition_sources=partition_sources(base.partition_specs, default_spec_id=base.default_spec_id),
        sort_source_ids=[source for f in base.default_sort_order.fields for source in f.source_ids],
        case_sensitive=case_sensitive,
        allow_incompatible_changes=allow_incompatible,
    )


def partition_update_of(base: TableMetadata, *, case_sensitive: bool = True) -> PartitionSpecUpdate:
    """A PartitionSpecUpdate on a table's default spec."""
    return PartitionSpecUpdate(
        base.current_schema,
        base.default_spec,
        format_version=base.format_version,
        specs=base.partition_specs,
        last_assigned_field_id=base.last_partition_id,
        case_sensitive=case_sensitive,
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ChangeSchema:
    """Evolves the schema; a name mapping, where the table has one, and the properties of single columns follow."""

    edit: Callable[[SchemaUpdate], object]
    case_sensitive: bool = True
    allow_incompatible: bool = False

    def updates(self, base: TableMetadata, workspace: Named) -> list[MetadataUpdate]:
        update = schema_update_of(base, case_sensitive=self.case_sensitive, allow_incompatible=self.allow_incompatible)
        self.edit(update)
        schema = update.apply()
        if schema is base.current_schema:
            return []
        updates: list[MetadataUpdate] = [AddSchema(schema), SetCurrentSchema()]
        changed, gone = renamed_properties(base.properties, base.current_schema, schema)
        if (known := table_name_mapping(base)) is not None:
            mapping = update_name_mapping(known, base.current_schema, schema)
            changed[NAME_MAPPING_PROPERTY] = write_name_mapping(mapping)
        if changed:
            updates.append(SetProperties(changed))
        if gone:
            updates.append(RemoveProperties(gone))
        return updates


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ChangeSpec:
    """Evolves the partition spec; data files keep the spec they were written with."""

    edit: Callable[[PartitionSpecUpdate], object]
    case_sensitive: bool = True

    def updates(self, base: TableMetadata, workspace: Named) -> list[MetadataUpdate]:
        update = partition_update_of(base, case_sensitive=self.case_sensitive)
        self.edit(update)
        spec = update.apply()
        if spec.fields == base.default_spec.fields:
            return []
        return [AddPartitionSpec(spec), SetDefaultSpec()]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ChangeSortOrder:
    """Sets the order in which writers should sort; no terms means unsorted."""

    terms: Sequence[str] = ()
    order: SortOrder | None = None
    case_sensitive: bool = True

    def updates(self, base: TableMetadata, workspace: Named) -> list[MetadataUpdate]:
        order = self.order or build_sort_order(base.current_schema, self.terms, case_sensitive=self.case_sensitive)
        if order.same_order(base.default_sort_order):
            return []
        return [AddSortOrder(order), SetDefaultSortOrder()]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ChangeProperties:
    """Sets and removes table properties. `format-version` among them upgrades the table and is not stored."""

    set: Mapping[str, str] = field(default_factory=dict)
    remove: Collection[str] = ()

    def updates(self, base: TableMetadata, workspace: Named) -> list[MetadataUpdate]:
        if both := sorted({*self.set} & {*self.remove}):
            raise InvalidInput(f"table {workspace.identifier}: properties set and removed at once: {', '.join(both)}")
        if reserved := sorted(RESERVED_PROPERTIES & {*self.set}):
            raise InvalidInput(f"table {workspace.identifier}: {', '.join(reserved)} is derived and cannot be set")
        updates: list[MetadataUpdate] = []
        wanted = dict(self.set)
        if (version := wanted.pop(FORMAT_VERSION, None)) is not None:
            updates += UpgradeTable(format_version=_version(version)).updates(base, workspace)
        if changed := {key: value for key, value in wanted.items() if base.properties.get(key) != value}:
            check_commit_properties(changed)
            updates.append(SetProperties(changed))
        if gone := tuple(key for key in self.remove if key in base.properties):
            updates.append(RemoveProperties(gone))
        return updates


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class UpgradeTable:
    """Raises the format version; it never goes down."""

    format_version: int

    def updates(self, base: TableMetadata, workspace: Named) -> list[MetadataUpdate]:
        if self.format_version == base.format_version:
            return []
        if self.format_version < base.format_version:
            raise InvalidInput(
                f"table {workspace.identifier}: cannot go back from format version {base.format_version} to "
                f"{self.format_version}",
                table=workspace.identifier,
            )
        return [UpgradeFormatVersion(self.format_version)]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ChangeLocation:
    """Sets where new files are written; existing files stay where they are."""

    location: str

    def updates(self, base: TableMetadata, workspace: Named) -> list[MetadataUpdate]:
        return [] if self.location == base.location else [SetLocation(self.location)]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ChangeStatistics:
    """Registers statistics files for snapshots, in place of those that they had, and forgets the statistics of others.
    Raises SnapshotNotFound for a snapshot that is not there any more."""

    set: Sequence[StatisticsFile] = ()
    set_partition: Sequence[PartitionStatisticsFile] = ()
    remove: Sequence[int] = ()
    remove_partition: Sequence[int] = ()

    def updates(self, base: TableMetadata, workspace: Named) -> list[MetadataUpdate]:
        for snapshot_id in {*(f.snapshot_id for f in self.set), *(f.snapshot_id for f in self.set_partition)}:
            base.snapshot(snapshot_id)
        return [
            *(SetStatistics(file) for file in self.set),
            *(SetPartitionStatistics(file) for file in self.set_partition),
            *(RemoveStatistics(snapshot_id) for snapshot_id in self.remove),
            *(RemovePartitionStatistics(snapshot_id) for snapshot_id in self.remove_partition),
        ]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlainUpdates:
    """Updates that do not depend on the base (removal of old schemas and specs, encryption keys)."""

    given: Sequence[MetadataUpdate]

    def updates(self, base: TableMetadata, workspace: Named) -> list[MetadataUpdate]:
        return list(self.given)


DEFINITION_CHANGES = (
    ChangeSchema,
    ChangeSpec,
    ChangeSortOrder,
    ChangeProperties,
    UpgradeTable,
    ChangeLocation,
    ChangeStatistics,
    PlainUpdates,
)
"""The operations that read and write no files."""


def _version(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise InvalidInput(f"format-version must be 1, 2 or 3, not {text!r}") from None
