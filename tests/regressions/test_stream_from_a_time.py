"""A stream from a time on loses no snapshot that comes after its first, when the clock of a writer goes back by less than the
minute that is believed."""

from __future__ import annotations

import pytest

from floeberg.scan.streaming import StreamOptions, StreamPlanner
from floeberg.testing.simulated import SimWorld
from floeberg.testing.table_builder import TableBuilder


@pytest.mark.parametrize("at_once", [True, False])
def test_a_snapshot_of_an_earlier_time_than_the_streams_first_is_read(at_once: bool) -> None:
    world = SimWorld(1)
    process = world.process("writer")
    builder = TableBuilder(effects=process.effects)
    times = []
    for number, skew_ms in enumerate((0, 0, -20_000, 0)):
        process.clock.skew_ms = skew_ms
        world.time_ms += 1000
        times.append(builder.append(*[(number,)] * (number + 1)).table.current_snapshot.timestamp_ms)
    assert times[2] < times[1], "the clock went back"
    options = StreamOptions(from_timestamp_ms=times[1], max_files=None if at_once else 1)
    table = builder.table.refresh()
    planner = StreamPlanner(
        identifier="t", metadata=table.metadata, options=options, store_for=table._pointer.store_for
    )
    offset = planner.initial()
    read: list[int] = []
    while (end := planner.advance(offset)) != offset:
        read += [task.data_file.record_count for task in planner.between(offset, end)]
        offset = end
    assert read == [2, 3, 4], "the files of all snapshots but the first, each with its number of rows"
