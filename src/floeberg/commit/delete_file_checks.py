"""Checks of added delete files: the kind fits the table's version, the partition is that of the data file, and there is at most
one deletion vector per data file. https://iceberg.apache.org/spec/#delete-formats

One deletion vector per data file, elsewhere: `row_changes/deletes.py` writes a vector that takes in the older one and removes
it, `commit/validations.py` refuses a vector that a concurrent commit added too (no_concurrent_deletion_vectors), and
`scan/delete_index.py` refuses to read a table with two.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from floeberg.commit.partitions import PartitionSet, partition_key
from floeberg.commit.workspace import Workspace
from floeberg.errors import InvalidInput, ValidationConflict
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.snapshots.manifest_entry import DataFile, FileContent, ManifestContent, ManifestFile
from floeberg.spec.snapshots.snapshot import Snapshot


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
                files=[file.file_path],
                retry_can_help=True,
            )


def one_vector_each(deletes: Sequence[DataFile], *, removed_data: Iterable[DataFile], identifier: str) -> None:
    """At most one deletion vector per data file, and no deletes for a file that the same change removes."""
    removed = {file.file_path for file in removed_data}
    seen: set[str] = set()
    for file in deletes:
        path = file.referenced_data_file
        if path is None:
            if file.is_deletion_vector:
                raise InvalidInput(f"table {identifier}: a deletion vector must name its data file")
            continue
        if path in removed:
            raise InvalidInput(f"table {identifier}: {path} is removed and has rows deleted in one change")
        if file.is_deletion_vector and path in seen:
            raise InvalidInput(f"table {identifier}: two deletion vectors for {path}; merge them into one")
        seen.add(path)


def deletes_lie_with_their_data(
    deletes: Sequence[DataFile],
    *,
    added_data: Iterable[DataFile],
    parent: Snapshot | None,
    metadata: TableMetadata,
    workspace: Workspace,
) -> None:
    """A delete file of one data file has that file's spec and partition, even if the table has another spec now, and the data
    file exists; otherwise readers would never apply the deletes. Raises InvalidInput."""
    named = {file.referenced_data_file: file for file in deletes if file.referenced_data_file is not None}
    for data_file in added_data:
        _check_place(named.pop(data_file.file_path, None), data_file, workspace.identifier)
    if not named:
        return
    manifests = [] if parent is None else workspace.manifests(parent, metadata)
    places = PartitionSet.of(named.values())
    data = [manifest for manifest in manifests if manifest.content is ManifestContent.DATA]
    likely = [manifest for manifest in data if places.may_be_in(manifest, metadata)]
    rest = [manifest for manifest in data if manifest not in likely]
    for group in (likely, rest):
        if named:
            for entry in workspace.find(group, metadata, column="file_path", values=list(named)):
                _check_place(named.pop(entry.data_file.file_path, None), entry.data_file, workspace.identifier)
    if named:
        raise ValidationConflict(
            f"table {workspace.identifier}: data files that new deletes refer to are not in the table: "
            f"{', '.join(sorted(named)[:5])}. Run the operation again on the current state.",
            table=workspace.identifier,
            files=sorted(named),
            retry_can_help=True,
        )


def _check_place(deletes: DataFile | None, data_file: DataFile, identifier: str) -> None:
    if deletes is None or partition_key(deletes) == partition_key(data_file):
        return
    raise InvalidInput(
        f"table {identifier}: the deletes of {data_file.file_path} have spec {deletes.spec_id} and partition "
        f"{deletes.partition!r}, but the data file has spec {data_file.spec_id} and partition {data_file.partition!r}; "
        "write deletes with the spec and partition of their data file",
        table=identifier,
        file=data_file.file_path,
    )


def no_second_vector(
    added: Iterable[DataFile], remaining: Sequence[ManifestFile], *, metadata: TableMetadata, workspace: Workspace
) -> None:
    """A data file that gets a deletion vector keeps no older live one: the same change removes it."""
    vectors = {file.referenced_data_file: file for file in added if file.is_deletion_vector}
    if not vectors:
        return
    places = PartitionSet.of(vectors.values())
    manifests = [manifest for manifest in remaining if places.may_be_in(manifest, metadata)]
    paths = [path for path in vectors if path is not None]
    for entry in workspace.find(manifests, metadata, column="referenced_data_file", values=paths):
        other = entry.data_file
        if other.is_deletion_vector:
            raise ValidationConflict(
                f"table {workspace.identifier}: {other.referenced_data_file} has a deletion vector already (in "
                f"{other.file_path}, of snapshot {entry.snapshot_id}); a new one must take it in and remove it",
                table=workspace.identifier,
                snapshot_id=entry.snapshot_id,
                files=[other.referenced_data_file],
                retry_can_help=True,
            )
