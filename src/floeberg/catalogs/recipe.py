"""How to open a catalog again in another process, from settings that may travel: no client, no lock, no credential but
by its name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from floeberg.catalogs.base import CatalogBackend
from floeberg.catalogs.factory import MEMORY, open_catalog
from floeberg.catalogs.given_settings import GivenSettings
from floeberg.effects.system import system_effects
from floeberg.errors import UnsupportedFeature
from floeberg.storage.secret import Secret

_MEMORY_DATABASE: Final = re.compile(r"(jdbc:)?sqlite:(//+)?(:memory:)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogRecipe:
    """The settings of a catalog, with credentials as the names by which the other process finds them."""

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
    process, and for one that was given a literal credential: only its name may travel."""
    given: GivenSettings | None = getattr(backend, "given", None)
    if given is None or _is_of_one_process(given):
        raise UnsupportedFeature(
            f"catalog {backend.name}: {what} runs in another process, which cannot open {backend!r}; use a filesystem, SQL or "
            "REST catalog",
            catalog=backend.name,
        )
    options = {key: _travelling(backend.name, key, value, what=what) for key, value in given.options.items()}
    uri = None if given.uri is None else _travelling(backend.name, "uri", given.uri, what=what)
    return CatalogRecipe(name=backend.name, type=given.type, warehouse=given.warehouse, uri=uri, options=options)


def _is_of_one_process(given: GivenSettings) -> bool:
    in_memory = isinstance(given.uri, str) and _MEMORY_DATABASE.fullmatch(given.uri) is not None
    return given.type == MEMORY or in_memory or (given.warehouse or "").startswith("memory:")


def _travelling(catalog: str, key: str, value: str | Secret, *, what: str) -> str:
    """A setting as the other process takes it: a credential by its reference."""
    if isinstance(value, str):
        return value
    if value.reference is None:
        raise UnsupportedFeature(
            f"catalog {catalog}: {what} runs in another process, and the credential {key} does not travel there. Give its name "
            f"instead, as Secret.from_env('NAME') or Secret.from_file('PATH') (in Spark's settings secret:env:NAME or "
            "secret:file:PATH), with the variable or file on both sides; or leave it to the environment of Spark's processes",
            catalog=catalog,
        )
    return value.reference
