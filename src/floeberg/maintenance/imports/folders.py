"""The data files of a folder, with the partition that each lies in: `root/region=EU/day=2026-05-01/part-0.parquet`.

Names are read as Spark reads them: https://spark.apache.org/docs/latest/sql-data-sources-parquet.html#partition-discovery
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from floeberg.effects.protocols import Store
from floeberg.errors import FileNotFound, InvalidInput
from floeberg.storage.location import parse, parse_from_user

HIVE_NULL: Final = "__HIVE_DEFAULT_PARTITION__"
"""The folder name of a null; Spark and Hive write it for an empty string too."""
_ESCAPED: Final = re.compile(r"%([0-9a-fA-F]{2})")

PartitionText = tuple[tuple[str, str | None], ...]
"""The columns and values of a partition, in the order of their folders; None is null."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file to import."""

    location: str
    partition: PartitionText = ()

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.partition)


def list_folder(store_for: Callable[[str], Store], location: str) -> list[SourceFile]:
    """The data files below a folder, or the file itself, sorted by location. Hidden files and folders (`_x`, `.x`) and empty
    files are left out, as Spark leaves them out.

    Raises FileNotFound when there is none, InvalidInput for a subfolder that is no partition.
    """
    root = parse_from_user(location)
    store = store_for(root.text)
    found: list[SourceFile] = []
    for info in store.list(root.text):
        relative = parse(info.location).relative_to(root)
        segments = relative.split("/")
        if info.size_bytes and not any(is_hidden(segment) for segment in segments):
            found.append(SourceFile(f"{root.text}/{relative}", partition_of_folders(segments[:-1], relative)))
    if not found and store.exists(root.text):
        found.append(SourceFile(root.text))
    if not found:
        raise FileNotFound(f"{root.text} holds no data files", location=root.text)
    return sorted(found, key=lambda file: file.location)


def is_hidden(segment: str) -> bool:
    """Whether Spark passes over a file or folder of this name."""
    return (segment.startswith("_") and "=" not in segment) or segment.startswith(".") or segment.endswith("._COPYING_")


def partition_of_folders(folders: Sequence[str], where: str) -> PartitionText:
    """The partition that names of folders such as `day=2026-05-01` say. Raises InvalidInput."""
    return tuple(_pairs(folders, where))


def _pairs(folders: Sequence[str], where: str) -> Iterator[tuple[str, str | None]]:
    seen: set[str] = set()
    for folder in folders:
        name, equals, value = folder.partition("=")
        if not equals or not name or not value:
            raise InvalidInput(
                f"{where}: folder {folder!r} is no partition (column=value); add the files of such a folder by itself",
                location=where,
            )
        column = unescape(name)
        if column.lower() in seen:
            raise InvalidInput(f"{where}: the path names partition column {column!r} twice", location=where)
        seen.add(column.lower())
        yield column, None if value == HIVE_NULL else unescape(value)


def unescape(text: str) -> str:
    """A part of a folder's name without the escapes of Hive and Spark: `%3A` is one character, not a byte of UTF-8."""
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text)
