"""Stores in Python workers: made there from the catalog's options, because clients and locks do not travel. Credentials that
end are renewed there as well: a job may run longer than they last."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, Protocol, runtime_checkable

from floeberg.catalogs.rest.credential_source import CredentialSource
from floeberg.effects.protocols import Effects, Store
from floeberg.effects.system import system_effects
from floeberg.errors import FloebergError, UnsupportedFeature
from floeberg.storage.prefixed import PrefixedStores, StoreOptions
from floeberg.storage.registry import StoreRegistry, Stores
from floeberg.storage.renewed import TRY_AGAIN_MS, RenewedStores, timed
from floeberg.storage.secret import Secret

_RENEWED: Final[dict[CredentialSource, StoreOptions]] = {}
"""What tasks of this process got last: the next task, which comes with the credentials of the job's start, need not ask."""
_MAX_RENEWED: Final = 256


@runtime_checkable
class VendedStores(Protocol):
    """Stores whose options a catalog vends for one table."""

    @property
    def store_options(self) -> StoreOptions: ...

    @property
    def credential_source(self) -> CredentialSource | None: ...


class WorkerStores:
    """A recipe for stores. Credentials travel in it to the executors, as a Hadoop configuration would, and where those of the
    stores end, so do the catalog's, to ask for fresh ones; its text never shows them."""

    def __init__(self, options: StoreOptions, source: CredentialSource | None = None) -> None:
        self.store_options = options
        self._source = source
        self._stores: Stores | None = None

    def __repr__(self) -> str:
        return "WorkerStores(…)"

    def __getstate__(self) -> dict[str, Any]:
        options = self.store_options
        below = {prefix: _revealed(one) for prefix, one in options.below.items()}
        times = {"ends_ms": options.ends_ms, "renew_at_ms": options.renew_at_ms}
        sent = {"everywhere": _revealed(options.everywhere), "below": below, **times}
        return {"options": sent, "source": self._source}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.store_options = StoreOptions(**state["options"])
        self._source = state["source"]
        self._stores = None

    def for_location(self, location: str) -> Store:
        if self._stores is None:
            self._stores = self._opened()
        return self._stores.for_location(location)

    def _opened(self) -> Stores:
        source, options, effects = self._source, self.store_options, system_effects()
        if source is None or options.ends_ms is None:
            return PrefixedStores(effects, options)
        used = _lasting(source, options)
        return RenewedStores(source.subject, effects, used, renew=lambda: _renewed(source, used, effects))


def _lasting(source: CredentialSource, options: StoreOptions) -> StoreOptions:
    """The options, or those that this process got since where they last as long."""
    known = _RENEWED.get(source)
    if known is None or options.ends_ms is None:
        return options
    return known if known.ends_ms is None or known.ends_ms >= options.ends_ms else options


def _renewed(source: CredentialSource, used: StoreOptions, effects: Effects) -> StoreOptions:
    """Fresh options, which the next tasks of this process take too. After a failure these go on with what there is, and wait
    before they ask, as this one does."""
    try:
        options = timed(source.renewed(effects), effects.clock.now_ms())
    except FloebergError:
        kept = _lasting(source, used)
        if kept.ends_ms is not None:
            again_ms = min(kept.ends_ms, effects.clock.now_ms() + TRY_AGAIN_MS)
            _keep(source, replace(kept, renew_at_ms=again_ms))
        raise
    _keep(source, options)
    return options


def _keep(source: CredentialSource, options: StoreOptions) -> None:
    if len(_RENEWED) >= _MAX_RENEWED:
        _RENEWED.clear()
    _RENEWED[source] = options


def _revealed(options: Mapping[str, str | Secret]) -> dict[str, str]:
    return {key: value.reveal() if isinstance(value, Secret) else value for key, value in options.items()}


def worker_stores(stores: Stores, *, location: str) -> WorkerStores:
    """The recipe for the stores of a catalog or table. Raises UnsupportedFeature for stores that live in this process
    alone."""
    if isinstance(stores, VendedStores) and not location.startswith("memory:"):
        return WorkerStores(stores.store_options, stores.credential_source)
    if not isinstance(stores, StoreRegistry) or location.startswith("memory:"):
        raise UnsupportedFeature(
            f"{location}: this store lives in one process and Spark's workers cannot reach it; use a warehouse on files or "
            "an object store"
        )
    return WorkerStores(StoreOptions(stores.options))
