"""Deleting a table's files with it: only those it refers to, only inside its own folders, only if its properties allow it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from floeberg.catalogs.base import CatalogBackend, LoadedTable
from floeberg.catalogs.identifiers import Identifier
from floeberg.catalogs.metadata_files import table_roots
from floeberg.commit.pointer import TablePointer, TableState
from floeberg.commit.workspace import Workspace
from floeberg.effects.protocols import Store
from floeberg.errors import CommitConflict, FloebergError, InvalidInput, PathEscape, StorageError
from floeberg.storage.location import parse

GC_ENABLED: Final = "gc.enabled"
_MAX_TRIES: Final = 5


def purge_table(
    catalog: CatalogBackend,
    identifier: Identifier,
    *,
    reading: Callable[[TablePointer], TablePointer] = lambda one: one,
) -> int:
    """Drops a table and deletes every file that it refers to and that lies inside its folders; how many were deleted. A
    catalog that purges does it in its own way and time.

    Files outside (shared, imported) are left alone. The list is made before the drop and the deletion comes after it, and
    the drop takes place only if the table still is what was listed: a crash in between leaves orphans, never a table
    without files. `reading` gives the pointer by which manifests are read.

    Raises TableNotFound, InvalidInput when gc.enabled is false, StorageError when files were left.
    """
    tries = 0
    while True:
        tries += 1
        table = catalog.load_table(identifier)
        if catalog.capabilities.purge:
            _check_allowed(table)
            catalog.drop_table(identifier, purge=True)
            return 0
        doomed = _files_to_delete(table, reading(table.pointer))
        try:
            catalog.drop_table(identifier, only_if=table.state)
        except CommitConflict:
            if tries == _MAX_TRIES:
                raise
            continue
        _delete(table, doomed)
        return len(doomed)


def _check_allowed(table: LoadedTable) -> None:
    metadata = table.state.metadata
    name = table.state.identifier
    if metadata.properties.get(GC_ENABLED, "true").lower() == "false":
        raise InvalidInput(
            f"table {name}: gc.enabled is false, other tables may use its files; drop it without purge", table=name
        )
    if parse(metadata.location).path == "/":
        raise PathEscape(f"table {name}: its location is a whole store, {metadata.location}; drop it without purge")


def _files_to_delete(table: LoadedTable, pointer: TablePointer) -> list[str]:
    _check_allowed(table)
    metadata = table.state.metadata
    name = table.state.identifier
    roots = table_roots(metadata)
    try:
        return sorted({location for location in _referenced(table.state, pointer) if roots.contains(location)})
    except FloebergError as error:
        error.add_note(f"table {name} was not dropped: its files could not be listed. Drop it without purge.")
        raise


def _delete(table: LoadedTable, doomed: list[str]) -> None:
    failures: list[str] = []
    for location in doomed:
        try:
            table.pointer.store_for(location).delete(location)
        except StorageError as error:
            failures.append(str(error))
    if failures:
        raise StorageError(
            f"table {table.state.identifier} is dropped, but {len(failures)} of its {len(doomed)} files could not be deleted: "
            f"{failures[0]}",
            table=table.state.identifier,
            failures=failures,
        )
    root = table.state.metadata.location
    delete_empty_folders(table.pointer.store_for(root), root, doomed)


def delete_empty_folders(store: Store, root: str, deleted: Iterable[str]) -> None:
    """Deletes folders without files, in stores that have folders."""
    root = root.rstrip("/")
    folders = {root, f"{root}/data", f"{root}/metadata"}
    for location in deleted:
        folder = location.rpartition("/")[0]
        while folder.startswith(f"{root}/"):
            folders.add(folder)
            folder = folder.rpartition("/")[0]
    for folder in sorted(folders, key=len, reverse=True):
        store.delete_folder(folder)


def _referenced(state: TableState, pointer: TablePointer) -> Iterator[str]:
    metadata = state.metadata
    workspace = Workspace(pointer)
    if state.metadata_location is not None:
        yield state.metadata_location
    yield from (entry.metadata_file for entry in metadata.metadata_log)
    yield from (statistics.statistics_path for statistics in metadata.statistics)
    yield from (statistics.statistics_path for statistics in metadata.partition_statistics)
    seen: set[str] = set()
    for snapshot in metadata.snapshots:
        if snapshot.manifest_list is not None:
            yield snapshot.manifest_list
        for manifest in workspace.manifests(snapshot, metadata):
            if manifest.manifest_path in seen:
                continue
            seen.add(manifest.manifest_path)
            yield manifest.manifest_path
            yield from (entry.data_file.file_path for entry in workspace.entries(manifest, metadata))
