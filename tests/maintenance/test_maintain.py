"""Maintenance by policy: done only where it is worth it, with reasons and figures."""

from __future__ import annotations

import pytest

from floeberg.commit.row_delta import RowDelta
from floeberg.errors import InvalidInput
from floeberg.storage.memory import MemoryStore
from floeberg.testing.table_builder import TableBuilder


def names(done) -> list[str]:
    return [action.name for action in done.actions]


@pytest.mark.parametrize("version", [2, 3])
def test_a_table_with_small_files_and_deletes_becomes_healthy_and_then_costs_nothing(version, monkeypatch):
    builder = TableBuilder(
        format_version=version,
        properties={"write.delete.mode": "merge-on-read", "history.expire.max-snapshot-age-ms": "0"},
    )
    for number in range(12):
        builder.append((number, 0), (number + 100, 0))
    builder.delete("id = 3")
    builder.table._commit(RowDelta(added=[builder.equality_deletes((4,))]))
    rows = builder.rows()
    planned = builder.table.maintenance.maintain(dry_run=True)
    assert names(planned) == ["compact", "rewrite_deletes", "expire_snapshots"]
    assert builder.rows() == rows
    done = builder.table.maintenance.maintain()
    assert names(done)[0] == "compact"
    assert names(done)[-1] == "expire_snapshots"
    assert "12 data files" in done.actions[0].reason or "deletes for" in done.actions[0].reason
    assert (done.actions[0].before.data_files, done.actions[-1].after.data_files) == (12, 1)
    assert (done.actions[-1].after.delete_files, done.actions[-1].after.snapshots) == (0, 1)
    assert builder.rows() == rows
    read: list[str] = []
    real = MemoryStore.read
    monkeypatch.setattr(MemoryStore, "read", lambda self, at, **more: (read.append(at), real(self, at, **more))[1])
    assert builder.table.maintenance.maintain().actions == ()
    assert len([one for one in read if one.endswith(".avro")]) == 1  # the manifest list


def test_few_deletes_are_rewritten_and_many_manifests_joined():
    builder = TableBuilder(format_version=3, properties={"maintain.max-manifests": "2"})
    builder.append(*[(number, 0) for number in range(100)]).append((200, 0)).append((201, 0))
    builder.table._commit(RowDelta(added=[builder.equality_deletes((4,))]))
    done = builder.table.maintenance.maintain()
    assert names(done) == ["rewrite_deletes", "rewrite_manifests"]
    assert len(builder.rows()) == 101
    assert done.actions[0].after.equality_deletes == 0


def test_a_policy_that_makes_no_sense_is_refused():
    builder = TableBuilder(properties={"maintain.delete-ratio": "7"}).append((1,))
    with pytest.raises(InvalidInput, match=r"maintain\.delete-ratio"):
        builder.table.maintenance.maintain()
    assert TableBuilder().table.maintenance.maintain().actions == ()
