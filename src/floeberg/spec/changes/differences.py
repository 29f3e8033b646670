"""The updates that turn one state of a table or view into another: what a REST catalog is sent."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from floeberg.spec.changes import updates as u
from floeberg.spec.json.documents import Document, Documents
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.metadata.view_metadata import ViewMetadata

T = TypeVar("T")


def updates_between(base: TableMetadata | None, new: TableMetadata) -> tuple[u.MetadataUpdate, ...]:
    """The updates that make `new` of `base`; without a base, of nothing. Ids that the catalog assigns are written as
    LAST_ADDED where the thing is added by these very updates."""
    return (
        *_identity(base, new),
        *_schemas(base, new),
        *_specs(base, new),
        *_orders(base, new),
        *_place_and_properties(base, new),
        *_keys_added(base, new),
        *_snapshots(base, new),
        *_statistics(base, new),
        *_removals(base, new),
    )


def view_updates_between(base: ViewMetadata | None, new: ViewMetadata) -> tuple[u.MetadataUpdate, ...]:
    """The updates that make `new` of `base`, a view's metadata; without a base, of nothing."""
    updates: list[u.MetadataUpdate] = []
    if base is None:
        updates.append(u.AssignUuid(new.view_uuid))
    if base is None or base.location != new.location:
        updates.append(u.SetLocation(new.location))
    known = set() if base is None else {schema.schema_id for schema in base.schemas}
    added = [schema for schema in new.schemas if schema.schema_id not in known]
    updates += [u.AddSchema(schema) for schema in added]
    versions = set() if base is None else {version.version_id for version in base.versions}
    last_schema_id = added[-1].schema_id if added else None
    last_version_id: int | None = None
    for version in new.versions:
        if version.version_id not in versions:
            uses_last = version.schema_id == last_schema_id
            updates.append(u.AddViewVersion(replace(version, schema_id=u.LAST_ADDED) if uses_last else version))
            last_version_id = version.version_id
    if base is None or base.current_version_id != new.current_version_id:
        wanted = new.current_version_id
        updates.append(u.SetCurrentViewVersion(u.LAST_ADDED if wanted == last_version_id else wanted))
    return (*updates, *_properties({} if base is None else base.properties, new.properties))


def _identity(base: TableMetadata | None, new: TableMetadata) -> Iterator[u.MetadataUpdate]:
    if new.table_uuid is not None and (base is None or base.table_uuid is None):
        yield u.AssignUuid(new.table_uuid)
    if base is None or base.format_version != new.format_version:
        yield u.UpgradeFormatVersion(new.format_version)


def _schemas(base: TableMetadata | None, new: TableMetadata) -> Iterator[u.MetadataUpdate]:
    added = _added(None if base is None else base.schemas, new.schemas, "schema-id")
    for schema in added:
        yield u.AddSchema(schema)
    if base is None or base.current_schema_id != new.current_schema_id:
        is_last = bool(added) and added[-1].schema_id == new.current_schema_id
        yield u.SetCurrentSchema(u.LAST_ADDED if is_last else new.current_schema_id)


def _specs(base: TableMetadata | None, new: TableMetadata) -> Iterator[u.MetadataUpdate]:
    added = _added(None if base is None else base.partition_specs, new.partition_specs, "spec-id")
    for spec in added:
        yield u.AddPartitionSpec(spec)
    if base is None or base.default_spec_id != new.default_spec_id:
        is_last = bool(added) and added[-1].spec_id == new.default_spec_id
        yield u.SetDefaultSpec(u.LAST_ADDED if is_last else new.default_spec_id)


def _orders(base: TableMetadata | None, new: TableMetadata) -> Iterator[u.MetadataUpdate]:
    added = _added(None if base is None else base.sort_orders, new.sort_orders, "order-id")
    for order in added:
        yield u.AddSortOrder(order)
    if base is None or base.default_sort_order_id != new.default_sort_order_id:
        is_last = bool(added) and added[-1].order_id == new.default_sort_order_id
        yield u.SetDefaultSortOrder(u.LAST_ADDED if is_last else new.default_sort_order_id)


