"""An attached session, and which sessions are attached.

A mark among its settings identifies a session, so that every Python object for it finds the same state: a session has
several (`SparkSession.active()`, `df.sparkSession`, the clone that `foreachBatch` gets), and Connect has no JVM object.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

from floeberg.catalogs.identifiers import Namespace
from floeberg.errors import InvalidInput, NamespaceNotFound
from floeberg.spark.host.held_settings import SESSION_MARK as MARK
from floeberg.spark.host.name_resolution import NameResolver
from floeberg.spark.host.session_checks import is_stopped, stopped_session
from floeberg.spark.host.session_settings import double_quoted_identifiers, setting_of
from floeberg.spark.host.session_state import SessionState
from floeberg.spark.host.views import RememberedView
from floeberg.sql.text.current_place import with_current_place
from floeberg.sql.text.names import SESSION_CATALOG, display_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_STATES: Final[dict[str, SessionState]] = {}
"""The states of attached sessions by their keys."""
_GLOBAL_VIEWS: Final[dict[str, dict[str, RememberedView]]] = {}
"""The shared views by application."""
_KNOWN: Final[WeakKeyDictionary[Any, SessionState | None]] = WeakKeyDictionary()


class AttachedSession(NameResolver):
    """A Spark session together with what we keep for it."""

    __slots__ = ()

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
        return self.state.stands_in_ours

    def with_current_place(self, sql: str) -> str:
        """The text with `current_database()` and its like as this session has them."""
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
