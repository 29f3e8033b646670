"""The range of snapshots of an incremental read or a changelog, from its options."""

from __future__ import annotations

from floeberg.errors import InvalidInput, SnapshotNotFound
from floeberg.spark.read.options import FrameOptions
from floeberg.spec.metadata.table_metadata import TableMetadata


def snapshot_range(
    metadata: TableMetadata, options: FrameOptions, *, ref: str | None = None, needs_start: bool = True
) -> tuple[int | None, int | None]:
    """(exclusive start, inclusive end). A start in time is the last snapshot at or before it, the beginning of the table if
    there is none; an end in time is so too, and with none nothing is in the range: both are the same snapshot. Times are
    those of the current snapshot's history. `ref` is a branch or tag that ends the range.

    Raises InvalidInput when ids and times are mixed, or an end comes without the start that it needs, RefNotFound, and
    SnapshotNotFound when snapshots since the start have expired."""
    by_id = (options.start_snapshot_id, options.end_snapshot_id)
    by_time = (options.start_ms, options.end_ms)
    if any(value is not None for value in by_id) and any(value is not None for value in by_time):
        raise InvalidInput("give snapshot ids or timestamps as the range of an incremental read, not both")
    if by_id[0] is not None or by_id[1] is not None:
        if by_id[0] is None and needs_start:
            raise InvalidInput("end-snapshot-id needs a start-snapshot-id")
        if ref is None:
            return by_id
        if by_id[1] is not None:
            raise InvalidInput(f"{ref!r} and end-snapshot-id both end an incremental read; give one of them")
        return by_id[0], metadata.ref(ref).snapshot_id
    if ref is not None:
        raise InvalidInput(f"times are those of main; read {ref!r} from a start-snapshot-id")
    return _in_time(metadata, *by_time)


def _in_time(metadata: TableMetadata, start_ms: int | None, end_ms: int | None) -> tuple[int | None, int | None]:
    if start_ms is not None and end_ms is not None and start_ms > end_ms:
        raise InvalidInput(f"start-timestamp {start_ms} is after end-timestamp {end_ms}")
    head = metadata.current_snapshot_id
    if head is None:
        return None, None
    history = list(metadata.ancestors(head))
    end = None if end_ms is None else next((one for one in history if one.timestamp_ms <= end_ms), None)
    if end_ms is not None and end is None:
        return history[-1].snapshot_id, history[-1].snapshot_id
    start = None if start_ms is None else next((one for one in history if one.timestamp_ms <= start_ms), None)
    if start_ms is not None and start is None and history[-1].parent_snapshot_id is not None:
        raise SnapshotNotFound(
            f"table {metadata.location}: snapshots since start-timestamp {start_ms} have expired; the oldest that is left is "
            f"{history[-1].snapshot_id}: start at its time, {history[-1].timestamp_ms}, or at a later one",
            snapshot_id=history[-1].parent_snapshot_id,
        )
    return (None if start is None else start.snapshot_id), (None if end is None else end.snapshot_id)
