"""Views as users hold them: https://iceberg.apache.org/view-spec/"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from floeberg.catalogs.base import CatalogBackend, LoadedView, shown_name
from floeberg.catalogs.view_changes import (
    DEFAULT_DIALECT,
    ViewDefinition,
    change_view_properties,
    reload_view,
    replace_view,
    view_query,
)
from floeberg.spec.metadata.view_metadata import ViewMetadata
from floeberg.spec.metadata.view_versions import ViewVersion
from floeberg.spec.schemas.schema import Schema

__all__ = ["View", "ViewDefinition"]


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
        return view_query(self._catalog, self._loaded, dialect=dialect)

    def refresh(self) -> View:
        """Loads the newest state of the view. Raises ViewNotFound when the view no longer exists or another has its name."""
        self._loaded = reload_view(self._catalog, self._loaded)
        return self

    def replace(self, definition: ViewDefinition, *, properties: Mapping[str, str] | None = None) -> View:
        """Gives the view another query; the old one stays in its history."""
        self._loaded = replace_view(self._catalog, self._loaded, definition, properties=properties)
        return self

    def update_properties(self, *, set: Mapping[str, str] | None = None, remove: Sequence[str] = ()) -> View:
        """Sets and removes properties."""
        self._loaded = change_view_properties(self._catalog, self._loaded, set=set, remove=remove)
        return self
