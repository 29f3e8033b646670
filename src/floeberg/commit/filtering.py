"""Taking files out of manifests: a manifest that holds one is written anew with the entry marked deleted, the others are
kept as they are."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from floeberg.commit.matching import FileMatcher
from floeberg.commit.workspace import Workspace
from floeberg.errors import InvalidInput, ValidationConflict
from floeberg.expr.nodes import Expression
from floeberg.spec.data_file import DataFile, EntryStatus, FileContent, ManifestEntry, ManifestFile
from floeberg.spec.metadata import TableMetadata

FileIdentity = tuple[str, int | None]
PartitionKey = tuple[int, tuple[object, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Removal:
    """What to take out: files by identity, whole partitions, or every file whose rows all match an expression."""

    files: frozenset[FileIdentity] = frozenset()
    partitions: frozenset[PartitionKey] = frozenset()
    row_filter: Expression | None = None
    missing_is_error: bool = True
    """Whether a file of `files` that is not there is a conflict."""
    older_than_sequence_number: int = 0
    """Delete files with a lower data sequence number apply to nothing any more and go too."""
    dangling_for: frozenset[str] = frozenset()
    """Deletion vectors of these data files go with them."""

    @property
    def is_empty(self) -> bool:
        return not (self.files or self.partitions or self.dangling_for) and self.row_filter is None


@dataclass(slots=True)
class Filtered:
    """Manifests after a removal, the files that it removed, and how many entries were looked at."""

    manifests: list[ManifestFile] = field(default_factory=list)
    removed: list[DataFile] = field(default_factory=list)
    replaced: int = 0
    entries_processed: int = 0
    duplicates: int = 0


def filter_manifests(
    manifests: Sequence[ManifestFile],
    removal: Removal,
    *,
    metadata: TableMetadata,
    workspace: Workspace,
    snapshot_id: int,
) -> Filtered:
    """Applies a removal. Raises ValidationConflict when a named file is not there (someone else removed it), and
    InvalidInput when only some rows of a file match the row filter."""
    result = Filtered()
    matcher = None if removal.row_filter is None else FileMatcher(metadata, removal.row_filter)
    found: set[FileIdentity] = set()
    for manifest in manifests:
        if not manifest.may_have_live_files:
            result.replaced += 1
            continue
        if not _may_contain(manifest, removal, matcher):
            result.manifests.append(manifest)
            continue
        entries = workspace.entries(manifest, metadata)
        result.entries_processed += len(entries)
        live = [entry for entry in entries if entry.status is not EntryStatus.DELETED]
        doomed = [entry for entry in live if _is_doomed(entry, removal, matcher, workspace.identifier)]
        if not doomed:
            result.manifests.append(manifest)
            continue
        for entry in doomed:
            if entry.data_file.identity in found:
                result.duplicates += 1
            found.add(entry.data_file.identity)
            result.removed.append(entry.data_file)
        result.manifests.append(
            workspace.rewritten_without(manifest, live, doomed, metadata=metadata, snapshot_id=snapshot_id)
        )
        result.replaced += 1
    if removal.missing_is_error and (missing := removal.files - found):
        raise _missing(workspace, missing)
    return result


def _may_contain(manifest: ManifestFile, removal: Removal, matcher: FileMatcher | None) -> bool:
    if removal.files or matcher is not None or removal.dangling_for:
        return True
    if removal.older_than_sequence_number and manifest.min_sequence_number < removal.older_than_sequence_number:
        return True
    return any(spec_id == manifest.partition_spec_id for spec_id, _ in removal.partitions)


def _is_doomed(entry: ManifestEntry, removal: Removal, matcher: FileMatcher | None, identifier: str) -> bool:
    file = entry.data_file
    if file.identity in removal.files or (file.spec_id, file.partition) in removal.partitions:
        return True
    if file.content is not FileContent.DATA:
        sequence_number = entry.data_sequence_number or 0
        if sequence_number and sequence_number < removal.older_than_sequence_number:
            return True
        if file.is_deletion_vector and file.referenced_data_file in removal.dangling_for:
            return True
    if matcher is None or not matcher.may_match(file):
        return False
    if matcher.must_match(file):
        return True
    if file.content is not FileContent.DATA:
        return False  # deletes of rows that stay must stay
    raise InvalidInput(
        f"table {identifier}: cannot remove {file.file_path} by filter, because some but not all of its rows may match; "
        "delete rows instead, or give a filter on whole partitions",
        table=identifier,
        file=file.file_path,
    )


def _missing(workspace: Workspace, missing: Collection[FileIdentity]) -> ValidationConflict:
    paths = sorted(path for path, _ in missing)
    return ValidationConflict(
        f"table {workspace.identifier}: files to be removed are not in the table any more: {', '.join(paths[:5])}"
        f"{' …' if len(paths) > 5 else ''}. Another commit removed them; run the operation again on the current state.",
        table=workspace.identifier,
        files=paths,
        retry_can_help=True,
    )
