"""Hazard 19: clean-up deletes the files of a writer that has not committed yet. Files younger than the limit stay, by the
store's clock and not by that of the machine that cleans."""

from __future__ import annotations

import pytest

from floeberg.commit.append import Append
from floeberg.errors import InvalidInput
from floeberg.maintenance import orphans
from floeberg.maintenance.orphans import OrphanRequest, remove_orphan_files
from floeberg.testing.sim_catalogs import sim_lake
from floeberg.testing.simulated import SimWorld
from floeberg.testing.table_builder import TableBuilder

HOUR = 60 * 60 * 1000


def paused_writer(*, skew_ms: int) -> tuple[TableBuilder, list[int]]:
    """A writer writes a file, and stays for two days before it commits; meanwhile another machine, whose clock is wrong,
    removes orphans. What is there in the end."""
    world = SimWorld(3)
    builder = TableBuilder(in_catalog=sim_lake(world.process("writer"))).append((1,))
    pending = builder.data_file((2,))
    world.time_ms += 48 * HOUR
    cleaner = sim_lake(world.process("cleaner", skew_ms=skew_ms)).load_table("db.t")
    remove_orphan_files(cleaner._pointer, cleaner._state, OrphanRequest(dry_run=False))
    builder.table._commit(Append(files=[pending]))
    exists = [builder.table._pointer.store_for(file.file_path).exists(file.file_path) for file in builder.data()]
    return builder, exists


@pytest.mark.parametrize("skew_ms", [0, 72 * HOUR, -72 * HOUR])
def test_the_file_of_a_paused_writer_stays(skew_ms):
    builder, exists = paused_writer(skew_ms=skew_ms)
    assert all(exists)
    assert [row[0] for row in builder.rows()] == [1, 2]


def test_the_clock_of_the_machine_that_cleans_would_lose_it(monkeypatch):
    monkeypatch.setattr(orphans, "store_now_ms", lambda pointer, metadata: pointer.effects.clock.now_ms())
    assert not all(paused_writer(skew_ms=72 * HOUR)[1])


def test_less_than_a_day_needs_force():
    world = SimWorld(4)
    builder = TableBuilder(in_catalog=sim_lake(world.process("writer"))).append((1,))
    request = OrphanRequest(dry_run=False, older_than_ms=2**50)
    with pytest.raises(InvalidInput, match="24 hours"):
        remove_orphan_files(builder.table._pointer, builder.table._state, request)
