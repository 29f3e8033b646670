"""Expires snapshots: which ones, in one commit, and then the files that only they reached.
https://iceberg.apache.org/spec/#snapshot-retention-policy"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Final

from floeberg.commit.commit import commit_operations
from floeberg.commit.pointer import TablePointer, TableState
from floeberg.commit.workspace import Workspace
from floeberg.errors import InvalidInput
from floeberg.maintenance.reachable import Deleted, delete_unreachable
from floeberg.spec.changes.updates import (
    MetadataUpdate,
    RemovePartitionSpecs,
    RemovePartitionStatistics,
    RemoveSchemas,
    RemoveSnapshotRef,
    RemoveSnapshots,
    RemoveStatistics,
)
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.metadata.table_properties import integer_property
from floeberg.spec.snapshots.manifest_entry import ManifestContent, ManifestFile
from floeberg.spec.snapshots.refs import MAIN_BRANCH, SnapshotRef

MAX_SNAPSHOT_AGE: Final = "history.expire.max-snapshot-age-ms"
MAX_SNAPSHOT_AGE_DEFAULT: Final = 5 * 24 * 60 * 60 * 1000
MIN_SNAPSHOTS: Final = "history.expire.min-snapshots-to-keep"
MAX_REF_AGE: Final = "history.expire.max-ref-age-ms"
MAX_REF_AGE_DEFAULT: Final = 2**63 - 1
GC_ENABLED: Final = "gc.enabled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Expiry:
    """What to expire: snapshots older than a time except the last few of each branch, and named snapshots. Settings that are
    None come from the table's properties; a branch's own settings take precedence over both."""

    older_than_ms: int | None = None
    retain_last: int | None = None
    snapshot_ids: Collection[int] = ()
    clean_expired_metadata: bool = False

    def __post_init__(self) -> None:
        if self.retain_last is not None and self.retain_last < 1:
            raise InvalidInput(f"at least one snapshot is retained, not {self.retain_last}")


@dataclass(frozen=True, slots=True)
class Expired:
    """The table after an expiry, the expired snapshots, and the deleted files."""

    state: TableState
    snapshot_ids: tuple[int, ...]
    deleted: Deleted


@dataclass(slots=True, kw_only=True, eq=False)
class ExpireSnapshots:
    """The operation. Each attempt decides on the current metadata; `expired_from` is the state of the last attempt."""

    expiry: Expiry
    now_ms: int
    expired_from: TableMetadata | None = field(default=None, init=False)

    def updates(self, base: TableMetadata, workspace: Workspace) -> list[MetadataUpdate]:
        self.expired_from = base
        refs = _retained_refs(base, now_ms=self.now_ms)
        retained = _retained_ids(base, refs, self.expiry, now_ms=self.now_ms)
        retained -= _named(base, refs, self.expiry.snapshot_ids, workspace)
        gone = tuple(one.snapshot_id for one in base.snapshots if one.snapshot_id not in retained)
        updates: list[MetadataUpdate] = [RemoveSnapshotRef(name) for name in base.refs if name not in refs]
        if gone:
            updates += _statistics_updates(base, {*gone})
            updates.append(RemoveSnapshots(gone))
        if self.expiry.clean_expired_metadata:
            updates += _definition_updates(base, retained, workspace)
        return updates


def expire_snapshots(pointer: TablePointer, state: TableState, expiry: Expiry, *, delete_files: bool = True) -> Expired:
    """Expires snapshots and deletes the files that no snapshot reaches any more.

    Raises InvalidInput when gc.enabled is false (other tables may use the files), or when a named snapshot is the head of
    a branch or tag. Files are deleted only after the commit, and none when its outcome is unknown.
    """
    if state.metadata.properties.get(GC_ENABLED, "true").lower() == "false":
        raise InvalidInput(
            f"table {state.identifier}: gc.enabled is false, other tables may use its files; snapshots are not expired",
            table=state.identifier,
        )
    operation = ExpireSnapshots(expiry=expiry, now_ms=pointer.effects.clock.now_ms())
    committed = commit_operations(pointer, state, [operation])
    before = operation.expired_from
    after = committed.state.metadata
    assert before is not None
    gone = tuple(one.snapshot_id for one in before.snapshots if not after.snapshots.has_id(one.snapshot_id))
    deleted = Deleted()
    if gone and delete_files:
        deleted = delete_unreachable(pointer, before=before, after=after)
    return Expired(committed.state, gone, deleted)


def expired_ids(base: TableMetadata, expiry: Expiry, *, now_ms: int) -> tuple[int, ...]:
    """The snapshots that an expiry would expire by their age and number."""
    retained = _retained_ids(base, _retained_refs(base, now_ms=now_ms), expiry, now_ms=now_ms)
    return tuple(one.snapshot_id for one in base.snapshots if one.snapshot_id not in retained)


def _retained_refs(base: TableMetadata, *, now_ms: int) -> dict[str, SnapshotRef]:
    """`main`, and references whose head is not older than their maximum age."""
    default = integer_property(base.properties, MAX_REF_AGE, MAX_REF_AGE_DEFAULT)
    kept: dict[str, SnapshotRef] = {}
    for name, ref in base.refs.items():
        head = base.find_snapshot(ref.snapshot_id)
        oldest = default if ref.max_ref_age_ms is None else ref.max_ref_age_ms
        if name == MAIN_BRANCH or (head is not None and now_ms - head.timestamp_ms <= oldest):
            kept[name] = ref
    return kept


def _retained_ids(base: TableMetadata, refs: dict[str, SnapshotRef], expiry: Expiry, *, now_ms: int) -> set[int]:
    """Snapshot retention: of each branch the last min-snapshots-to-keep snapshots and those no older than
    max-snapshot-age-ms, the heads of references, and young snapshots of no branch.
    https://iceberg.apache.org/spec/#snapshot-retention-policy"""
    age = integer_property(base.properties, MAX_SNAPSHOT_AGE, MAX_SNAPSHOT_AGE_DEFAULT)
    older_than_ms = now_ms - age if expiry.older_than_ms is None else expiry.older_than_ms
    least = expiry.retain_last or integer_property(base.properties, MIN_SNAPSHOTS, 1)
    retained = {ref.snapshot_id for ref in refs.values()}
    referenced: set[int] = set()
    for ref in refs.values():
        if ref.is_tag:
            referenced.add(ref.snapshot_id)
            continue
        limit = older_than_ms if ref.max_snapshot_age_ms is None else now_ms - ref.max_snapshot_age_ms
        wanted = least if ref.min_snapshots_to_keep is None else ref.min_snapshots_to_keep
        kept, ended = 0, False
        for ancestor in base.ancestors(ref.snapshot_id):
            referenced.add(ancestor.snapshot_id)
            ended = ended or not (kept < wanted or ancestor.timestamp_ms >= limit)
            if not ended:
                retained.add(ancestor.snapshot_id)
                kept += 1
    for snapshot in base.snapshots:
        if snapshot.snapshot_id not in referenced and snapshot.timestamp_ms >= older_than_ms:
            retained.add(snapshot.snapshot_id)
    return retained


