"""What an attached session keeps between statements: its catalogs, the current namespace, views and cached tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from floeberg.catalogs.base import CatalogBackend
from floeberg.catalogs.identifiers import Namespace
from floeberg.scan.frame_cache import FrameCache
from floeberg.scan.kept_keys import KeptKeys
from floeberg.spark.host.calls.kept_frames import KeptFrames
from floeberg.spark.host.views import RememberedView
from floeberg.sql.text.names import GLOBAL_VIEWS, SESSION_CATALOG, TableIdentifier, view_key

if TYPE_CHECKING:
    from pyspark import StorageLevel
    from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True)
class AttachedCatalog:
    """A catalog as a session uses it."""

    backend: CatalogBackend
    table_defaults: Mapping[str, str] = field(default_factory=dict)
    table_overrides: Mapping[str, str] = field(default_factory=dict)
    default_namespace: Namespace | None = None
    nullable_query_schema: bool = True
    """Whether every column of a table that is made from a query may be null, whatever Spark knows of the query's."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Which snapshot of a table is read, and with what options; by default the current one."""

    snapshot_id: int | None = None
    ref: str | None = None
    as_of_ms: int | None = None
    metadata_table: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    """Options except those that choose the snapshot, by their names in lower case."""

    @property
    def chooses_snapshot(self) -> bool:
        return (self.snapshot_id, self.ref, self.as_of_ms) != (None, None, None)


@dataclass(frozen=True, slots=True)
class CacheKey:
    """What is cached: a table or view, and the selection of it. Everything that makes a name mean other rows (a branch, a
    snapshot, `spark.wap.branch`, options) is part of the selection."""

    identifier: TableIdentifier
    snapshot_id: int | None
    ref: str | None
    as_of_ms: int | None
    metadata_table: str | None
    options: tuple[tuple[str, str], ...]

    @staticmethod
    def of(identifier: TableIdentifier, selection: Selection) -> CacheKey:
        options = tuple(sorted(selection.options.items()))
        return CacheKey(
            identifier, selection.snapshot_id, selection.ref, selection.as_of_ms, selection.metadata_table, options
        )


@dataclass(frozen=True, slots=True)
class CachedTable:
    """Rows in Spark's cache: the state of their table (None for a view), the storage level, and the persisted frame."""

    state: tuple[object, ...] | None
    storage_level: StorageLevel
    frame: DataFrame


@dataclass(slots=True)
class SessionState:
    """What is kept between statements."""

    key: str
    catalogs: dict[str, AttachedCatalog] = field(default_factory=dict)
    current_catalog: str = SESSION_CATALOG
    current_namespace: Namespace = ()
    views: dict[str, RememberedView] = field(default_factory=dict)
    global_views: dict[str, RememberedView] = field(default_factory=dict)
    """Those that all attached sessions of the application share."""
    cached: dict[CacheKey, CachedTable] = field(default_factory=dict)
    settings_before: dict[str, str] = field(default_factory=dict)
    """Settings that attach changed and detach restores."""
    settings_chosen: dict[str, str] = field(default_factory=dict)
    """Settings that had no value before attach, and the value that it chose."""
    from_settings: dict[str, Mapping[str, str]] = field(default_factory=dict)
    """The settings that each catalog was opened with, where it came from them."""
    set_since: set[str] = field(default_factory=set)
    """The catalogs of which a setting was set after the session was attached."""
    open_set: Callable[[Any], None] | None = None
    """What opens them, for the attached session that it is given."""
    java_runtime: bool = False
    attach_again: Callable[..., Any] | None = None
    """What attaches a session in another process as this one was."""
    functions: set[str] = field(default_factory=set)
    marks: int = 0
    """How many views were marked."""
    manifests: FrameCache = field(default_factory=FrameCache)
    """Decoded manifests, which never change."""
    join_keys: KeptKeys = field(default_factory=KeptKeys)
    frames: KeptFrames = field(default_factory=KeptFrames)

    @property
    def stands_in_ours(self) -> bool:
        """Whether the current catalog is an attached one."""
        return self.current_catalog in self.catalogs

    def visible_views(self) -> dict[str, RememberedView]:
        """The remembered views by their keys. A view counts if this session has all catalogs of its text: other sessions share
        global views with it, and it may have been attached with other catalogs before."""
        known = self.global_views | self.views
        return {key: one for key, one in known.items() if one.catalogs <= self.catalogs.keys()}

    def new_mark(self) -> str:
        """A mark for a view that no other view has."""
        self.marks += 1
        return f"{self.key}/{self.marks}"

    def remember_view(self, key: str, view: RememberedView) -> None:
        self._uncache_view(key)
        self._views_for(key)[key.lower()] = view

    def forget_view(self, key: str) -> RememberedView | None:
        self._uncache_view(key)
        return self._views_for(key).pop(key.lower(), None)

    def _uncache_view(self, key: str) -> None:
        """What was cached of a view goes with it."""
        for cached in [one for one in self.cached if not one.identifier.catalog]:
            if view_key(cached.identifier.path) == key.lower():
                self.cached.pop(cached).frame.unpersist()

    def _views_for(self, key: str) -> dict[str, RememberedView]:
        return self.global_views if key.startswith(f"{GLOBAL_VIEWS}.") else self.views
