"""Table metadata from and to JSON: https://iceberg.apache.org/spec/#table-metadata-and-snapshots

Reading is strict where the specification's tables say so. What a rewrite normalises, and nothing else:

- `current-snapshot-id` of a table without a snapshot is -1 in v1 and v2 and null in v3, as the reference writes it
- fields that v1 may leave out (`schemas`, `partition-specs`, `sort-orders` and their ids, `last-partition-id`) are
  written, and so are `refs` with `main`, and empty lists; the deprecated `schema` and `partition-spec` only in v1
- a slash at the end of `location` is dropped, and `last-column-id` is raised to the current schema's highest id
"""

from __future__ import annotations

from typing import Final

import msgspec

from floeberg.errors import FormatError, MetadataCorrupt, UnsupportedFeature
from floeberg.spec.json.documents import Document, DocumentKind, Documents, T
from floeberg.spec.json.fields import INT_MAX, LONG_MAX, JsonFields
from floeberg.spec.json.limits import DEFAULT_LIMITS, Limits
from floeberg.spec.json.strict import check_depth, decode_object
from floeberg.spec.metadata.table_metadata import (
    INITIAL_SEQUENCE_NUMBER,
    PARTITION_SPECS,
    SCHEMAS,
    SORT_ORDERS,
    SUPPORTED_FORMAT_VERSION,
    TableMetadata,
)
from floeberg.spec.partitions.sort_orders import UNSORTED, SortOrder
from floeberg.spec.partitions.specs import (
    PARTITION_FIELD_ID_START,
    PartitionSpec,
    partition_fields_from_json,
    partition_fields_to_json,
)
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.snapshots.refs import MAIN_BRANCH, SnapshotRef, ref_from_json, ref_to_json
from floeberg.spec.snapshots.snapshot import METADATA_LOG, SNAPSHOT_LOG, UNSIGNED_LONG_MAX
from floeberg.spec.snapshots.snapshot_list import SnapshotList, check_snapshots
from floeberg.spec.snapshots.statistics import ENCRYPTION_KEYS, PARTITION_STATISTICS, STATISTICS

NO_SNAPSHOT: Final = -1
"""What the reference implementation writes in v1 and v2 for a table without a current snapshot."""

KNOWN_FIELDS: Final = frozenset(
    ("format-version", "table-uuid", "location", "last-sequence-number", "last-updated-ms", "last-column-id", "schema",
     "schemas", "current-schema-id", "partition-spec", "partition-specs", "default-spec-id", "last-partition-id",
     "properties", "current-snapshot-id", "snapshots", "snapshot-log", "metadata-log", "sort-orders",
     "default-sort-order-id", "refs", "statistics", "partition-statistics", "next-row-id", "encryption-keys")
)  # fmt: skip


def parse_table_metadata(data: bytes, *, limits: Limits = DEFAULT_LIMITS, location: str | None = None) -> TableMetadata:
    """Table metadata from the bytes of a metadata file; `location` is the file's, for messages.

    Raises MetadataCorrupt, LimitExceeded, or UnsupportedFeature for a format version above 3."""
    where = location or "table metadata"
    return table_metadata_from_json(decode_object(data, where=where, limits=limits), limits=limits, where=where)


