"""Row ids at the level of table metadata: https://iceberg.apache.org/spec/#row-lineage

A row id is a long that is given once. Sums are checked: an id beyond a long raises instead of wrapping around.

Written: `commit/snapshot_writer.py` assigns first-row-id to manifests and to the snapshot. Read: `files/manifest_frame.py`
(inherit) gives each data file its first_row_id, and rows without a stored id get first_row_id + _pos in
`arrow/scan/data_file.py` and `spark/read/parquet/metadata_columns.py`. A row that a change moves or updates keeps its id: it is
stored in the new file.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from floeberg.errors import CommitConflict, InvalidInput
from floeberg.spec.json.fields import LONG_MAX
from floeberg.spec.snapshots.snapshot import Snapshot

INITIAL_ROW_ID: Final = 0
ROW_LINEAGE_VERSION: Final = 3
MAX_IDS_OF_SNAPSHOT: Final = 1 << 48
"""How many row ids one snapshot may take or leave out: 280 million million. More would use up those of later commits."""


def add_row_ids(first_row_id: int, rows: int) -> int:
    """The first id after `rows` ids from `first_row_id`. Raises InvalidInput when it would not fit a long."""
    if first_row_id < 0 or rows < 0:
        raise InvalidInput(f"row ids are never negative: first row id {first_row_id}, {rows} rows")
    following = first_row_id + rows
    if following > LONG_MAX:
        raise InvalidInput(f"row ids are used up: {rows} rows from row id {first_row_id} do not fit a 64-bit long")
    return following


def assign_first_row_ids(
    next_row_id: int, manifests: Iterable[tuple[int | None, int]]
) -> tuple[tuple[int | None, ...], int]:
    """The first row id of each data manifest and the next-row-id after them, in order.

    A manifest is (its first_row_id or None, its added + existing rows): one that has an id keeps it, one that has none
    gets the next. https://iceberg.apache.org/spec/#first-row-id-assignment"""
    assigned: list[int | None] = []
    for first_row_id, rows in manifests:
        if first_row_id is not None:
            assigned.append(first_row_id)
            continue
        assigned.append(next_row_id)
        next_row_id = add_row_ids(next_row_id, rows)
    return tuple(assigned), next_row_id


def next_row_id_after(snapshot: Snapshot, next_row_id: int) -> int:
    """A v3 table's next-row-id once a snapshot is added.

    Raises InvalidInput for a snapshot without row ids or with ids far ahead, and CommitConflict when its first-row-id was
    taken meanwhile: it must be assigned again from the table's next-row-id on each attempt."""
    if snapshot.first_row_id is None or snapshot.added_rows is None:
        raise InvalidInput(
            f"snapshot {snapshot.snapshot_id} needs first-row-id and added-rows: the table has format version 3",
            snapshot_id=snapshot.snapshot_id,
        )
    if snapshot.first_row_id < next_row_id:
        raise CommitConflict(
            f"snapshot {snapshot.snapshot_id} starts at row id {snapshot.first_row_id}, but the table has given ids up "
            f"to {next_row_id}; assign first-row-id again from the refreshed table",
            snapshot_id=snapshot.snapshot_id,
            next_row_id=next_row_id,
        )
    following = add_row_ids(snapshot.first_row_id, snapshot.added_rows)
    if following - next_row_id > MAX_IDS_OF_SNAPSHOT:
        raise InvalidInput(
            f"snapshot {snapshot.snapshot_id} takes row ids up to {following}, far ahead of the table's next-row-id, which is "
            f"{next_row_id}; assign first-row-id from there, and count added-rows",
            snapshot_id=snapshot.snapshot_id,
        )
    return following
