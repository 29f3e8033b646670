"""What a server answers when a table or view is loaded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from floeberg.catalogs.rest.http import Answer, json_object
from floeberg.errors import CatalogError
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.metadata.table_metadata_json import table_metadata_from_json
from floeberg.spec.metadata.view_metadata import ViewMetadata, view_metadata_from_json
from floeberg.storage.secret import Secret, seal_options


@dataclass(frozen=True, slots=True)
class StorageCredential:
    """Options of stores, credentials among them, for the locations below a prefix."""

    prefix: str
    config: Mapping[str, str | Secret]

    def __repr__(self) -> str:
        return f"StorageCredential({self.prefix!r})"


@dataclass(frozen=True, slots=True)
class TableResult:
    """`LoadTableResult`: the metadata, where they are, and how to reach the files."""

    metadata: TableMetadata
    metadata_location: str | None
    config: Mapping[str, str | Secret] = field(default_factory=dict)
    credentials: tuple[StorageCredential, ...] = ()

    def __repr__(self) -> str:
        return f"TableResult({self.metadata_location!r})"


def table_result(answer: Answer, subject: str) -> TableResult:
    """Raises CatalogError for an answer without metadata, MetadataCorrupt for metadata that are none."""
    document = json_object(answer, subject)
    metadata = document.get("metadata")
    if not isinstance(metadata, dict):
        raise CatalogError(f"{subject}: the server's answer holds no metadata")
    location = document.get("metadata-location")
    return TableResult(
        metadata=table_metadata_from_json(metadata, where=f"{subject}: metadata"),
        metadata_location=location if isinstance(location, str) else None,
        config=_sealed(document.get("config")),
        credentials=storage_credentials(document),
    )


def view_result(answer: Answer, subject: str) -> tuple[ViewMetadata, str | None]:
    """A view's metadata and where they are. Raises as `table_result`."""
    document = json_object(answer, subject)
    metadata = document.get("metadata")
    if not isinstance(metadata, dict):
        raise CatalogError(f"{subject}: the server's answer holds no metadata")
    location = document.get("metadata-location")
    found = view_metadata_from_json(metadata, where=f"{subject}: metadata")
    return found, location if isinstance(location, str) else None


def storage_credentials(document: Mapping[str, object]) -> tuple[StorageCredential, ...]:
    """The `storage-credentials` of an answer."""
    listed = document.get("storage-credentials")
    return tuple(
        StorageCredential(str(one["prefix"]), _sealed(one.get("config")))
        for one in (listed if isinstance(listed, list) else [])
        if isinstance(one, dict) and isinstance(one.get("prefix"), str)
    )


def _sealed(value: object) -> dict[str, str | Secret]:
    if not isinstance(value, dict):
        return {}
    return seal_options({str(key): text for key, text in value.items() if isinstance(text, str)})