def _place_and_properties(base: TableMetadata | None, new: TableMetadata) -> Iterator[u.MetadataUpdate]:
    if base is None or base.location != new.location:
        yield u.SetLocation(new.location)
    yield from _properties({} if base is None else base.properties, new.properties)


def _properties(base: object, new: object) -> Iterator[u.MetadataUpdate]:
    before, after = dict(base), dict(new)  # type: ignore[call-overload]
    changed = {key: value for key, value in after.items() if before.get(key) != value}
    if changed:
        yield u.SetProperties(changed)
    if gone := tuple(key for key in before if key not in after):
        yield u.RemoveProperties(gone)


def _keys_added(base: TableMetadata | None, new: TableMetadata) -> Iterator[u.MetadataUpdate]:
    for key in _added(None if base is None else base.encryption_keys, new.encryption_keys, "key-id"):
        yield u.AddEncryptionKey(key)


def _snapshots(base: TableMetadata | None, new: TableMetadata) -> Iterator[u.MetadataUpdate]:
    """Snapshots come before the refs that point to them, and refs go before the snapshots they pointed to."""
    if base is not None and base.snapshots is new.snapshots:
        removed: tuple[int, ...] = ()
    else:
        for snapshot_id in new.snapshots.ids():
            if base is None or not base.snapshots.has_id(snapshot_id):
                yield u.AddSnapshot(new.snapshot(snapshot_id))
        removed = () if base is None else tuple(i for i in base.snapshots.ids() if not new.snapshots.has_id(i))
    refs = {} if base is None else base.refs
    for name in refs:
        if name not in new.refs:
            yield u.RemoveSnapshotRef(name)
    for name, ref in new.refs.items():
        if refs.get(name) != ref:
            yield u.SetSnapshotRef(name, ref)
    if removed:
        yield u.RemoveSnapshots(removed)


def _statistics(base: TableMetadata | None, new: TableMetadata) -> Iterator[u.MetadataUpdate]:
    """Statistics go with their snapshot; only those whose snapshot stays are removed by an update of their own."""
    before = {} if base is None else {one.snapshot_id: one for one in base.statistics}
    after = {one.snapshot_id: one for one in new.statistics}
    for snapshot_id, file in after.items():
        if before.get(snapshot_id) != file:
            yield u.SetStatistics(file)
    yield from (u.RemoveStatistics(i) for i in before if i not in after and new.snapshots.has_id(i))
    parts_before = {} if base is None else {one.snapshot_id: one for one in base.partition_statistics}
    parts_after = {one.snapshot_id: one for one in new.partition_statistics}
    for snapshot_id, parts in parts_after.items():
        if parts_before.get(snapshot_id) != parts:
            yield u.SetPartitionStatistics(parts)
    yield from (
        u.RemovePartitionStatistics(i) for i in parts_before if i not in parts_after and new.snapshots.has_id(i)
    )


def _removals(base: TableMetadata | None, new: TableMetadata) -> Iterator[u.MetadataUpdate]:
    if base is None:
        return
    for key in _gone(base.encryption_keys, new.encryption_keys, lambda document: document["key-id"]):
        yield u.RemoveEncryptionKey(str(key))
    if specs := _gone(base.partition_specs, new.partition_specs, lambda document: document.get("spec-id", 0)):
        yield u.RemovePartitionSpecs(tuple(int(str(one)) for one in specs))
    if schemas := _gone(base.schemas, new.schemas, lambda document: document.get("schema-id", 0)):
        yield u.RemoveSchemas(tuple(int(str(one)) for one in schemas))


def _added(base: Documents[T] | None, new: Documents[T], key: str) -> Sequence[T]:
    known = set() if base is None else {document.get(key, 0) for document in base.documents}
    return [new.item(at) for at, document in enumerate(new.documents) if document.get(key, 0) not in known]


def _gone(base: Documents[T], new: Documents[T], key: Callable[[Document], object]) -> Sequence[object]:
    if base is new:
        return ()
    kept = {key(document) for document in new.documents}
    return [found for document in base.documents if (found := key(document)) not in kept]
