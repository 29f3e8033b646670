"""The validations that row-level and replacing operations share. Each raises ValidationConflict that names the
conflicting snapshot and files and says whether running the operation again can help.

They look at what was committed since the operation was *planned*, never only since the last attempt: a file that was
compacted or deleted in between must be seen whatever the retries. Snapshots of `replace` (compaction) change no rows:
they conflict with operations that name files, not with those that read rows.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import groupby

from floeberg.commit.delete_scope import DeleteScope, single_referenced_path
from floeberg.commit.history import APPEND, DELETE, OVERWRITE, REPLACE, ConcurrentChanges
from floeberg.commit.matching import FileMatcher
from floeberg.commit.partitions import PartitionSet
from floeberg.errors import ValidationConflict
from floeberg.spec.snapshots.manifest_entry import DataFile, FileContent, ManifestContent, ManifestEntry
from floeberg.spec.snapshots.snapshot import Snapshot

FileTest = Callable[[DataFile], bool]
Changed = Iterator[tuple[Snapshot, ManifestEntry]]
SHOWN_FILES = 5


def no_added_data_files(changes: ConcurrentChanges, test: FileTest, *, what: str) -> None:
    """No concurrent commit added data that the operation would have read."""
    added = changes.added(ManifestContent.DATA, (APPEND, OVERWRITE))
    _refuse(changes, added, test, f"added data files that {what} must take into account")


def no_added_delete_files(changes: ConcurrentChanges, test: FileTest, *, what: str) -> None:
    """No concurrent commit added delete files of the operation's range."""
    added = changes.added(ManifestContent.DELETES, (OVERWRITE, DELETE))
    _refuse(changes, added, test, f"deleted rows that {what} must take into account")


def no_removed_data_files(changes: ConcurrentChanges, test: FileTest, *, what: str) -> None:
    """No concurrent commit removed data files with rows that the operation read."""
    removed = changes.removed(ManifestContent.DATA, (OVERWRITE, DELETE))
    _refuse(changes, removed, test, f"removed data files that {what} read")


def no_rows_deleted(changes: ConcurrentChanges, matcher: FileMatcher, *, what: str) -> None:
    """No concurrent commit deleted rows that the operation read. The metrics of the data file tell which rows its position
    deletes may have deleted: the delete file itself does not."""
    for snapshot, entry in changes.added(ManifestContent.DELETES, (OVERWRITE, DELETE)):
        deletes = entry.data_file
        path = single_referenced_path(deletes) if deletes.content is FileContent.POSITION_DELETES else None
        hit = matcher.may_match(deletes) and (path is None or _may_match(changes, snapshot, matcher, path))
        if hit:
            raise _conflict(changes, snapshot, [deletes], f"deleted rows that {what} must take into account")
    no_removed_data_files(changes, matcher.may_match, what=what)


def _may_match(changes: ConcurrentChanges, snapshot: Snapshot, matcher: FileMatcher, path: str) -> bool:
    """Whether a data file of a snapshot may hold rows that match."""
    manifests = [
        manifest
        for manifest in changes.workspace.manifests(snapshot, changes.metadata)
        if manifest.content is ManifestContent.DATA and matcher.may_be_in(manifest)
    ]
    found = changes.workspace.find(manifests, changes.metadata, column="file_path", values=[path])
    return any(matcher.may_match(entry.data_file) for entry in found)


def data_files_exist(changes: ConcurrentChanges, test: FileTest, *, what: str) -> None:
    """Every data file that the operation refers to is still there. New deletes of a removed file would have no effect, and an
    UPDATE would leave the old row beside the new one."""
    removed = changes.removed(ManifestContent.DATA, (OVERWRITE, REPLACE, DELETE))
    _refuse(changes, removed, test, f"removed data files that {what}")


def no_new_deletes_for(
    changes: ConcurrentChanges,
    files: Collection[DataFile],
    *,
    ignore_equality_deletes: bool,
    ignore_position_deletes: bool = False,
) -> None:
    """No concurrent commit deleted rows of files that the operation replaces: the rows would reappear.

    Equality deletes may be ignored by a rewrite that keeps its starting sequence number, where they still apply
    (`equality_deletes_reach_the_same_rows`), and position deletes by one that carries them over to its new files.
    """
    if not files:
        return
    paths = {file.file_path for file in files}
    partitions = PartitionSet.of(files)

    def hits(deletes: DataFile) -> bool:
        if deletes.content is FileContent.EQUALITY_DELETES:
            return not ignore_equality_deletes and _equality_deletes_reach(changes, deletes, partitions)
        if ignore_position_deletes:
            return False
        single = single_referenced_path(deletes)
        return partitions.holds(deletes) if single is None else single in paths

    added = changes.added(ManifestContent.DELETES, (OVERWRITE, DELETE))
    _refuse(changes, added, hits, "deleted rows of data files that this operation replaces")


