"""The views of a catalog, as users hold it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from floeberg.api.catalog_namespaces import CatalogNamespaces, Name
from floeberg.api.definition import AnySchema, to_schema
from floeberg.api.view import View
from floeberg.catalogs.identifiers import Identifier, to_namespace
from floeberg.catalogs.view_changes import ViewDefinition
from floeberg.errors import ViewAlreadyExists, ViewNotFound
from floeberg.storage.location import parse_from_user


class CatalogViews(CatalogNamespaces):
    """What a catalog can do with views; a catalog that keeps none raises UnsupportedFeature."""

    def list_views(self, namespace: str | Sequence[str]) -> list[Identifier]:
        """Raises NamespaceNotFound."""
        return self._backend.list_views(to_namespace(namespace))

    def view_exists(self, name: Name) -> bool:
        return self._backend.view_exists(self.identifier(name))

    def create_view(
        self,
        name: Name,
        sql: str | Mapping[str, str],
        schema: AnySchema,
        *,
        default_catalog: str | None = None,
        default_namespace: str | Sequence[str] | None = None,
        properties: Mapping[str, str] | None = None,
        location: str | None = None,
        replace: bool = False,
        if_not_exists: bool = False,
    ) -> View:
        """Makes a view of a query: its text in Spark's dialect, or texts by dialect. `schema` are the columns it gives; names
        in the query are looked up in the default catalog and namespace.

        With `replace`, a view of that name gets the new query and keeps its history. Raises ViewAlreadyExists otherwise
        (unless `if_not_exists`), TableAlreadyExists, NamespaceNotFound, UnsupportedFeature.
        """
        identifier = self.identifier(name)
        definition = ViewDefinition(
            sql=sql,
            schema=to_schema(schema),
            default_catalog=default_catalog,
            default_namespace=identifier.namespace if default_namespace is None else to_namespace(default_namespace),
        )
        if replace and self._backend.view_exists(identifier):
            return self.load_view(identifier).replace(definition, properties=properties)
        if location is not None:
            where = parse_from_user(location).text
        else:
            where = self._backend.default_location(identifier)
        effects = self._backend.effects
        metadata = definition.new_metadata(location=where, properties=dict(properties or {}), effects=effects)
        try:
            return View(self._backend, self._backend.create_view(identifier, metadata))
        except ViewAlreadyExists:
            if not if_not_exists:
                raise
            return self.load_view(identifier)

    def load_view(self, name: Name) -> View:
        """Raises ViewNotFound."""
        return View(self._backend, self._backend.load_view(self.identifier(name)))

    def rename_view(self, name: Name, to: Name) -> None:
        """Raises ViewNotFound, ViewAlreadyExists, TableAlreadyExists, NamespaceNotFound, UnsupportedFeature."""
        self._backend.rename_view(self.identifier(name), self.identifier(to))

    def drop_view(self, name: Name, *, if_exists: bool = False) -> None:
        """Raises ViewNotFound unless `if_exists`."""
        try:
            self._backend.drop_view(self.identifier(name))
        except ViewNotFound:
            if not if_exists:
                raise
