"""The one way to change table metadata: apply a list of updates. https://iceberg.apache.org/spec/#table-metadata"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, Protocol

from floeberg.errors import InvalidInput, UnsupportedFeature
from floeberg.spec.changes import builder_schemas, builder_snapshots
from floeberg.spec.changes import updates as u
from floeberg.spec.changes.metadata_draft import MetadataDraft
from floeberg.spec.json.documents import Documents
from floeberg.spec.metadata.table_metadata import SUPPORTED_FORMAT_VERSION, TableMetadata
from floeberg.spec.metadata.table_metadata_json import strip_trailing_slash
from floeberg.spec.metadata.table_properties import (
    PREVIOUS_VERSIONS_MAX,
    PREVIOUS_VERSIONS_MAX_DEFAULT,
    check_not_reserved,
    integer_property,
)
from floeberg.spec.snapshots.history import appended_metadata_log, commit_time_ms
from floeberg.spec.snapshots.row_lineage import INITIAL_ROW_ID, ROW_LINEAGE_VERSION
from floeberg.spec.snapshots.snapshot import METADATA_LOG, MetadataLogEntry


def apply_updates(
    base: TableMetadata | None,
    updates: Iterable[u.MetadataUpdate],
    *,
    now_ms: int,
    base_metadata_location: str | None = None,
) -> TableMetadata:
    """The metadata after the updates; without a base, a new table's. `base` itself when they change nothing.

    `base_metadata_location` is the file that `base` was read from: it goes into the metadata log. Raises InvalidInput,
    an AlreadyExists or NotFound for what is named wrongly, CommitConflict where another commit came first, and
    UnsupportedFeature."""
    draft = MetadataDraft(now_ms=now_ms) if base is None else MetadataDraft.of(base, now_ms=now_ms)
    for update in updates:
        apply = _APPLY.get(type(update))
        if apply is None:
            raise InvalidInput(f"{type(update).__name__} is not an update of a table")
        apply(draft, update)
    if base is not None and not draft.changed:
        return base
    return _finish(draft, base, base_metadata_location)


def _finish(draft: MetadataDraft, base: TableMetadata | None, base_metadata_location: str | None) -> TableMetadata:
    if draft.location is None:
        raise InvalidInput("a new table needs a location")
    if draft.table_uuid is None and draft.format_version > 1:
        raise InvalidInput(f"format version {draft.format_version} needs a table uuid: assign one first")
    builder_schemas.check_defaults(draft)
    builder_snapshots.check_refs(draft)
    snapshot_log = builder_snapshots.finished_snapshot_log(draft)
    last_updated_ms = draft.now_ms if base is None else commit_time_ms(draft.now_ms, base.last_updated_ms)
    if snapshot_log:
        last_updated_ms = max(last_updated_ms, snapshot_log[-1].timestamp_ms)
    return TableMetadata(
        format_version=draft.format_version,
        table_uuid=draft.table_uuid,
        location=draft.location,
        last_sequence_number=draft.last_sequence_number,
        last_updated_ms=last_updated_ms,
        last_column_id=draft.last_column_id,
        schemas=draft.schemas,
        current_schema_id=draft.current_schema_id,
        partition_specs=draft.partition_specs,
        default_spec_id=draft.default_spec_id,
        last_partition_id=draft.last_partition_id,
        sort_orders=draft.sort_orders,
        default_sort_order_id=draft.default_sort_order_id,
        properties=draft.properties,
        current_snapshot_id=draft.current_snapshot_id,
        snapshots=draft.snapshots,
        refs=draft.refs,
        snapshot_log=snapshot_log,
        metadata_log=_metadata_log(draft, base, base_metadata_location),
        statistics=draft.statistics,
        partition_statistics=draft.partition_statistics,
        next_row_id=draft.next_row_id,
        encryption_keys=draft.encryption_keys,
        extra={} if base is None else base.extra,
    )


def _metadata_log(
    draft: MetadataDraft, base: TableMetadata | None, base_metadata_location: str | None
) -> Documents[MetadataLogEntry]:
    if base is None:
        return Documents(METADATA_LOG)
    if base_metadata_location is None:
        return base.metadata_log
    entry = MetadataLogEntry(base.last_updated_ms, base_metadata_location)
    most = integer_property(draft.properties, PREVIOUS_VERSIONS_MAX, PREVIOUS_VERSIONS_MAX_DEFAULT)
    return appended_metadata_log(base.metadata_log, entry, most=most)


def _assign_uuid(draft: MetadataDraft, update: u.AssignUuid) -> None:
    if draft.table_uuid is not None and draft.table_uuid.lower() != update.uuid.lower():
        raise InvalidInput(f"the table has the uuid {draft.table_uuid}; it cannot become {update.uuid}")
    if draft.table_uuid is None:
        draft.table_uuid = update.uuid
        draft.changed = True


def _upgrade_format_version(draft: MetadataDraft, update: u.UpgradeFormatVersion) -> None:
    """https://iceberg.apache.org/spec/#format-versioning; old snapshots have sequence number 0, row ids start at 0."""
    version = update.format_version
    if version > SUPPORTED_FORMAT_VERSION:
        raise UnsupportedFeature(
            f"cannot upgrade to format version {version}; versions up to {SUPPORTED_FORMAT_VERSION} are supported"
        )
    starting = draft.is_new and not draft.schemas
    if version < 1 or (version < draft.format_version and not starting):
        raise InvalidInput(f"cannot downgrade the table from format version {draft.format_version} to {version}")
    if version == draft.format_version:
        return
    if version >= ROW_LINEAGE_VERSION > draft.format_version:
        draft.next_row_id = INITIAL_ROW_ID
    if draft.format_version == 1:
        draft.snapshots = draft.snapshots.with_sequence_numbers()
    draft.format_version = version
    draft.changed = True


