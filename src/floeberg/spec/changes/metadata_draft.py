"""Table metadata while updates are applied to it. Nothing outside the builder sees a draft."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self

from floeberg.errors import InvalidInput
from floeberg.spec.json.documents import Documents
from floeberg.spec.metadata.table_metadata import PARTITION_SPECS, SCHEMAS, SORT_ORDERS, TableMetadata
from floeberg.spec.partitions.sort_orders import SortOrder
from floeberg.spec.partitions.specs import PARTITION_FIELD_ID_START, PartitionSpec
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.snapshots.refs import SnapshotRef
from floeberg.spec.snapshots.snapshot import SNAPSHOT_LOG, SnapshotLogEntry
from floeberg.spec.snapshots.snapshot_list import SnapshotList
from floeberg.spec.snapshots.statistics import (
    ENCRYPTION_KEYS,
    PARTITION_STATISTICS,
    STATISTICS,
    EncryptedKey,
    PartitionStatisticsFile,
    StatisticsFile,
)

DEFAULT_FORMAT_VERSION = 2
_UNSET_ID = -1


@dataclass(slots=True, kw_only=True)
class MetadataDraft:
    """The fields of the metadata to be, and what this list of updates added and removed."""

    now_ms: int
    format_version: int = DEFAULT_FORMAT_VERSION
    table_uuid: str | None = None
    location: str | None = None
    last_sequence_number: int = 0
    last_column_id: int = 0
    schemas: Documents[Schema] = field(default_factory=lambda: Documents(SCHEMAS))
    current_schema_id: int = _UNSET_ID
    partition_specs: Documents[PartitionSpec] = field(default_factory=lambda: Documents(PARTITION_SPECS))
    default_spec_id: int = _UNSET_ID
    last_partition_id: int = PARTITION_FIELD_ID_START - 1
    sort_orders: Documents[SortOrder] = field(default_factory=lambda: Documents(SORT_ORDERS))
    default_sort_order_id: int = _UNSET_ID
    properties: dict[str, str] = field(default_factory=dict)
    current_snapshot_id: int | None = None
    snapshots: SnapshotList = field(default_factory=SnapshotList)
    refs: dict[str, SnapshotRef] = field(default_factory=dict)
    snapshot_log: Documents[SnapshotLogEntry] = field(default_factory=lambda: Documents(SNAPSHOT_LOG))
    statistics: Documents[StatisticsFile] = field(default_factory=lambda: Documents(STATISTICS))
    partition_statistics: Documents[PartitionStatisticsFile] = field(
        default_factory=lambda: Documents(PARTITION_STATISTICS)
    )
    next_row_id: int = 0
    encryption_keys: Documents[EncryptedKey] = field(default_factory=lambda: Documents(ENCRYPTION_KEYS))

    is_new: bool = True
    changed: bool = False
    last_added_schema_id: int | None = None
    last_added_spec_id: int | None = None
    last_added_order_id: int | None = None
    added_snapshot_ids: set[int] = field(default_factory=set)
    removed_snapshot_ids: set[int] = field(default_factory=set)
    log_additions: list[SnapshotLogEntry] = field(default_factory=list)

    @classmethod
    def of(cls, base: TableMetadata, *, now_ms: int) -> Self:
        return cls(
            now_ms=now_ms,
            is_new=False,
            format_version=base.format_version,
            table_uuid=base.table_uuid,
            location=base.location,
            last_sequence_number=base.last_sequence_number,
            last_column_id=base.last_column_id,
            schemas=base.schemas,
            current_schema_id=base.current_schema_id,
            partition_specs=base.partition_specs,
            default_spec_id=base.default_spec_id,
            last_partition_id=base.last_partition_id,
            sort_orders=base.sort_orders,
            default_sort_order_id=base.default_sort_order_id,
            properties=dict(base.properties),
            current_snapshot_id=base.current_snapshot_id,
            snapshots=base.snapshots,
            refs=dict(base.refs),
            snapshot_log=base.snapshot_log,
            statistics=base.statistics,
            partition_statistics=base.partition_statistics,
            next_row_id=base.next_row_id,
            encryption_keys=base.encryption_keys,
        )

    def current_schema(self) -> Schema:
        """Raises InvalidInput as long as no schema is the current one."""
        for position, document in enumerate(self.schemas.documents):
            if document.get("schema-id", 0) == self.current_schema_id:
                return self.schemas.item(position)
        raise InvalidInput("the table has no current schema yet: add one and set it first")

    def require_version(self, least: int, what: str) -> None:
        if self.format_version < least:
            raise InvalidInput(
                f"{what} need format version {least}, the table has {self.format_version}: upgrade the table first"
            )
