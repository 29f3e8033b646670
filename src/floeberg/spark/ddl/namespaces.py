"""Namespaces, USE and SET CATALOG."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

from floeberg.catalogs.base import CatalogBackend, shown_name
from floeberg.catalogs.identifiers import Identifier, Namespace
from floeberg.catalogs.new_table import require_namespace
from floeberg.errors import InvalidInput, NamespaceAlreadyExists, NamespaceNotFound, NotFound
from floeberg.spark.host.config import PREFIX
from floeberg.spark.host.execution import Execution
from floeberg.spark.host.results import nothing, rows
from floeberg.spark.host.session import AttachedSession
from floeberg.sql.statements.session_statements import (
    CreateNamespace,
    DescribeNamespace,
    DropNamespace,
    SetNamespaceLocation,
    SetNamespaceProperties,
    UnsetNamespaceProperties,
    Use,
)
from floeberg.sql.statements.statements import CommentOn
from floeberg.sql.text.names import SESSION_CATALOG, NamespaceIdentifier, display_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_RESERVED: Final = ("comment", "location", "owner")


def create_namespace(execution: Execution, statement: CreateNamespace) -> DataFrame:
    found = _identifier(execution, statement.namespace.parts)
    properties = dict(statement.properties)
    if statement.comment is not None:
        properties["comment"] = statement.comment
    if statement.location is not None:
        properties["location"] = statement.location
    if found.catalog == SESSION_CATALOG:
        execution.pass_on()
    try:
        _backend(execution, found).create_namespace(found.path, properties)
    except NamespaceAlreadyExists:
        if not statement.if_not_exists and found.catalog != SESSION_CATALOG:
            raise
    return nothing(execution.spark)


def check_namespace(backend: CatalogBackend, catalog: str, key: Identifier) -> None:
    """Raises NamespaceNotFound when the namespace of a new table or view is missing and `ensure_namespace` does not make it,
    and InvalidInput when it would have the name of a table: `db.t.branch_x` is a branch of the table `db.t`."""
    if not _is_made_by_use(backend, catalog):
        require_namespace(backend, key)
    if backend.namespace_exists(key.namespace):
        return
    for depth in range(2, len(key.namespace) + 1):
        table = Identifier(key.namespace[: depth - 1], key.namespace[depth - 1])
        if backend.table_exists(table):
            name = shown_name(backend.name, table)
            raise InvalidInput(
                f"{shown_name(backend.name, key)}: {name} is a table, and no namespace for others. INSERT and "
                f"df.writeTo(…).append() write to its branches; ALTER TABLE {name} CREATE BRANCH makes one"
            )


def ensure_namespace(backend: CatalogBackend, catalog: str, namespace: Namespace) -> None:
    """Makes the namespace of a new table or view, and those around it, where they are missing: in the session catalog, whose
    namespaces are Spark's, and in catalogs of kinds for which the Java library does so."""
    if not _is_made_by_use(backend, catalog) or backend.namespace_exists(namespace):
        return
    for depth in range(1, len(namespace) + 1):
        with suppress(NamespaceAlreadyExists):
            backend.create_namespace(namespace[:depth], {})


def _is_made_by_use(backend: CatalogBackend, catalog: str) -> bool:
    return catalog == SESSION_CATALOG or backend.capabilities.namespaces_by_use


def drop_namespace(execution: Execution, statement: DropNamespace) -> DataFrame:
    found = _identifier(execution, statement.namespace.parts)
    backend = _backend(execution, found)
    try:
        if statement.cascade:
            _empty(backend, found.path)
        backend.drop_namespace(found.path)
    except NamespaceNotFound:
        if not statement.if_exists and found.catalog != SESSION_CATALOG:
            raise
    if found.catalog == SESSION_CATALOG:
        execution.pass_on()
    return nothing(execution.spark)


def _empty(backend: CatalogBackend, namespace: Namespace) -> None:
    for below in backend.list_namespaces(namespace):
        _empty(backend, below)
        backend.drop_namespace(below)
    for table in backend.list_tables(namespace):
        backend.drop_table(table)
    if backend.capabilities.views:
        for view in backend.list_views(namespace):
            backend.drop_view(view)


