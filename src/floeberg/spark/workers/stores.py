"""Stores in Python workers: made there from the catalog's options, because clients and locks do not travel."""

from __future__ import annotations

from collections.abc import Mapping

from floeberg.effects.protocols import Store
from floeberg.effects.system import system_effects
from floeberg.errors import UnsupportedFeature
from floeberg.storage.registry import StoreRegistry, Stores
from floeberg.storage.secret import Secret


class WorkerStores:
    """A recipe for stores. Credentials travel in it to the executors, as a Hadoop configuration would; its text never
    shows them."""

    def __init__(self, options: Mapping[str, str | Secret]) -> None:
        self._options = dict(options)
        self._registry: StoreRegistry | None = None

    def __repr__(self) -> str:
        return "WorkerStores(…)"

    def __getstate__(self) -> dict[str, str]:
        return {key: value.reveal() if isinstance(value, Secret) else value for key, value in self._options.items()}

    def __setstate__(self, options: dict[str, str]) -> None:
        self._options = dict(options)
        self._registry = None

    def for_location(self, location: str) -> Store:
        if self._registry is None:
            self._registry = StoreRegistry(system_effects(), self._options)
        return self._registry.for_location(location)


def worker_stores(stores: Stores, *, location: str) -> WorkerStores:
    """The recipe for the stores of a catalog. Raises UnsupportedFeature for stores that live in this process alone."""
    if not isinstance(stores, StoreRegistry) or location.startswith("memory:"):
        raise UnsupportedFeature(
            f"{location}: this store lives in one process and Spark's workers cannot reach it; use a warehouse on files or "
            "an object store"
        )
    return WorkerStores(stores.options)
