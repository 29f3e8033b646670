"""What a branch was rolled back from is not in it, so that its versions are committed again, even if the beginning of the
branch's history is expired. Sequence numbers tell that only from v2 on."""

from __future__ import annotations

import pytest

from floeberg.commit.append import Append
from floeberg.commit.idempotence import AppTransaction
from floeberg.maintenance.expire import Expiry, expire_snapshots
from floeberg.testing.table_builder import TableBuilder


def send(builder: TableBuilder, version: int) -> bool:
    """Whether a version of a job, which adds a row of that number, was committed and not skipped."""
    once = AppTransaction(app_id="job", version=version)
    append = Append(files=[builder.data_file((version,))])
    return builder.table.refresh()._commit(append, once=once).skipped is None


@pytest.mark.parametrize("to", [2, 3])
@pytest.mark.parametrize("version", [1, 2, 3])
def test_versions_after_a_rollback_are_committed_again_although_the_oldest_snapshots_expired(version, to) -> None:
    builder = TableBuilder(format_version=version)
    assert all(send(builder, number) for number in range(5))
    table = builder.table.refresh()
    made = [snapshot.snapshot_id for snapshot in table.snapshots]
    expire_snapshots(table._pointer, table._state, Expiry(snapshot_ids=made[:2]))
    with table.refresh().manage_refs() as refs:
        refs.rollback_to_snapshot(made[to])
    again = [number for number in range(5) if send(builder, number)]
    assert again == list(range(to + 1, 5))
    builder.table.refresh()
    assert [row[0] for row in builder.rows()] == [0, 1, 2, 3, 4]
