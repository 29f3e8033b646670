"""Changes of table and view metadata, as data: the REST catalog's updates.

A change of metadata is always a list of these, applied by the builder. Names are the REST API's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Final

from floeberg.errors import InvalidInput
from floeberg.spec.metadata.table_properties import (
    FORMAT_VERSION,
    check_commit_properties,
    check_not_reserved,
    check_texts,
)
from floeberg.spec.metadata.view_versions import ViewVersion
from floeberg.spec.partitions.sort_orders import UNSORTED, SortOrder
from floeberg.spec.partitions.specs import UNPARTITIONED, PartitionSpec
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.snapshots.refs import SnapshotRef
from floeberg.spec.snapshots.snapshot import Snapshot
from floeberg.spec.snapshots.statistics import EncryptedKey, PartitionStatisticsFile, StatisticsFile

LAST_ADDED: Final = -1
"""In place of an id: the schema, spec, sort order or view version that the same list of updates added last."""


@dataclass(frozen=True, slots=True)
class MetadataUpdate:
    """One change. `action` is its name in JSON."""

    action: ClassVar[str] = ""


@dataclass(frozen=True, slots=True)
class AssignUuid(MetadataUpdate):
    """Gives a table or view without a uuid its own; one that is given never changes."""

    action = "assign-uuid"
    uuid: str


@dataclass(frozen=True, slots=True)
class UpgradeFormatVersion(MetadataUpdate):
    """Raises the format version. There is no way back."""

    action = "upgrade-format-version"
    format_version: int


@dataclass(frozen=True, slots=True)
class AddSchema(MetadataUpdate):
    """Adds a schema; one with the same columns that is there already is used again."""

    action = "add-schema"
    schema: Schema


@dataclass(frozen=True, slots=True)
class SetCurrentSchema(MetadataUpdate):
    action = "set-current-schema"
    schema_id: int = LAST_ADDED


@dataclass(frozen=True, slots=True)
class AddPartitionSpec(MetadataUpdate):
    """Adds a partition spec; an equivalent one that is there already is used again."""

    action = "add-spec"
    spec: PartitionSpec


@dataclass(frozen=True, slots=True)
class SetDefaultSpec(MetadataUpdate):
    action = "set-default-spec"
    spec_id: int = LAST_ADDED


@dataclass(frozen=True, slots=True)
class AddSortOrder(MetadataUpdate):
    """Adds a sort order; an equal one that is there already is used again."""

    action = "add-sort-order"
    sort_order: SortOrder


@dataclass(frozen=True, slots=True)
class SetDefaultSortOrder(MetadataUpdate):
    action = "set-default-sort-order"
    sort_order_id: int = LAST_ADDED


@dataclass(frozen=True, slots=True)
class AddSnapshot(MetadataUpdate):
    """Adds a snapshot, which no branch points to yet."""

    action = "add-snapshot"
    snapshot: Snapshot


@dataclass(frozen=True, slots=True)
class SetSnapshotRef(MetadataUpdate):
    """Creates or moves a branch or tag; `main` is the current snapshot."""

    action = "set-snapshot-ref"
    ref_name: str
    ref: SnapshotRef


@dataclass(frozen=True, slots=True)
class RemoveSnapshots(MetadataUpdate):
    """Removes snapshots that no ref points to once all updates are applied."""

    action = "remove-snapshots"
    snapshot_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RemoveSnapshotRef(MetadataUpdate):
    action = "remove-snapshot-ref"
    ref_name: str


@dataclass(frozen=True, slots=True)
class SetLocation(MetadataUpdate):
    action = "set-location"
    location: str


@dataclass(frozen=True, slots=True)
class SetProperties(MetadataUpdate):
    action = "set-properties"
    updates: Mapping[str, str]

    def __post_init__(self) -> None:
        check_texts(self.updates)


@dataclass(frozen=True, slots=True)
class RemoveProperties(MetadataUpdate):
    action = "remove-properties"
    removals: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SetStatistics(MetadataUpdate):
    """Registers a statistics file in place of those of the same snapshot."""

    action = "set-statistics"
    statistics: StatisticsFile


@dataclass(frozen=True, slots=True)
class RemoveStatistics(MetadataUpdate):
    action = "remove-statistics"
    snapshot_id: int


@dataclass(frozen=True, slots=True)
class SetPartitionStatistics(MetadataUpdate):
    """Registers a partition statistics file in place of that of the same snapshot."""

    action = "set-partition-statistics"
    partition_statistics: PartitionStatisticsFile


@dataclass(frozen=True, slots=True)
class RemovePartitionStatistics(MetadataUpdate):
    action = "remove-partition-statistics"
    snapshot_id: int


@dataclass(frozen=True, slots=True)
class RemovePartitionSpecs(MetadataUpdate):
    action = "remove-partition-specs"
    spec_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RemoveSchemas(MetadataUpdate):
    action = "remove-schemas"
    schema_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class AddEncryptionKey(MetadataUpdate):
    action = "add-encryption-key"
    encryption_key: EncryptedKey


@dataclass(frozen=True, slots=True)
class RemoveEncryptionKey(MetadataUpdate):
    action = "remove-encryption-key"
    key_id: str


@dataclass(frozen=True, slots=True)
class AddViewVersion(MetadataUpdate):
    """Adds a version of a view; its schema id may be LAST_ADDED."""

    action = "add-view-version"
    view_version: ViewVersion


@dataclass(frozen=True, slots=True)
class SetCurrentViewVersion(MetadataUpdate):
    action = "set-current-view-version"
    view_version_id: int = LAST_ADDED


TABLE_UPDATES: Final[tuple[type[MetadataUpdate], ...]] = (
    AssignUuid, UpgradeFormatVersion, AddSchema, SetCurrentSchema, AddPartitionSpec, SetDefaultSpec, AddSortOrder,
    SetDefaultSortOrder, AddSnapshot, SetSnapshotRef, RemoveSnapshots, RemoveSnapshotRef, SetLocation, SetProperties,
    RemoveProperties, SetStatistics, RemoveStatistics, SetPartitionStatistics, RemovePartitionStatistics,
    RemovePartitionSpecs, RemoveSchemas, AddEncryptionKey, RemoveEncryptionKey,
)  # fmt: skip
VIEW_UPDATES: Final[tuple[type[MetadataUpdate], ...]] = (
    AssignUuid, UpgradeFormatVersion, AddSchema, SetLocation, SetProperties, RemoveProperties, AddViewVersion,
    SetCurrentViewVersion,
)  # fmt: skip


def property_updates(updates: Mapping[str, str], removals: Iterable[str] = ()) -> tuple[MetadataUpdate, ...]:
    """The updates for a change of properties. `format-version` upgrades the table and is not stored; other reserved
    names raise InvalidInput."""
    kept = {key: value for key, value in updates.items() if key != FORMAT_VERSION}
    check_texts(kept)
    check_not_reserved(kept)
    check_commit_properties(kept)
    result: list[MetadataUpdate] = []
    if FORMAT_VERSION in updates:
        result.append(UpgradeFormatVersion(parse_format_version(updates[FORMAT_VERSION])))
    if kept:
        result.append(SetProperties(kept))
    if removed := tuple(removals):
        result.append(RemoveProperties(removed))
    return tuple(result)


def parse_format_version(given: str | int) -> int:
    """The number that a `format-version` is given as. Raises InvalidInput."""
    if isinstance(given, bool) or not str(given).strip().isdecimal():
        raise InvalidInput(f"property {FORMAT_VERSION} must be a number, not {given!r}")
    return int(given)


def create_table_updates(
    *,
    table_uuid: str,
    location: str,
    schema: Schema,
    spec: PartitionSpec = UNPARTITIONED,
    sort_order: SortOrder = UNSORTED,
    properties: Mapping[str, str] | None = None,
    format_version: int = 2,
) -> tuple[MetadataUpdate, ...]:
    """The updates that make a new table. The schema's ids are fresh, and the spec and order refer to them. A
    `format-version` among the properties wins, and is not stored."""
    given = dict(properties or {})
    if FORMAT_VERSION in given:
        format_version = parse_format_version(given.pop(FORMAT_VERSION))
    check_not_reserved(given)
    check_commit_properties(given)
    updates: list[MetadataUpdate] = [
        AssignUuid(table_uuid),
        UpgradeFormatVersion(format_version),
        AddSchema(schema),
        SetCurrentSchema(),
        AddPartitionSpec(spec),
        SetDefaultSpec(),
        AddSortOrder(sort_order),
        SetDefaultSortOrder(),
        SetLocation(location),
    ]
    if given:
        updates.append(SetProperties(given))
    return tuple(updates)
