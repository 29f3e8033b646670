"""Views as users hold them: https://iceberg.apache.org/view-spec/"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from floeberg.catalogs.base import CatalogBackend, LoadedView, shown_name
from floeberg.catalogs.identifiers import Namespace
from floeberg.effects.protocols import Effects
from floeberg.errors import CommitConflict, InvalidInput, ViewNotFound
from floeberg.spec.schema import Schema
from floeberg.spec.schema_projection import assign_fresh_ids
from floeberg.spec.updates import (
    LAST_ADDED,
    AddSchema,
    AddViewVersion,
    MetadataUpdate,
    RemoveProperties,
    SetCurrentViewVersion,
    SetProperties,
)
from floeberg.spec.view_builder import apply_view_updates, create_view_updates
from floeberg.spec.view_metadata import ViewMetadata
from floeberg.spec.view_versions import ViewRepresentation, ViewVersion

DEFAULT_DIALECT: Final = "spark"
ENGINE: Final = {"engine-name": "floeberg"}
MAX_TRIES: Final = 10
_Updates = Callable[[ViewMetadata], Sequence[MetadataUpdate]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewDefinition:
    """What a view is: its query in one or more dialects, the columns it gives, and where its names are looked up."""

    sql: str | Mapping[str, str]
    schema: Schema
    default_catalog: str | None = None
    default_namespace: Namespace = ()
    summary: Mapping[str, str] = field(default_factory=dict)

    def version(self, *, effects: Effects) -> ViewVersion:
        """Raises InvalidInput when there is no query."""
        queries = {DEFAULT_DIALECT: self.sql} if isinstance(self.sql, str) else self.sql
        if not queries or any(not text.strip() or not dialect.strip() for dialect, text in queries.items()):
            raise InvalidInput("a view needs a query: its text, or texts by dialect such as {'spark': 'SELECT …'}")
        return ViewVersion(
            version_id=1,
            schema_id=LAST_ADDED,
            timestamp_ms=effects.clock.now_ms(),
            summary={**ENGINE, **self.summary},
            representations=tuple(ViewRepresentation(sql=text, dialect=one) for one, text in queries.items()),
            default_catalog=self.default_catalog,
            default_namespace=self.default_namespace,
        )

    def new_metadata(self, *, location: str, properties: Mapping[str, str], effects: Effects) -> ViewMetadata:
        """The metadata of a new view."""
        updates = create_view_updates(
            view_uuid=str(effects.ids.uuid()),
            location=location,
            schema=assign_fresh_ids(self.schema),
            version=self.version(effects=effects),
            properties=properties,
        )
        return apply_view_updates(None, updates, now_ms=effects.clock.now_ms())


class View:
    """A view at one moment; a change brings this object up to date."""

    def __init__(self, catalog: CatalogBackend, loaded: LoadedView) -> None:
        self._catalog = catalog
        self._loaded = loaded
        self.identifier = loaded.identifier

    def __repr__(self) -> str:
        return f"View({self.name})"

    @property
    def name(self) -> str:
        """The full name, with the catalog's."""
        return shown_name(self._catalog.name, self.identifier)

    @property
    def metadata(self) -> ViewMetadata:
        return self._loaded.metadata

    @property
    def metadata_location(self) -> str | None:
        return self._loaded.metadata_location

    @property
    def schema(self) -> Schema:
        return self.metadata.current_schema

    @property
    def properties(self) -> Mapping[str, str]:
        return self.metadata.properties

    @property
    def current_version(self) -> ViewVersion:
        return self.metadata.current_version

    @property
    def versions(self) -> Sequence[ViewVersion]:
        return self.metadata.versions

    def sql(self, dialect: str = DEFAULT_DIALECT) -> str:
        """The query in a dialect. Raises InvalidInput when the view has none in it."""
        for one in self.current_version.representations:
            if one.is_sql and (one.dialect or "").lower() == dialect.lower() and one.sql is not None:
                return one.sql
        known = ", ".join(self.current_version.dialects) or "none"
        raise InvalidInput(f"view {self.name} has no query in the dialect {dialect!r}; it has: {known}")

    def refresh(self) -> View:
        """Sees what was changed meanwhile. Raises ViewNotFound when the view is gone or another took its name."""
        loaded = self._catalog.load_view(self.identifier)
        if loaded.metadata.view_uuid.lower() != self.metadata.view_uuid.lower():
            raise ViewNotFound(
                f"view {self.name}: the view of this name is another one now; it was dropped and created anew: load it again"
            )
        self._loaded = loaded
        return self

    def replace(self, definition: ViewDefinition, *, properties: Mapping[str, str] | None = None) -> View:
        """Gives the view another query; the old one stays in its history."""
        version = definition.version(effects=self._catalog.effects)

        def updates(base: ViewMetadata) -> list[MetadataUpdate]:
            schema = assign_fresh_ids(definition.schema, base=base.current_schema, last_column_id=_last_id(base))
            changes: list[MetadataUpdate] = [AddSchema(schema), AddViewVersion(version), SetCurrentViewVersion()]
            return [*changes, SetProperties(dict(properties))] if properties else changes

        return self._change(updates)

    def update_properties(self, *, set: Mapping[str, str] | None = None, remove: Sequence[str] = ()) -> View:
        """Sets and removes properties."""
        changes: list[MetadataUpdate] = [SetProperties(dict(set))] if set else []
        if remove:
            changes.append(RemoveProperties(tuple(remove)))
        return self._change(lambda base: changes)

    def _change(self, updates: _Updates) -> View:
        for attempt in range(1, MAX_TRIES + 1):
            base = self._loaded
            new = apply_view_updates(base.metadata, updates(base.metadata), now_ms=self._catalog.effects.clock.now_ms())
            if new is base.metadata:
                return self
            try:
                self._loaded = self._catalog.swap_view(base, new)
                break
            except CommitConflict:
                if attempt == MAX_TRIES:
                    raise
                self.refresh()
        return self


def _last_id(metadata: ViewMetadata) -> int:
    return max((schema.highest_field_id for schema in metadata.schemas), default=0)
