"""CACHE, UNCACHE and REFRESH TABLE."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark import StorageLevel

from floeberg.errors import InvalidInput, NotFound
from floeberg.spark.ddl.views import create_view
from floeberg.spark.host.execution import Execution
from floeberg.spark.host.name_resolution import Resolved
from floeberg.spark.host.results import nothing
from floeberg.spark.host.session import AttachedSession
from floeberg.spark.host.session_state import CacheKey, Selection
from floeberg.spark.query.run import view_rows
from floeberg.spark.read import table_cache
from floeberg.spark.read.named_tables import frame_of, on_wap_branch, selection_of
from floeberg.sql.statements.session_statements import CreateView
from floeberg.sql.statements.statements import CacheTable, Pairs, RefreshTable, UncacheTable
from floeberg.sql.text.names import TableIdentifier

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_STORAGE_LEVEL: Final = "storagelevel"


def cache_table(execution: Execution, statement: CacheTable) -> DataFrame:
    """CACHE TABLE t keeps a table's rows until it changes; CACHE TABLE v AS query makes a temporary view, which shows later
    commits as any other, and keeps its rows until then."""
    level = _storage_level(statement.options)
    session = execution.session
    if statement.query is not None and statement.references is not None:
        create_view(execution, CreateView(statement.table, statement.query, statement.references, temporary=True))
    frame = cache_named(Execution(session, ""), session.table_identifier(statement.table.parts), level)
    if not statement.lazy:
        frame.count()
    return nothing(execution.spark)


def cache_named(execution: Execution, identifier: TableIdentifier, level: StorageLevel) -> DataFrame:
    """The persisted rows of what a name means now: a table, what its name picks of it, or a view."""
    session, resolved = execution.session, execution.resolve(identifier)
    table = resolved.table
    if table is None:
        key = CacheKey.of(identifier, Selection())
        return table_cache.keep(session, key, None, level=level, make=lambda: view_rows(execution, resolved))
    selection = selected(session, resolved)
    key = CacheKey.of(resolved.identifier, selection)
    return table_cache.keep(session, key, table, level=level, make=lambda: frame_of(session, table, selection))


def selected(session: AttachedSession, resolved: Resolved) -> Selection:
    """What a name means to a read without options."""
    if resolved.table is None:
        return Selection()
    return on_wap_branch(session, resolved.table, selection_of(session, resolved.selector))


def uncache_table(execution: Execution, statement: UncacheTable) -> DataFrame:
    """Removes what the name means from the cache; for a table's plain name, everything cached of the table. Raises
    TableNotFound for an unknown name, unless the statement says IF EXISTS."""
    session = execution.session
    identifier = session.table_identifier(statement.table.parts)
    if not table_cache.forget(session, identifier):
        try:
            resolved = execution.resolve(identifier)
        except NotFound:
            if not statement.if_exists:
                raise
        else:
            if resolved.selector is not None:
                table_cache.forget(session, resolved.identifier, selected(session, resolved))
    return nothing(execution.spark)


def refresh_table(execution: Execution, statement: RefreshTable) -> DataFrame:
    """Every statement sees the newest snapshot anyway; rows in Spark's cache are read again."""
    session = execution.session
    resolved = execution.resolve(session.table_identifier(statement.table.parts))
    table_cache.refresh(session, resolved.identifier)
    return nothing(execution.spark)


def _storage_level(options: Pairs) -> StorageLevel:
    """The option storageLevel, by the names of Spark. Raises InvalidInput for others and for another option."""
    level = StorageLevel.MEMORY_AND_DISK_DESER
    for key, value in options:
        found = getattr(StorageLevel, value.upper(), None)
        if key.lower() != _STORAGE_LEVEL or not isinstance(found, StorageLevel):
            raise InvalidInput(
                f"CACHE TABLE takes OPTIONS ('storageLevel' 'DISK_ONLY') and the like, not {key} {value!r}"
            )
        level = found
    return level
