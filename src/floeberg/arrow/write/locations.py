"""Where new data and delete files of a table go. Names carry the write's uuid, so that nobody else has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from uuid import UUID

from floeberg.spec.values.murmur3 import hash_bytes
from floeberg.storage.location import join

DATA_PATH: Final = "write.data.path"
OBJECT_STORAGE: Final = "write.object-storage.enabled"
PARTITIONED_PATHS: Final = "write.object-storage.partitioned-paths"
_HASH_BITS: Final = 20
_FOLDER_BITS: Final = 4
_FOLDERS: Final = 3


class DataLocations:
    """Locations of the files of one write: `data/<partition>/<name>`, or spread by a hash over folders where the table's
    properties ask for that (object stores throttle by prefix). `task` tells the writers of one write apart."""

    def __init__(self, location: str, properties: Mapping[str, str], write_id: UUID, *, task: int = 0) -> None:
        self.folder = (properties.get(DATA_PATH) or join(location, "data")).rstrip("/")
        self._spread = properties.get(OBJECT_STORAGE, "false").lower() == "true"
        self._partitioned = properties.get(PARTITIONED_PATHS, "true").lower() == "true"
        self._prefix = f"{task:05d}-0-{write_id}"
        self._count = 0

    def new_location(self, partition_path: str, *, suffix: str) -> str:
        """A location for one more file; the suffix is what its name ends with (`.parquet`, `-deletes.puffin`)."""
        self._count += 1
        name = f"{self._prefix}-{self._count:05d}{suffix}"
        below = f"{partition_path}/{name}" if partition_path and (self._partitioned or not self._spread) else name
        if not self._spread:
            return join(self.folder, below)
        return join(self.folder, f"{hashed_folders(below, joined=not self._partitioned)}{below}")


def hashed_folders(name: str, *, joined: bool = False) -> str:
    """Folders of binary digits by a hash of the name, as the reference implementation spreads files."""
    bits = f"{hash_bytes(name.encode()) & 0xFFFFFFFF:032b}"[-_HASH_BITS:]
    cuts = [bits[i * _FOLDER_BITS : (i + 1) * _FOLDER_BITS] for i in range(_FOLDERS)]
    rest = bits[_FOLDERS * _FOLDER_BITS :]
    return "/".join([*cuts, rest]) + ("-" if joined else "/")
