"""Reading and writing the metadata files that a catalog points at."""

from __future__ import annotations

from floeberg.effects.protocols import Store
from floeberg.errors import FloebergError, TableNotFound
from floeberg.files.metadata_file import codec_of_name, decode_metadata_file, encode_metadata_file, suffix_of
from floeberg.spec.limits import DEFAULT_LIMITS, Limits
from floeberg.spec.metadata import TableMetadata
from floeberg.spec.metadata_json import parse_table_metadata, write_table_metadata
from floeberg.spec.view_metadata import ViewMetadata, parse_view_metadata, write_view_metadata
from floeberg.storage.registry import Stores

DELETE_AFTER_COMMIT = "write.metadata.delete-after-commit.enabled"
COMPRESSION = "write.metadata.compression-codec"


def read_metadata(store: Store, location: str, *, limits: Limits = DEFAULT_LIMITS) -> TableMetadata:
    """The table metadata in a file, plain or gzip. Raises FileNotFound, MetadataCorrupt, LimitExceeded, UnsupportedFeature,
    each naming the file."""
    data = decode_metadata_file(store.read(location), name=location, limits=limits)
    return parse_table_metadata(data, limits=limits, location=location)


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
    """The ending that the table's properties ask for."""
    return suffix_of(metadata.properties.get(COMPRESSION, "none"))


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
    roots = (f"{new.location.rstrip('/')}/", f"{metadata_folder(new)}/")
    for entry in base.metadata_log:
        if entry.metadata_file in kept or not entry.metadata_file.startswith(roots):
            continue
        try:
            stores.for_location(entry.metadata_file).delete(entry.metadata_file)
        except FloebergError:
            return


def check_same_table(identifier: str, base: TableMetadata, found: TableMetadata) -> TableMetadata:
    """The metadata found by a refresh, if they are of the table that was loaded. Raises TableNotFound when another table
    has taken its name: a table's uuid never changes."""
    if (
        base.table_uuid is not None
        and found.table_uuid is not None
        and base.table_uuid.lower() != found.table_uuid.lower()
    ):
        raise TableNotFound(
            f"table {identifier}: the table of this name is another one now (uuid {found.table_uuid}, was {base.table_uuid}); "
            "it was dropped and created anew: load it again",
            table=identifier,
        )
    return found
