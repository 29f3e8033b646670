"""What a server answers when a table or view is loaded."""

from __future__ import annotations

from dataclasses import dataclass

from floeberg.catalogs.rest.http import Answer, json_object
from floeberg.catalogs.rest.vended import Vended, vended_by
from floeberg.errors import CatalogError
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.metadata.table_metadata_json import table_metadata_from_json
from floeberg.spec.metadata.view_metadata import ViewMetadata, view_metadata_from_json


@dataclass(frozen=True, slots=True)
class TableResult:
    """`LoadTableResult`: the metadata, where they are, and how to reach the files."""

    metadata: TableMetadata
    metadata_location: str | None
    vended: Vended = Vended()

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
        vended=vended_by(document),
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
