"""What position deletes refer to: the data files they name, or, where they do not say, their partitions."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from floeberg.commit.partitions import PartitionSet
from floeberg.spec.schemas.metadata_columns import DELETE_FILE_PATH
from floeberg.spec.snapshots.manifest_entry import DataFile, FileContent


@dataclass(frozen=True, slots=True)
class DeleteScope:
    """The data files that new position deletes may touch."""

    paths: frozenset[str]
    unnamed: PartitionSet
    """Partitions of delete files that do not say which data files they are for."""
    partitions: PartitionSet
    """Partitions of all the delete files."""

    @classmethod
    def of(cls, deletes: Iterable[DataFile], referenced: Collection[str] = ()) -> DeleteScope:
        """The scope of delete files. `referenced` names the data files of delete files that cover several; when given, it is
        complete."""
        position_deletes = [file for file in deletes if file.content is FileContent.POSITION_DELETES]
        paths = [single_referenced_path(file) for file in position_deletes]
        named = {path for path in paths if path is not None}
        unnamed = [file for file, path in zip(position_deletes, paths, strict=True) if path is None and not referenced]
        return cls(frozenset({*referenced, *named}), PartitionSet.of(unnamed), PartitionSet.of(position_deletes))

    def __bool__(self) -> bool:
        return bool(self.paths or self.unnamed)

    def may_touch(self, data_file: DataFile) -> bool:
        """Whether the deletes may hold positions of a data file."""
        return data_file.file_path in self.paths or self.unnamed.holds(data_file)

    def may_overlap(self, other: DataFile) -> bool:
        """Whether other position deletes may be for one of the same data files."""
        path = single_referenced_path(other)
        if path is not None:
            return path in self.paths or self.unnamed.holds(other)
        return self.partitions.holds(other)


def single_referenced_path(deletes: DataFile) -> str | None:
    """The one data file that a position delete file refers to, if its entry names it or its untruncated bounds prove it."""
    if deletes.referenced_data_file is not None:
        return deletes.referenced_data_file
    lower = (deletes.lower_bounds or {}).get(DELETE_FILE_PATH.field_id)
    upper = (deletes.upper_bounds or {}).get(DELETE_FILE_PATH.field_id)
    if lower is None or lower != upper:
        return None
    return lower.decode("utf-8", errors="replace")
