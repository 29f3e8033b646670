"""The metadata tables (`t.files`, `t.snapshots` …) as DataFrames: what `inspect/` gives, handed to Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from floeberg.catalogs.base import LoadedTable
from floeberg.errors import InvalidInput
from floeberg.inspect.files import entries_batches, files_batches
from floeberg.inspect.logs import history_table, metadata_log_entries_table, refs_table, snapshots_table
from floeberg.inspect.manifests import all_manifests_batches, manifests_table
from floeberg.inspect.partitions import partitions_table
from floeberg.inspect.position_deletes import position_deletes_batches
from floeberg.inspect.source import Source
from floeberg.spark.host.session import Selection
from floeberg.spark.read.changelog import changelog_frame
from floeberg.spec.data_file import ManifestContent

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

_LOGS: Final = {
    "history": history_table,
    "metadata_log_entries": metadata_log_entries_table,
    "snapshots": snapshots_table,
    "refs": refs_table,
}
_CONTENTS: Final = {"data": ManifestContent.DATA, "delete": ManifestContent.DELETES}


def metadata_frame(spark: SparkSession, table: LoadedTable, name: str, selection: Selection) -> DataFrame:
    """A metadata table of a table's state; those of one snapshot can be of another than the current one. Raises
    InvalidInput for a snapshot chosen where a table is over all of them."""
    if name == "changes":
        if (selection.snapshot_id, selection.ref, selection.as_of_ms) != (None, None, None):
            raise InvalidInput(
                "changes are of a range of snapshots; give start-snapshot-id and end-snapshot-id as options"
            )
        # What a rewrite only carried over is there too, as a deleted and an inserted row, as in the Java runtime.
        frame: DataFrame = changelog_frame(spark, table, options=selection.options, keep_carried_over=True)
        return frame
    source = Source(table.state.metadata, table.pointer.store_for, table.state.metadata_location)
    return spark.createDataFrame(_table(source, name, selection))


def _table(source: Source, name: str, selection: Selection) -> pa.Table:
    chosen = (selection.snapshot_id, selection.ref, selection.as_of_ms) != (None, None, None)
    if name in _LOGS or name.startswith("all_"):
        if chosen:
            raise InvalidInput(f"{name} is over all snapshots; no snapshot can be chosen for it")
        return _LOGS[name](source) if name in _LOGS else _over_all(source, name)
    snapshot = source.snapshot(snapshot_id=selection.snapshot_id, ref=selection.ref, as_of_ms=selection.as_of_ms)
    if name == "manifests":
        return manifests_table(source, snapshot)
    if name == "partitions":
        return partitions_table(source, snapshot)
    if name == "position_deletes":
        return position_deletes_batches(source, snapshot).read_all()
    listed = source.manifests(snapshot, _content(name))
    read: Any = entries_batches if name == "entries" else files_batches
    return read(source, listed).read_all()


def _over_all(source: Source, name: str) -> pa.Table:
    if name == "all_manifests":
        return all_manifests_batches(source).read_all()
    read: Any = entries_batches if name == "all_entries" else files_batches
    return read(source, source.all_manifests(_content(name))).read_all()


def _content(name: str) -> ManifestContent | None:
    return _CONTENTS.get(name.removeprefix("all_").partition("_")[0])
