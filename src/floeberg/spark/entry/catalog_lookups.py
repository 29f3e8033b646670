"""`spark.catalog` for names that are ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from pyspark import StorageLevel
from pyspark.sql.catalog import CatalogMetadata, Column, Database, Table

from floeberg.errors import InvalidInput, NotFound
from floeberg.spark.ddl.caching import cache_named, selected
from floeberg.spark.ddl.create import COMMENT, NewTable, make_table
from floeberg.spark.entry.statement import run_sql
from floeberg.spark.host.calls.gateway import FORMATTED
from floeberg.spark.host.calls.originals import original
from floeberg.spark.host.calls.statement_views import drop_view
from floeberg.spark.host.execution import Execution
from floeberg.spark.host.results import like
from floeberg.spark.host.session import AttachedSession, session_of
from floeberg.spark.host.types.spark_types import iceberg_schema_of, spark_field
from floeberg.spark.host.views import temporary_views
from floeberg.spark.query.functions import NAMES, SYSTEM
from floeberg.spark.read.table_cache import is_cached
from floeberg.sql.text.cursor import parse_parts
from floeberg.sql.text.names import GLOBAL_VIEWS, SESSION_CATALOG, TableIdentifier, display_name, quoted


def _session(catalog: Any) -> AttachedSession | None:
    return session_of(catalog._sparkSession)


def _identifier(session: AttachedSession | None, name: str, database: str | None = None) -> TableIdentifier | None:
    """The identifier when the name is ours; a remembered view is Spark's too, so Spark answers for it."""
    if session is None:
        return None
    parts = parse_parts(name)
    if database is not None:
        parts = (*parse_parts(database), *parts)
    found = session.names().table(parts)
    return found if found is not None and found.catalog else None


def _current_catalog(self: Any) -> str:
    session = _session(self)
    if session is not None and session.stands_in_ours:
        return session.state.current_catalog
    return str(original(self, "currentCatalog")())


def _set_current_catalog(self: Any, catalogName: str) -> None:
    session = _session(self)
    if session is not None and catalogName in session.state.catalogs and catalogName != SESSION_CATALOG:
        session.use(catalogName, ())
        return
    original(self, "setCurrentCatalog")(catalogName)
    if session is not None:
        session.use_spark()


def _current_database(self: Any) -> str:
    session = _session(self)
    if session is not None and session.stands_in_ours:
        return display_name(session.state.current_namespace)
    return str(original(self, "currentDatabase")())


def _set_current_database(self: Any, dbName: str) -> None:
    session = _session(self)
    if session is None:
        original(self, "setCurrentDatabase")(dbName)
    else:
        run_sql(session, f"USE {quoted(parse_parts(dbName))}")


def _list_catalogs(self: Any, pattern: str | None = None) -> list[CatalogMetadata]:
    session = _session(self)
    found = list(original(self, "listCatalogs")(pattern))
    if session is not None:
        known = {one.name for one in found}
        ours = like(pattern, sorted(session.state.catalogs))
        found += [CatalogMetadata(name=name, description=None) for name in ours if name not in known]
    return found


def _table_exists(self: Any, tableName: str, dbName: str | None = None) -> bool:
    session = _session(self)
    identifier = _identifier(session, tableName, dbName)
    if session is None or identifier is None:
        return bool(original(self, "tableExists")(tableName, dbName))
    try:
        session.resolve(identifier)
    except NotFound:
        return False
    return True


def _function_exists(self: Any, functionName: str, dbName: str | None = None) -> bool:
    """Our catalogs have the functions of `system`, and no others."""
    session = _session(self)
    parts = (*(() if dbName is None else parse_parts(dbName)), *parse_parts(functionName))
    if session is None or parts[0] not in session.state.catalogs.keys() - {SESSION_CATALOG}:
        return bool(original(self, "functionExists")(functionName, dbName))
    within = [part.lower() for part in parts[1:]]
    return within[:-1] == [SYSTEM] and within[-1] in NAMES


def _database_exists(self: Any, dbName: str) -> bool:
    session = _session(self)
    found = None if session is None else session.names().namespace(parse_parts(dbName))
    if session is None or found is None or found.catalog == SESSION_CATALOG:
        return bool(original(self, "databaseExists")(dbName))
    return not found.path or session.backend(found.catalog).namespace_exists(found.path)


