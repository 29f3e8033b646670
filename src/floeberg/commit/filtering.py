"""Removes files from manifests: a manifest that holds one is rewritten with the entry marked deleted, the others are kept as
they are."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from floeberg.commit.manifests import manifest_without
from floeberg.commit.matching import FileMatcher
from floeberg.commit.partitions import PartitionSet
from floeberg.commit.workspace import Workspace
from floeberg.errors import InvalidInput, ValidationConflict
from floeberg.expr.nodes import Expression
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.snapshots.manifest_entry import DataFile, FileContent, ManifestEntry, ManifestFile

FileIdentity = tuple[str, int | None]
SHOWN_FILES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Removal:
    """What to remove: files by identity, whole partitions, or every file whose rows all match an expression."""

    files: frozenset[FileIdentity] = frozenset()
    file_partitions: PartitionSet = PartitionSet()
    """The partitions of `files`, so that other manifests are not read."""
    partitions: PartitionSet = PartitionSet()
    row_filter: Expression | None = None
    missing_is_error: bool = True
    """Whether a file of `files` that is not there is a conflict."""
    refuse_all: bool = False
    """Whether finding anything to remove is a conflict (an overwrite that must only append)."""
    older_than_sequence_number: int = 0
    """Delete files with a lower data sequence number apply to nothing any more and are removed too."""
    dangling_for: frozenset[str] = frozenset()
    """Deletion vectors of these data files are removed with them."""

    @classmethod
    def of(
        cls, files: Iterable[DataFile], *, row_filter: Expression | None = None, missing_is_error: bool = True
    ) -> Removal:
        given = list(files)
        return cls(
            files=frozenset(file.identity for file in given),
            file_partitions=PartitionSet.of(given),
            row_filter=row_filter,
            missing_is_error=missing_is_error,
        )

    @property
    def is_empty(self) -> bool:
        return not (self.files or self.partitions or self.dangling_for) and self.row_filter is None


@dataclass(slots=True)
class FilteredManifests:
    """The manifests after a removal, the files that it removed (each once), and counts for the summary."""

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
) -> FilteredManifests:
    """Applies a removal. Manifests without live files are left out. Raises ValidationConflict when a named file is not there
    (another commit removed it), and InvalidInput when only some rows of a file match the row filter."""
    result = FilteredManifests()
    matcher = None if removal.row_filter is None else FileMatcher(metadata, removal.row_filter)
    found: set[FileIdentity] = set()
    for manifest in manifests:
        if not manifest.may_have_live_files:
            continue
        if not _may_contain(manifest, removal, matcher, metadata):
            result.manifests.append(manifest)
            continue
        live = workspace.live_entries(manifest, metadata)
        result.entries_processed += len(live)
        doomed = [entry for entry in live if _is_doomed(entry, removal, matcher, workspace.identifier)]
        if not doomed:
            result.manifests.append(manifest)
            continue
        if removal.refuse_all:
            raise _not_empty(workspace, [entry.data_file.file_path for entry in doomed])
        for entry in doomed:
            if entry.data_file.identity in found:
                result.duplicates += 1
                continue
            found.add(entry.data_file.identity)
            result.removed.append(entry.data_file)
        result.manifests.append(
            manifest_without(manifest, live, doomed, metadata=metadata, workspace=workspace, snapshot_id=snapshot_id)
        )
        result.replaced += 1
    if removal.missing_is_error and (missing := removal.files - found):
        raise _missing(workspace, missing)
    return result


def _may_contain(
    manifest: ManifestFile, removal: Removal, matcher: FileMatcher | None, metadata: TableMetadata
) -> bool:
    """Obsolete delete files alone are no reason to read a manifest: they are removed when it is read for another reason."""
    if removal.dangling_for:
        return True
    if removal.files and removal.file_partitions.may_be_in(manifest, metadata):
        return True
    if removal.partitions and removal.partitions.may_be_in(manifest, metadata):
        return True
    return matcher is not None and matcher.may_be_in(manifest)


def _is_doomed(entry: ManifestEntry, removal: Removal, matcher: FileMatcher | None, identifier: str) -> bool:
    file = entry.data_file
    if file.identity in removal.files or (removal.partitions and removal.partitions.holds(file)):
        return True
    if file.content is not FileContent.DATA:
        sequence_number = entry.data_sequence_number or 0
        if 0 < sequence_number < removal.older_than_sequence_number:
            return True
        if file.is_deletion_vector and file.referenced_data_file in removal.dangling_for:
            return True
    if matcher is None or not matcher.may_match(file):
        return False
    if matcher.must_match(file):
        return True
    if file.content is not FileContent.DATA:
        return False  # deletes of rows that are not removed must be kept
    raise InvalidInput(
        f"table {identifier}: cannot remove {file.file_path} by filter, because some but not all of its rows may match; "
        "delete rows instead, or give a filter on whole partitions",
        table=identifier,
        file=file.file_path,
    )


def _missing(workspace: Workspace, missing: Collection[FileIdentity]) -> ValidationConflict:
    paths = sorted(path for path, _ in missing)
    return ValidationConflict(
        f"table {workspace.identifier}: files to be removed are not in the table any more: {_shown(paths)}. Another commit "
        "removed them; run the operation again on the current state.",
        table=workspace.identifier,
        files=paths,
        retry_can_help=True,
    )


def _not_empty(workspace: Workspace, paths: list[str]) -> ValidationConflict:
    return ValidationConflict(
        f"table {workspace.identifier}: the partitions to be written are not empty: {_shown(sorted(paths))}. Overwrite them "
        "without append_only, or write other partitions.",
        table=workspace.identifier,
        files=sorted(paths),
        retry_can_help=False,
    )


def _shown(paths: Sequence[str]) -> str:
    return f"{', '.join(paths[:SHOWN_FILES])}{' …' if len(paths) > SHOWN_FILES else ''}"
