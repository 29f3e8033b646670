"""Reading and writing the metadata files that a catalog points at."""

from __future__ import annotations

from floeberg.effects.protocols import Store
from floeberg.errors import FloebergError, FormatError, TableNotFound
from floeberg.files.metadata_file import decode_metadata_file, encode_metadata_file
from floeberg.spec.limits import DEFAULT_LIMITS, Limits
from floeberg.spec.metadata import TableMetadata
from floeberg.spec.metadata_json import parse_table_metadata, write_table_metadata
from floeberg.storage.registry import Stores

DELETE_AFTER_COMMIT = "write.metadata.delete-after-commit.enabled"
COMPRESSION = "write.metadata.compression-codec"


def read_metadata(store: Store, location: str, *, limits: Limits = DEFAULT_LIMITS) -> TableMetadata:
    """The table metadata in a file, plain or gzip. Raises FileNotFound, MetadataCorrupt, LimitExceeded, UnsupportedFeature,
    each naming the file."""
    data = store.read(location)
    try:
        return parse_table_metadata(decode_metadata_file(data, limits=limits), limits=limits)
    except FormatError as error:
        raise type(error)(f"{location}: {error}", **{**error.context, "location": location}) from error


def encode_metadata(metadata: TableMetadata, location: str) -> bytes:
    """The bytes of a metadata file; its name says whether they are compressed."""
    return encode_metadata_file(write_table_metadata(metadata), gzip=is_gzip(location))


def is_gzip(location: str) -> bool:
    """Whether a metadata file's name says that it is compressed."""
    return location.endswith((".gz.metadata.json", ".metadata.json.gz"))


def metadata_suffix(metadata: TableMetadata) -> str:
    """The ending of a new table's metadata files."""
    codec = metadata.properties.get(COMPRESSION, "none").lower()
    return ".gz.metadata.json" if codec == "gzip" else ".metadata.json"


def metadata_folder(metadata: TableMetadata) -> str:
    """Where a table's metadata files go."""
    folder = metadata.properties.get("write.metadata.path") or f"{metadata.location.rstrip('/')}/metadata"
    return folder.rstrip("/")


def delete_dropped_metadata(stores: Stores, base: TableMetadata | None, new: TableMetadata) -> None:
    """After a commit: removes the metadata files that its log no longer names, where the table asks for it. Failing to is
    no failure of the commit; orphan removal finds the rest."""
    if base is None or new.properties.get(DELETE_AFTER_COMMIT, "false").lower() != "true":
        return
    kept = {entry.metadata_file for entry in new.metadata_log}
    root = f"{new.location.rstrip('/')}/"
    for entry in base.metadata_log:
        if entry.metadata_file in kept or not entry.metadata_file.startswith((root, metadata_folder(new) + "/")):
            continue
        try:
            stores.for_location(entry.metadata_file).delete(entry.metadata_file)
        except FloebergError:
            return


def check_same_table(identifier: str, base: TableMetadata, found: TableMetadata) -> TableMetadata:
    """The metadata found by a refresh, if they are of the table that was loaded. Raises TableNotFound when another table
    has taken its name (seed rule: a table's uuid never changes)."""
    if base.table_uuid is not None and found.table_uuid is not None and base.table_uuid.lower() != found.table_uuid.lower():
        raise TableNotFound(
            f"table {identifier}: the table of this name is another one now (uuid {found.table_uuid}, was {base.table_uuid}); "
            "it was dropped and created anew: load it again",
            table=identifier,
        )
    return found
