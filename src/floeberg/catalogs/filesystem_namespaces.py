"""Which folders of a warehouse are namespaces, which are tables, and which are neither.

The Java HadoopCatalog calls every folder that is no table a namespace. That would also make one of what a table dropped
without purge leaves behind, and of a table whose data files are written before its first version. So a namespace of ours
has a marker (object stores have no empty folders anyway), and a folder without one is a namespace only if it is empty or
holds tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from floeberg.catalogs.versions import find_head
from floeberg.effects.protocols import Store
from floeberg.storage.location import join

NAMESPACE_MARKER: Final = ".namespace"
MAX_LEVELS: Final = 16
"""How deep namespaces without a marker are looked for: links may make a folder contain itself."""
_OF_TABLES: Final = frozenset({"data", "metadata"})


def is_table(store: Store, folder: str) -> bool:
    """Whether a folder holds a published version of a table."""
    return find_head(store, join(folder, "metadata")) is not None


class NamespaceFolders:
    """The folders of a warehouse."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def is_namespace(self, path: Sequence[str]) -> bool:
        """Whether the last of these folders, each in the one before, is a namespace."""
        if not path or any(is_table(self._store, folder) for folder in path):
            return False
        return self._is_marked(path[-1]) or self._looks_like_one(path[-1])

    def is_empty(self, folder: str) -> bool:
        """Whether a namespace holds no table and no namespace. Files that no table knows do not count."""
        below = [join(folder, name) for name in self._store.list_folders(folder)]
        return not any(is_table(self._store, one) or self._is_marked(one) or self._looks_like_one(one) for one in below)

    def mark(self, folder: str) -> None:
        """Makes a folder a namespace, whatever it holds."""
        if not self._is_marked(folder):
            self._store.replace(join(folder, NAMESPACE_MARKER), b"")

    def remove(self, folder: str) -> None:
        """Takes an empty namespace out of the listing; the folder stays if dropped tables left files in it."""
        self._store.delete(join(folder, NAMESPACE_MARKER))
        self._store.delete_folder(folder)

    def _is_marked(self, folder: str) -> bool:
        return self._store.exists(join(folder, NAMESPACE_MARKER))

    def _looks_like_one(self, folder: str) -> bool:
        above, _, name = folder.rpartition("/")
        if name not in set(self._store.list_folders(above or "/")):
            return False
        if self._holds_tables(folder):
            return True
        is_empty = next(iter(self._store.list(folder)), None) is None
        return is_empty and _OF_TABLES.isdisjoint(self._store.list_folders(folder))

    def _holds_tables(self, folder: str, *, depth: int = 0) -> bool:
        for name in self._store.list_folders(folder):
            below = join(folder, name)
            if self._is_marked(below) or is_table(self._store, below):
                return True
            deeper = name not in _OF_TABLES and depth < MAX_LEVELS
            if deeper and self._holds_tables(below, depth=depth + 1):
                return True
        return False
