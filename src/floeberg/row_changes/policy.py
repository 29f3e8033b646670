"""What a table's properties say about changes of its rows: `write.{delete,update,merge}.{mode,isolation-level}`."""

from __future__ import annotations

from enum import StrEnum
from typing import Final, TypeVar

from floeberg.commit.isolation import IsolationLevel
from floeberg.errors import InvalidInput, UnsupportedFeature
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.metadata.table_properties import ENCRYPTION_KEY_ID

GRANULARITY: Final = "write.delete.granularity"


class RowLevelMode(StrEnum):
    """Copy-on-write writes the rows that stay to new files; merge-on-read writes delete files."""

    COPY_ON_WRITE = "copy-on-write"
    MERGE_ON_READ = "merge-on-read"


class DeleteGranularity(StrEnum):
    """What a position delete file of a v2 table covers: `write.delete.granularity`."""

    FILE = "file"
    PARTITION = "partition"


def row_level_mode(metadata: TableMetadata, verb: str) -> RowLevelMode:
    """The mode of a change; `verb` is delete, update or merge. v1 tables have no delete files, so they are copied on
    write. Raises InvalidInput for a property that names no mode."""
    mode = _property(metadata, f"write.{verb}.mode", RowLevelMode.COPY_ON_WRITE)
    return mode if metadata.format_version > 1 else RowLevelMode.COPY_ON_WRITE


def isolation_level(metadata: TableMetadata, verb: str) -> IsolationLevel:
    """The isolation level of a change. Raises InvalidInput for a property that names none."""
    return _property(metadata, f"write.{verb}.isolation-level", IsolationLevel.SERIALIZABLE)


def delete_granularity(metadata: TableMetadata) -> DeleteGranularity:
    """The granularity of position delete files. Raises InvalidInput for a property that names none."""
    return _property(metadata, GRANULARITY, DeleteGranularity.FILE)


def refuse_encrypted(metadata: TableMetadata) -> None:
    """Raises UnsupportedFeature for an encrypted table: new files would not be encrypted."""
    current = metadata.current_snapshot
    encrypted = current is not None and current.key_id is not None
    if encrypted or len(metadata.encryption_keys) or ENCRYPTION_KEY_ID in metadata.properties:
        raise UnsupportedFeature(
            f"table {metadata.location} is encrypted; encrypted tables cannot be written here", table=metadata.location
        )


_Choice = TypeVar("_Choice", bound=StrEnum)


def _property(metadata: TableMetadata, name: str, default: _Choice) -> _Choice:
    text = metadata.properties.get(name, default)
    choices = type(default)
    if text not in list(choices):
        raise InvalidInput(f"table property {name} is {' or '.join(choices)}, not {text!r:.60}")
    return choices(text)
