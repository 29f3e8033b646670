"""What an attached session knows: its catalogs, where it stands in them, and the views that it remembers.

A session is told by a mark among its settings, so that every Python object for it finds the same state: a session has
several (`SparkSession.active()`, `df.sparkSession`, the clone that `foreachBatch` gets), and Connect has no JVM object.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

from floeberg.catalogs.base import CatalogBackend, LoadedTable, LoadedView
from floeberg.catalogs.identifiers import Identifier, Namespace
from floeberg.errors import InvalidInput, NamespaceNotFound, NotFound, UnsupportedFeature, ViewNotFound
from floeberg.scan.frame_cache import FrameCache
from floeberg.spark.host.held_settings import SESSION_MARK as MARK
from floeberg.spark.host.originals import original
from floeberg.spark.host.session_checks import is_stopped, stopped_session
from floeberg.spark.host.session_settings import double_quoted_identifiers, setting_of
from floeberg.spark.host.views import Place, RememberedView, ViewScope, is_temporary_view, mark_of
from floeberg.sql.text.current_place import with_current_place
from floeberg.sql.text.cursor import parse_parts
from floeberg.sql.text.lexer import quote_name
from floeberg.sql.text.names import (
    GLOBAL_VIEWS,
    SESSION_CATALOG,
    NamespaceIdentifier,
    Selector,
    SessionNames,
    TableIdentifier,
    display_name,
    split_selector,
)

if TYPE_CHECKING:
    from pyspark import StorageLevel
    from pyspark.sql import DataFrame, SparkSession

"""The setting that holds the key of a session's state."""


@dataclass(frozen=True, slots=True)
class AttachedCatalog:
    """A catalog as a session uses it."""

    backend: CatalogBackend
    table_defaults: Mapping[str, str] = field(default_factory=dict)
    table_overrides: Mapping[str, str] = field(default_factory=dict)
    default_namespace: Namespace | None = None


@dataclass(frozen=True, slots=True)
class Selection:
    """Which snapshot of a table is read, and with what options; nothing at all is the current one."""

    snapshot_id: int | None = None
    ref: str | None = None
    as_of_ms: int | None = None
    metadata_table: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    """Options but those that choose the snapshot, by their names in lower case."""

    @property
    def chooses_snapshot(self) -> bool:
        return (self.snapshot_id, self.ref, self.as_of_ms) != (None, None, None)


@dataclass(frozen=True, slots=True)
class CacheKey:
    """What is in Spark's cache: a table or view, and what is read of it. Whatever makes one name mean other rows (a branch,
    a snapshot, `spark.wap.branch`, options) is part of the selection."""

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
    """Rows in Spark's cache: the state of the table that they are of (None for a view), how they are stored, and the
    persisted frame."""

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
    """Settings that attach took over, to be put back by detach."""
    from_settings: dict[str, Mapping[str, str]] = field(default_factory=dict)
    """The settings that each catalog was opened with, where it came from them."""
    java_runtime: bool = False
    attach_again: Callable[..., Any] | None = None
    """What attaches a session in another process as this one was."""
    functions: set[str] = field(default_factory=set)
    marks: int = 0
    """How many views were marked."""
    manifests: FrameCache = field(default_factory=FrameCache)
    """Decoded manifests, which never change."""


_FILE_SOURCES: Final = frozenset({"parquet", "orc", "avro", "json", "csv", "text", "xml", "binaryfile"})
"""What stands before a path in FROM: `parquet.`/some/folder``."""
_STATES: Final[dict[str, SessionState]] = {}
_GLOBAL_VIEWS: Final[dict[str, dict[str, RememberedView]]] = {}
"""The shared views by application."""
_KNOWN: Final[WeakKeyDictionary[Any, SessionState | None]] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class Resolved:
    """What a name means: a table (with what is picked of it), a view in a catalog, or a remembered view."""

    identifier: TableIdentifier
    table: LoadedTable | None = None
    selector: Selector | None = None
    view: LoadedView | None = None
    remembered: RememberedView | None = None


