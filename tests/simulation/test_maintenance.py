"""Random histories of writes, compaction, rewritten deletes, expiry and orphan removal, with crashes and with writers
or other maintenance that commit in the middle of it. `make sim-maintenance` plays 1,000 of them."""

from __future__ import annotations

import pytest

from floeberg.commit import rewrite_files
from floeberg.maintenance.rewrite import carried_deletes
from floeberg.testing.decoding import decoded_once
from floeberg.testing.maintenance_history import run_maintenance


def test_every_retained_snapshot_reads_as_it_did_and_rows_keep_their_ids():
    with decoded_once():
        counts = run_maintenance([*range(8), 28, 251, 287])
    assert counts.crashes > 0
    assert counts.carried_deletes > 0
    assert counts.redone_groups > 0
    assert counts.expired_snapshots > 0
    assert counts.orphans_removed > 0
    assert len(counts.steps) == 7


def test_deletes_that_are_not_carried_over_are_noticed(monkeypatch):
    monkeypatch.setattr(rewrite_files, "_live_deletes_for", lambda *_, **__: [])
    with pytest.raises(AssertionError, match="history 28: "):
        run_maintenance([28])


def test_deletes_of_older_versions_of_rows_that_are_carried_over_are_noticed(monkeypatch):
    monkeypatch.setattr(carried_deletes, "_vectors", lambda task: ())
    with pytest.raises(AssertionError, match="history 251: lost"):
        run_maintenance([251])
