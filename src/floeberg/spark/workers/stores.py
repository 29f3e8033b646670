"""Stores in Python workers: made there from the catalog's options, because clients and locks do not travel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

from floeberg.effects.protocols import Store
from floeberg.effects.system import system_effects
from floeberg.errors import UnsupportedFeature
from floeberg.storage.prefixed import PrefixedStores, StoreOptions
from floeberg.storage.registry import StoreRegistry, Stores
from floeberg.storage.secret import Secret


@runtime_checkable
class VendedStores(Protocol):
    """Stores whose options a catalog vends for one table."""

    @property
    def store_options(self) -> StoreOptions: ...


class WorkerStores:
    """A recipe for stores. Credentials travel in it to the executors, as a Hadoop configuration would; its text never
    shows them."""

    def __init__(self, options: StoreOptions) -> None:
        self.store_options = options
        self._stores: PrefixedStores | None = None

    def __repr__(self) -> str:
        return "WorkerStores(…)"

    def __getstate__(self) -> dict[str, object]:
        below = {prefix: _revealed(options) for prefix, options in self.store_options.below.items()}
        return {"everywhere": _revealed(self.store_options.everywhere), "below": below}

    def __setstate__(self, state: dict[str, dict[str, str]]) -> None:
        self.store_options = StoreOptions(**state)  # type: ignore[arg-type]
        self._stores = None

    def for_location(self, location: str) -> Store:
        if self._stores is None:
            self._stores = PrefixedStores(system_effects(), self.store_options)
        return self._stores.for_location(location)


def _revealed(options: Mapping[str, str | Secret]) -> dict[str, str]:
    return {key: value.reveal() if isinstance(value, Secret) else value for key, value in options.items()}


def worker_stores(stores: Stores, *, location: str) -> WorkerStores:
    """The recipe for the stores of a catalog or table. Raises UnsupportedFeature for stores that live in this process
    alone."""
    if isinstance(stores, VendedStores) and not location.startswith("memory:"):
        return WorkerStores(stores.store_options)
    if not isinstance(stores, StoreRegistry) or location.startswith("memory:"):
        raise UnsupportedFeature(
            f"{location}: this store lives in one process and Spark's workers cannot reach it; use a warehouse on files or "
            "an object store"
        )
    return WorkerStores(StoreOptions(stores.options))
