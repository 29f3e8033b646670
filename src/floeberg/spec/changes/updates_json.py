"""Updates from and to JSON, as the REST catalog API has them (`TableUpdate`, `ViewUpdate`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from floeberg.errors import InvalidInput, MetadataCorrupt
from floeberg.spec.changes import updates as u
from floeberg.spec.json.documents import Document
from floeberg.spec.json.fields import INT_MAX, JsonFields
from floeberg.spec.json.limits import DEFAULT_LIMITS, Limits
from floeberg.spec.json.strict import decode_object
from floeberg.spec.metadata.view_versions import view_version_from_json, view_version_to_json
from floeberg.spec.partitions.sort_orders import UNSORTED_ORDER_ID, SortOrder, sort_order_from_json, sort_order_to_json
from floeberg.spec.partitions.specs import PartitionSpec, partition_spec_from_json, partition_spec_to_json
from floeberg.spec.schemas.schema_json import schema_from_json, schema_to_json
from floeberg.spec.snapshots.refs import ref_from_json, ref_to_json
from floeberg.spec.snapshots.snapshot import snapshot_from_json, snapshot_to_json
from floeberg.spec.snapshots.statistics import (
    encrypted_key_from_json,
    encrypted_key_to_json,
    partition_statistics_file_from_json,
    partition_statistics_file_to_json,
    statistics_file_from_json,
    statistics_file_to_json,
)

_Read = Callable[[JsonFields], u.MetadataUpdate]
_Write = Callable[[Any], Document]


def parse_update(data: bytes, *, limits: Limits = DEFAULT_LIMITS) -> u.MetadataUpdate:
    """One update from JSON text. Raises MetadataCorrupt or LimitExceeded."""
    return update_from_json(decode_object(data, where="metadata update", limits=limits))


def update_from_json(value: object, where: str = "metadata update") -> u.MetadataUpdate:
    """One update from decoded JSON. Raises MetadataCorrupt."""
    fields = JsonFields(value, where)
    action = fields.text("action").lower()
    codec = _CODECS.get(action)
    if codec is None:
        raise MetadataCorrupt(f"{where}: unknown action {action[:60]!r}", where=where)
    try:
        return codec[1](fields)
    except InvalidInput as error:
        raise MetadataCorrupt(f"{where}: {action}: {error}", where=where) from error


def update_to_json(update: u.MetadataUpdate) -> Document:
    """The update's JSON, in the reference implementation's order."""
    codec = _CODECS.get(update.action)
    if codec is None:
        raise InvalidInput(f"{type(update).__name__} has no JSON form")
    return {"action": update.action, **codec[2](update)}


def updates_to_json(updates: Iterable[u.MetadataUpdate]) -> list[Document]:
    return [update_to_json(update) for update in updates]


def _spec_from_json(fields: JsonFields) -> PartitionSpec:
    """A spec in an update may lack its id, which is assigned when it is added."""
    return partition_spec_from_json({"spec-id": 0, **_object(fields, "spec")})


def _order_from_json(fields: JsonFields) -> SortOrder:
    document = _object(fields, "sort-order")
    unnumbered = 1 if document.get("fields") else UNSORTED_ORDER_ID
    return sort_order_from_json({"order-id": unnumbered, **document})


def _object(fields: JsonFields, key: str) -> dict[str, object]:
    fields.required(key)
    return fields.optional_object(key)


def _properties_from_json(fields: JsonFields) -> u.SetProperties:
    """Early clients wrote `updated`, which is still read."""
    return u.SetProperties(
        fields.text_map("updates" if fields.has("updates") else _legacy(fields, "updated", "updates"))
    )


def _removals_from_json(fields: JsonFields) -> u.RemoveProperties:
    """Early clients wrote `removed`, which is still read."""
    return u.RemoveProperties(
        fields.texts("removals" if fields.has("removals") else _legacy(fields, "removed", "removals"))
    )


def _legacy(fields: JsonFields, old: str, new: str) -> str:
    return old if fields.has(old) else new


def _add_schema_to_json(update: u.AddSchema) -> Document:
    return {"schema": schema_to_json(update.schema), "last-column-id": update.schema.highest_field_id}


def _ref_from_json(fields: JsonFields) -> u.SetSnapshotRef:
    keys = ("snapshot-id", "type", "min-snapshots-to-keep", "max-snapshot-age-ms", "max-ref-age-ms")
    document = {key: fields.value(key) for key in keys}
    return u.SetSnapshotRef(fields.text("ref-name"), ref_from_json(document, fields.where))


_CODEC_LIST: Final[tuple[tuple[type[u.MetadataUpdate], _Read, _Write], ...]] = (
    (u.AssignUuid, lambda f: u.AssignUuid(f.text("uuid")), lambda x: {"uuid": x.uuid}),
    (
        u.UpgradeFormatVersion,
        lambda f: u.UpgradeFormatVersion(f.int32("format-version")),
        lambda x: {"format-version": x.format_version},
    ),
    (u.AddSchema, lambda f: u.AddSchema(schema_from_json(f.required("schema"))), _add_schema_to_json),
    (
        u.SetCurrentSchema,
        lambda f: u.SetCurrentSchema(f.int32("schema-id")),
        lambda x: {"schema-id": x.schema_id},
    ),
    (
        u.AddPartitionSpec,
        lambda f: u.AddPartitionSpec(_spec_from_json(f)),
        lambda x: {"spec": partition_spec_to_json(x.spec)},
    ),
    (u.SetDefaultSpec, lambda f: u.SetDefaultSpec(f.int32("spec-id")), lambda x: {"spec-id": x.spec_id}),
    (
        u.AddSortOrder,
        lambda f: u.AddSortOrder(_order_from_json(f)),
        lambda x: {"sort-order": sort_order_to_json(x.sort_order)},
    ),
    (
        u.SetDefaultSortOrder,
        lambda f: u.SetDefaultSortOrder(f.int32("sort-order-id")),
        lambda x: {"sort-order-id": x.sort_order_id},
    ),
    (
        u.AddSnapshot,
        lambda f: u.AddSnapshot(snapshot_from_json(f.required("snapshot"))),
        lambda x: {"snapshot": snapshot_to_json(x.snapshot)},
    ),
    (u.SetSnapshotRef, _ref_from_json, lambda x: {"ref-name": x.ref_name, **ref_to_json(x.ref)}),
    (
        u.RemoveSnapshots,
        lambda f: u.RemoveSnapshots(f.integers("snapshot-ids")),
        lambda x: {"snapshot-ids": list(x.snapshot_ids)},
    ),
    (
        u.RemoveSnapshotRef,
        lambda f: u.RemoveSnapshotRef(f.text("ref-name")),
        lambda x: {"ref-name": x.ref_name},
    ),
    (u.SetLocation, lambda f: u.SetLocation(f.text("location")), lambda x: {"location": x.location}),
    (u.SetProperties, _properties_from_json, lambda x: {"updates": dict(x.updates)}),
    (u.RemoveProperties, _removals_from_json, lambda x: {"removals": list(x.removals)}),
    (
        u.SetStatistics,
        lambda f: u.SetStatistics(statistics_file_from_json(f.required("statistics"))),
        lambda x: {"snapshot-id": x.statistics.snapshot_id, "statistics": statistics_file_to_json(x.statistics)},
    ),
    (
        u.RemoveStatistics,
        lambda f: u.RemoveStatistics(f.long("snapshot-id")),
        lambda x: {"snapshot-id": x.snapshot_id},
    ),
    (
        u.SetPartitionStatistics,
        lambda f: u.SetPartitionStatistics(partition_statistics_file_from_json(f.required("partition-statistics"))),
        lambda x: {"partition-statistics": partition_statistics_file_to_json(x.partition_statistics)},
    ),
    (
        u.RemovePartitionStatistics,
        lambda f: u.RemovePartitionStatistics(f.long("snapshot-id")),
        lambda x: {"snapshot-id": x.snapshot_id},
    ),
    (
        u.RemovePartitionSpecs,
        lambda f: u.RemovePartitionSpecs(f.integers("spec-ids", highest=INT_MAX)),
        lambda x: {"spec-ids": list(x.spec_ids)},
    ),
    (
        u.RemoveSchemas,
        lambda f: u.RemoveSchemas(f.integers("schema-ids", highest=INT_MAX)),
        lambda x: {"schema-ids": list(x.schema_ids)},
    ),
    (
        u.AddEncryptionKey,
        lambda f: u.AddEncryptionKey(encrypted_key_from_json(f.required("encryption-key"))),
        lambda x: {"encryption-key": encrypted_key_to_json(x.encryption_key)},
    ),
    (u.RemoveEncryptionKey, lambda f: u.RemoveEncryptionKey(f.text("key-id")), lambda x: {"key-id": x.key_id}),
    (
        u.AddViewVersion,
        lambda f: u.AddViewVersion(view_version_from_json(f.required("view-version"))),
        lambda x: {"view-version": view_version_to_json(x.view_version)},
    ),
    (
        u.SetCurrentViewVersion,
        lambda f: u.SetCurrentViewVersion(f.int32("view-version-id")),
        lambda x: {"view-version-id": x.view_version_id},
    ),
)
_CODECS: Final = {codec[0].action: codec for codec in _CODEC_LIST}