class AttachedSession:
    """A Spark session together with what we keep for it."""

    __slots__ = ("spark", "state")

    def __init__(self, spark: SparkSession, state: SessionState) -> None:
        self.spark = spark
        self.state = state

    # names

    def names(self, *, creates: bool = False, scope: ViewScope | None = None) -> SessionNames:
        """How names resolve now, or in a view's text. `creates` says that the statement makes a table of ours, so that a
        name in the session catalog is ours before it is there."""
        place = scope.place if scope is not None else Place(self.state.current_catalog, self.state.current_namespace)
        views = self.views if scope is None else scope.temporary & self.views.keys()
        return SessionNames(
            catalogs=frozenset(self.state.catalogs),
            current_catalog=place.catalog,
            current_namespace=place.namespace,
            foreign=_Foreign(self, place, creates=creates, scope=scope),
            view_names=frozenset(views),
            still_there=_StillThere(self),
        )

    def place(self) -> Place:
        """Where the session stands: in a catalog of ours, else where Spark stands."""
        if self.stands_in_ours and self.state.current_catalog != SESSION_CATALOG:
            return Place(self.state.current_catalog, self.state.current_namespace)
        return self.spark_place()

    def spark_place(self) -> Place:
        namespace = str(original_catalog(self.spark, "currentDatabase")())
        return Place(str(original_catalog(self.spark, "currentCatalog")()), parse_parts(namespace))

    def table_identifier(self, parts: tuple[str, ...]) -> TableIdentifier:
        """The identifier of a name that must be ours. Raises InvalidInput."""
        found = self.names(creates=True).table(parts)
        if found is None:
            raise InvalidInput(f"{'.'.join(parts)} is not in a catalog that is attached: {self._catalog_names()}")
        return found

    def namespace_identifier(self, parts: tuple[str, ...]) -> NamespaceIdentifier:
        found = self.names().namespace(parts)
        if found is None:
            raise InvalidInput(f"{'.'.join(parts)} is not in a catalog that is attached: {self._catalog_names()}")
        return found

    def _catalog_names(self) -> str:
        return ", ".join(sorted(self.state.catalogs)) or "none"

    # catalogs

    def catalog(self, name: str) -> AttachedCatalog:
        return self.state.catalogs[name]

    def backend(self, name: str) -> CatalogBackend:
        return self.state.catalogs[name].backend

    def key(self, identifier: TableIdentifier) -> Identifier:
        """The identifier inside its catalog; a name alone is in the catalog's default namespace. Raises InvalidInput."""
        namespace = identifier.namespace or self.catalog(identifier.catalog).default_namespace or ()
        if not namespace:
            raise InvalidInput(
                f"{identifier} names no namespace; write {identifier.catalog}.namespace.{identifier.name}, or set the "
                f"catalog's default-namespace"
            )
        return Identifier(namespace, identifier.name)

    def load(self, identifier: TableIdentifier) -> LoadedTable:
        """The table as it is now. Raises TableNotFound."""
        return self.backend(identifier.catalog).load_table(self.key(identifier))

    def load_named(self, parts: tuple[str, ...]) -> LoadedTable:
        return self.load(self.table_identifier(parts))

    def resolve(self, identifier: TableIdentifier, place: Place | None = None) -> Resolved:
        """What a name means to a reader, in the place of a view or where the session stands. Raises TableNotFound."""
        if not identifier.catalog:
            return Resolved(identifier, remembered=self.views[".".join(identifier.path)])
        backend, key = self.backend(identifier.catalog), self.key(identifier)
        try:
            return Resolved(identifier, table=backend.load_table(key))
        except NotFound as missing:
            if (view := _view(backend, key)) is not None:
                return Resolved(identifier, view=view)
            if picked := split_selector(identifier):
                base, selector = self._in_namespace(picked[0], place), picked[1]
                try:
                    return Resolved(base, table=self.load(base), selector=selector)
                except (NotFound, InvalidInput):
                    raise missing from None
            raise

    def _in_namespace(self, base: TableIdentifier, place: Place | None) -> TableIdentifier:
        """`t.files` after USE: the name before the selector alone is in the current namespace."""
        current = place or Place(self.state.current_catalog, self.state.current_namespace)
        if len(base.path) == 1 and base.catalog == current.catalog:
            return TableIdentifier(base.catalog, (*current.namespace, *base.path))
        return base

    def view_exists(self, identifier: TableIdentifier) -> bool:
        backend = self.backend(identifier.catalog)
        return backend.capabilities.views and backend.view_exists(self.key(identifier))

    # where the session stands

    def use(self, catalog: str, namespace: Namespace) -> None:
        """Makes a catalog of ours the current one. Raises NamespaceNotFound."""
        attached = self.catalog(catalog)
        if namespace and not attached.backend.namespace_exists(namespace):
            raise NamespaceNotFound(f"namespace {catalog}.{'.'.join(namespace)} does not exist")
        self.state.current_catalog = catalog
        self.state.current_namespace = namespace or attached.default_namespace or ()

    def use_spark(self) -> None:
        """Leaves the current place to Spark."""
        self.state.current_catalog = SESSION_CATALOG
        self.state.current_namespace = ()

    @property
    def stands_in_ours(self) -> bool:
        return self.state.current_catalog in self.state.catalogs

    def with_current_place(self, sql: str) -> str:
        """The text with `current_database()` and its like as this session has them."""
        if not self.stands_in_ours:
            return sql
        namespace = display_name(self.state.current_namespace)
        return with_current_place(sql, catalog=self.state.current_catalog, namespace=namespace)

    # views

    @property
    def views(self) -> dict[str, RememberedView]:
        """The remembered views by their keys. A shared one counts where this session has all catalogs of its text."""
        shared = {
            key: one for key, one in self.state.global_views.items() if one.catalogs <= self.state.catalogs.keys()
        }
        return {**shared, **self.state.views} if shared else self.state.views

    def new_mark(self) -> str:
        """A mark for a view that no other has."""
        self.state.marks += 1
        return f"{self.state.key}/{self.state.marks}"

    def remember_view(self, key: str, view: RememberedView) -> None:
        self._kept(key)[key.lower()] = view

    def forget_view(self, key: str) -> RememberedView | None:
        return self._kept(key).pop(key.lower(), None)

    def _kept(self, key: str) -> dict[str, RememberedView]:
        return self.state.global_views if key.startswith(f"{GLOBAL_VIEWS}.") else self.state.views

    def setting(self, key: str, default: str) -> str:
        """A setting as text; `TRUE` and `False` are what `true` and `false` are, as for Spark."""
        return setting_of(self.spark, key, default)

    @property
    def double_quoted_identifiers(self) -> bool:
        """Whether `"x"` is a name in SQL text, and not a string."""
        return double_quoted_identifiers(self.spark)