def _list_databases(self: Any, pattern: str | None = None) -> list[Database]:
    session = _session(self)
    if session is None or not session.stands_in_ours or session.state.current_catalog == SESSION_CATALOG:
        return list(original(self, "listDatabases")(pattern))
    catalog = session.state.current_catalog
    names = sorted(display_name(one) for one in session.backend(catalog).list_namespaces(()))
    return [_database(session, catalog, parse_parts(name)) for name in like(pattern, names)]


def _get_database(self: Any, dbName: str) -> Database:
    session = _session(self)
    found = None if session is None else session.names().namespace(parse_parts(dbName))
    if session is None or found is None or found.catalog == SESSION_CATALOG:
        database: Database = original(self, "getDatabase")(dbName)
        return database
    return _database(session, found.catalog, found.path)


def _database(session: AttachedSession, catalog: str, namespace: tuple[str, ...]) -> Database:
    properties = session.backend(catalog).namespace_properties(namespace)
    return Database(
        name=display_name(namespace),
        catalog=catalog,
        description=properties.get("comment"),
        locationUri=properties.get("location", ""),
    )


def _list_tables(self: Any, dbName: str | None = None, pattern: str | None = None) -> list[Table]:
    session = _session(self)
    found = None if session is None else session.names().namespace(parse_parts(dbName) if dbName else ())
    if session is None or found is None:
        return list(original(self, "listTables")(dbName, pattern))
    backend = session.backend(found.catalog)
    listed: list[Table] = []
    if found.catalog == SESSION_CATALOG:
        listed = list(original(self, "listTables")(dbName, pattern))
    names = sorted(one.name for one in backend.list_tables(found.path)) if found.path else []
    views = (
        sorted(one.name for one in backend.list_views(found.path)) if found.path and backend.capabilities.views else []
    )
    listed += [_table(found.catalog, found.path, name, "MANAGED") for name in like(pattern, names)]
    listed += [_table(found.catalog, found.path, name, "VIEW") for name in like(pattern, views)]
    if found.catalog != SESSION_CATALOG:
        listed += [_temporary(name) for name in like(pattern, temporary_views(session.spark))]
    return listed


def _temporary(name: str) -> Table:
    return Table(name=name, catalog=None, namespace=[], description=None, tableType="TEMPORARY", isTemporary=True)


def _table(catalog: str, namespace: tuple[str, ...], name: str, kind: str, comment: str | None = None) -> Table:
    return Table(
        name=name, catalog=catalog, namespace=list(namespace), description=comment, tableType=kind, isTemporary=False
    )


def _get_table(self: Any, tableName: str) -> Table:
    session = _session(self)
    identifier = _identifier(session, tableName)
    if session is None or identifier is None:
        table: Table = original(self, "getTable")(tableName)
        return table
    resolved = session.resolve(identifier)
    properties = resolved.table.state.metadata.properties if resolved.table else {}
    kind = "MANAGED" if resolved.table else "VIEW"
    return _table(identifier.catalog, identifier.namespace, identifier.name, kind, properties.get("comment"))


def _list_columns(self: Any, tableName: str, dbName: str | None = None) -> list[Column]:
    session = _session(self)
    identifier = _identifier(session, tableName, dbName)
    if session is None or identifier is None:
        return list(original(self, "listColumns")(tableName, dbName))
    resolved = session.resolve(identifier)
    partitions: set[str] = set()
    if resolved.table is not None and resolved.selector is None:
        metadata = resolved.table.state.metadata
        names = metadata.current_schema.names
        partitions = {names.get(field.source_ids[0], "") for field in metadata.default_spec.fields}
        fields = [spark_field(field) for field in metadata.current_schema.fields]
    else:
        fields = run_sql(session, f"SELECT * FROM {quoted(parse_parts(tableName))}").schema.fields
    return [
        Column(
            name=field.name,
            description=field.metadata.get("comment"),
            dataType=field.dataType.simpleString(),
            nullable=field.nullable,
            isPartition=field.name in partitions,
            isBucket=False,
            isCluster=False,
        )
        for field in fields
    ]


