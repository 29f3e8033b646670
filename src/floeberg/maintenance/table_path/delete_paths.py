"""Paths inside delete files: the data files that position deletes and deletion vectors are for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pyroaring import BitMap64

from floeberg.arrow.scan.deletes import read_position_deletes
from floeberg.arrow.write.delete_files import write_position_deletes
from floeberg.effects.protocols import Clock, Store
from floeberg.errors import DataFileCorrupt
from floeberg.files.puffin import with_blob_properties
from floeberg.maintenance.file_work import FileWork
from floeberg.maintenance.table_path.prefix import PrefixChange
from floeberg.spec.snapshots.manifest_entry import DataFile
from floeberg.storage.memory import MemoryStore

REFERENCED: Final = "referenced-data-file"
_NOWHERE: Final = "memory://deletes/file"


@dataclass(frozen=True, slots=True)
class MovedDeletes:
    """A delete file for the new path: its size, and the least and greatest path in it, unless it holds deletion vectors."""

    size_bytes: int
    path_bounds: tuple[str, str] | None = None
    record_count: int | None = None
    """Of a position delete file; fewer than it had where it named a position twice."""


@dataclass(frozen=True, slots=True)
class MovingDeletes:
    """Changes one delete file after the other, and stages those that the copy does not have. Travels to workers."""

    work: FileWork
    change: PrefixChange
    clock: Clock

    def __call__(self, item: tuple[DataFile, bool]) -> MovedDeletes:
        file, is_staged = item
        content, moved = moved_deletes(self.work.store_for(file.file_path), file, self.change, clock=self.clock)
        if is_staged:
            where = self.change.staged(file.file_path)
            self.work.store_for(where).replace(where, content)
        return moved


def moved_deletes(store: Store, file: DataFile, change: PrefixChange, *, clock: Clock) -> tuple[bytes, MovedDeletes]:
    """A position delete file or a file of deletion vectors with other paths. Raises InvalidInput for a data file outside the
    source prefix, DataFileCorrupt, PuffinCorrupt, FileNotFound."""
    if file.is_deletion_vector:

        def moved(properties: Mapping[str, str]) -> Mapping[str, str]:
            path = properties.get(REFERENCED)
            return properties if path is None else {**properties, REFERENCED: change.new(path)}

        content = with_blob_properties(store.read(file.file_path), moved)
        return content, MovedDeletes(len(content))
    deletes: dict[str, BitMap64] = {}
    for path, positions in read_position_deletes(store, file).items():
        new = change.new(path)
        deletes[new] = deletes[new] | positions if new in deletes else positions
    if not deletes:
        raise DataFileCorrupt(f"position delete file {file.file_path} deletes nothing", location=file.file_path)
    memory = MemoryStore(clock)
    properties = {"write.delete.format.default": str(file.file_format)}
    write_position_deletes(memory, _NOWHERE, deletes, spec_id=file.spec_id, properties=properties)
    count = sum(len(positions) for positions in deletes.values())
    content = memory.read(_NOWHERE)
    return content, MovedDeletes(len(content), (min(deletes), max(deletes)), count)
