"""What names mean in an attached session: a table, a view in a catalog, a remembered view, or something of Spark's."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from floeberg.catalogs.base import CatalogBackend, LoadedTable, LoadedView
from floeberg.catalogs.identifiers import Identifier
from floeberg.errors import InvalidInput, NotFound, UnsupportedFeature, ViewNotFound
from floeberg.spark.host.calls.originals import original
from floeberg.spark.host.session_state import AttachedCatalog, SessionState
from floeberg.spark.host.settings.session_settings import CASE_SENSITIVE, setting_of
from floeberg.spark.host.views import Place, RememberedView, ViewScope, mark_of, temporary_views
from floeberg.sql.text.cursor import parse_parts
from floeberg.sql.text.names import (
    SESSION_CATALOG,
    NamespaceIdentifier,
    Selector,
    SessionNames,
    TableIdentifier,
    split_selector,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_FILE_SOURCES: Final = frozenset({"parquet", "orc", "avro", "json", "csv", "text", "xml", "binaryfile"})
"""What stands before a path in FROM: `parquet.`/some/folder``."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """What a name means: a table (perhaps a branch, snapshot or metadata table of it), a view in a catalog, or a remembered
    view."""

    identifier: TableIdentifier
    table: LoadedTable | None = None
    selector: Selector | None = None
    view: LoadedView | None = None
    remembered: RememberedView | None = None


class NameResolver:
    """Looks names up in the catalogs, views and the current namespace of a session."""

    __slots__ = ("spark", "state")

    def __init__(self, spark: SparkSession, state: SessionState) -> None:
        self.spark = spark
        self.state = state

    def names(self, *, creates: bool = False, scope: ViewScope | None = None) -> SessionNames:
        """How names resolve now, or in a view's text. `creates` says that the statement creates a table of ours, so that a
        name in the session catalog is ours although it does not exist yet."""
        if self.state.set_since and self.state.open_set is not None:
            self.state.open_set(self)
        place = scope.place if scope is not None else Place(self.state.current_catalog, self.state.current_namespace)
        views = self.state.visible_views() if scope is None else scope.temporary & self.state.visible_views().keys()
        return SessionNames(
            catalogs=frozenset(self.state.catalogs),
            current_catalog=place.catalog,
            current_namespace=place.namespace,
            foreign=_Foreign(self, place, creates=creates, scope=scope),
            view_names=frozenset(views),
            still_there=_StillThere(self),
            case_sensitive=partial(self._is_case_sensitive, scope),
        )

    def _is_case_sensitive(self, scope: ViewScope | None) -> bool:
        """Under the settings that a view's text keeps, else the session's."""
        kept = None if scope is None else dict(scope.settings).get(CASE_SENSITIVE)
        return (kept or setting_of(self.spark, CASE_SENSITIVE, "false")) == "true"

    def place(self) -> Place:
        """The current catalog and namespace: ours, else Spark's."""
        if self.state.stands_in_ours and self.state.current_catalog != SESSION_CATALOG:
            return Place(self.state.current_catalog, self.state.current_namespace)
        return self.spark_place()

    def spark_place(self) -> Place:
        namespace = str(original(self.spark.catalog, "currentDatabase")())
        return Place(str(original(self.spark.catalog, "currentCatalog")()), parse_parts(namespace))

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
        """What a name means to a reader, in the current namespace of a view or of the session. Raises TableNotFound."""
        if not identifier.catalog:
            return Resolved(identifier, remembered=self.state.visible_views()[".".join(identifier.path)])
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


class _StillThere:
    """Whether Spark's view of a name is still the one that we remember: a script or code in the JVM may have replaced,
    renamed or dropped it, too. A view that is not is forgotten. Checked once per statement."""

    def __init__(self, session: NameResolver) -> None:
        self._session = session
        self._seen: dict[str, bool] = {}

    def __call__(self, key: str) -> bool:
        known = self._seen.get(key)
        if known is None:
            view = self._session.state.visible_views().get(key)
            known = view is not None and mark_of(self._session.spark, key) == view.mark
            if not known:
                self._session.state.forget_view(key)
            self._seen[key] = known
        return known


class _Foreign:
    """Whether a name is Spark's and not ours; checked once per statement."""

    def __init__(self, session: NameResolver, place: Place, *, creates: bool, scope: ViewScope | None) -> None:
        self._session = session
        self._place = place
        self._creates = creates
        self._scope = scope
        self._seen: dict[tuple[str, ...], bool] = {}
        self._temporary: frozenset[str] | None = None

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
            if self._may_be_temporary(parts[0]) and parts[0].lower() in self._temporary_views():
                return True
        first = parts[0].lower() if len(parts) > 1 else ""
        if len(parts) == 2 and first in _FILE_SOURCES and self._session.state.stands_in_ours and not self._creates:
            return not self._in_current_catalog(parts)
        in_session_catalog = first == SESSION_CATALOG or (
            first not in {name.lower() for name in state.catalogs} and self._place.catalog == SESSION_CATALOG
        )
        if not in_session_catalog or SESSION_CATALOG not in state.catalogs or self._creates:
            return False
        return not self._is_ours(parts[1:] if first == SESSION_CATALOG else parts)

    def _temporary_views(self) -> frozenset[str]:
        """The names of Spark's temporary views, which are asked for once."""
        if self._temporary is None:
            self._temporary = frozenset(name.lower() for name in temporary_views(self._session.spark))
        return self._temporary

    def _may_be_temporary(self, name: str) -> bool:
        return self._scope is None or name.lower() in self._scope.temporary

    def _in_current_catalog(self, parts: tuple[str, ...]) -> bool:
        """Whether `parquet.x` is a table, and not files by their path."""
        if self._session.state.current_catalog == SESSION_CATALOG:
            return self._is_ours(parts)
        try:
            self._session.resolve(TableIdentifier(self._session.state.current_catalog, parts))
        except (NotFound, InvalidInput, UnsupportedFeature):
            return False
        return True

    def _is_ours(self, path: tuple[str, ...]) -> bool:
        """Whether our session catalog has it; Spark's own tables are in the same namespaces."""
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


_FIXED: Final = {
    "tag": "a tag",
    "snapshot_id": "a snapshot",
    "at_timestamp": "the state at a past time",
    "metadata": "a metadata table",
}


def refuse_static(identifier: TableIdentifier, selector: Selector | None) -> None:
    """Raises UnsupportedFeature when a statement that changes a table names a snapshot or metadata table of it."""
    if selector is not None and selector.kind != "branch":
        raise UnsupportedFeature(
            f"{identifier}: {_FIXED[selector.kind]} of a table cannot be changed; name the table alone, or a branch of it"
        )


def view_not_found(identifier: TableIdentifier) -> ViewNotFound:
    return ViewNotFound(f"view {identifier} does not exist", view=str(identifier))
