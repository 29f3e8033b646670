"""Paths in manifests and manifest lists, changed in the records themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from floeberg.files.avro_edit import Record, edit_records
from floeberg.maintenance.file_work import FileWork
from floeberg.maintenance.table_path.delete_paths import MovedDeletes
from floeberg.maintenance.table_path.prefix import PrefixChange
from floeberg.spec.schemas.metadata_columns import DELETE_FILE_PATH
from floeberg.spec.snapshots.manifest_entry import EntryStatus, FileContent


@dataclass(slots=True)
class MovedManifest:
    """A manifest for the new path: its size, and the files that it has live, as they are named in the old one."""

    size_bytes: int = 0
    copied: list[str] = field(default_factory=list)
    """Data files and equality delete files, whose content stays."""
    moved_deletes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class MovingManifests:
    """Changes one manifest after the other, and stages those that the copy does not have. Travels to workers."""

    work: FileWork
    change: PrefixChange
    deletes: Mapping[str, MovedDeletes]

    def __call__(self, item: tuple[str, bool]) -> MovedManifest:
        path, is_staged = item
        content, moved = moved_manifest(self.work.store_for(path).read(path), self.change, self.deletes)
        if is_staged:
            where = self.change.staged(path)
            self.work.store_for(where).replace(where, content)
        return moved


def moved_manifest(
    content: bytes, change: PrefixChange, deletes: Mapping[str, MovedDeletes]
) -> tuple[bytes, MovedManifest]:
    """A manifest with other paths; entries of position delete files also get the sizes and bounds of the changed files.

    Raises InvalidInput for a live file outside the source prefix."""
    moved = MovedManifest()

    def edit(entry: Record) -> None:
        file = entry["data_file"]
        path = file["file_path"]
        is_live = entry["status"] != EntryStatus.DELETED
        if not is_live and not change.covers(path):
            return
        file["file_path"] = change.new(path)
        referenced = file.get("referenced_data_file")
        if referenced is not None:
            file["referenced_data_file"] = (
                change.new(referenced) if is_live or change.covers(referenced) else referenced
            )
        if file.get("content", 0) != FileContent.POSITION_DELETES:
            if is_live:
                moved.copied.append(path)
            return
        if is_live:
            moved.moved_deletes.append(path)
            _set_size(file, deletes[path])
        else:
            _set_bounds(file, None)

    edited = edit_records(content, edit)
    moved.size_bytes = len(edited)
    return edited, moved


def _set_size(file: Record, written: MovedDeletes) -> None:
    file["file_size_in_bytes"] = written.size_bytes
    _set_bounds(file, written.path_bounds)
    if written.record_count is None:
        return
    stale = ["column_sizes", "split_offsets"]
    if file["record_count"] != written.record_count:
        file["record_count"] = written.record_count
        stale += ["value_counts", "null_value_counts"]
    file.update({key: None for key in stale if key in file})


def _set_bounds(file: Record, bounds: tuple[str, str] | None) -> None:
    """Bounds of the paths in a position delete file: those given, or none."""
    for number, key in enumerate(("lower_bounds", "upper_bounds")):
        if file.get(key) is None:
            continue
        kept = [one for one in file[key] if one["key"] != DELETE_FILE_PATH.field_id]
        if bounds is not None and len(kept) < len(file[key]):
            kept.append({"key": DELETE_FILE_PATH.field_id, "value": bounds[number].encode()})
        file[key] = kept


def moved_manifest_list(content: bytes, change: PrefixChange, sizes: Mapping[str, int]) -> bytes:
    """A manifest list with the new paths and sizes of its manifests."""

    def edit(manifest: Record) -> None:
        path = manifest["manifest_path"]
        manifest["manifest_path"] = change.new(path)
        manifest["manifest_length"] = sizes[path]

    return edit_records(content, edit)
