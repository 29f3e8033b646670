"""Tables in Spark's cache (CACHE TABLE): the keys under which rows are cached, and how long they are valid.

Cached rows are used only while the table has the same metadata as when they were cached. After any commit, the next read
caches the new rows, as Spark does for its own tables.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from floeberg.catalogs.base import LoadedTable
from floeberg.spark.host.session import AttachedSession
from floeberg.spark.host.session_state import CachedTable, CacheKey, Selection
from floeberg.sql.text.names import TableIdentifier

if TYPE_CHECKING:
    from pyspark import StorageLevel
    from pyspark.sql import DataFrame

MakeFrame = Callable[[], "DataFrame"]


def cached_frame(
    session: AttachedSession, identifier: TableIdentifier, table: LoadedTable, selection: Selection, make: MakeFrame
) -> DataFrame | None:
    """The table's rows in Spark's cache, if they were cached; `make` reads them again if the table has changed since.

    Each call gives columns of their own, as each read of a table does: with the same ones, `a.id = b.id` in a join of two
    reads would compare a column with itself.
    """
    key = CacheKey.of(identifier, selection)
    cached = session.state.cached.get(key)
    if cached is None:
        return None
    if not _is_persisted(cached.frame):  # CLEAR CACHE, or an unpersist of the same rows elsewhere
        del session.state.cached[key]
        return None
    state = table_state(table)
    if cached.state != state:
        cached.frame.unpersist()
        cached = replace(cached, state=state, frame=make().persist(cached.storage_level))
        session.state.cached[key] = cached
    return _use(cached.frame)


def keep(
    session: AttachedSession, key: CacheKey, table: LoadedTable | None, *, level: StorageLevel, make: MakeFrame
) -> DataFrame:
    """Caches rows in Spark, lazily at their first use, and returns the persisted frame. Rows that are cached already stay."""
    state = None if table is None else table_state(table)
    known = session.state.cached.get(key)
    if known is not None:
        if known.state == state and state is not None and _is_persisted(known.frame):
            return known.frame
        known.frame.unpersist()
    frame = make().persist(level)
    session.state.cached[key] = CachedTable(state, level, frame)
    return frame


def forget(session: AttachedSession, identifier: TableIdentifier, selection: Selection | None = None) -> bool:
    """Removes rows from Spark's cache: one selection of a table, or everything cached of it. Whether there were any."""
    chosen = None if selection is None else CacheKey.of(identifier, selection)
    found = [key for key in session.state.cached if key.identifier == identifier and chosen in (None, key)]
    for key in found:
        session.state.cached.pop(key).frame.unpersist()
    return bool(found)


def refresh(session: AttachedSession, identifier: TableIdentifier) -> None:
    """Marks the cached rows of a table to be read again at their next use."""
    for key, cached in list(session.state.cached.items()):
        if key.identifier == identifier:
            session.state.cached[key] = replace(cached, state=None)


def is_cached(session: AttachedSession, identifier: TableIdentifier, selection: Selection) -> bool:
    cached = session.state.cached.get(CacheKey.of(identifier, selection))
    return cached is not None and _is_persisted(cached.frame)


def table_state(table: LoadedTable) -> tuple[object, ...]:
    """A state that changes with every commit. The metadata file's name alone does not: a table that is dropped and created
    again in the same folder counts its versions from the beginning."""
    metadata = table.state.metadata
    return (
        table.state.metadata_location,
        metadata.table_uuid,
        metadata.last_updated_ms,
        metadata.current_snapshot_id,
        metadata.last_sequence_number,
    )


def _use(frame: DataFrame) -> DataFrame:
    """A read of persisted rows. SQL makes a view for each reference; dropping a view of the persisted frame itself would
    remove its rows from the cache, so a filter stands between them."""
    return frame.filter("true").toDF(*frame.columns)


def _is_persisted(frame: Any) -> bool:
    level = frame.storageLevel
    return bool(level.useMemory or level.useDisk)