def equality_deletes_reach_the_same_rows(
    changes: ConcurrentChanges, removed: Collection[DataFile], added: Collection[DataFile]
) -> None:
    """No concurrent commit added equality deletes that reach other rows in the new files than in the removed ones, whose
    sequence number the new files keep. An equality delete reaches only files of its own spec and partition, unless its
    spec has no fields: rows that leave its reach would come back to life, and rows that enter it would be lost."""
    if not added:
        return
    before, after = PartitionSet.of(removed), PartitionSet.of(added)
    one_spec = len({file.spec_id for file in (*removed, *added)}) == 1

    def hits(deletes: DataFile) -> bool:
        if (
            deletes.content is not FileContent.EQUALITY_DELETES
            or changes.metadata.spec(deletes.spec_id).is_unpartitioned
        ):
            return False
        reached, reaches = before.holds(deletes), after.holds(deletes)
        # Under one spec the rows of a partition stay in it, because their values decide it.
        return reached != reaches if one_spec else reached or reaches

    added_deletes = changes.added(ManifestContent.DELETES, (OVERWRITE, DELETE))
    _refuse(changes, added_deletes, hits, "deleted rows by keys that this rewrite moves to another partition spec")


def no_concurrent_deletes_on(
    changes: ConcurrentChanges, scope: DeleteScope, matcher: FileMatcher, *, what: str
) -> None:
    """No concurrent commit deleted rows of the same data files, whatever the isolation: two changes of one row must not
    both go through. Equality deletes count where they may reach those files and rows."""
    if not scope:
        return

    def hits(other: DataFile) -> bool:
        if other.content is FileContent.EQUALITY_DELETES:
            return _equality_deletes_reach(changes, other, scope.partitions) and matcher.may_match(other)
        return scope.may_overlap(other)

    added = changes.added(ManifestContent.DELETES, (OVERWRITE, DELETE))
    _refuse(changes, added, hits, f"deleted rows of data files that {what} also deletes rows of")


def no_concurrent_deletion_vectors(changes: ConcurrentChanges, deletes: Iterable[DataFile]) -> None:
    """A data file has at most one deletion vector, so two commits must not both add one for it."""
    paths = {file.referenced_data_file for file in deletes if file.is_deletion_vector}
    if paths:
        added = changes.added(ManifestContent.DELETES, (OVERWRITE, DELETE, REPLACE))
        test: FileTest = lambda other: other.is_deletion_vector and other.referenced_data_file in paths  # noqa: E731
        _refuse(changes, added, test, "added deletion vectors for the same data files")


def rows_keep_their_ids(changes: ConcurrentChanges, starting_snapshot_id: int | None) -> None:
    """Rows that the operation moves to new files had no row ids when it read them, and were given none since (the table
    was upgraded to v3 meanwhile): the new files would give them others. https://iceberg.apache.org/spec/#row-lineage"""
    start = None if starting_snapshot_id is None else changes.metadata.find_snapshot(starting_snapshot_id)
    if start is None or start.first_row_id is not None:
        return
    for snapshot in changes.snapshots:
        if snapshot.first_row_id is not None:
            raise _conflict(changes, snapshot, [], "gave row ids to rows that this operation writes anew without them")


def _equality_deletes_reach(changes: ConcurrentChanges, deletes: DataFile, partitions: PartitionSet) -> bool:
    """https://iceberg.apache.org/spec/#scan-planning: of their own partition, or everywhere when it has none."""
    return partitions.holds(deletes) or changes.metadata.spec(deletes.spec_id).is_unpartitioned


def _refuse(changes: ConcurrentChanges, changed: Changed, test: FileTest, did: str) -> None:
    """Raises for the first snapshot with files that the test hits, naming all of them."""
    hits = ((snapshot, entry.data_file) for snapshot, entry in changed if test(entry.data_file))
    for _, group in groupby(hits, key=lambda pair: pair[0].snapshot_id):
        found = list(group)
        raise _conflict(changes, found[0][0], [file for _, file in found], did)


def _conflict(changes: ConcurrentChanges, snapshot: Snapshot, files: list[DataFile], did: str) -> ValidationConflict:
    shown = ", ".join(file.file_path for file in files[:SHOWN_FILES]) + (" …" if len(files) > SHOWN_FILES else "")
    identifier = changes.workspace.identifier
    return ValidationConflict(
        f"table {identifier}: snapshot {snapshot.snapshot_id} ({snapshot.operation}), committed meanwhile, {did}"
        f"{': ' if files else ''}{shown}. "
        "Run the operation again on the current state.",
        table=identifier,
        snapshot_id=snapshot.snapshot_id,
        files=[file.file_path for file in files],
        retry_can_help=True,
    )
