"""How long reading a table takes: the same number of rows each time, so that times can be compared."""

from __future__ import annotations

from typing import Final

from floeberg.arrow.scan.execute import read_tasks, table_reader
from floeberg.commit.pointer import TablePointer, TableState
from floeberg.scan.plan import plan_files
from floeberg.scan.snapshot_choice import choose_snapshot

MEASURED_ROWS: Final = 200_000


def measured_read_ms(pointer: TablePointer, state: TableState) -> int:
    """The milliseconds in which a scan of the whole table is planned and its first rows are read in this process, deletes
    applied; 0 for a table without a snapshot."""
    metadata = state.metadata
    chosen = choose_snapshot(metadata)
    if chosen.snapshot is None:
        return 0
    clock = pointer.effects.clock
    started_ms = clock.monotonic_ms()
    plan = plan_files(metadata, chosen, store_for=pointer.store_for)
    reader = table_reader(metadata, chosen.schema, store_for=pointer.store_for)
    for _ in read_tasks(plan, reader, chosen.schema, limit=MEASURED_ROWS):
        pass
    return clock.monotonic_ms() - started_ms
