"""Position delete files of each partition merged: into fewer files on v2, into deletion vectors on v3."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from msgspec import structs
from pyroaring import BitMap64

from floeberg.arrow.scan.execute import TableReader
from floeberg.arrow.write.delete_files import DeletedFile
from floeberg.arrow.write.table_writer import TableWriter
from floeberg.commit.partitions import PartitionKey, partition_key
from floeberg.row_changes.deletes import WrittenDeletes
from floeberg.row_changes.policy import GRANULARITY, DeleteGranularity, delete_granularity
from floeberg.scan.tasks import FileScanTask
from floeberg.spec.snapshots.manifest_entry import DataFile, FileContent, ManifestEntry

IsWorth = Callable[[Sequence[DataFile]], bool]
"""Whether delete files of one partition are worth merging."""

_POSITIONS_PER_FILE: Final = 16_000_000
"""The positions that one delete file holds at most: about its target size."""


@dataclass(slots=True)
class MergedDeletes:
    """New delete files and those that they replace, and the sequence number that the new ones keep: the highest of the old."""

    deletes: WrittenDeletes = field(default_factory=WrittenDeletes)
    data_sequence_number: int | None = None


def merged_deletes(
    tasks: Sequence[FileScanTask],
    entries: Sequence[ManifestEntry],
    *,
    reader: TableReader,
    writer: TableWriter,
    is_worth: IsWorth,
) -> MergedDeletes:
    """Merges the position delete files among the entries, partition by partition, where that is worth it. Positions in data
    files that are gone are left out. `tasks` are all data files with deletes."""
    merged = MergedDeletes()
    vectors: dict[DeletedFile, BitMap64] = {}
    of_partition: dict[PartitionKey, list[FileScanTask]] = {}
    for task in tasks:
        of_partition.setdefault(partition_key(task.data_file), []).append(task)
    to_vectors = writer.metadata.format_version > 2
    for key, group in _position_deletes(entries).items():
        files = [entry.data_file for entry in group]
        touched = _touched(of_partition.get(key, ()), files)
        if not to_vectors and not (is_worth(files) and _becomes_fewer(files, touched, writer)):
            continue
        if to_vectors:
            # A data file that has a vector has no use for older position deletes; a new one takes in all of them.
            plain = [task for task in touched if task.deletion_vector is None]
            vectors |= {_deleted(task): found for task in plain if (found := reader.deletes(task).positions)}
        else:
            merged.deletes.added += _written(touched, files, reader=reader, writer=writer)
        merged.deletes.removed += files
        ages = [merged.data_sequence_number or 0, *(entry.data_sequence_number or 0 for entry in group)]
        merged.data_sequence_number = max(ages)
    if vectors:
        merged.deletes.added += writer.write_vectors(vectors)
    return merged


def _position_deletes(entries: Sequence[ManifestEntry]) -> dict[PartitionKey, list[ManifestEntry]]:
    groups: dict[PartitionKey, list[ManifestEntry]] = {}
    for entry in entries:
        file = entry.data_file
        if file.content is FileContent.POSITION_DELETES and not file.is_deletion_vector:
            groups.setdefault(partition_key(file), []).append(entry)
    return groups


def _touched(tasks: Sequence[FileScanTask], files: Sequence[DataFile]) -> list[FileScanTask]:
    """The data files that the delete files are for."""
    wanted = {file.identity for file in files}
    return [task for task in tasks if any(delete.file.identity in wanted for delete in task.deletes)]


def _becomes_fewer(files: Sequence[DataFile], touched: Sequence[FileScanTask], writer: TableWriter) -> bool:
    """Whether the merge leaves fewer files. One file for each data file may be what the table asks for and has already."""
    return not _by_file(writer) or len(touched) < len(files)


def _by_file(writer: TableWriter) -> bool:
    """Only where the table says so: merging is for fewer files."""
    properties = writer.metadata.properties
    return GRANULARITY in properties and delete_granularity(writer.metadata) is DeleteGranularity.FILE


def _written(
    touched: Sequence[FileScanTask], files: Sequence[DataFile], *, reader: TableReader, writer: TableWriter
) -> list[DataFile]:
    wanted = {file.identity for file in files}
    found: dict[DeletedFile, BitMap64] = {}
    for task in touched:
        own = tuple(delete for delete in task.deletes if delete.file.identity in wanted)
        positions = reader.deletes(structs.replace(task, deletes=own)).positions
        if positions:
            found[_deleted(task)] = positions
    most = 1 if _by_file(writer) else _POSITIONS_PER_FILE
    return [writer.write_position_deletes(part) for part in _parts(found, most)]


def _parts(found: dict[DeletedFile, BitMap64], most: int) -> Iterator[dict[DeletedFile, BitMap64]]:
    part: dict[DeletedFile, BitMap64] = {}
    count = 0
    for file, positions in found.items():
        if part and count + len(positions) > most:
            yield part
            part, count = {}, 0
        part[file] = positions
        count += len(positions)
    if part:
        yield part


def _deleted(task: FileScanTask) -> DeletedFile:
    file = task.data_file
    return DeletedFile(file_path=file.file_path, spec_id=file.spec_id, partition=file.partition)