def table_metadata_from_json(
    document: Document, *, limits: Limits = DEFAULT_LIMITS, where: str = "table metadata"
) -> TableMetadata:
    """As `parse_table_metadata`, from decoded JSON with unique keys (a REST response holds metadata so). The document
    is kept: it must not be changed afterwards."""
    fields = JsonFields(document, where)
    version = _format_version(fields)
    for key, value in document.items():
        if key != "snapshots":  # checked with the snapshots
            check_depth(value, where=fields.path(key), limits=limits)
    schemas, current_schema_id = _schemas(fields, version, limits)
    current_schema = schemas[[one.get("schema-id", 0) for one in schemas.documents].index(current_schema_id)]
    specs, default_spec_id = _partition_specs(fields, version, limits)
    orders, default_order_id = _sort_orders(fields, version, limits)
    last_sequence_number = fields.long("last-sequence-number") if version > 1 else INITIAL_SEQUENCE_NUMBER
    snapshots = check_snapshots(
        fields.objects("snapshots"), last_sequence_number=last_sequence_number, where=where, limits=limits
    )
    current_snapshot_id = _current_snapshot_id(fields, snapshots, limits)
    return TableMetadata(
        format_version=version,
        table_uuid=fields.text("table-uuid") if version > 1 else fields.optional_text("table-uuid"),
        location=strip_trailing_slash(fields.text("location")),
        last_sequence_number=last_sequence_number,
        last_updated_ms=fields.long("last-updated-ms"),
        last_column_id=max(fields.int32("last-column-id"), current_schema.highest_field_id),
        schemas=schemas,
        current_schema_id=current_schema_id,
        partition_specs=specs,
        default_spec_id=default_spec_id,
        last_partition_id=_last_partition_id(fields, version, specs),
        sort_orders=orders,
        default_sort_order_id=default_order_id,
        properties=fields.optional_text_map("properties"),
        current_snapshot_id=current_snapshot_id,
        snapshots=snapshots,
        refs=_refs(fields, current_snapshot_id, snapshots, limits),
        snapshot_log=_long_list(fields, SNAPSHOT_LOG, limits, "log_entries"),
        metadata_log=_long_list(fields, METADATA_LOG, limits, "log_entries"),
        statistics=_long_list(fields, STATISTICS, limits, "statistics"),
        partition_statistics=_long_list(fields, PARTITION_STATISTICS, limits, "statistics"),
        next_row_id=_next_row_id(fields, version, limits),
        encryption_keys=_short_list(fields, ENCRYPTION_KEYS, limits, "encryption_keys"),
        extra=fields.unknown(KNOWN_FIELDS),
    )


def write_table_metadata(metadata: TableMetadata) -> bytes:
    """The bytes of a metadata file: compact JSON, fields in the reference implementation's order."""
    return msgspec.json.encode(table_metadata_to_json(metadata))


def table_metadata_to_json(metadata: TableMetadata) -> Document:
    """The metadata as JSON builtins, sharing what was read: for encoding, not for changing."""
    version = metadata.format_version
    document: Document = {"format-version": version}
    if metadata.table_uuid is not None:
        document["table-uuid"] = metadata.table_uuid
    document["location"] = metadata.location
    if version > 1:
        document["last-sequence-number"] = metadata.last_sequence_number
    document["last-updated-ms"] = metadata.last_updated_ms
    document["last-column-id"] = metadata.last_column_id
    if version == 1:
        document["schema"] = _document_of(metadata.schemas, "schema-id", metadata.current_schema_id)
    document["current-schema-id"] = metadata.current_schema_id
    document["schemas"] = metadata.schemas.documents
    if version == 1:
        document["partition-spec"] = partition_fields_to_json(metadata.default_spec)
    document["default-spec-id"] = metadata.default_spec_id
    document["partition-specs"] = metadata.partition_specs.documents
    document["last-partition-id"] = metadata.last_partition_id
    document["default-sort-order-id"] = metadata.default_sort_order_id
    document["sort-orders"] = metadata.sort_orders.documents
    document["properties"] = metadata.properties
    none = None if version >= 3 else NO_SNAPSHOT
    document["current-snapshot-id"] = none if metadata.current_snapshot_id is None else metadata.current_snapshot_id
    if version >= 3:
        document["next-row-id"] = metadata.next_row_id
    if metadata.encryption_keys:
        document["encryption-keys"] = metadata.encryption_keys.documents
    document["refs"] = {name: ref_to_json(ref) for name, ref in metadata.refs.items()}
    document["snapshots"] = metadata.snapshots.documents
    document["statistics"] = metadata.statistics.documents
    document["partition-statistics"] = metadata.partition_statistics.documents
    document["snapshot-log"] = metadata.snapshot_log.documents
    document["metadata-log"] = metadata.metadata_log.documents
    return {**document, **metadata.extra}


