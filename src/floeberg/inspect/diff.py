"""What changed from one snapshot to another: files, rows and schema."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import polars as pl

from floeberg.inspect.source import Source
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.snapshots.manifest_entry import EntryStatus, FileContent, ManifestFile
from floeberg.spec.snapshots.snapshot import Snapshot
from floeberg.spec.types import NestedType

KINDS: Final = {
    FileContent.DATA: "data",
    FileContent.POSITION_DELETES: "position deletes",
    FileContent.EQUALITY_DELETES: "equality deletes",
}
_KEY: Final = ("file_path", "content_offset")
_SCHEMA: Final = {
    "file_path": pl.String, "content_offset": pl.Int64, "content": pl.Int32, "record_count": pl.Int64,
    "file_size_in_bytes": pl.Int64,
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChanges:
    """Files of one kind that came or went: how many, their rows and bytes."""

    files: int
    records: int
    size_in_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotDiff:
    """From `old` (None: before the first snapshot) to `new`. The frames have the columns file_path, content_offset,
    content, record_count and file_size_in_bytes."""

    old: Snapshot | None
    new: Snapshot
    added: pl.DataFrame
    removed: pl.DataFrame
    schema: tuple[str, ...]

    def counts(self, content: FileContent) -> tuple[FileChanges, FileChanges]:
        """What was added and removed of one kind."""
        return _counts(self.added, content), _counts(self.removed, content)


def snapshot_diff(source: Source, old: Snapshot | None, new: Snapshot) -> SnapshotDiff:
    """Compares the live files of two snapshots; manifests that both have are not read."""
    mine, theirs = source.manifests(new), source.manifests(old)
    shared = {m.manifest_path for m in mine} & {m.manifest_path for m in theirs}
    after = _live(source, [m for m in mine if m.manifest_path not in shared])
    before = _live(source, [m for m in theirs if m.manifest_path not in shared])
    old_schema = Schema() if old is None else source.metadata.schema_of_snapshot(old)
    return SnapshotDiff(
        old=old,
        new=new,
        added=_without(after, before),
        removed=_without(before, after),
        schema=tuple(schema_changes(old_schema, source.metadata.schema_of_snapshot(new))),
    )


def schema_changes(old: Schema, new: Schema) -> Iterable[str]:
    """The changes from one schema to another in words, by field id."""
    for field_id, name in new.names.items():
        field, before = new.by_id[field_id], old.by_id.get(field_id)
        if before is None:
            yield f"added {name} {field.type}{'' if field.optional else ' not null'}"
            continue
        if old.names[field_id] != name:
            yield f"renamed {old.names[field_id]} to {name}"
        if before.type != field.type and not isinstance(field.type, NestedType):
            yield f"changed {name} from {before.type} to {field.type}"
        if before.required != field.required:
            yield f"made {name} {'required' if field.required else 'optional'}"
        if before.doc != field.doc:
            yield f"changed the comment of {name}"
    for field_id, name in old.names.items():
        if field_id not in new.by_id:
            yield f"dropped {name} {old.by_id[field_id].type}"


def _live(source: Source, manifests: list[ManifestFile]) -> pl.DataFrame:
    frames = [pl.DataFrame(schema=_SCHEMA)]
    for _, frame in source.frames(manifests, with_metrics=False):
        live = frame.filter(pl.col("status") != EntryStatus.DELETED)
        if "content_offset" not in live.columns:
            live = live.with_columns(pl.lit(None, dtype=pl.Int64).alias("content_offset"))
        frames.append(live.select(*_SCHEMA))
    return pl.concat(frames)


def _without(files: pl.DataFrame, others: pl.DataFrame) -> pl.DataFrame:
    return files.join(others, on=list(_KEY), how="anti", nulls_equal=True, maintain_order="left")


def _counts(files: pl.DataFrame, content: FileContent) -> FileChanges:
    own = files.filter(pl.col("content") == content)
    return FileChanges(
        files=own.height,
        records=int(own.get_column("record_count").sum()),
        size_in_bytes=int(own.get_column("file_size_in_bytes").sum()),
    )
