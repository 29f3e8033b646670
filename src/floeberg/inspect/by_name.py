"""The metadata tables by their names: the columns of each, and its rows as a stream."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pyarrow as pa

from floeberg.errors import InvalidInput
from floeberg.inspect.columns import (
    ALL_MANIFESTS,
    HISTORY,
    MANIFESTS,
    METADATA_LOG_ENTRIES,
    REFS,
    SNAPSHOTS,
    entries_schema,
    files_schema,
    partitions_schema,
)
from floeberg.inspect.files import entries_batches, files_batches
from floeberg.inspect.logs import history_table, metadata_log_entries_table, refs_table, snapshots_table
from floeberg.inspect.manifests import all_manifests_batches, manifests_table
from floeberg.inspect.partitions import partitions_table
from floeberg.inspect.position_deletes import position_deletes_batches, position_deletes_schema
from floeberg.inspect.source import Source
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.snapshots.manifest_entry import ManifestContent
from floeberg.spec.snapshots.snapshot import Snapshot

LOGS: Final[dict[str, tuple[Schema, Callable[[Source], pa.Table]]]] = {
    "history": (HISTORY, history_table),
    "metadata_log_entries": (METADATA_LOG_ENTRIES, metadata_log_entries_table),
    "snapshots": (SNAPSHOTS, snapshots_table),
    "refs": (REFS, refs_table),
}
OVER_ALL: Final = ("all_entries", "all_files", "all_data_files", "all_delete_files", "all_manifests")
AT_A_SNAPSHOT: Final = (
    "entries", "files", "data_files", "delete_files", "manifests", "partitions", "position_deletes",
)  # fmt: skip
_MANIFESTS: Final = {"manifests": MANIFESTS, "all_manifests": ALL_MANIFESTS}
_CONTENTS: Final = {"data": ManifestContent.DATA, "delete": ManifestContent.DELETES}


def metadata_table_schema(source: Source, name: str) -> Schema:
    """The columns of a metadata table. Raises InvalidInput for an unknown name."""
    if name in LOGS:
        return LOGS[name][0]
    if name in _MANIFESTS:
        return _MANIFESTS[name]
    if name == "partitions":
        return partitions_schema(source.partition_type)
    if name == "position_deletes":
        return position_deletes_schema(source)
    if name in ("entries", "all_entries"):
        return entries_schema(source.metadata.current_schema, source.partition_type)
    _refuse_unknown(name)
    return files_schema(source.metadata.current_schema, source.partition_type)


def metadata_table_batches(source: Source, name: str, snapshot: Snapshot | None) -> pa.RecordBatchReader:
    """The rows of a metadata table; `snapshot` is the one that a table of one snapshot shows, None for no rows. Raises
    InvalidInput for an unknown name."""
    if name in LOGS:
        return LOGS[name][1](source).to_reader()
    if name == "manifests":
        return manifests_table(source, snapshot).to_reader()
    if name == "partitions":
        return partitions_table(source, snapshot).to_reader()
    if name == "position_deletes":
        return position_deletes_batches(source, snapshot)
    if name == "all_manifests":
        return all_manifests_batches(source)
    _refuse_unknown(name)
    content = _CONTENTS.get(name.removeprefix("all_").partition("_")[0])
    read = entries_batches if name in ("entries", "all_entries") else files_batches
    return read(source, source.all_manifests(content) if name in OVER_ALL else source.manifests(snapshot, content))


def _refuse_unknown(name: str) -> None:
    known = (*LOGS, *AT_A_SNAPSHOT, *OVER_ALL)
    if name not in known:
        raise InvalidInput(f"{name!r:.60} is not a metadata table; one of {', '.join(known)}")
