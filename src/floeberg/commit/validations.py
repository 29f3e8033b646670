"""The validations that row-level and replacing operations share. Each raises ValidationConflict that names the
conflicting snapshot and files and says whether running the operation again can help.

They look at what was committed since the operation was *planned*, never only since the last attempt: a file that was
compacted or deleted in between must be seen whatever the retries.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from floeberg.commit.history import APPEND, DELETE, OVERWRITE, REPLACE, ConcurrentChanges
from floeberg.commit.matching import FileMatcher
from floeberg.errors import InvalidInput, ValidationConflict
from floeberg.expr.nodes import Expression
from floeberg.spec.data_file import DataFile, FileContent, ManifestContent
from floeberg.spec.metadata import TableMetadata
from floeberg.spec.snapshots import Snapshot

FileTest = Callable[[DataFile], bool]
PartitionKey = tuple[int, tuple[object, ...]]
SHOWN_FILES = 5


def matching_filter(metadata: TableMetadata, expression: Expression) -> FileTest:
    """Tests whether a file may hold rows of the expression."""
    return FileMatcher(metadata, expression).may_match


def matching_partitions(partitions: Collection[PartitionKey]) -> FileTest:
    """Tests whether a file lies in one of these (spec id, partition) pairs."""
    return lambda file: (file.spec_id, file.partition) in partitions


def no_added_data_files(changes: ConcurrentChanges, test: FileTest, *, what: str) -> None:
    """No concurrent commit added data that the operation would have had to look at."""
    for snapshot, entry in changes.added(ManifestContent.DATA, (APPEND, OVERWRITE)):
        if test(entry.data_file):
            raise _conflict(
                changes, snapshot, [entry.data_file], f"added a data file that {what} must take into account"
            )


def no_added_delete_files(changes: ConcurrentChanges, test: FileTest, *, what: str) -> None:
    """No concurrent commit added deletes that the operation would have had to look at."""
    for snapshot, entry in changes.added(ManifestContent.DELETES, (OVERWRITE, DELETE)):
        if test(entry.data_file):
            raise _conflict(changes, snapshot, [entry.data_file], f"deleted rows that {what} must take into account")


def no_removed_data_files(changes: ConcurrentChanges, test: FileTest, *, what: str) -> None:
    """No concurrent commit removed data that the operation read."""
    for snapshot, entry in changes.removed(ManifestContent.DATA, (OVERWRITE, REPLACE, DELETE)):
        if test(entry.data_file):
            raise _conflict(changes, snapshot, [entry.data_file], f"removed a data file that {what} read")


def data_files_exist(changes: ConcurrentChanges, paths: Collection[str]) -> None:
    """Every data file that new deletes refer to is still there; otherwise a DELETE would do nothing and an UPDATE would
    leave the old row beside the new one."""
    if not paths:
        return
    for snapshot, entry in changes.removed(ManifestContent.DATA, (OVERWRITE, REPLACE, DELETE)):
        if entry.data_file.file_path in paths:
            raise _conflict(
                changes, snapshot, [entry.data_file], "removed a data file that this operation deletes rows of"
            )


def no_new_deletes_for(
    changes: ConcurrentChanges, files: Collection[DataFile], *, ignore_equality_deletes: bool
) -> None:
    """No concurrent commit deleted rows of files that the operation replaces: they would come back to life.

    Equality deletes may be ignored by a rewrite that keeps its starting sequence number, because they still apply.
    """
    if not files:
        return
    paths = {file.file_path for file in files}
    partitions = {(file.spec_id, file.partition) for file in files}
    for snapshot, entry in changes.added(ManifestContent.DELETES, (OVERWRITE, DELETE)):
        deletes = entry.data_file
        if deletes.content is FileContent.EQUALITY_DELETES:
            hit = not ignore_equality_deletes and (
                (deletes.spec_id, deletes.partition) in partitions or _is_unpartitioned(changes.metadata, deletes)
            )
        else:
            hit = _position_deletes_touch(deletes, paths, partitions)
        if hit:
            raise _conflict(changes, snapshot, [deletes], "deleted rows of a data file that this operation replaces")


def no_concurrent_deletes_on(changes: ConcurrentChanges, deletes: Iterable[DataFile], *, what: str) -> None:
    """No concurrent commit added deletes for the same data files: two changes of one row must not both go through."""
    added = [file for file in deletes if file.content is FileContent.POSITION_DELETES]
    paths = {file.referenced_data_file for file in added if file.referenced_data_file is not None}
    partitions = {(file.spec_id, file.partition) for file in added if file.referenced_data_file is None}
    for snapshot, entry in changes.added(ManifestContent.DELETES, (OVERWRITE, DELETE)):
        other = entry.data_file
        if other.content is not FileContent.POSITION_DELETES:
            continue
        same_file = other.referenced_data_file is not None and other.referenced_data_file in paths
        same_partition = (other.spec_id, other.partition) in partitions or (
            other.referenced_data_file is None
            and (other.spec_id, other.partition) in {(f.spec_id, f.partition) for f in added}
        )
        if same_file or same_partition:
            raise _conflict(changes, snapshot, [other], f"deleted rows of a data file that {what} also deletes rows of")


def no_concurrent_deletion_vectors(changes: ConcurrentChanges, paths: Collection[str]) -> None:
    """A data file has at most one deletion vector, so two commits must not both add one for it."""
    if not paths:
        return
    for snapshot, entry in changes.added(ManifestContent.DELETES, (OVERWRITE, DELETE, REPLACE)):
        other = entry.data_file
        if other.is_deletion_vector and other.referenced_data_file in paths:
            raise _conflict(changes, snapshot, [other], "added a deletion vector for the same data file")


def delete_files_fit_version(files: Iterable[DataFile], format_version: int, *, identifier: str) -> None:
    """v1 has no delete files, v2 no deletion vectors, v3 no new position delete files. Checked on every attempt: the
    table may have been upgraded meanwhile."""
    for file in files:
        if format_version == 1:
            raise InvalidInput(f"table {identifier}: format version 1 has no delete files; upgrade to 2 or rewrite the "
                               "data files", table=identifier, file=file.file_path)  # fmt: skip
        if format_version == 2 and file.is_deletion_vector:
            raise InvalidInput(f"table {identifier}: deletion vectors need format version 3, the table has 2",
                               table=identifier, file=file.file_path)  # fmt: skip
        if format_version >= 3 and file.content is FileContent.POSITION_DELETES and not file.is_deletion_vector:
            raise ValidationConflict(
                f"table {identifier}: format version 3 takes deletion vectors, not position delete files "
                f"({file.file_path}); run the operation again so that it writes deletion vectors",
                table=identifier,
                file=file.file_path,
                retry_can_help=True,
            )


def _position_deletes_touch(deletes: DataFile, paths: Collection[str], partitions: Collection[PartitionKey]) -> bool:
    if deletes.referenced_data_file is not None:
        return deletes.referenced_data_file in paths
    single = single_referenced_path(deletes)
    if single is not None:
        return single in paths
    return (deletes.spec_id, deletes.partition) in partitions


def single_referenced_path(deletes: DataFile) -> str | None:
    """The one data file that a position delete file refers to, where it says so or its untruncated bounds prove it."""
    if deletes.referenced_data_file is not None:
        return deletes.referenced_data_file
    lower = (deletes.lower_bounds or {}).get(DELETE_FILE_PATH_ID)
    upper = (deletes.upper_bounds or {}).get(DELETE_FILE_PATH_ID)
    if lower is None or lower != upper:
        return None
    return lower.decode("utf-8", errors="replace")


DELETE_FILE_PATH_ID = 2147483546


def _is_unpartitioned(metadata: TableMetadata, file: DataFile) -> bool:
    return metadata.spec(file.spec_id).is_unpartitioned


def _conflict(changes: ConcurrentChanges, snapshot: Snapshot, files: list[DataFile], did: str) -> ValidationConflict:
    shown = ", ".join(file.file_path for file in files[:SHOWN_FILES])
    identifier = changes.workspace.identifier
    return ValidationConflict(
        f"table {identifier}: snapshot {snapshot.snapshot_id} ({snapshot.operation}), committed meanwhile, {did}: {shown}. "
        "Run the operation again on the current state.",
        table=identifier,
        snapshot_id=snapshot.snapshot_id,
        files=[file.file_path for file in files],
        retry_can_help=True,
    )