def _named(
    base: TableMetadata, refs: dict[str, SnapshotRef], snapshot_ids: Collection[int], workspace: Workspace
) -> set[int]:
    """Raises InvalidInput when a named snapshot is the head of a reference that stays."""
    heads = {ref.snapshot_id: name for name, ref in refs.items()}
    for snapshot_id in snapshot_ids:
        if snapshot_id in heads:
            raise InvalidInput(
                f"table {workspace.identifier}: snapshot {snapshot_id} cannot be expired, {heads[snapshot_id]} refers to it",
                table=workspace.identifier,
                snapshot_id=snapshot_id,
            )
    return {snapshot_id for snapshot_id in snapshot_ids if base.find_snapshot(snapshot_id) is not None}


def _statistics_updates(base: TableMetadata, gone: set[int]) -> list[MetadataUpdate]:
    return [
        *(RemoveStatistics(file.snapshot_id) for file in base.statistics if file.snapshot_id in gone),
        *(
            RemovePartitionStatistics(file.snapshot_id)
            for file in base.partition_statistics
            if file.snapshot_id in gone
        ),
    ]


def _definition_updates(base: TableMetadata, retained: set[int], workspace: Workspace) -> list[MetadataUpdate]:
    """Schemas and specs that no retained snapshot was written with or needs. The last of each stays, so that its id is
    never given again: files that were written under it, or are about to be committed, would be taken for those of another."""
    specs = {base.default_spec_id, max(spec.spec_id for spec in base.partition_specs)}
    schemas = {base.current_schema_id, max(schema.schema_id for schema in base.schemas)}
    manifests: dict[str, ManifestFile] = {}
    for snapshot in base.snapshots:
        if snapshot.snapshot_id not in retained:
            continue
        if snapshot.schema_id is not None:
            schemas.add(snapshot.schema_id)
        manifests |= {manifest.manifest_path: manifest for manifest in workspace.manifests(snapshot, base)}
    used = {manifest.partition_spec_id for manifest in manifests.values()}
    # A writer that began when a later spec was the default, or any spec of a table without files, may be about to commit. One
    # that began under an earlier spec mostly finds the table changed and plans again; only where its branch did not change, or
    # the default went back and forth, may a server take its commit unseen.
    specs |= used | {spec.spec_id for spec in base.partition_specs if spec.spec_id > max(used, default=-1)}
    schemas |= _schemas_of_dropped_columns(base, schemas, specs, manifests.values(), workspace)
    updates: list[MetadataUpdate] = []
    if unused := tuple(spec.spec_id for spec in base.partition_specs if spec.spec_id not in specs):
        updates.append(RemovePartitionSpecs(unused))
    if old := tuple(one.schema_id for one in base.schemas if one.schema_id not in schemas):
        updates.append(RemoveSchemas(old))
    return updates


def _schemas_of_dropped_columns(
    base: TableMetadata, kept: set[int], specs: set[int], manifests: Iterable[ManifestFile], workspace: Workspace
) -> set[int]:
    """The newest schema of each column that only schemas beside the kept ones have, and that says how live files are read: a
    key of equality deletes, or the source of a partition field."""
    there = {field_id for schema in base.schemas if schema.schema_id in kept for field_id in schema.by_id}
    newest: dict[int, int] = {}
    for schema in sorted(base.schemas, key=lambda known: known.schema_id):
        newest |= dict.fromkeys(schema.by_id.keys() - there, schema.schema_id)
    if not newest:
        return set()
    wanted = {source_id for spec_id in specs for field in base.spec(spec_id).fields for source_id in field.source_ids}
    for manifest in manifests:
        if manifest.content is ManifestContent.DELETES:
            for entry in workspace.live_entries(manifest, base):
                wanted.update(entry.data_file.equality_ids or ())
    return {schema_id for field_id, schema_id in newest.items() if field_id in wanted}