class _StillThere:
    """Whether Spark's view of a name is still the one that we remember: anything may have replaced, renamed or dropped it,
    a script or code in the JVM too. One that is not is forgotten. Asked anew for each statement."""

    def __init__(self, session: AttachedSession) -> None:
        self._session = session
        self._seen: dict[str, bool] = {}

    def __call__(self, key: str) -> bool:
        known = self._seen.get(key)
        if known is None:
            view = self._session.views.get(key)
            known = view is not None and mark_of(self._session.spark, key) == view.mark
            if not known:
                self._session.forget_view(key)
            self._seen[key] = known
        return known


class _Foreign:
    """Whether a name is Spark's after all; asked anew for each statement."""

    def __init__(self, session: AttachedSession, place: Place, *, creates: bool, scope: ViewScope | None) -> None:
        self._session = session
        self._place = place
        self._creates = creates
        self._scope = scope
        self._seen: dict[tuple[str, ...], bool] = {}

    def __call__(self, parts: tuple[str, ...]) -> bool:
        known = self._seen.get(parts)
        if known is None:
            known = self._seen[parts] = self._look(parts)
        return known

    def _look(self, parts: tuple[str, ...]) -> bool:
        state = self._session.state
        if len(parts) == 1:
            if self._place.catalog not in state.catalogs:
                return False
            if self._may_be_temporary(parts[0]) and is_temporary_view(self._session.spark, parts[0]):
                return True
        first = parts[0].lower() if len(parts) > 1 else ""
        if len(parts) == 2 and first in _FILE_SOURCES and self._session.stands_in_ours and not self._creates:
            return not self._in_current_catalog(parts)
        in_session_catalog = first == SESSION_CATALOG or (
            first not in {name.lower() for name in state.catalogs} and self._place.catalog == SESSION_CATALOG
        )
        if not in_session_catalog or SESSION_CATALOG not in state.catalogs or self._creates:
            return False
        return not self._is_ours(parts[1:] if first == SESSION_CATALOG else parts)

    def _may_be_temporary(self, name: str) -> bool:
        return self._scope is None or name.lower() in self._scope.temporary

    def _in_current_catalog(self, parts: tuple[str, ...]) -> bool:
        """Whether `parquet.x` is a table after all, and not files by their path."""
        if self._session.state.current_catalog == SESSION_CATALOG:
            return self._is_ours(parts)
        try:
            self._session.resolve(TableIdentifier(self._session.state.current_catalog, parts))
        except (NotFound, InvalidInput, UnsupportedFeature):
            return False
        return True

    def _is_ours(self, path: tuple[str, ...]) -> bool:
        """Whether the session catalog of ours has it; Spark's own tables are there as well."""
        full = path if len(path) > 1 else (*self._place.namespace, *path)
        try:
            self._session.resolve(TableIdentifier(SESSION_CATALOG, full), self._place)
        except (NotFound, InvalidInput):
            return full[0] == "system"
        return True


