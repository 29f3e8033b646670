"""Named tables, views and metadata tables as DataFrames."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from floeberg.catalogs.base import LoadedTable
from floeberg.errors import InvalidInput
from floeberg.expr.nodes import TRUE, Expression
from floeberg.spark.host.destination import WAP_BRANCH_SETTING, WAP_ENABLED
from floeberg.spark.host.name_resolution import Resolved
from floeberg.spark.host.session import AttachedSession
from floeberg.spark.host.session_state import Selection
from floeberg.spark.read.derived_frames import TableOrigin, note_origin
from floeberg.spark.read.frame import table_frame
from floeberg.spark.read.joins.key_values import JoinKey
from floeberg.spark.read.metadata_tables import metadata_frame
from floeberg.spark.read.options import CHOOSING, WITHOUT_EFFECT, FrameOptions
from floeberg.spark.read.table_cache import cached_frame
from floeberg.spec.schemas.schema import Schema
from floeberg.sql.text.names import Selector, TableIdentifier

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def selection_of(
    session: AttachedSession, selector: Selector | None, options: Mapping[str, Any] | None = None
) -> Selection:
    """What a selector such as `branch_x` or `files` picks, with the options of the read. Raises InvalidInput for options
    that are not known, and when name and options choose different snapshots."""
    if not options:
        return _named(selector)
    zone = session.setting("spark.sql.session.timeZone", "UTC")
    parsed = FrameOptions.of(options, time_zone=zone)
    kept = {name.lower(): str(value) for name, value in options.items() if value is not None}
    kept = {name: value for name, value in sorted(kept.items()) if name not in CHOOSING | WITHOUT_EFFECT}
    by_options = Selection(parsed.snapshot_id, parsed.ref, parsed.as_of_ms, options=kept)
    named = _named(selector)
    if not by_options.chooses_snapshot or not named.chooses_snapshot:
        chosen = by_options if by_options.chooses_snapshot else named
        return replace(chosen, metadata_table=named.metadata_table, options=kept)
    if replace(named, options=kept) != by_options:
        raise InvalidInput("the table's name and an option choose different snapshots; keep one of them")
    return by_options


def _named(selector: Selector | None) -> Selection:
    if selector is None:
        return Selection()
    match selector.kind:
        case "branch" | "tag":
            return Selection(ref=selector.value)
        case "snapshot_id":
            return Selection(snapshot_id=int(selector.value))
        case "at_timestamp":
            return Selection(as_of_ms=int(selector.value))
    return Selection(metadata_table=selector.value)


def with_version(selection: Selection, version: object) -> Selection:
    """VERSION AS OF: a snapshot id, or a branch or tag. Raises InvalidInput when a snapshot is chosen already."""
    _refuse_two(selection)
    if isinstance(version, int) and not isinstance(version, bool):
        return replace(selection, snapshot_id=version)
    text = str(version)
    is_id = text.isascii() and text.isdigit()
    return replace(selection, snapshot_id=int(text)) if is_id else replace(selection, ref=text)


def with_timestamp(selection: Selection, as_of_ms: int) -> Selection:
    _refuse_two(selection)
    return replace(selection, as_of_ms=as_of_ms)


def _refuse_two(selection: Selection) -> None:
    if selection.chooses_snapshot:
        raise InvalidInput(
            "time travel is asked for twice: by the table's name or options and by AS OF; keep one of them"
        )


def refuse_view_options(name: str, options: Mapping[str, Any]) -> None:
    """Raises InvalidInput for options that would change the rows of a view, which reads what its own text says."""
    parsed = FrameOptions.of(options)
    if replace(parsed, split_size_bytes=None, engine=None) != FrameOptions():
        raise InvalidInput(
            f"{name} is a view: it takes no option that changes its rows; read its tables with the option"
        )


def on_wap_branch(session: AttachedSession, table: LoadedTable, selection: Selection) -> Selection:
    """The selection of the branch that `spark.wap.branch` names, for a table with `write.wap.enabled` that has the branch; a
    read that chooses a snapshot itself is left as it is."""
    metadata = table.state.metadata
    if selection.chooses_snapshot or selection.metadata_table is not None:
        return selection
    if metadata.properties.get(WAP_ENABLED, "false").lower() != "true":
        return selection
    branch = session.setting(WAP_BRANCH_SETTING, "")
    if not branch or metadata.find_ref(branch) is None or FrameOptions.of(selection.options).is_incremental:
        return selection
    return replace(selection, ref=branch)


def selected_schema(table: LoadedTable, selection: Selection) -> Schema:
    """The schema of a read of the selection: that of a tag or snapshot, else the table's."""
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
    skips_row_groups: bool = True,
    keys: Sequence[JoinKey] = (),
    keeps_one: Callable[[], bool] = bool,
    reuse: bool = False,
) -> DataFrame:
    """A table, or one of its metadata tables, as a DataFrame. Only rows with the join keys are needed; where no file
    has any, one is read if `keeps_one` says so. `reuse` takes one that
    an earlier statement made."""
    if selection.metadata_table is not None:
        return metadata_frame(session.spark, table, selection.metadata_table, selection, cache=session.state.manifests)
    frame: DataFrame = table_frame(
        session.spark,
        table,
        snapshot_id=selection.snapshot_id,
        ref=selection.ref,
        as_of_ms=selection.as_of_ms,
        where=where,
        metadata_columns=metadata_columns,
        options=selection.options,
        skips_row_groups=skips_row_groups,
        keys=keys,
        keeps_one=keeps_one,
        cache=session.state.manifests,
        kept=session.state.frames if reuse else None,
    )
    return frame


def named_frame(session: AttachedSession, resolved: Resolved, options: Mapping[str, Any] | None = None) -> DataFrame:
    """The DataFrame of `spark.table` and `spark.read.table` for a table; it remembers what it reads, for views over it."""
    table = resolved.table
    assert table is not None
    asked = selection_of(session, resolved.selector, options)
    selection = on_wap_branch(session, table, asked)
    frame = cached_or_read(session, resolved.identifier, table, selection)
    schema = None if selection.metadata_table is not None else selected_schema(table, selection)
    note_origin(frame, TableOrigin(resolved.identifier, asked, table.state.metadata.table_uuid, schema))
    return frame


def cached_or_read(
    session: AttachedSession, identifier: TableIdentifier, table: LoadedTable, selection: Selection
) -> DataFrame:
    """A table, or one of its metadata tables, from Spark's cache where CACHE TABLE put it there."""

    def read() -> DataFrame:
        return frame_of(session, table, selection)

    cached = cached_frame(session, identifier, table, selection, read) if session.state.cached else None
    return read() if cached is None else cached
