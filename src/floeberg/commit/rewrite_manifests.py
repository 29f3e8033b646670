"""Rewrites manifests: the same entries, regrouped so that planning reads fewer and better-clustered manifests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec import structs

from floeberg.commit.history import REPLACE
from floeberg.commit.operation import SnapshotTarget
from floeberg.commit.producer import branch_head, snapshot_updates
from floeberg.commit.snapshot_writer import write_snapshot
from floeberg.commit.workspace import Workspace
from floeberg.errors import ValidationConflict
from floeberg.spec.changes.updates import MetadataUpdate
from floeberg.spec.metadata.partition_types import partition_type_of
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.snapshots.manifest_entry import EntryStatus, ManifestContent, ManifestEntry, ManifestFile
from floeberg.spec.values.single_value import sort_key


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RewriteManifests:
    """Rewrites the manifests that `choose` picks (all by default), clustered by partition, in manifests of about
    `target_size_bytes`. Each attempt works on the manifests that are current then. The only manifest of its spec and
    content is left alone."""

    choose: Callable[[ManifestFile], bool] = lambda manifest: True
    sort_by: Sequence[int] | None = None
    """Partition fields by position, the first to cluster by first; all of them in their order by default."""
    target_size_bytes: int = 8 * 1024 * 1024
    target: SnapshotTarget = SnapshotTarget()

    def updates(self, base: TableMetadata, workspace: Workspace) -> list[MetadataUpdate]:
        parent = branch_head(base, self.target.branch, workspace)
        if parent is None:
            return []
        snapshot_id = workspace.snapshot_id(self, base)
        before = workspace.manifests(parent, base)
        groups = _groups([manifest for manifest in before if self.choose(manifest)])
        chosen = [
            manifest
            for group in groups
            if len(group) > 1 or not group[0].may_have_live_files  # one manifest is as good as it gets
            for manifest in group
        ]
        if not chosen:
            return []
        picked = {manifest.manifest_path for manifest in chosen}
        kept = [manifest for manifest in before if manifest.manifest_path not in picked]
        created: list[ManifestFile] = []
        processed = 0
        for group in _groups(chosen):
            entries = [
                structs.replace(entry, status=EntryStatus.EXISTING)
                for manifest in group
                for entry in workspace.live_entries(manifest, base)
            ]
            processed += len(entries)
            created += self._write(group, entries, base=base, workspace=workspace, snapshot_id=snapshot_id)
        after = [*created, *kept]
        _same_live_files(before, after, workspace)
        data = [manifest for manifest in after if manifest.content is ManifestContent.DATA]
        deletes = [manifest for manifest in after if manifest.content is ManifestContent.DELETES]
        totals = {key: value for key, value in parent.summary.items() if key.startswith("total-")}
        snapshot = write_snapshot(
            base,
            workspace,
            snapshot_id=snapshot_id,
            parent=parent,
            manifests=[*data, *deletes],
            operation=REPLACE,
            summary={
                "manifests-created": str(len(created)),
                "manifests-kept": str(len(kept)),
                "manifests-replaced": str(len(chosen)),
                "entries-processed": str(processed),
                **totals,
                **workspace.engine_summary,
                **self.target.summary,
            },
        )
        return snapshot_updates(base, snapshot, self.target)

    def _write(
        self,
        group: Sequence[ManifestFile],
        entries: list[ManifestEntry],
        *,
        base: TableMetadata,
        workspace: Workspace,
        snapshot_id: int,
    ) -> list[ManifestFile]:
        if not entries:
            return []
        spec_id = group[0].partition_spec_id
        types = [field.type for field in partition_type_of(base, spec_id).fields]
        order = range(len(types)) if self.sort_by is None else self.sort_by

        def key(entry: ManifestEntry) -> tuple[tuple[bool, Any], ...]:
            values = entry.data_file.partition
            return tuple(
                (values[at] is not None, sort_key(types[at], values[at]) if values[at] is not None else None)
                for at in order
            )

        entries.sort(key=key)
        bytes_per_entry = max(1, sum(manifest.manifest_length for manifest in group) // max(1, len(entries)))
        size = max(1, self.target_size_bytes // bytes_per_entry)
        return [
            workspace.put_manifest(
                entries[start : start + size],
                spec_id=spec_id,
                content=group[0].content,
                metadata=base,
                snapshot_id=snapshot_id,
            )
            for start in range(0, len(entries), size)
        ]


def _groups(manifests: Sequence[ManifestFile]) -> list[list[ManifestFile]]:
    groups: dict[tuple[int, int], list[ManifestFile]] = {}
    for manifest in manifests:
        groups.setdefault((manifest.partition_spec_id, manifest.content), []).append(manifest)
    return list(groups.values())


def _same_live_files(before: Sequence[ManifestFile], after: Sequence[ManifestFile], workspace: Workspace) -> None:
    """A last safeguard: the number of live files must not change."""

    def live(manifests: Sequence[ManifestFile]) -> int:
        return sum((m.added_files_count or 0) + (m.existing_files_count or 0) for m in manifests)

    if any(m.added_files_count is None or m.existing_files_count is None for m in before):
        return  # v1 manifest lists may leave the counts out
    if live(before) != live(after):
        raise ValidationConflict(
            f"table {workspace.identifier}: rewriting manifests would change the live files from {live(before)} to "
            f"{live(after)}; nothing was changed",
            table=workspace.identifier,
            retry_can_help=False,
        )
