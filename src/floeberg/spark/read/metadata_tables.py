"""The metadata tables (`t.files`, `t.snapshots` …) as DataFrames: what `inspect/` gives, handed to Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

from floeberg.arrow.scan.changelog import changelog_schema
from floeberg.catalogs.base import LoadedTable
from floeberg.errors import InvalidInput
from floeberg.inspect.by_name import AT_A_SNAPSHOT, metadata_table_batches, metadata_table_schema
from floeberg.inspect.source import Source
from floeberg.scan.change_form import ALL_CHANGES
from floeberg.scan.frame_cache import FrameCache
from floeberg.spark.host.calls.active_session import in_own_session
from floeberg.spark.host.session_state import Selection
from floeberg.spark.read.changelog import changelog_frame
from floeberg.spark.read.local_frame import arrow_local_frame
from floeberg.spark.read.options import FrameOptions
from floeberg.spec.schemas.schema import Schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

CHANGES = "changes"


@in_own_session
def metadata_frame(
    spark: SparkSession, table: LoadedTable, name: str, selection: Selection, *, cache: FrameCache | None = None
) -> DataFrame:
    """A metadata table of a table's state; those of one snapshot can be of another than the current one. Raises
    InvalidInput for a snapshot chosen where a table is over all of them, and for a range where it is of one."""
    chosen = selection.chooses_snapshot
    if name == CHANGES:
        if chosen:
            raise InvalidInput(
                "changes are of a range of snapshots; give start-snapshot-id and end-snapshot-id as options"
            )
        # What a rewrite only carried over is there too, as a deleted and an inserted row, as in the Java runtime.
        frame: DataFrame = changelog_frame(spark, table, options=selection.options, form=ALL_CHANGES, cache=cache)
        return frame
    if FrameOptions.of(selection.options).is_incremental:
        raise InvalidInput(
            f"{name} is no table of changes, so it takes no range of snapshots (start-snapshot-id, end-snapshot-id, "
            f"start-timestamp, end-timestamp); read {CHANGES}, or choose one snapshot"
        )
    if chosen and name not in AT_A_SNAPSHOT:
        raise InvalidInput(f"{name} is over all snapshots; no snapshot can be chosen for it")
    source = _source(table, cache)
    snapshot = None
    if name in AT_A_SNAPSHOT:
        snapshot = source.snapshot(snapshot_id=selection.snapshot_id, ref=selection.ref, as_of_ms=selection.as_of_ms)
    return arrow_local_frame(spark, metadata_table_batches(source, name, snapshot), metadata_table_schema(source, name))


def metadata_columns(table: LoadedTable, name: str) -> Schema:
    """The columns of a metadata table, without reading it."""
    if name == CHANGES:
        return changelog_schema(table.state.metadata.current_schema)
    return metadata_table_schema(_source(table), name)


def _source(table: LoadedTable, cache: FrameCache | None = None) -> Source:
    return Source(table.state.metadata, table.pointer.store_for, table.state.metadata_location, cache)
