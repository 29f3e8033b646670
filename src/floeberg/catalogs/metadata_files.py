"""Reading and writing the metadata files that a catalog points at."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock

from floeberg.effects.protocols import Store
from floeberg.errors import FloebergError, StorageError, TableNotFound
from floeberg.files.metadata_file import codec_of_name, decode_metadata_file, encode_metadata_file, suffix_of
from floeberg.spec.json.limits import DEFAULT_LIMITS, Limits
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.metadata.table_metadata_json import parse_table_metadata, write_table_metadata
from floeberg.spec.metadata.table_properties import METADATA_CODECS, METADATA_COMPRESSION
from floeberg.spec.metadata.view_metadata import ViewMetadata, parse_view_metadata, write_view_metadata
from floeberg.storage.guard import Roots
from floeberg.storage.registry import Stores

DELETE_AFTER_COMMIT = "write.metadata.delete-after-commit.enabled"
METADATA_PATH = "write.metadata.path"
DATA_PATH = "write.data.path"
_MOST_BYTES = 16 << 20


class _Decoded:
    """The metadata that were decoded last, by the bytes of their file: a file of the same name may have other ones. Nothing
    of it is ever changed, so all who read the same bytes share it."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[bytes, str, Limits], TableMetadata] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()

    def get(self, key: tuple[bytes, str, Limits]) -> TableMetadata | None:
        with self._lock:
            found = self._known.get(key)
            if found is not None:
                self._known.move_to_end(key)
            return found

    def put(self, key: tuple[bytes, str, Limits], metadata: TableMetadata) -> None:
        with self._lock:
            if key not in self._known:
                self._known[key] = metadata
                self._bytes += len(key[0])
            while self._bytes > _MOST_BYTES:
                (content, _, _), _ = self._known.popitem(last=False)
                self._bytes -= len(content)


_DECODED = _Decoded()


def read_metadata(store: Store, location: str, *, limits: Limits = DEFAULT_LIMITS) -> TableMetadata:
    """The table metadata in a file, plain or gzip. Raises FileNotFound, MetadataCorrupt, LimitExceeded, UnsupportedFeature,
    each naming the file."""
    return decode_metadata(store.read(location), location, limits=limits)


def decode_metadata(content: bytes, location: str, *, limits: Limits = DEFAULT_LIMITS) -> TableMetadata:
    """The table metadata in a file's bytes; those that were decoded before are not decoded again. Raises as
    `read_metadata`."""
    found = _DECODED.get((content, location, limits))
    if found is None:
        data = decode_metadata_file(content, name=location, limits=limits)
        found = parse_table_metadata(data, limits=limits, location=location)
        _DECODED.put((content, location, limits), found)
    return found


def read_view_metadata(store: Store, location: str, *, limits: Limits = DEFAULT_LIMITS) -> ViewMetadata:
    """The view metadata in a file, plain or gzip. Raises as `read_metadata`."""
    data = decode_metadata_file(store.read(location), name=location, limits=limits)
    return parse_view_metadata(data, limits=limits, location=location)


def encode_metadata(metadata: TableMetadata, location: str) -> bytes:
    """The bytes of a metadata file; its name says whether they are compressed."""
    return encode_metadata_file(write_table_metadata(metadata), codec_of_name(location) or "none")


def encode_view_metadata(metadata: ViewMetadata) -> bytes:
    """The bytes of a view's metadata file."""
    return encode_metadata_file(write_view_metadata(metadata))


def metadata_suffix(metadata: TableMetadata) -> str:
    """The ending that the table's properties ask for. A codec that is not known counts as none: the commit may be the one
    that sets it right."""
    codec = metadata.properties.get(METADATA_COMPRESSION, "none")
    return suffix_of(codec if codec.lower() in METADATA_CODECS else "none")


def metadata_folder(metadata: TableMetadata) -> str:
    """The folder of a table's metadata files."""
    folder = metadata.properties.get(METADATA_PATH) or f"{metadata.location.rstrip('/')}/metadata"
    return folder.rstrip("/")


def table_roots(metadata: TableMetadata) -> Roots:
    """The folders that are a table's own: only in them may its files be deleted."""
    return Roots(table_folders(metadata))


def table_folders(metadata: TableMetadata) -> list[str]:
    """A table's own folders: its location, and where its properties put data and metadata."""
    own = [metadata.properties[key] for key in (DATA_PATH, METADATA_PATH) if metadata.properties.get(key)]
    return [metadata.location, *own]


def delete_dropped_metadata(stores: Stores, base: TableMetadata | None, new: TableMetadata) -> None:
    """After a commit: removes the metadata files that its log no longer names, oldest first, where the table asks for it.
    Failing to is no failure of the commit; orphan removal finds the rest."""
    if base is None or new.properties.get(DELETE_AFTER_COMMIT, "false").lower() != "true":
        return
    kept = {entry.metadata_file for entry in new.metadata_log}
    doomed = [entry.metadata_file for entry in base.metadata_log if entry.metadata_file not in kept]
    try:
        roots = table_roots(new)
        for location in doomed:
            if codec_of_name(location) is not None and roots.contains(location):
                stores.for_location(location).delete(location)
    except FloebergError:
        return


def discard(store: Store, location: str) -> None:
    """Deletes a file that is not needed. A failure hides no other error; orphan removal finds the file."""
    try:
        store.delete(location)
    except StorageError:
        return


def check_same_table(identifier: str, base: TableMetadata, found: TableMetadata) -> TableMetadata:
    """The refreshed metadata, if they are of the loaded table. Raises TableNotFound when another table has its name now: a
    table's uuid never changes."""
    if is_other_table(base, found):
        raise TableNotFound(
            f"table {identifier}: the table of this name is another one now (uuid {found.table_uuid}, was {base.table_uuid}); "
            "it was dropped and created anew: load it again",
            table=identifier,
        )
    return found


def is_other_table(base: TableMetadata, found: TableMetadata) -> bool:
    """Whether the uuids prove that these are two tables; v1 tables may have none."""
    if base.table_uuid is None or found.table_uuid is None:
        return False
    return base.table_uuid.lower() != found.table_uuid.lower()
