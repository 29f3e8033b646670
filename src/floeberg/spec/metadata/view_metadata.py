"""View metadata, from and to JSON: https://iceberg.apache.org/view-spec/#view-metadata"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import msgspec

from floeberg.errors import InvalidInput, MetadataCorrupt, UnsupportedFeature
from floeberg.spec.json.documents import Document, DocumentKind, Documents, T
from floeberg.spec.json.fields import JsonFields
from floeberg.spec.json.limits import DEFAULT_LIMITS, Limits
from floeberg.spec.json.strict import check_depth, decode_object
from floeberg.spec.metadata.table_metadata import SCHEMAS
from floeberg.spec.metadata.view_versions import VERSION_LOG, VERSIONS, ViewLogEntry, ViewVersion
from floeberg.spec.schemas.schema import Schema

SUPPORTED_VIEW_FORMAT_VERSION: Final = 1
_FIELDS: Final = frozenset(
    (
        "view-uuid",
        "format-version",
        "location",
        "schemas",
        "current-version-id",
        "versions",
        "version-log",
        "properties",
    )
)


@dataclass(frozen=True, kw_only=True)
class ViewMetadata:
    """All that a metadata file says about a view. `extra` holds the fields that are not known here."""

    view_uuid: str
    format_version: int = SUPPORTED_VIEW_FORMAT_VERSION
    location: str
    schemas: Documents[Schema]
    current_version_id: int
    versions: Documents[ViewVersion]
    version_log: Documents[ViewLogEntry]
    properties: Mapping[str, str] = field(default_factory=dict)
    extra: Mapping[str, object] = field(default_factory=dict)

    def find_version(self, version_id: int) -> ViewVersion | None:
        return next((version for version in self.versions if version.version_id == version_id), None)

    def version(self, version_id: int) -> ViewVersion:
        """Raises InvalidInput."""
        found = self.find_version(version_id)
        if found is None:
            raise InvalidInput(f"view {self.location} has no version {version_id}", version_id=version_id)
        return found

    @property
    def current_version(self) -> ViewVersion:
        return self.version(self.current_version_id)

    def find_schema(self, schema_id: int) -> Schema | None:
        return next((schema for schema in self.schemas if schema.schema_id == schema_id), None)

    @property
    def current_schema(self) -> Schema:
        """The schema of the current version."""
        found = self.find_schema(self.current_version.schema_id)
        if found is None:
            raise InvalidInput(f"view {self.location} has no schema {self.current_version.schema_id}")
        return found


def parse_view_metadata(data: bytes, *, limits: Limits = DEFAULT_LIMITS, location: str | None = None) -> ViewMetadata:
    """View metadata from the bytes of a metadata file; `location` is the file's, for messages.

    Raises MetadataCorrupt, LimitExceeded, or UnsupportedFeature for a format version above 1."""
    where = location or "view metadata"
    return view_metadata_from_json(decode_object(data, where=where, limits=limits), limits=limits, where=where)


def view_metadata_from_json(
    document: Document, *, limits: Limits = DEFAULT_LIMITS, where: str = "view metadata"
) -> ViewMetadata:
    """As `parse_view_metadata`, from decoded JSON. The document is kept: it must not be changed afterwards."""
    check_depth(document, where=where, limits=limits)
    fields = JsonFields(document, where)
    version = fields.int32("format-version")
    if version > SUPPORTED_VIEW_FORMAT_VERSION:
        raise UnsupportedFeature(
            f"{where} has view format-version {version}; version {SUPPORTED_VIEW_FORMAT_VERSION} is supported",
            where=where,
        )
    if version < 1:
        fields.wrong("format-version", "1")
    metadata = ViewMetadata(
        view_uuid=fields.text("view-uuid"),
        format_version=version,
        location=fields.text("location"),
        schemas=_list(fields, SCHEMAS, limits, "schemas"),
        current_version_id=fields.int32("current-version-id"),
        versions=_list(fields, VERSIONS, limits, "view_versions"),
        version_log=_list(fields, VERSION_LOG, limits, "log_entries"),
        properties=fields.optional_text_map("properties"),
        extra=fields.unknown(_FIELDS),
    )
    _check(metadata, where)
    return metadata


def write_view_metadata(metadata: ViewMetadata) -> bytes:
    """The bytes of a metadata file: compact JSON, fields in the reference implementation's order."""
    return msgspec.json.encode(view_metadata_to_json(metadata))


def view_metadata_to_json(metadata: ViewMetadata) -> Document:
    """The metadata as JSON builtins, sharing what was read: for encoding, not for changing."""
    document: Document = {
        "view-uuid": metadata.view_uuid,
        "format-version": metadata.format_version,
        "location": metadata.location,
    }
    if metadata.properties:
        document["properties"] = metadata.properties
    document["schemas"] = metadata.schemas.documents
    document["current-version-id"] = metadata.current_version_id
    document["versions"] = metadata.versions.documents
    document["version-log"] = metadata.version_log.documents
    return {**document, **metadata.extra}


def _list(fields: JsonFields, kind: DocumentKind[T], limits: Limits, limit: str) -> Documents[T]:
    fields.required(kind.name)
    documents = Documents(kind, fields.objects(kind.name))
    limits.check(limit, len(documents), fields.where)
    for position, document in enumerate(documents.documents):
        kind.parse(document, f"{fields.where}: {kind.name}[{position}]")
    return documents


def _check(metadata: ViewMetadata, where: str) -> None:
    """Raises MetadataCorrupt when ids are there twice, or the current version or its schema is not there."""
    for name, ids in (
        ("versions", [version.version_id for version in metadata.versions]),
        ("schemas", [schema.schema_id for schema in metadata.schemas]),
    ):
        if len(set(ids)) != len(ids):
            raise MetadataCorrupt(f"{where}: two of {name} have the same id", where=where)
    current = metadata.find_version(metadata.current_version_id)
    if current is None:
        raise MetadataCorrupt(
            f"{where}: current-version-id {metadata.current_version_id} is not in versions", where=where
        )
    if metadata.find_schema(current.schema_id) is None:
        raise MetadataCorrupt(
            f"{where}: version {current.version_id} has schema-id {current.schema_id}, which is not in schemas",
            where=where,
        )
