"""The metadata tables as users ask for them: `t.inspect.files()`."""

from __future__ import annotations

from datetime import datetime
from typing import Final

import pyarrow as pa

from floeberg.api.moments import to_milliseconds
from floeberg.commit.pointer import TablePointer, TableState
from floeberg.errors import InvalidInput
from floeberg.inspect.by_name import LOGS, OVER_ALL, metadata_table_batches
from floeberg.inspect.logs import history_table, metadata_log_entries_table, refs_table, snapshots_table
from floeberg.inspect.manifests import manifests_table
from floeberg.inspect.partitions import partitions_table
from floeberg.inspect.source import Source
from floeberg.spec.snapshots.snapshot import Snapshot

STREAMED: Final = (
    "entries", "files", "data_files", "delete_files", "position_deletes", *OVER_ALL,
)  # fmt: skip
TABLES: Final = (*LOGS, *STREAMED, "manifests", "partitions")


class Inspect:
    """A table's metadata tables, of the state the table was loaded with. Those of one snapshot take `snapshot_id`, `ref`
    (a branch or tag) or `as_of` (a time as text, in UTC unless it says its zone, an aware datetime or milliseconds); without,
    they show the current snapshot."""

    def __init__(self, pointer: TablePointer, state: TableState) -> None:
        self._source = Source(state.metadata, pointer.store_for, state.metadata_location)

    def history(self) -> pa.Table:
        """When which snapshot became the current one."""
        return history_table(self._source)

    def metadata_log_entries(self) -> pa.Table:
        """The metadata files, the current one last."""
        return metadata_log_entries_table(self._source)

    def snapshots(self) -> pa.Table:
        """The snapshots."""
        return snapshots_table(self._source)

    def refs(self) -> pa.Table:
        """Branches and tags."""
        return refs_table(self._source)

    def entries(
        self, *, snapshot_id: int | None = None, ref: str | None = None, as_of: datetime | str | int | None = None
    ) -> pa.Table:
        """The manifest entries of a snapshot, those of deleted files too."""
        return self.batches("entries", snapshot_id=snapshot_id, ref=ref, as_of=as_of).read_all()

    def files(
        self, *, snapshot_id: int | None = None, ref: str | None = None, as_of: datetime | str | int | None = None
    ) -> pa.Table:
        """The data and delete files of a snapshot."""
        return self.batches("files", snapshot_id=snapshot_id, ref=ref, as_of=as_of).read_all()

    def data_files(
        self, *, snapshot_id: int | None = None, ref: str | None = None, as_of: datetime | str | int | None = None
    ) -> pa.Table:
        """The data files of a snapshot."""
        return self.batches("data_files", snapshot_id=snapshot_id, ref=ref, as_of=as_of).read_all()

    def delete_files(
        self, *, snapshot_id: int | None = None, ref: str | None = None, as_of: datetime | str | int | None = None
    ) -> pa.Table:
        """The delete files and deletion vectors of a snapshot."""
        return self.batches("delete_files", snapshot_id=snapshot_id, ref=ref, as_of=as_of).read_all()

    def manifests(
        self, *, snapshot_id: int | None = None, ref: str | None = None, as_of: datetime | str | int | None = None
    ) -> pa.Table:
        """The manifests of a snapshot."""
        return manifests_table(self._source, self._snapshot(snapshot_id, ref, as_of))

    def partitions(
        self, *, snapshot_id: int | None = None, ref: str | None = None, as_of: datetime | str | int | None = None
    ) -> pa.Table:
        """What each partition of a snapshot holds."""
        return partitions_table(self._source, self._snapshot(snapshot_id, ref, as_of))

    def position_deletes(
        self, *, snapshot_id: int | None = None, ref: str | None = None, as_of: datetime | str | int | None = None
    ) -> pa.Table:
        """The deletes by position of a snapshot, read from its delete files and deletion vectors."""
        return self.batches("position_deletes", snapshot_id=snapshot_id, ref=ref, as_of=as_of).read_all()

    def all_entries(self) -> pa.Table:
        """The entries of every manifest of every snapshot."""
        return self.batches("all_entries").read_all()

    def all_files(self) -> pa.Table:
        """The files of every manifest of every snapshot; one that stands in several manifests comes several times."""
        return self.batches("all_files").read_all()

    def all_data_files(self) -> pa.Table:
        """As `all_files`, data files only."""
        return self.batches("all_data_files").read_all()

    def all_delete_files(self) -> pa.Table:
        """As `all_files`, delete files only."""
        return self.batches("all_delete_files").read_all()

    def all_manifests(self) -> pa.Table:
        """The manifests of each snapshot; one that several snapshots share comes once for each."""
        return self.batches("all_manifests").read_all()

    def batches(
        self,
        table: str,
        *,
        snapshot_id: int | None = None,
        ref: str | None = None,
        as_of: datetime | str | int | None = None,
    ) -> pa.RecordBatchReader:
        """A metadata table of files, entries or deletes as a stream, a manifest at a time: for tables whose metadata do
        not fit into memory. Raises InvalidInput for another table, or a snapshot chosen for an `all_` table."""
        if table not in STREAMED:
            raise InvalidInput(f"{table!r} is not a metadata table that is streamed; one of {', '.join(STREAMED)}")
        chosen = not (snapshot_id is None and ref is None and as_of is None)
        if table in OVER_ALL and chosen:
            raise InvalidInput(f"{table} is over all snapshots; leave snapshot_id, ref and as_of out")
        snapshot = None if table in OVER_ALL else self._snapshot(snapshot_id, ref, as_of)
        return metadata_table_batches(self._source, table, snapshot)

    def _snapshot(
        self, snapshot_id: int | None, ref: str | None, as_of: datetime | str | int | None
    ) -> Snapshot | None:
        return self._source.snapshot(snapshot_id=snapshot_id, ref=ref, as_of_ms=to_milliseconds(as_of))
