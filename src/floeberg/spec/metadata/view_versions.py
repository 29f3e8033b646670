"""Versions of a view: https://iceberg.apache.org/view-spec/#versions"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from floeberg.spec.json.documents import Document, DocumentKind
from floeberg.spec.json.fields import JsonFields

SQL: Final = "sql"


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewRepresentation:
    """A way to express the view. `type` is `sql` with `sql` and `dialect`; another type keeps its fields in `extra`."""

    type: str = SQL
    sql: str | None = None
    dialect: str | None = None
    extra: Mapping[str, object] = field(default_factory=dict)

    @property
    def is_sql(self) -> bool:
        return self.type == SQL


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewVersion:
    """The definition of a view at one time; it never changes."""

    version_id: int
    schema_id: int
    timestamp_ms: int
    summary: Mapping[str, str] = field(default_factory=dict)
    representations: tuple[ViewRepresentation, ...]
    default_catalog: str | None = None
    default_namespace: tuple[str, ...] = ()
    extra: Mapping[str, object] = field(default_factory=dict)

    @property
    def dialects(self) -> tuple[str, ...]:
        """The dialects of the SQL representations, in lower case."""
        return tuple((one.dialect or "").lower() for one in self.representations if one.is_sql)

    def same_definition(self, other: ViewVersion) -> bool:
        """Whether both behave the same: equal but for id and time."""
        return (self.summary, self.representations, self.default_catalog, self.default_namespace, self.schema_id) == (
            other.summary, other.representations, other.default_catalog, other.default_namespace, other.schema_id,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class ViewLogEntry:
    """That a version became the current one."""

    timestamp_ms: int
    version_id: int


_SQL_FIELDS: Final = frozenset(("type", "sql", "dialect"))
_VERSION_FIELDS: Final = frozenset(
    ("version-id", "schema-id", "timestamp-ms", "summary", "representations", "default-catalog", "default-namespace")
)


def representation_from_json(value: object, where: str = "view representation") -> ViewRepresentation:
    """A representation from its JSON. Raises MetadataCorrupt."""
    fields = JsonFields(value, where)
    kind = fields.text("type")
    if kind.lower() != SQL:
        return ViewRepresentation(type=kind, extra=fields.unknown(frozenset(("type",))))
    return ViewRepresentation(sql=fields.text("sql"), dialect=fields.text("dialect"), extra=fields.unknown(_SQL_FIELDS))


def representation_to_json(representation: ViewRepresentation) -> Document:
    document: Document = {"type": representation.type}
    if representation.is_sql:
        document |= {"sql": representation.sql, "dialect": representation.dialect}
    return {**document, **representation.extra}


def view_version_from_json(value: object, where: str = "view version") -> ViewVersion:
    """A version from its JSON. Raises MetadataCorrupt."""
    fields = JsonFields(value, where)
    fields.required("representations")
    return ViewVersion(
        version_id=fields.int32("version-id"),
        schema_id=fields.int32("schema-id"),
        timestamp_ms=fields.long("timestamp-ms"),
        summary=fields.text_map("summary"),
        representations=tuple(
            representation_from_json(one, f"{where}: representations[{position}]")
            for position, one in enumerate(fields.objects("representations"))
        ),
        default_catalog=fields.optional_text("default-catalog"),
        default_namespace=fields.texts("default-namespace"),
        extra=fields.unknown(_VERSION_FIELDS),
    )


def view_version_to_json(version: ViewVersion) -> Document:
    """The version's JSON, in the reference implementation's order."""
    document: Document = {
        "version-id": version.version_id,
        "timestamp-ms": version.timestamp_ms,
        "schema-id": version.schema_id,
        "summary": dict(version.summary),
    }
    if version.default_catalog is not None:
        document["default-catalog"] = version.default_catalog
    document["default-namespace"] = list(version.default_namespace)
    document["representations"] = [representation_to_json(one) for one in version.representations]
    return {**document, **version.extra}


def view_log_entry_from_json(value: object, where: str = "version-log entry") -> ViewLogEntry:
    fields = JsonFields(value, where)
    return ViewLogEntry(fields.long("timestamp-ms"), fields.int32("version-id"))


def view_log_entry_to_json(entry: ViewLogEntry) -> Document:
    return {"timestamp-ms": entry.timestamp_ms, "version-id": entry.version_id}


VERSIONS: Final = DocumentKind("versions", view_version_from_json, view_version_to_json)
VERSION_LOG: Final = DocumentKind("version-log", view_log_entry_from_json, view_log_entry_to_json)
