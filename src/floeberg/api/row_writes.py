"""Changes of rows, as tables and transactions offer them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from floeberg.api.scan import Where
from floeberg.api.writing import Assigned, Change, Planned
from floeberg.spec.snapshots.refs import MAIN_BRANCH
from floeberg.spec.snapshots.snapshot import Snapshot

MakeChange: TypeAlias = Callable[[Change], Planned]
Txn: TypeAlias = tuple[str, int]
"""An application's id, and the version of what it writes."""


class RowWrites:
    """Changes of rows on the Arrow engine. Rows are given as a pyarrow Table or RecordBatchReader, or as a polars or pandas
    frame; columns are found by name. A table commits at once and gives the new snapshot (None when there was nothing to
    do); a transaction keeps the change for its end.

    `branch` is the branch that is changed, `snapshot_properties` go into the snapshot's summary. A table plans each change
    on its current state, a transaction on the state at its start. If others change the same rows before the commit,
    ValidationConflict says what collided.

    `txn` is an application's id and the version of what it writes, `("orders-job", 17)`: a write whose version, or a later
    one, the branch holds already is skipped with a warning and gives None. Each pair stands for one write of a table.
    """

    def append(
        self,
        data: Any,
        *,
        branch: str = MAIN_BRANCH,
        snapshot_properties: Mapping[str, str] | None = None,
        txn: Txn | None = None,
    ) -> Snapshot | None:
        """Adds rows. Columns that are missing take their write default."""
        return self._change(lambda change: change.append(data), branch, snapshot_properties, txn)

    def overwrite(
        self,
        data: Any,
        where: Where = None,
        *,
        branch: str = MAIN_BRANCH,
        snapshot_properties: Mapping[str, str] | None = None,
        txn: Txn | None = None,
        case_sensitive: bool = True,
    ) -> Snapshot | None:
        """Replaces the rows for which `where` is true, all rows without one."""
        return self._change(
            lambda change: change.overwrite(data, where, case_sensitive=case_sensitive),
            branch,
            snapshot_properties,
            txn,
        )

    def overwrite_partitions(
        self,
        data: Any,
        *,
        branch: str = MAIN_BRANCH,
        snapshot_properties: Mapping[str, str] | None = None,
        txn: Txn | None = None,
    ) -> Snapshot | None:
        """Replaces every partition that the rows belong to; an unpartitioned table whole."""
        return self._change(lambda change: change.overwrite_partitions(data), branch, snapshot_properties, txn)

    def delete(
        self,
        where: Where,
        *,
        branch: str = MAIN_BRANCH,
        snapshot_properties: Mapping[str, str] | None = None,
        txn: Txn | None = None,
        case_sensitive: bool = True,
    ) -> Snapshot | None:
        """Deletes the rows for which `where` is true; where it is null a row stays. By metadata alone where whole files
        match, else as `write.delete.mode` says."""
        return self._change(
            lambda change: change.delete(where, case_sensitive=case_sensitive), branch, snapshot_properties, txn
        )

    def update(
        self,
        set: Assigned,
        where: Where,
        *,
        branch: str = MAIN_BRANCH,
        snapshot_properties: Mapping[str, str] | None = None,
        txn: Txn | None = None,
        case_sensitive: bool = True,
    ) -> Snapshot | None:
        """Sets columns of the rows for which `where` is true: `t.update({"price": 4}, where="id = 1")`. A value may be a
        function that is given the rows (a RecordBatch) and returns an array. As `write.update.mode` says."""
        return self._change(
            lambda change: change.update(set, where, case_sensitive=case_sensitive), branch, snapshot_properties, txn
        )

    def upsert(
        self,
        data: Any,
        on: Sequence[str] | None = None,
        *,
        branch: str = MAIN_BRANCH,
        snapshot_properties: Mapping[str, str] | None = None,
        txn: Txn | None = None,
    ) -> Snapshot | None:
        """Rows replace those of the same key (`on`, by default the identifier fields) and are inserted where there is
        none. A replaced row keeps its `_row_id`. As `write.merge.mode` says."""
        return self._change(lambda change: change.upsert(data, on), branch, snapshot_properties, txn)

    def _change(
        self, make: MakeChange, branch: str, snapshot_properties: Mapping[str, str] | None, txn: Txn | None
    ) -> Snapshot | None:
        raise AssertionError("tables and transactions say how they change")