def _set_location(draft: MetadataDraft, update: u.SetLocation) -> None:
    location = strip_trailing_slash(update.location)
    if not location:
        raise InvalidInput("a table's location must not be empty")
    draft.changed = draft.changed or location != draft.location
    draft.location = location


def _set_properties(draft: MetadataDraft, update: u.SetProperties) -> None:
    check_not_reserved(update.updates)
    if any(draft.properties.get(name) != value for name, value in update.updates.items()):
        draft.properties |= update.updates
        draft.changed = True


def _remove_properties(draft: MetadataDraft, update: u.RemoveProperties) -> None:
    for name in update.removals:
        draft.changed = draft.properties.pop(name, None) is not None or draft.changed


class _Apply(Protocol):
    def __call__(self, draft: MetadataDraft, update: Any, /) -> None: ...


_APPLY: Final[Mapping[type[u.MetadataUpdate], _Apply]] = {
    u.AssignUuid: _assign_uuid,
    u.UpgradeFormatVersion: _upgrade_format_version,
    u.AddSchema: builder_schemas.add_schema,
    u.SetCurrentSchema: builder_schemas.set_current_schema,
    u.AddPartitionSpec: builder_schemas.add_partition_spec,
    u.SetDefaultSpec: builder_schemas.set_default_spec,
    u.AddSortOrder: builder_schemas.add_sort_order,
    u.SetDefaultSortOrder: builder_schemas.set_default_sort_order,
    u.AddSnapshot: builder_snapshots.add_snapshot,
    u.SetSnapshotRef: builder_snapshots.set_snapshot_ref,
    u.RemoveSnapshots: builder_snapshots.remove_snapshots,
    u.RemoveSnapshotRef: builder_snapshots.remove_snapshot_ref,
    u.SetLocation: _set_location,
    u.SetProperties: _set_properties,
    u.RemoveProperties: _remove_properties,
    u.SetStatistics: builder_snapshots.set_statistics,
    u.RemoveStatistics: builder_snapshots.remove_statistics,
    u.SetPartitionStatistics: builder_snapshots.set_partition_statistics,
    u.RemovePartitionStatistics: builder_snapshots.remove_partition_statistics,
    u.RemovePartitionSpecs: builder_schemas.remove_partition_specs,
    u.RemoveSchemas: builder_schemas.remove_schemas,
    u.AddEncryptionKey: builder_snapshots.add_encryption_key,
    u.RemoveEncryptionKey: builder_snapshots.remove_encryption_key,
}
