"""How to open a catalog again in another process, from settings that may travel: no client, no lock, no credential."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from floeberg.catalogs.base import CatalogBackend
from floeberg.catalogs.factory import FILESYSTEM, SQL, open_catalog
from floeberg.catalogs.filesystem import FilesystemCatalog
from floeberg.catalogs.pointed import PointedCatalog
from floeberg.effects.system import system_effects
from floeberg.errors import UnsupportedFeature
from floeberg.storage.registry import StoreRegistry
from floeberg.storage.secret import Secret


@runtime_checkable
class HasUri(Protocol):
    """Rows in a database."""

    @property
    def uri(self) -> str | None:
        """Where the database is; None where the address holds a password."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogRecipe:
    """The settings of a catalog."""

    name: str
    type: str
    warehouse: str | None
    uri: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)

    def open(self) -> CatalogBackend:
        return open_catalog(
            self.name,
            type=self.type,
            warehouse=self.warehouse,
            uri=self.uri,
            options=self.options,
            effects=system_effects(),
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "type": self.type,
            "warehouse": self.warehouse,
            "uri": self.uri,
            "options": dict(self.options),
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> CatalogRecipe:
        return cls(**document)


def recipe_of(backend: CatalogBackend, *, what: str) -> CatalogRecipe:
    """The recipe of a catalog, for `what` runs in another process. Raises UnsupportedFeature for a catalog that lives in one
    process, and for one that was given credentials: they do not travel."""
    stores = backend.stores
    options = stores.options if isinstance(stores, StoreRegistry) else {}
    secret = sorted(key for key, value in options.items() if isinstance(value, Secret))
    if secret:
        raise UnsupportedFeature(
            f"catalog {backend.name}: {what} runs in another process, and the credential {secret[0]} does not travel there; "
            "give it by the environment of Spark's processes (AWS_ACCESS_KEY_ID …), not by the catalog's properties",
            catalog=backend.name,
        )
    given = {key: str(value) for key, value in options.items()}
    if isinstance(backend, FilesystemCatalog) and not backend.warehouse.startswith("memory:"):
        return CatalogRecipe(name=backend.name, type=FILESYSTEM, warehouse=backend.warehouse, options=given)
    if isinstance(backend, PointedCatalog) and isinstance(backend.rows, HasUri):
        if backend.rows.uri is None:
            raise UnsupportedFeature(
                f"catalog {backend.name}: {what} runs in another process, and the password of its database does not travel "
                "there; leave it to the database's own means (a password file, PGPASSWORD)",
                catalog=backend.name,
            )
        return CatalogRecipe(
            name=backend.name, type=SQL, warehouse=backend.warehouse, uri=backend.rows.uri, options=given
        )
    raise UnsupportedFeature(
        f"catalog {backend.name}: {what} runs in another process, which cannot open {backend!r}; use a filesystem or a SQL "
        "catalog",
        catalog=backend.name,
    )
