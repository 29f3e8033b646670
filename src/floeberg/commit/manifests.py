"""The manifests that a commit writes: of added files, without removed files, or merged."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import structs

from floeberg.commit.merging import MergePolicy
from floeberg.commit.workspace import Workspace, encode_manifest
from floeberg.errors import InvalidInput, ValidationConflict
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.snapshots.manifest_entry import DataFile, EntryStatus, ManifestContent, ManifestEntry, ManifestFile

_SAMPLE: Final = 500
"""Entries that are written as a sample to estimate how many fill a manifest of the target size."""


def distinct_files(files: Iterable[DataFile], identifier: str) -> list[DataFile]:
    """The files, each once. Raises InvalidInput when one path is given for two different files."""
    found: dict[object, DataFile] = {}
    for file in files:
        known = found.setdefault(file.identity, file)
        if known != file:
            raise InvalidInput(
                f"table {identifier}: {file.file_path} is added twice, with different contents", file=file.file_path
            )
    return list(found.values())


def manifests_of_added(
    files: Sequence[DataFile],
    *,
    content: ManifestContent,
    metadata: TableMetadata,
    workspace: Workspace,
    snapshot_id: int,
    data_sequence_number: int | None,
) -> list[ManifestFile]:
    """Manifests for files that this commit adds, by spec and of about the target size. Sequence numbers and row ids are
    inherited: those that a file had in another table or snapshot do not count here. Raises ValidationConflict for files of
    a spec that another commit removed, which nobody could read."""
    for file in files:
        if file.spec_id not in metadata.specs_by_id:
            raise ValidationConflict(
                f"table {workspace.identifier}: {file.file_path} was written under partition spec {file.spec_id}, which the "
                "table does not have any more: another commit removed it (expire_snapshots, clean_expired_metadata). Run the "
                "operation again on the current state.",
                table=workspace.identifier,
                files=[file.file_path],
                retry_can_help=True,
            )
    by_spec: dict[int, list[ManifestEntry]] = {}
    for file in files:
        entry = ManifestEntry(
            status=EntryStatus.ADDED,
            snapshot_id=snapshot_id,
            data_sequence_number=data_sequence_number,
            data_file=file if file.first_row_id is None else structs.replace(file, first_row_id=None),
        )
        by_spec.setdefault(file.spec_id, []).append(entry)
    return [
        workspace.put_manifest(part, spec_id=spec_id, content=content, metadata=metadata, snapshot_id=snapshot_id)
        for spec_id, entries in by_spec.items()
        for part in _parts(entries, spec_id=spec_id, content=content, metadata=metadata, snapshot_id=snapshot_id)
    ]


def _parts(
    entries: Sequence[ManifestEntry],
    *,
    spec_id: int,
    content: ManifestContent,
    metadata: TableMetadata,
    snapshot_id: int,
) -> list[Sequence[ManifestEntry]]:
    """The entries in groups that fill a manifest each, estimated from a sample."""
    if len(entries) <= 2 * _SAMPLE:
        return [entries]
    sample = encode_manifest(
        entries[:_SAMPLE], spec_id=spec_id, content=content, metadata=metadata, snapshot_id=snapshot_id
    )
    target = MergePolicy.from_properties(metadata.properties).target_size_bytes
    most = max(_SAMPLE, target * _SAMPLE // len(sample.data))
    parts = -(-len(entries) // most)
    size = -(-len(entries) // parts)
    return [entries[start : start + size] for start in range(0, len(entries), size)]


def manifest_without(
    manifest: ManifestFile,
    live: Sequence[ManifestEntry],
    doomed: Sequence[ManifestEntry],
    *,
    metadata: TableMetadata,
    workspace: Workspace,
    snapshot_id: int,
) -> ManifestFile:
    """A rewritten manifest: some entries are marked deleted, the other live ones are kept as existing."""
    gone = {id(entry) for entry in doomed}
    entries = [
        structs.replace(entry, status=EntryStatus.DELETED, snapshot_id=snapshot_id)
        if id(entry) in gone
        else structs.replace(entry, status=EntryStatus.EXISTING)
        for entry in live
    ]
    return workspace.put_manifest(
        entries,
        spec_id=manifest.partition_spec_id,
        content=manifest.content,
        metadata=metadata,
        snapshot_id=snapshot_id,
    )


def merged_manifest(
    group: Sequence[ManifestFile], *, metadata: TableMetadata, workspace: Workspace, snapshot_id: int
) -> ManifestFile:
    """Several manifests merged into one. Entries that this snapshot deleted stay, older deleted entries are dropped."""
    entries: list[ManifestEntry] = []
    for manifest in group:
        for entry in workspace.entries(manifest, metadata):
            own = entry.snapshot_id == snapshot_id
            if entry.status is EntryStatus.DELETED:
                entries.extend([entry] if own else [])
            elif entry.status is EntryStatus.ADDED and own:
                entries.append(entry)
            else:
                entries.append(structs.replace(entry, status=EntryStatus.EXISTING))
    return workspace.put_manifest(
        entries,
        spec_id=group[0].partition_spec_id,
        content=group[0].content,
        metadata=metadata,
        snapshot_id=snapshot_id,
    )
