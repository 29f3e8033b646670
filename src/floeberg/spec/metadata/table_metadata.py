"""Table metadata: https://iceberg.apache.org/spec/#table-metadata

A value that never changes: the builder makes a new one from a list of updates.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from floeberg.errors import InvalidInput, MetadataCorrupt, RefNotFound, SnapshotNotFound
from floeberg.spec.json.documents import Document, DocumentKind, Documents
from floeberg.spec.partitions.sort_orders import SortOrder, sort_order_from_json, sort_order_to_json
from floeberg.spec.partitions.specs import PartitionSpec, partition_spec_from_json, partition_spec_to_json
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.schemas.schema_json import schema_from_json, schema_to_json
from floeberg.spec.snapshots.refs import MAIN_BRANCH, SnapshotRef
from floeberg.spec.snapshots.snapshot import METADATA_LOG, SNAPSHOT_LOG, MetadataLogEntry, Snapshot, SnapshotLogEntry
from floeberg.spec.snapshots.snapshot_list import SnapshotList
from floeberg.spec.snapshots.statistics import (
    ENCRYPTION_KEYS,
    PARTITION_STATISTICS,
    STATISTICS,
    EncryptedKey,
    PartitionStatisticsFile,
    StatisticsFile,
)

SUPPORTED_FORMAT_VERSION: Final = 3
INITIAL_SEQUENCE_NUMBER: Final = 0


def _schema_from_json(document: Document, where: str) -> Schema:
    return schema_from_json(document, where=where)


def _spec_from_json(document: Document, where: str) -> PartitionSpec:
    try:
        return partition_spec_from_json(document)
    except MetadataCorrupt as error:
        raise MetadataCorrupt(f"{where}: {error}", where=where) from error


def _order_from_json(document: Document, where: str) -> SortOrder:
    try:
        return sort_order_from_json(document)
    except MetadataCorrupt as error:
        raise MetadataCorrupt(f"{where}: {error}", where=where) from error


SCHEMAS: Final = DocumentKind("schemas", _schema_from_json, schema_to_json)
PARTITION_SPECS: Final = DocumentKind("partition-specs", _spec_from_json, partition_spec_to_json)
SORT_ORDERS: Final = DocumentKind("sort-orders", _order_from_json, sort_order_to_json)


@dataclass(frozen=True, kw_only=True)
class TableMetadata:
    """All that a metadata file says about a table. The long lists (snapshots, logs, schemas) are parsed when asked for;
    `extra` holds the fields that are not known here."""

    format_version: int
    table_uuid: str | None
    location: str
    last_updated_ms: int
    last_column_id: int
    schemas: Documents[Schema]
    current_schema_id: int
    partition_specs: Documents[PartitionSpec]
    default_spec_id: int
    last_partition_id: int
    sort_orders: Documents[SortOrder]
    default_sort_order_id: int
    last_sequence_number: int = INITIAL_SEQUENCE_NUMBER
    properties: Mapping[str, str] = field(default_factory=dict)
    current_snapshot_id: int | None = None
    snapshots: SnapshotList = field(default_factory=SnapshotList)
    refs: Mapping[str, SnapshotRef] = field(default_factory=dict)
    snapshot_log: Documents[SnapshotLogEntry] = field(default_factory=lambda: Documents(SNAPSHOT_LOG))
    metadata_log: Documents[MetadataLogEntry] = field(default_factory=lambda: Documents(METADATA_LOG))
    statistics: Documents[StatisticsFile] = field(default_factory=lambda: Documents(STATISTICS))
    partition_statistics: Documents[PartitionStatisticsFile] = field(
        default_factory=lambda: Documents(PARTITION_STATISTICS)
    )
    next_row_id: int = 0
    encryption_keys: Documents[EncryptedKey] = field(default_factory=lambda: Documents(ENCRYPTION_KEYS))
    extra: Mapping[str, object] = field(default_factory=dict)

    @cached_property
    def _schema_positions(self) -> dict[object, int]:
        return {document.get("schema-id", 0): at for at, document in enumerate(self.schemas.documents)}

    @cached_property
    def _specs_by_id(self) -> dict[int, PartitionSpec]:
        return {spec.spec_id: spec for spec in self.partition_specs}

    @cached_property
    def _orders_by_id(self) -> dict[int, SortOrder]:
        return {order.order_id: order for order in self.sort_orders}

    @property
    def next_sequence_number(self) -> int:
        """The sequence number of the next snapshot; v1 has none."""
        return self.last_sequence_number + 1 if self.format_version > 1 else INITIAL_SEQUENCE_NUMBER

    def find_schema(self, schema_id: int) -> Schema | None:
        position = self._schema_positions.get(schema_id)
        return None if position is None else self.schemas.item(position)

    def schema(self, schema_id: int | None = None) -> Schema:
        """The schema of that id, the current one without. Raises InvalidInput."""
        wanted = self.current_schema_id if schema_id is None else schema_id
        found = self.find_schema(wanted)
        if found is None:
            raise InvalidInput(f"table {self.location} has no schema {wanted}", schema_id=wanted)
        return found

    @property
    def current_schema(self) -> Schema:
        return self.schema()

    @property
    def specs_by_id(self) -> Mapping[int, PartitionSpec]:
        return self._specs_by_id

    def spec(self, spec_id: int | None = None) -> PartitionSpec:
        """The partition spec of that id, the default one without. Raises InvalidInput."""
        wanted = self.default_spec_id if spec_id is None else spec_id
        found = self._specs_by_id.get(wanted)
        if found is None:
            raise InvalidInput(f"table {self.location} has no partition spec {wanted}", spec_id=wanted)
        return found

    @property
    def default_spec(self) -> PartitionSpec:
        return self.spec()

    def sort_order(self, order_id: int | None = None) -> SortOrder:
        """The sort order of that id, the default one without. Raises InvalidInput."""
        wanted = self.default_sort_order_id if order_id is None else order_id
        found = self._orders_by_id.get(wanted)
        if found is None:
            raise InvalidInput(f"table {self.location} has no sort order {wanted}", order_id=wanted)
        return found

    @property
    def default_sort_order(self) -> SortOrder:
        return self.sort_order()

    def find_snapshot(self, snapshot_id: int) -> Snapshot | None:
        return self.snapshots.find(snapshot_id)

    def snapshot(self, snapshot_id: int) -> Snapshot:
        """Raises SnapshotNotFound."""
        found = self.snapshots.find(snapshot_id)
        if found is None:
            raise SnapshotNotFound(
                f"table {self.location} has no snapshot {snapshot_id}; it may have expired", snapshot_id=snapshot_id
            )
        return found

    @property
    def current_snapshot(self) -> Snapshot | None:
        return None if self.current_snapshot_id is None else self.snapshot(self.current_snapshot_id)

    def find_ref(self, name: str) -> SnapshotRef | None:
        return self.refs.get(name)

    def ref(self, name: str) -> SnapshotRef:
        """The branch or tag of that name. Raises RefNotFound."""
        found = self.refs.get(name)
        if found is None:
            known = ", ".join(sorted(self.refs)[:20]) or "none"
            raise RefNotFound(f"table {self.location} has no branch or tag {name!r}; there are: {known}", ref=name)
        return found

    def snapshot_for_ref(self, name: str = MAIN_BRANCH) -> Snapshot | None:
        """The snapshot at the head of a branch or tag; None for `main` of a table without snapshots. Raises
        RefNotFound."""
        if name == MAIN_BRANCH and name not in self.refs:
            return None
        return self.snapshot(self.ref(name).snapshot_id)

    def schema_of_snapshot(self, snapshot: Snapshot) -> Schema:
        """The schema when the snapshot was made; the current one where the snapshot does not say or the schema was
        removed."""
        found = None if snapshot.schema_id is None else self.find_schema(snapshot.schema_id)
        return self.current_schema if found is None else found

    def ancestor_ids(self, snapshot_id: int | None) -> Iterator[int]:
        """The snapshot itself, its parent and so on, as far as the table still has them."""
        seen: set[int] = set()
        while snapshot_id is not None and self.snapshots.has_id(snapshot_id) and snapshot_id not in seen:
            seen.add(snapshot_id)
            yield snapshot_id
            snapshot_id = self.snapshots.parent_id(snapshot_id)

    def ancestors(self, snapshot_id: int | None) -> Iterator[Snapshot]:
        """As `ancestor_ids`, the snapshots."""
        return (self.snapshot(ancestor) for ancestor in self.ancestor_ids(snapshot_id))

    def is_ancestor(self, ancestor_id: int, *, of: int | None) -> bool:
        """Whether a snapshot is in another's history; each is its own ancestor."""
        return any(ancestor == ancestor_id for ancestor in self.ancestor_ids(of))

    def snapshot_id_as_of(self, timestamp_ms: int) -> int:
        """The snapshot that was current at a time, by the snapshot log. Raises SnapshotNotFound.
        https://iceberg.apache.org/spec/#point-in-time-reads-time-travel"""
        for entry in reversed(self.snapshot_log):
            if entry.timestamp_ms <= timestamp_ms:
                return entry.snapshot_id
        earliest = f"; it begins at {self.snapshot_log[0].timestamp_ms}" if self.snapshot_log else ""
        raise SnapshotNotFound(
            f"table {self.location} has no snapshot log entry at or before {timestamp_ms} ms{earliest}",
            timestamp_ms=timestamp_ms,
        )
