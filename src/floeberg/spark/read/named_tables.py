"""What a name stands for, as a DataFrame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from floeberg.catalogs.base import LoadedTable
from floeberg.errors import InvalidInput
from floeberg.expr.nodes import TRUE, Expression
from floeberg.spark.host.destination import WAP_BRANCH_SETTING, WAP_ENABLED
from floeberg.spark.host.session import AttachedSession, FrameView, Resolved, Selection
from floeberg.spark.read.frame import table_frame
from floeberg.spark.read.metadata_tables import metadata_frame
from floeberg.spark.read.options import FrameOptions
from floeberg.spec.schema import Schema
from floeberg.sql.text.names import Selector

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ORIGIN: Final = "_floeberg_origin"
"""The attribute of a table's DataFrame that says what it reads."""


def selection_of(selector: Selector | None, options: Mapping[str, Any] | None = None) -> Selection:
    """What a selector such as `branch_x` or `files` picks."""
    given = {key: str(value) for key, value in (options or {}).items()}
    if selector is None:
        return Selection(options=given)
    match selector.kind:
        case "branch" | "tag":
            return Selection(ref=selector.value, options=given)
        case "snapshot_id":
            return Selection(snapshot_id=int(selector.value), options=given)
        case "at_timestamp":
            return Selection(as_of_ms=int(selector.value), options=given)
    return Selection(metadata_table=selector.value, options=given)


def with_version(selection: Selection, version: object) -> Selection:
    """VERSION AS OF: a snapshot id, or a branch or tag. Raises InvalidInput when a snapshot is chosen already."""
    _refuse_two(selection)
    if isinstance(version, int) and not isinstance(version, bool):
        return replace(selection, snapshot_id=version)
    text = str(version)
    return replace(selection, snapshot_id=int(text)) if text.isdigit() else replace(selection, ref=text)


def with_timestamp(selection: Selection, as_of_ms: int) -> Selection:
    _refuse_two(selection)
    return replace(selection, as_of_ms=as_of_ms)


def _refuse_two(selection: Selection) -> None:
    if selection.snapshot_id is not None or selection.ref is not None or selection.as_of_ms is not None:
        raise InvalidInput("time travel is asked for twice: by the table's name and by AS OF; keep one of them")


def audited(session: AttachedSession, table: LoadedTable, selection: Selection) -> Selection:
    """With `spark.wap.branch`, a table that allows it is read at that branch once there is one, unless the read itself says
    what it wants."""
    metadata = table.state.metadata
    chosen = (selection.snapshot_id, selection.ref, selection.as_of_ms, selection.metadata_table)
    if chosen != (None,) * 4 or metadata.properties.get(WAP_ENABLED, "false").lower() != "true":
        return selection
    branch = session.setting(WAP_BRANCH_SETTING, "")
    if not branch or metadata.find_ref(branch) is None:
        return selection
    parsed = FrameOptions.of(selection.options)
    asked = parsed.is_incremental or (parsed.snapshot_id, parsed.ref, parsed.as_of_ms) != (None, None, None)
    return selection if asked else replace(selection, ref=branch)


def selected_schema(table: LoadedTable, selection: Selection) -> Schema:
    """The schema that a read of the selection has: a tag's and a snapshot's own, else the table's."""
    metadata = table.state.metadata
    if selection.as_of_ms is not None:
        return metadata.schema_of_snapshot(metadata.snapshot(metadata.snapshot_id_as_of(selection.as_of_ms)))
    if selection.snapshot_id is not None:
        return metadata.schema_of_snapshot(metadata.snapshot(selection.snapshot_id))
    ref = metadata.refs.get(selection.ref) if selection.ref is not None else None
    if ref is not None and ref.is_tag:
        return metadata.schema_of_snapshot(metadata.snapshot(ref.snapshot_id))
    return metadata.current_schema


def frame_of(
    session: AttachedSession,
    table: LoadedTable,
    selection: Selection,
    *,
    where: Expression = TRUE,
    metadata_columns: Sequence[str] = (),
) -> DataFrame:
    """A table, or one of its metadata tables, as a DataFrame."""
    if selection.metadata_table is not None:
        return metadata_frame(session.spark, table, selection.metadata_table, selection)
    frame: DataFrame = table_frame(
        session.spark,
        table,
        snapshot_id=selection.snapshot_id,
        ref=selection.ref,
        as_of_ms=selection.as_of_ms,
        where=where,
        metadata_columns=metadata_columns,
        options=selection.options,
        cache=session.state.manifests,
    )
    return frame


def named_frame(session: AttachedSession, resolved: Resolved, options: Mapping[str, Any] | None = None) -> DataFrame:
    """The DataFrame of `spark.table` and `spark.read.table` for a table; it remembers what it reads, for views over it."""
    assert resolved.table is not None
    selection = audited(session, resolved.table, selection_of(resolved.selector, options))
    if selection == Selection() and (cached := cached_frame(session, resolved)) is not None:
        return cached
    frame = frame_of(session, resolved.table, selection)
    setattr(frame, ORIGIN, FrameView(resolved.table, selection))
    return frame


def cached_frame(session: AttachedSession, resolved: Resolved) -> DataFrame | None:
    """The table's rows in Spark's cache, if it is there and was not changed since; a stale one is let go."""
    cached = session.state.cached.get(resolved.identifier)
    if cached is None or resolved.table is None:
        return None
    if cached.metadata_location == resolved.table.state.metadata_location:
        return cached.frame
    cached.frame.unpersist()
    del session.state.cached[resolved.identifier]
    return None
