"""The namespaces of a catalog, as users hold it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from floeberg.catalogs.base import CatalogBackend
from floeberg.catalogs.identifiers import Identifier, Namespace, split_name, to_identifier, to_namespace
from floeberg.errors import NamespaceAlreadyExists, NamespaceNotFound

Name = str | Sequence[str] | Identifier


class CatalogNamespaces:
    """What a catalog can do with namespaces, and how it reads names."""

    def __init__(self, backend: CatalogBackend, *, default_namespace: str | Sequence[str] | None = None) -> None:
        self._backend = backend
        self.default_namespace = None if default_namespace is None else to_namespace(default_namespace)

    def identifier(self, name: Name) -> Identifier:
        """The table or view that a name means: one level alone is in the default namespace. Raises InvalidInput."""
        if self.default_namespace is not None and not isinstance(name, Identifier):
            parts = split_name(name) if isinstance(name, str) else tuple(name)
            if len(parts) == 1:
                return to_identifier((*self.default_namespace, *parts))
        return to_identifier(name)

    def create_namespace(
        self,
        namespace: str | Sequence[str],
        properties: Mapping[str, str] | None = None,
        *,
        if_not_exists: bool = False,
    ) -> None:
        """Raises NamespaceAlreadyExists unless `if_not_exists`."""
        wanted = to_namespace(namespace)
        try:
            self._backend.create_namespace(wanted, dict(properties or {}))
        except NamespaceAlreadyExists:
            if not if_not_exists:
                raise

    def drop_namespace(self, namespace: str | Sequence[str], *, if_exists: bool = False) -> None:
        """Raises NamespaceNotFound unless `if_exists`, and InvalidInput when it is not empty."""
        try:
            self._backend.drop_namespace(to_namespace(namespace))
        except NamespaceNotFound:
            if not if_exists:
                raise

    def list_namespaces(self, parent: str | Sequence[str] = ()) -> list[Namespace]:
        """The namespaces directly below `parent`, sorted. Raises NamespaceNotFound."""
        return self._backend.list_namespaces(to_namespace(parent) if parent else ())

    def namespace_exists(self, namespace: str | Sequence[str]) -> bool:
        return self._backend.namespace_exists(to_namespace(namespace))

    def namespace_properties(self, namespace: str | Sequence[str]) -> dict[str, str]:
        """Raises NamespaceNotFound."""
        return self._backend.namespace_properties(to_namespace(namespace))

    def update_namespace_properties(
        self, namespace: str | Sequence[str], *, set: Mapping[str, str] | None = None, remove: Sequence[str] = ()
    ) -> None:
        """Raises NamespaceNotFound, and UnsupportedFeature where a catalog keeps none."""
        self._backend.update_namespace_properties(to_namespace(namespace), set=dict(set or {}), remove=tuple(remove))