def _view(backend: CatalogBackend, key: Identifier) -> LoadedView | None:
    """The view of that name; None where there is none, or the catalog has no views."""
    try:
        return backend.load_view(key) if backend.capabilities.views else None
    except NotFound:
        return None


def session_of(spark: SparkSession) -> AttachedSession | None:
    """The session when it is attached; cheap when no session is. Raises InvalidInput for one that was stopped."""
    if not _STATES:
        return None
    if spark in _KNOWN:
        state = _KNOWN[spark]
    else:
        state = _KNOWN[spark] = _STATES.get(str(spark.conf.get(MARK, "")))
    if state is not None and is_stopped(spark):
        raise stopped_session()
    return None if state is None else AttachedSession(spark, state)


def attached_session(spark: SparkSession) -> AttachedSession:
    """Raises InvalidInput when it is not attached."""
    found = session_of(spark)
    if found is None:
        raise InvalidInput("this Spark session is not attached; call floeberg.attach(spark) first")
    return found


def catalogs_elsewhere() -> frozenset[str]:
    """The names of the catalogs of all attached sessions."""
    return frozenset(name for state in _STATES.values() for name in state.catalogs) - {SESSION_CATALOG}


def open_state(spark: SparkSession, key: str) -> AttachedSession:
    """The state of a session, a new one under `key` when it has none."""
    found = session_of(spark)
    if found is None:
        application = str(spark.conf.get("spark.app.id", ""))
        _STATES[key] = state = SessionState(key, global_views=_GLOBAL_VIEWS.setdefault(application, {}))
        spark.conf.set(MARK, key)
        _KNOWN.clear()
        _KNOWN[spark] = state
        found = AttachedSession(spark, state)
    return found


def forget_stopped(spark: SparkSession) -> bool:
    """Forgets a session that was stopped, which cannot be asked any more; whether it was the last one."""
    state = _KNOWN.pop(spark, None)
    if state is not None:
        _STATES.pop(state.key, None)
    return not _STATES


def close_state(session: AttachedSession) -> bool:
    """Forgets a session; whether it was the last one."""
    _STATES.pop(session.state.key, None)
    session.spark.conf.unset(MARK)
    _KNOWN.clear()
    return not _STATES


def refuse_static(identifier: TableIdentifier, selector: Selector | None) -> None:
    """Raises UnsupportedFeature when a statement that changes a table names a snapshot or metadata table of it."""
    if selector is not None and selector.kind != "branch":
        raise UnsupportedFeature(f"{identifier}: a {selector.kind} of a table cannot be changed")


def view_not_found(identifier: TableIdentifier) -> ViewNotFound:
    return ViewNotFound(f"view {identifier} does not exist", view=str(identifier))


def quoted(parts: tuple[str, ...]) -> str:
    """A name for Spark's parser, every part in backticks."""
    return ".".join(quote_name(part) for part in parts)


def original_catalog(spark: SparkSession, name: str) -> Any:
    """A method of `spark.catalog` as PySpark has it."""
    return original(spark.catalog, name)