def strip_trailing_slash(location: str) -> str:
    """A location without slashes at its end, as the reference implementation holds it; a bare `scheme://` stays."""
    while location.endswith("/") and not location.endswith("://") and len(location) > 1:
        location = location[:-1]
    return location


def _format_version(fields: JsonFields) -> int:
    version = fields.int32("format-version")
    if version > SUPPORTED_FORMAT_VERSION:
        raise UnsupportedFeature(
            f"{fields.where} has format-version {version}; versions up to {SUPPORTED_FORMAT_VERSION} are supported",
            where=fields.where,
            format_version=version,
        )
    if version < 1:
        fields.wrong("format-version", f"1 to {SUPPORTED_FORMAT_VERSION}")
    return version


def _schemas(fields: JsonFields, version: int, limits: Limits) -> tuple[Documents[Schema], int]:
    if version == 1:
        fields.required("schema")
    if version == 1 and not fields.has("schemas"):
        single = JsonFields(fields.required("schema"), fields.path("schema"))
        schema_id = single.optional_int32("schema-id") or 0
        documents = [{**fields.optional_object("schema"), "schema-id": schema_id}]
    else:
        fields.required("schemas")
        schema_id = fields.int32("current-schema-id")
        documents = list(fields.objects("schemas"))
    limits.check("schemas", len(documents), fields.where)
    _check_ids(fields, documents, key="schema-id", default=0, in_field="schemas")
    found = [position for position, one in enumerate(documents) if one.get("schema-id", 0) == schema_id]
    if not found:
        raise MetadataCorrupt(f"{fields.where}: current-schema-id {schema_id} is not in schemas", where=fields.where)
    schemas = Documents(SCHEMAS, documents)
    _parse_at(schemas, found[0], fields)
    return schemas, schema_id


def _partition_specs(fields: JsonFields, version: int, limits: Limits) -> tuple[Documents[PartitionSpec], int]:
    if version == 1:
        fields.required("partition-spec")
    if version == 1 and not fields.has("partition-specs"):
        only = partition_fields_from_json(fields.value("partition-spec"))
        return Documents.of(PARTITION_SPECS, [only]), only.spec_id
    fields.required("partition-specs")
    default_id = fields.int32("default-spec-id")
    specs = _short_list(fields, PARTITION_SPECS, limits, "partition_specs")
    _check_ids(fields, specs.documents, key="spec-id", default=None, in_field="partition-specs")
    if all(spec.spec_id != default_id for spec in specs):
        raise MetadataCorrupt(
            f"{fields.where}: default-spec-id {default_id} is not in partition-specs", where=fields.where
        )
    return specs, default_id


def _last_partition_id(fields: JsonFields, version: int, specs: Documents[PartitionSpec]) -> int:
    if version > 1:
        fields.required("last-partition-id")
    highest = max((spec.last_assigned_field_id for spec in specs), default=PARTITION_FIELD_ID_START - 1)
    given = fields.optional_int32("last-partition-id")
    return highest if given is None else given


def _sort_orders(fields: JsonFields, version: int, limits: Limits) -> tuple[Documents[SortOrder], int]:
    if version == 1 and not fields.has("sort-orders"):
        return Documents.of(SORT_ORDERS, [UNSORTED]), UNSORTED.order_id
    fields.required("sort-orders")
    default_id = fields.int32("default-sort-order-id")
    orders = _short_list(fields, SORT_ORDERS, limits, "sort_orders")
    _check_ids(fields, orders.documents, key="order-id", default=None, in_field="sort-orders")
    if all(order.order_id != default_id for order in orders):
        if default_id == UNSORTED.order_id:
            return orders.appended(UNSORTED), default_id
        raise MetadataCorrupt(
            f"{fields.where}: default-sort-order-id {default_id} is not in sort-orders", where=fields.where
        )
    return orders, default_id


