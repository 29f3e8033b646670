"""The definition of a view, and changes of it: https://iceberg.apache.org/view-spec/"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from floeberg.catalogs.base import CatalogBackend, LoadedView, shown_name
from floeberg.catalogs.identifiers import Namespace
from floeberg.effects.protocols import Effects
from floeberg.errors import CommitConflict, InvalidInput, ViewNotFound
from floeberg.spec.changes.updates import (
    LAST_ADDED,
    AddSchema,
    AddViewVersion,
    MetadataUpdate,
    RemoveProperties,
    SetCurrentViewVersion,
    SetProperties,
)
from floeberg.spec.changes.view_builder import apply_view_updates, create_view_updates
from floeberg.spec.metadata.table_properties import check_texts
from floeberg.spec.metadata.view_metadata import ViewMetadata
from floeberg.spec.metadata.view_versions import ViewRepresentation, ViewVersion
from floeberg.spec.schemas.projection import assign_fresh_ids
from floeberg.spec.schemas.schema import Schema

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

    def __post_init__(self) -> None:
        check_texts(self.summary, what="summary field of a view")
        check_texts(
            self.sql if isinstance(self.sql, Mapping) else {DEFAULT_DIALECT: self.sql}, what="query in the dialect"
        )
        if self.default_catalog is not None:
            check_texts({"default_catalog": self.default_catalog}, what="the view's")

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


def view_query(catalog: CatalogBackend, loaded: LoadedView, *, dialect: str = DEFAULT_DIALECT) -> str:
    """The query in a dialect. Raises InvalidInput when the view has none in it."""
    version = loaded.metadata.current_version
    for one in version.representations:
        if one.is_sql and (one.dialect or "").lower() == dialect.lower() and one.sql is not None:
            return one.sql
    known = ", ".join(version.dialects) or "none"
    name = shown_name(catalog.name, loaded.identifier)
    raise InvalidInput(f"view {name} has no query in the dialect {dialect!r}; it has: {known}")


def reload_view(catalog: CatalogBackend, loaded: LoadedView) -> LoadedView:
    """The view as it is now. Raises ViewNotFound when it is gone or another took its name."""
    found = catalog.load_view(loaded.identifier)
    if found.metadata.view_uuid.lower() != loaded.metadata.view_uuid.lower():
        raise ViewNotFound(
            f"view {shown_name(catalog.name, loaded.identifier)}: the view of this name is another one now; it was dropped "
            "and created anew: load it again"
        )
    return found


def replace_view(
    catalog: CatalogBackend,
    loaded: LoadedView,
    definition: ViewDefinition,
    *,
    properties: Mapping[str, str] | None = None,
) -> LoadedView:
    """Gives the view another query; the old one stays in its history."""
    version = definition.version(effects=catalog.effects)

    def updates(base: ViewMetadata) -> list[MetadataUpdate]:
        schema = assign_fresh_ids(definition.schema, base=base.current_schema, last_column_id=_last_id(base))
        changes: list[MetadataUpdate] = [AddSchema(schema), AddViewVersion(version), SetCurrentViewVersion()]
        return [*changes, SetProperties(dict(properties))] if properties else changes

    return _change(catalog, loaded, updates)


def change_view_properties(
    catalog: CatalogBackend, loaded: LoadedView, *, set: Mapping[str, str] | None = None, remove: Sequence[str] = ()
) -> LoadedView:
    """Sets and removes properties."""
    changes: list[MetadataUpdate] = [SetProperties(dict(set))] if set else []
    if remove:
        changes.append(RemoveProperties(tuple(remove)))
    return _change(catalog, loaded, lambda base: changes)


def _change(catalog: CatalogBackend, loaded: LoadedView, updates: _Updates) -> LoadedView:
    attempt = 0
    while True:
        attempt += 1
        new = apply_view_updates(loaded.metadata, updates(loaded.metadata), now_ms=catalog.effects.clock.now_ms())
        if new is loaded.metadata:
            newest = loaded if attempt > 1 else reload_view(catalog, loaded)
            if newest.metadata_location == loaded.metadata_location:
                return loaded
            loaded = newest  # the view was stale: "nothing to change" may not hold for the newest one
            continue
        try:
            return catalog.swap_view(loaded, new)
        except CommitConflict:
            if attempt == MAX_TRIES:
                raise
            loaded = reload_view(catalog, loaded)


def _last_id(metadata: ViewMetadata) -> int:
    return max((schema.highest_field_id for schema in metadata.schemas), default=0)
