"""Orphan files: files in a table's folders that nothing in the table refers to, left by writers that failed or were killed.

What protects live data: files younger than a limit by the store's own clock are kept, because a running writer may be about
to commit them; the listing comes before the table is read; paths are compared normalised, and what is unclear is an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Final

from floeberg.catalogs.metadata_files import (
    DATA_PATH,
    METADATA_PATH,
    is_other_table,
    metadata_folder,
    read_metadata,
    table_roots,
)
from floeberg.commit.pointer import TablePointer, TableState
from floeberg.effects.progress import Progress
from floeberg.effects.protocols import FileInfo, Store
from floeberg.errors import FileNotFound, InvalidInput, MetadataCorrupt, StorageError
from floeberg.files.metadata_file import codec_of_name
from floeberg.maintenance.expire import GC_ENABLED
from floeberg.maintenance.live_files import live_files, metadata_files
from floeberg.maintenance.path_match import PathEquality, PrefixMismatch, orphans_among
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.storage.location import Location, join, parse, parse_from_user

DEFAULT_AGE_MS: Final = 3 * 24 * 60 * 60 * 1000
LEAST_AGE_MS: Final = 24 * 60 * 60 * 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class OrphanRequest:
    """Which files are looked at, and whether they are deleted. `files` are looked at instead of a listing."""

    older_than_ms: int | None = None
    """Milliseconds since the epoch; three days ago when it is None."""
    location: str | None = None
    dry_run: bool = True
    force: bool = False
    """Whether files younger than 24 hours may be deleted, and files of a folder that is outside the table's location or holds
    metadata of another table."""
    equal_schemes: Mapping[str, str] = field(default_factory=dict)
    equal_authorities: Mapping[str, str] = field(default_factory=dict)
    prefix_mismatch: PrefixMismatch = PrefixMismatch.ERROR
    files: Iterable[FileInfo] | None = None
    max_concurrent_deletes: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Orphans:
    """The orphan files that were found; deleted, unless it was a dry run, but for those in `left`."""

    locations: tuple[str, ...]
    dry_run: bool
    left: tuple[str, ...] = ()


def remove_orphan_files(
    pointer: TablePointer, state: TableState, request: OrphanRequest, *, progress: Progress | None = None
) -> Orphans:
    """Finds orphan files below the table's location (or a folder in it), and deletes them unless it is a dry run.

    Raises InvalidInput when gc.enabled is false, for a limit of less than 24 hours or a folder outside the table's location
    (`write.data.path`) or metadata of another table in the table's own without `force`, for a folder that is not the table's
    own or that another table lies in, and for paths that cannot be told apart from live ones.
    """
    metadata = state.metadata
    _check_own(metadata, state.identifier)
    _check_metadata_file(state)
    root = _root(metadata, request, state.identifier)
    if not (request.dry_run or request.force):
        _refuse_shared_folder(pointer, state)
    limit_ms = _limit_ms(pointer, metadata, request)
    candidates = []
    for number, info in enumerate(_listed(pointer, root, request), 1):
        _refuse_other_table(info.location, metadata, state.identifier)
        if info.modified_ms < limit_ms and not _is_hidden(info.location, root, metadata):
            candidates.append(info.location)
        if progress is not None and number % 1000 == 0:
            progress("files listed", number)
    # The table is read after the listing: whatever was committed by then is live.
    orphans = _orphans(pointer, candidates, request)
    if request.dry_run or not orphans:
        return Orphans(locations=tuple(orphans), dry_run=request.dry_run)
    newest = _orphans(pointer, orphans, request)
    left = _delete(pointer, newest, metadata, request)
    return Orphans(locations=tuple(newest), dry_run=False, left=tuple(left))


def _check_own(metadata: TableMetadata, identifier: str) -> None:
    if metadata.properties.get(GC_ENABLED, "true").lower() == "false":
        raise InvalidInput(
            f"table {identifier}: gc.enabled is false, other tables may use its files; no orphan files are removed",
            table=identifier,
        )


def _check_metadata_file(state: TableState) -> None:
    """A server that keeps metadata in files of its own, and names none of them, would lose them as orphans."""
    location = state.metadata_location
    if location is None or location.partition("://")[0] in ("http", "https"):
        raise InvalidInput(
            f"table {state.identifier}: its catalog does not say which file holds its metadata ({location}), so that the "
            "catalog's own files cannot be told from orphans; remove orphan files by the catalog's own tools",
            table=state.identifier,
        )


def _root(metadata: TableMetadata, request: OrphanRequest, identifier: str) -> Location:
    own = parse(metadata.location)
    if own.path == "/":
        raise InvalidInput(f"table {identifier} lies in a whole store, {metadata.location}; its orphans cannot be told")
    if request.location is None:
        return own
    asked = parse_from_user(request.location)
    is_own = _same(asked, own)
    own_paths = [metadata.properties[key] for key in (DATA_PATH, METADATA_PATH) if metadata.properties.get(key)]
    is_a_root = is_own or any(_same(asked, parse(path.rstrip("/"))) for path in own_paths)
    if not is_a_root and not table_roots(metadata).contains(asked.text):
        raise InvalidInput(
            f"table {identifier}: {request.location} is not in the table's folders ({metadata.location}); files of others "
            "may lie there",
            table=identifier,
        )
    is_inside = asked.path.startswith(own.path.rstrip("/") + "/")
    if not (is_own or is_inside or request.dry_run or request.force):
        raise InvalidInput(
            f"table {identifier}: {request.location} lies outside the table's own folder ({metadata.location}), and other "
            "tables may keep files there, which cannot be told from orphans; look at a dry run, and force it where this table "
            "alone writes there",
            table=identifier,
        )
    return asked


def _same(one: Location, other: Location) -> bool:
    return (one.scheme, one.authority, one.path) == (other.scheme, other.authority, other.path)


def _limit_ms(pointer: TablePointer, metadata: TableMetadata, request: OrphanRequest) -> int:
    """Files that were written after this stay. Raises InvalidInput when it is within the last 24 hours without force."""
    now_ms = pointer.effects.clock.now_ms()
    if not request.dry_run:
        now_ms = store_now_ms(pointer, metadata)
    if request.older_than_ms is None:
        return now_ms - DEFAULT_AGE_MS
    if request.older_than_ms > now_ms - LEAST_AGE_MS and not request.force:
        raise InvalidInput(
            "files younger than 24 hours may be those of a running writer, which would lose them; give an older_than that "
            "is at least 24 hours ago by the store's clock, or force it where nobody writes"
        )
    return request.older_than_ms


def store_now_ms(pointer: TablePointer, metadata: TableMetadata) -> int:
    """The time by the store's clock, which is the one that its files' times are by: that of a file written now."""
    folder = join(metadata_folder(metadata), f"floeberg-clock-{pointer.effects.ids.uuid()}")
    location = join(folder, "now")
    store: Store = pointer.store_for(location)
    store.write(location, b"now")
    try:
        found = [info.modified_ms for info in store.list(folder)]
    finally:
        store.delete(location)
        store.delete_folder(folder)
    if not found:
        raise StorageError(f"{folder}: the store does not list a file that was just written; its clock is not known")
    return found[0]


def _listed(pointer: TablePointer, root: Location, request: OrphanRequest) -> Iterator[FileInfo]:
    if request.files is None:
        yield from pointer.store_for(root.text).list(root.text)
        return
    for info in request.files:
        if parse(info.location).path.startswith(root.path + "/"):
            yield info


def _refuse_other_table(location: str, metadata: TableMetadata, identifier: str) -> None:
    """Raises InvalidInput when a folder below holds another table's metadata: its files are not ours to judge."""
    folder, _, name = location.rpartition("/")
    if not folder.endswith("/metadata") or codec_of_name(name) is None:
        return
    own = {parse(metadata_folder(metadata)).path, parse(join(metadata.location, "metadata")).path}
    if parse(folder).path not in own:
        raise InvalidInput(
            f"table {identifier}: another table lies inside its folder, at {folder}; remove orphans of one folder of this "
            "table at a time (location), or move the other table",
            table=identifier,
        )