def _current_snapshot_id(fields: JsonFields, snapshots: SnapshotList, limits: Limits) -> int | None:
    highest = UNSIGNED_LONG_MAX if limits.lenient else LONG_MAX
    current = fields.optional_integer("current-snapshot-id", highest=highest)
    if current is None or current == NO_SNAPSHOT:
        return None
    if not snapshots.has_id(current):
        raise MetadataCorrupt(
            f"{fields.where}: current-snapshot-id {current} is not in snapshots",
            where=fields.where,
            snapshot_id=current,
        )
    return current


def _refs(
    fields: JsonFields, current_snapshot_id: int | None, snapshots: SnapshotList, limits: Limits
) -> dict[str, SnapshotRef]:
    """The refs; `main` is always there when a snapshot is current, and points to it."""
    documents = fields.optional_object("refs")
    limits.check("refs", len(documents), fields.where)
    highest = UNSIGNED_LONG_MAX if limits.lenient else LONG_MAX
    refs = {
        name: ref_from_json(one, f"{fields.where}: refs[{name[:100]!r}]", highest_id=highest)
        for name, one in documents.items()
    }
    for name, ref in refs.items():
        if not snapshots.has_id(ref.snapshot_id):
            raise MetadataCorrupt(
                f"{fields.where}: ref {name[:100]!r} points to snapshot {ref.snapshot_id}, which is not in snapshots",
                where=fields.where,
                ref=name[:100],
            )
    main = refs.get(MAIN_BRANCH)
    if main is None and current_snapshot_id is not None:
        return {MAIN_BRANCH: SnapshotRef(snapshot_id=current_snapshot_id), **refs}
    if main is not None and main.snapshot_id != current_snapshot_id:
        raise MetadataCorrupt(
            f"{fields.where}: main points to snapshot {main.snapshot_id}, but current-snapshot-id is "
            f"{current_snapshot_id}",
            where=fields.where,
        )
    return refs


def _next_row_id(fields: JsonFields, version: int, limits: Limits) -> int:
    if version < 3 or (limits.lenient and not fields.has("next-row-id")):
        return 0
    next_row_id = fields.long("next-row-id")
    if next_row_id < 0:
        fields.wrong("next-row-id", "0 or greater")
    return next_row_id


def _long_list(fields: JsonFields, kind: DocumentKind[T], limits: Limits, limit: str) -> Documents[T]:
    """A list that grows with the table's history: its items' types are checked now, and parsed when asked for."""
    documents = fields.objects(kind.name)
    limits.check(limit, len(documents), fields.where)
    try:
        msgspec.convert(documents, kind.shapes)
    except msgspec.ValidationError as error:
        raise MetadataCorrupt(f"{fields.path(kind.name)}: {error}", where=fields.where, field=kind.name) from error
    return Documents(kind, documents)


def _short_list(fields: JsonFields, kind: DocumentKind[T], limits: Limits, limit: str) -> Documents[T]:
    """A list whose items are all parsed now."""
    documents = Documents(kind, fields.objects(kind.name))
    limits.check(limit, len(documents), fields.where)
    for position in range(len(documents)):
        _parse_at(documents, position, fields)
    return documents


def _parse_at(documents: Documents[T], position: int, fields: JsonFields) -> None:
    try:
        documents.item(position)
    except FormatError as error:
        raise type(error)(f"{fields.where}: {error}", **{"where": fields.where, **error.context}) from error


def _check_ids(
    fields: JsonFields,
    documents: list[Document] | tuple[Document, ...],
    *,
    key: str,
    default: int | None,
    in_field: str,
) -> None:
    """Raises MetadataCorrupt unless every document has its own 32-bit id."""
    seen: set[object] = set()
    for position, document in enumerate(documents):
        found = document.get(key, default)
        if type(found) is not int or abs(found) > INT_MAX:
            raise MetadataCorrupt(
                f"{fields.where}: {in_field}[{position}].{key} must be an integer", where=fields.where
            )
        if found in seen:
            raise MetadataCorrupt(f"{fields.where}: {in_field} has {key} {found} twice", where=fields.where)
        seen.add(found)


def _document_of(documents: Documents[T], key: str, wanted: int) -> Document:
    return next(document for document in documents.documents if document.get(key, 0) == wanted)
