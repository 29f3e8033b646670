"""Hazard 3: a retry commits the same files twice. Every kind of change, with every reply lost in turn: the rows are what the
model says, and no change is there twice."""

from __future__ import annotations

import pytest

from floeberg.commit.append import Append
from floeberg.commit.commit import commit_operations
from floeberg.commit.idempotence import AppTransaction
from floeberg.errors import CommitUnknown
from floeberg.testing.crashes import fail_everywhere, quiet_setting
from floeberg.testing.decoding import decoded_once
from floeberg.testing.faults import Fault
from floeberg.testing.sim_catalogs import FILESYSTEM, ROWS
from floeberg.testing.simulated import SimWorld
from floeberg.testing.table_builder import TableBuilder
from floeberg.testing.workload import OF_DEFINITION, PLANS
from lakes.stub_pointer import StubPointer

OF_ROWS = [kind for kind in PLANS if kind not in OF_DEFINITION]


@pytest.mark.parametrize("catalog", [FILESYSTEM, ROWS])
@pytest.mark.parametrize("kind", OF_ROWS)
def test_whatever_reply_is_lost_a_change_happens_once(kind, catalog):
    with decoded_once():
        assert fail_everywhere(kind, quiet_setting(catalog, 3), Fault.REPLY_LOST).took_effect > 0


def sent_twice(once: AppTransaction | None) -> list[int]:
    """A job that does not know whether its commit went through, and sends the same files again."""
    builder = TableBuilder(effects=SimWorld(1).process("w").effects).append((1,))
    append = Append(files=[builder.data_file((2,))])
    pointer = StubPointer(builder.table._pointer, "unknown after")
    before = builder.table._state
    pointer.refresh = lambda: before
    with pytest.raises(CommitUnknown):
        commit_operations(pointer, before, [append], once=once)
    builder.table.refresh()._commit(Append(files=append.files), once=once)
    return [row[0] for row in builder.rows()]


def test_a_change_that_is_sent_again_with_its_version_happens_once():
    assert sent_twice(AppTransaction(app_id="job 7", version=3)) == [1, 2]


def test_without_the_version_it_would_be_there_twice():
    assert sent_twice(None) == [1, 2, 2]