def describe_namespace(execution: Execution, statement: DescribeNamespace) -> DataFrame:
    found = _identifier(execution, statement.namespace.parts)
    properties = dict(_backend(execution, found).namespace_properties(found.path))
    lines: list[tuple[str, str | None]] = [
        ("Catalog Name", found.catalog),
        ("Namespace Name", display_name(found.path)),
    ]
    lines += [
        (key.capitalize() if key != "owner" else "Owner", properties[key]) for key in _RESERVED if key in properties
    ]
    if statement.extended:
        others = sorted((key, value) for key, value in properties.items() if key not in _RESERVED)
        shown = "(" + ",".join(f"({key},{value})" for key, value in others) + ")" if others else ""
        lines.append(("Properties", shown))
    return rows(execution.spark, "info_name STRING NOT NULL, info_value STRING NOT NULL", lines)


def set_namespace_properties(execution: Execution, statement: SetNamespaceProperties) -> DataFrame:
    return _update(execution, statement.namespace.parts, set_=dict(statement.properties))


def unset_namespace_properties(execution: Execution, statement: UnsetNamespaceProperties) -> DataFrame:
    return _update(execution, statement.namespace.parts, remove=statement.keys)


def set_namespace_location(execution: Execution, statement: SetNamespaceLocation) -> DataFrame:
    return _update(execution, statement.namespace.parts, set_={"location": statement.location})


def comment_on_namespace(execution: Execution, statement: CommentOn) -> DataFrame:
    if statement.comment is None:
        return _update(execution, statement.name.parts, remove=("comment",))
    return _update(execution, statement.name.parts, set_={"comment": statement.comment})


def _update(
    execution: Execution,
    parts: tuple[str, ...],
    *,
    set_: dict[str, str] | None = None,
    remove: tuple[str, ...] = (),
) -> DataFrame:
    found = _identifier(execution, parts)
    _backend(execution, found).update_namespace_properties(found.path, set=set_ or {}, remove=remove)
    return nothing(execution.spark)


def use(execution: Execution, statement: Use) -> DataFrame:
    """A catalog's name first, else a namespace of the current catalog; what is neither is Spark's."""
    session, parts = execution.session, statement.name.parts
    catalogs = session.state.catalogs
    if statement.kind == "catalog" and len(parts) != 1:
        raise InvalidInput(f"SET CATALOG takes one name, not {statement.name}")
    if statement.kind != "namespace" or len(parts) > 1 or not session.stands_in_ours:
        if parts[0] in catalogs and parts[0] != SESSION_CATALOG:
            session.use(parts[0], parts[1:])
            return nothing(execution.spark)
        if statement.kind == "catalog" or not session.stands_in_ours or _is_spark_catalog(session, parts[0]):
            return _use_spark(execution)
    if session.state.current_catalog == SESSION_CATALOG:
        return _use_spark(execution)
    session.use(session.state.current_catalog, parts)
    return nothing(execution.spark)


def _use_spark(execution: Execution) -> DataFrame:
    """Spark takes the statement; where its session catalog is ours too, unqualified names stay ours as well."""
    session = execution.session
    result = execution.pass_on()
    session.use_spark()
    if SESSION_CATALOG in session.state.catalogs:
        session.state.current_namespace = (str(execution.value("current_schema()")),)
    return result


def _is_spark_catalog(session: AttachedSession, name: str) -> bool:
    return name.lower() == SESSION_CATALOG or session.setting(PREFIX + name, "") != ""


def _identifier(execution: Execution, parts: tuple[str, ...]) -> NamespaceIdentifier:
    found = execution.session.namespace_identifier(parts)
    if not found.path:
        raise InvalidInput(f"{found} is a catalog; name a namespace in it")
    return found


def _backend(execution: Execution, found: NamespaceIdentifier) -> CatalogBackend:
    return execution.session.backend(found.catalog)


def namespace_or_current(execution: Execution, parts: tuple[str, ...] | None) -> NamespaceIdentifier:
    """The namespace of SHOW …; Raises NamespaceNotFound."""
    found = execution.session.namespace_identifier(parts or ())
    if found.path and not _backend(execution, found).namespace_exists(found.path):
        raise NamespaceNotFound(f"namespace {found} does not exist", namespace=str(found))
    return found


def listed_tables(execution: Execution, found: NamespaceIdentifier) -> list[str]:
    if not found.path:
        return []
    try:
        return sorted(one.name for one in _backend(execution, found).list_tables(found.path))
    except NotFound:
        return []


def listed_views(execution: Execution, found: NamespaceIdentifier) -> list[str]:
    backend = _backend(execution, found)
    if not found.path or not backend.capabilities.views:
        return []
    return sorted(one.name for one in backend.list_views(found.path))
