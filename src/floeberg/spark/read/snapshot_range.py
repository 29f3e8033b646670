"""The range of snapshots of an incremental read or a changelog, from its options."""

from __future__ import annotations

from floeberg.errors import InvalidInput
from floeberg.spark.read.options import FrameOptions
from floeberg.spec.metadata.table_metadata import TableMetadata


def snapshot_range(
    metadata: TableMetadata, options: FrameOptions, *, ref: str | None = None
) -> tuple[int | None, int | None]:
    """(exclusive start, inclusive end). A start in time is the last snapshot at or before it; the beginning of the table if
    there is none. `ref` is a branch or tag that ends the range. Raises InvalidInput when ids and times are mixed, or an end
    comes without a start, and RefNotFound."""
    by_id = (options.start_snapshot_id, options.end_snapshot_id)
    by_time = (options.start_ms, options.end_ms)
    if any(value is not None for value in by_id) and any(value is not None for value in by_time):
        raise InvalidInput("give snapshot ids or timestamps as the range of an incremental read, not both")
    if by_id[0] is not None or by_id[1] is not None:
        if by_id[0] is None:
            raise InvalidInput("end-snapshot-id needs a start-snapshot-id")
        if ref is None:
            return by_id
        if by_id[1] is not None:
            raise InvalidInput(f"{ref!r} and end-snapshot-id both end an incremental read; give one of them")
        return by_id[0], metadata.ref(ref).snapshot_id
    if ref is not None:
        raise InvalidInput(f"times are those of main; read {ref!r} from a start-snapshot-id")
    return _at(metadata, by_time[0]), _at(metadata, by_time[1])


def _at(metadata: TableMetadata, moment_ms: int | None) -> int | None:
    if moment_ms is None:
        return None
    found = [entry for entry in metadata.snapshot_log if entry.timestamp_ms <= moment_ms]
    return found[-1].snapshot_id if found else None
