"""An attached session, and which sessions are attached.

A mark among its settings identifies a session, so that every Python object for it finds the same state: a session has
several (`SparkSession.active()`, `df.sparkSession`, the clone that `foreachBatch` gets), and Connect has no JVM object.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

from floeberg.catalogs.identifiers import Namespace
from floeberg.errors import NamespaceNotFound
from floeberg.spark.host.calls.session_checks import is_stopped, stopped_session
from floeberg.spark.host.name_resolution import NameResolver
from floeberg.spark.host.session_state import SessionState
from floeberg.spark.host.settings.held_settings import SESSION_MARK as MARK
from floeberg.spark.host.settings.session_settings import double_quoted_identifiers, setting_of
from floeberg.spark.host.views import Place, RememberedView
from floeberg.sql.text.current_place import with_current_place
from floeberg.sql.text.names import SESSION_CATALOG, display_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_STATES: Final[dict[str, SessionState]] = {}
"""The states of attached sessions by their keys."""
_GLOBAL_VIEWS: Final[dict[str, dict[str, RememberedView]]] = {}
"""The shared views by application."""
_VIEWS_LEFT: Final[dict[str, dict[str, RememberedView]]] = {}
"""The temporary views of sessions that were detached."""
_LEFT_MARK: Final = "floeberg.session.left"
_KNOWN: Final[WeakKeyDictionary[Any, SessionState | None]] = WeakKeyDictionary()


class AttachedSession(NameResolver):
    """A Spark session and its state."""

    __slots__ = ()

    def use(self, catalog: str, namespace: Namespace) -> None:
        """Makes a catalog of ours the current one. Raises NamespaceNotFound."""
        attached = self.catalog(catalog)
        if namespace and not attached.backend.namespace_exists(namespace):
            raise NamespaceNotFound(f"namespace {catalog}.{'.'.join(namespace)} does not exist")
        self.state.current_catalog = catalog
        self.state.current_namespace = namespace or attached.default_namespace or ()

    def use_spark(self) -> None:
        """Makes Spark's own current catalog and namespace the current ones."""
        self.state.current_catalog = SESSION_CATALOG
        self.state.current_namespace = ()

    @property
    def stands_in_ours(self) -> bool:
        return self.state.stands_in_ours

    def with_current_place(self, sql: str) -> str:
        """The text with `current_database()`, `current_catalog()` and so on replaced by this session's values."""
        if not self.stands_in_ours:
            return sql
        namespace = display_name(self.state.current_namespace)
        return with_current_place(sql, catalog=self.state.current_catalog, namespace=namespace)

    @property
    def views(self) -> dict[str, RememberedView]:
        return self.state.visible_views()

    def new_mark(self) -> str:
        return self.state.new_mark()

    def remember_view(self, key: str, view: RememberedView) -> None:
        self.state.remember_view(key, view)

    def forget_view(self, key: str) -> RememberedView | None:
        return self.state.forget_view(key)

    def setting(self, key: str, default: str) -> str:
        """A setting as text; `TRUE` and `False` are what `true` and `false` are, as for Spark."""
        return setting_of(self.spark, key, default)

    @property
    def double_quoted_identifiers(self) -> bool:
        """Whether `"x"` is a name in SQL text, and not a string."""
        return double_quoted_identifiers(self.spark)


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


def note_catalog_setting(mark: str, catalog: str) -> None:
    """Remembers, for the session of a mark, that a setting of a catalog was set: its next statement opens the catalog."""
    state = _STATES.get(mark)
    if state is not None and catalog not in state.catalogs:
        state.set_since.add(catalog)


def catalogs_elsewhere() -> frozenset[str]:
    """The names of the catalogs of all attached sessions."""
    return frozenset(name for state in _STATES.values() for name in state.catalogs) - {SESSION_CATALOG}


def current_places() -> frozenset[Place | None]:
    """Where the attached sessions stand; None for one that stands where Spark does."""
    return frozenset(
        Place(state.current_catalog, state.current_namespace) if state.current_catalog in state.catalogs else None
        for state in _STATES.values()
    )


def attached_sessions() -> list[AttachedSession]:
    """Those whose Python objects are alive."""
    return [AttachedSession(spark, state) for spark, state in list(_KNOWN.items()) if state and not is_stopped(spark)]


def open_state(spark: SparkSession, key: str) -> AttachedSession:
    """The state of a session, a new one under `key` when it has none."""
    found = session_of(spark)
    if found is None:
        application = str(spark.conf.get("spark.app.id", ""))
        _STATES[key] = state = SessionState(key, global_views=_GLOBAL_VIEWS.setdefault(application, {}))
        state.views.update(_VIEWS_LEFT.pop(str(spark.conf.get(_LEFT_MARK, "")), {}))
        spark.conf.unset(_LEFT_MARK)
        spark.conf.set(MARK, key)
        _KNOWN.clear()
        _KNOWN[spark] = state
        found = AttachedSession(spark, state)
    return found


def forget_stopped(spark: SparkSession) -> bool:
    """Forgets a session that was stopped and answers no more; whether it was the last one."""
    state = _KNOWN.pop(spark, None)
    if state is not None:
        _STATES.pop(state.key, None)
    return not _STATES


def close_state(session: AttachedSession) -> bool:
    """Forgets a session but its temporary views, which Spark keeps with the rows that they have now and which read the tables
    again when the session is attached again; whether it was the last one."""
    _STATES.pop(session.state.key, None)
    session.spark.conf.unset(MARK)
    if session.state.views:
        _VIEWS_LEFT[session.state.key] = session.state.views
        session.spark.conf.set(_LEFT_MARK, session.state.key)
    _KNOWN.clear()
    return not _STATES