def _by_statement(method: str, text: str, *, of_views: bool = False) -> Callable[..., None]:
    """A method that is a statement: `refreshTable` is REFRESH TABLE. With `of_views` it is ours for remembered views too."""

    def run(self: Any, tableName: str, *more: Any, **named: Any) -> None:
        session = _session(self)
        identifier = (_cached_name if of_views else _identifier)(session, tableName)
        if session is None or identifier is None:
            original(self, method)(tableName, *more, **named)
        else:
            run_sql(session, text.format(quoted(parse_parts(tableName))))

    return run


def _create_table(
    self: Any,
    tableName: str,
    path: str | None = None,
    source: str | None = None,
    schema: Any = None,
    description: str | None = None,
    **options: str,
) -> Any:
    """`createTable` for a name of ours: options are the table's properties. Raises TableAlreadyExists."""
    session = _session(self)
    identifier = None
    if session is not None:
        identifier = session.names(creates=(source or "").lower() in ("iceberg", "floeberg")).table(
            parse_parts(tableName)
        )
    if session is None or identifier is None or not identifier.catalog:
        return original(self, "createTable")(tableName, path, source, schema, description, **options)
    if schema is None:
        raise InvalidInput(f"createTable: {identifier} needs a schema")
    comment = {} if description is None else {COMMENT: description}
    new = NewTable(
        schema=iceberg_schema_of(schema),
        properties={**{key: str(value) for key, value in options.items()}, **comment},
        location=path,
        provider=source,
    )
    make_table(session, identifier, new, None)
    return run_sql(session, f"SELECT * FROM {quoted(parse_parts(tableName))}")


def _cached_name(session: AttachedSession | None, name: str) -> TableIdentifier | None:
    """The identifier of a table or remembered view: Spark's view of the same name is not what is read."""
    return None if session is None else session.names().table(parse_parts(name))


def _is_cached(self: Any, tableName: str) -> bool:
    session = _session(self)
    identifier = _cached_name(session, tableName)
    if session is None or identifier is None:
        return bool(original(self, "isCached")(tableName))
    resolved = session.resolve(identifier)
    return is_cached(session, resolved.identifier, selected(session, resolved))


def _cache_table(self: Any, tableName: str, storageLevel: StorageLevel | None = None) -> None:
    session = _session(self)
    identifier = _cached_name(session, tableName)
    if session is None or identifier is None:
        original(self, "cacheTable")(tableName, storageLevel)
    else:
        cache_named(Execution(session, ""), identifier, storageLevel or StorageLevel.MEMORY_AND_DISK_DESER)


def _drop_temp_view(self: Any, viewName: str) -> bool:
    session = _session(self)
    if session is not None and viewName.startswith(FORMATTED):
        return drop_view(self._sparkSession, viewName)
    if session is not None:
        session.forget_view(viewName.lower())
    return bool(original(self, "dropTempView")(viewName))


def _drop_global_temp_view(self: Any, viewName: str) -> bool:
    session = _session(self)
    if session is not None:
        session.forget_view(f"{GLOBAL_VIEWS}.{viewName.lower()}")
    return bool(original(self, "dropGlobalTempView")(viewName))


METHODS: Final[dict[str, Callable[..., Any]]] = {
    "currentCatalog": _current_catalog,
    "setCurrentCatalog": _set_current_catalog,
    "currentDatabase": _current_database,
    "setCurrentDatabase": _set_current_database,
    "listCatalogs": _list_catalogs,
    "tableExists": _table_exists,
    "databaseExists": _database_exists,
    "functionExists": _function_exists,
    "listDatabases": _list_databases,
    "getDatabase": _get_database,
    "listTables": _list_tables,
    "getTable": _get_table,
    "listColumns": _list_columns,
    "isCached": _is_cached,
    "createTable": _create_table,
    "cacheTable": _cache_table,
    "uncacheTable": _by_statement("uncacheTable", "UNCACHE TABLE {}", of_views=True),
    "refreshTable": _by_statement("refreshTable", "REFRESH TABLE {}"),
    "dropTempView": _drop_temp_view,
    "dropGlobalTempView": _drop_global_temp_view,
}