def _refuse_shared_folder(pointer: TablePointer, state: TableState) -> None:
    """Raises InvalidInput when another table has its metadata in this table's own folders: its files would be taken for
    orphans. The listing comes first, so that what a writer commits meanwhile is this table's."""
    metadata = state.metadata
    folders = dict.fromkeys((metadata_folder(metadata), join(metadata.location, "metadata")))
    listed = [info.location for folder in folders for info in pointer.store_for(folder).list(folder)]
    documents = [location for location in listed if codec_of_name(location.rpartition("/")[2]) is not None]
    own = {parse(location).path for location in metadata_files(pointer, pointer.refresh())}
    for location in documents:
        if parse(location).path in own:
            continue
        try:
            found = read_metadata(pointer.store_for(location), location)
        except (FileNotFound, MetadataCorrupt):
            continue  # gone meanwhile, or no table's
        if is_other_table(metadata, found):
            raise InvalidInput(
                f"table {state.identifier}: another table (uuid {found.table_uuid}) has its metadata in the same folder, "
                f"{location}, and its files cannot be told from orphans; look at a dry run, and move one of them or, where no "
                "catalog has that table any more, remove its metadata files, or force it (in Python or on the command line)",
                table=state.identifier,
            )


def _is_hidden(location: str, root: Location, metadata: TableMetadata) -> bool:
    """Whether a name on the way starts with `_` or `.`, which engines keep for themselves, and is no partition's folder."""
    partitions = tuple(f"{field.name}=" for spec in metadata.partition_specs for field in spec.fields)
    below = parse(location).path[len(root.path) :]
    return any(
        segment.startswith(("_", ".")) and not segment.startswith(partitions) for segment in below.split("/") if segment
    )


def _orphans(pointer: TablePointer, candidates: list[str], request: OrphanRequest) -> list[str]:
    equality = PathEquality.of(request.equal_schemes, request.equal_authorities)
    return orphans_among(candidates, live_files(pointer, pointer.refresh()), equality, request.prefix_mismatch)


def _delete(pointer: TablePointer, orphans: list[str], metadata: TableMetadata, request: OrphanRequest) -> list[str]:
    """Deletes files inside the table's own folders; those that could not be deleted."""
    roots = table_roots(metadata)

    def delete(location: str) -> str | None:
        if not roots.contains(location):
            return location
        try:
            pointer.store_for(location).delete(location)
        except StorageError:
            return location
        return None

    if request.max_concurrent_deletes > 1:
        with ThreadPoolExecutor(request.max_concurrent_deletes) as pool:
            failed = list(pool.map(delete, orphans))
    else:
        failed = [delete(location) for location in orphans]
    return [location for location in failed if location is not None]
