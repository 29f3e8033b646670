"""The snapshot log and the metadata log: what was current when. https://iceberg.apache.org/spec/#table-metadata-fields

Clocks of writers differ. The order of commits is the order of the log; times in it must not run backwards by more than
a minute, or the reference implementation refuses the table.

`finished_snapshot_log` (spec/changes/builder_snapshots.py) decides which entries a commit adds: a snapshot that the same commit
added and replaced was never current, and is left out. Removing a snapshot removes the entries up to it (without_unknown_past).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from floeberg.spec.json.documents import Document, Documents, T
from floeberg.spec.snapshots.snapshot import MetadataLogEntry, SnapshotLogEntry

CLOCK_SKEW_TOLERANCE_MS: Final = 60_000


def commit_time_ms(now_ms: int, previous_ms: int) -> int:
    """The time to record for a commit after one recorded at `previous_ms`.

    A clock that is at most a minute behind is believed, as the reference does; one that is further behind is not, and
    the commit is recorded a millisecond after the previous one."""
    return now_ms if now_ms >= previous_ms - CLOCK_SKEW_TOLERANCE_MS else previous_ms + 1


def appended_metadata_log(
    log: Documents[MetadataLogEntry], entry: MetadataLogEntry, *, most: int
) -> Documents[MetadataLogEntry]:
    """The log with one more former file, of which the last `most` are kept (at least one)."""
    log = without_time_jumps(log)
    kept = log.from_position(len(log) - max(most, 1) + 1)
    return kept.appended(entry)


def appended_snapshot_log(
    log: Documents[SnapshotLogEntry], additions: Iterable[SnapshotLogEntry]
) -> Documents[SnapshotLogEntry]:
    """The log with the changes of the current snapshot that a commit made, in times that do not jump back."""
    log = without_time_jumps(log)
    for entry in additions:
        previous_ms = _timestamp_ms(log.documents[-1]) if log else entry.timestamp_ms
        log = log.appended(SnapshotLogEntry(commit_time_ms(entry.timestamp_ms, previous_ms), entry.snapshot_id))
    return log


def without_unknown_past(
    log: Documents[SnapshotLogEntry], is_known: Callable[[int], bool]
) -> Documents[SnapshotLogEntry]:
    """The log after its last entry of a snapshot that is gone: with a gap in it, a snapshot would seem to have been
    current when another one was."""
    start = 0
    for position, document in enumerate(log.documents):
        snapshot_id = document["snapshot-id"]
        if not isinstance(snapshot_id, int) or not is_known(snapshot_id):
            start = position + 1
    return log.from_position(start)


def without_time_jumps(log: Documents[T]) -> Documents[T]:
    """The log after its last jump back by more than a minute: times before it cannot be told apart from later ones."""
    start = 0
    previous_ms: int | None = None
    for position, document in enumerate(log.documents):
        timestamp_ms = _timestamp_ms(document)
        if previous_ms is not None and timestamp_ms < previous_ms - CLOCK_SKEW_TOLERANCE_MS:
            start = position
        previous_ms = timestamp_ms
    return log.from_position(start)


def _timestamp_ms(document: Document) -> int:
    timestamp_ms = document["timestamp-ms"]
    assert isinstance(timestamp_ms, int)
    return timestamp_ms
