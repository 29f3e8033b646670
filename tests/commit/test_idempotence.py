"""Commits that name an app and a version take effect once: after conflicts, expiry, rollback, and on each branch by itself."""

from __future__ import annotations

import logging
from dataclasses import replace

import pytest

from floeberg.commit import commit, idempotence
from floeberg.commit.append import Append
from floeberg.commit.cherry_pick import CherryPick
from floeberg.commit.idempotence import AppTransaction, find_committed, last_committed
from floeberg.commit.operation import SnapshotTarget
from floeberg.commit.refs import CreateRef, FastForward, RemoveRef, RenameBranch, SetBranchSnapshot
from floeberg.commit.replace_table import ReplaceTable
from floeberg.errors import InvalidInput
from floeberg.maintenance.expire import Expiry, expire_snapshots
from floeberg.spec.changes.updates import RemoveSnapshots, SetProperties
from floeberg.spec.snapshots.refs import RefType
from floeberg.testing.table_builder import TableBuilder


def send(builder: TableBuilder, version: int, *, branch: str = "main", app: str = "job", **more):
    """One version of a job, which adds a row of that number."""
    once = AppTransaction(app_id=app, version=version, branch=branch, **more)
    staged = {} if once.wap_id is None else {"stage_only": True, "summary": {"wap.id": once.wap_id}}
    append = Append(files=[builder.data_file((version,))], target=SnapshotTarget(branch=branch, **staged))
    return builder.table.refresh()._commit(append, once=once)


def ids(builder: TableBuilder, ref: str | None = None) -> list[int]:
    return [row[0] for row in builder.rows(ref=ref)]


def expire_all(builder: TableBuilder) -> None:
    """Leaves the heads of branches only."""
    table = builder.table.refresh()
    heads = {ref.snapshot_id for ref in table.metadata.refs.values()}
    gone = tuple(one.snapshot_id for one in table.metadata.snapshots if one.snapshot_id not in heads)
    expire_snapshots(table._pointer, table._state, Expiry(snapshot_ids=gone, retain_last=1, older_than_ms=0))
    assert {one.snapshot_id for one in table.refresh().metadata.snapshots} == heads


class Raw:
    """Updates as another engine makes them: it knows nothing of records."""

    def __init__(self, *updates):
        self._updates = updates

    def updates(self, base, workspace):
        return self._updates


def by_another_engine(monkeypatch, builder: TableBuilder, operation) -> None:
    """A commit that leaves the records alone."""
    with monkeypatch.context() as patch:
        patch.setattr(commit, "record_updates", lambda *args, **named: [])
        builder.table.refresh()._commit(operation)


def test_a_version_that_is_sent_again_changes_nothing_and_says_so(caplog):
    builder = TableBuilder().append((0,))
    assert send(builder, 1).skipped is None
    before = builder.table.metadata_location
    with caplog.at_level(logging.WARNING, "floeberg.commit"):
        again = send(builder, 1)
    assert again.snapshots == ()
    assert again.skipped.version == 1
    assert "version 1 of 'job'" in caplog.text
    assert builder.table.metadata_location == before
    assert ids(builder) == [0, 1]


def test_older_versions_are_done_and_newer_ones_are_not():
    builder = TableBuilder()
    for version in (3, 7):
        send(builder, version)
    assert send(builder, 5).skipped.version == 7
    assert send(builder, 8).skipped is None
    assert ids(builder) == [3, 7, 8]


def test_a_version_is_looked_for_after_a_conflict():
    builder = TableBuilder().append((0,))
    other = builder.second()
    once = AppTransaction(app_id="job", version=1)
    other._commit(Append(files=[builder.data_file((1,))]), once=once)
    assert builder.table._commit(Append(files=[builder.data_file((1,))]), once=once).skipped is not None
    assert ids(builder) == [0, 1]


def test_each_branch_and_each_app_counts_for_itself():
    builder = TableBuilder().append((0,)).branch("b.%1")
    for branch in ("b.%1", "main"):
        assert send(builder, 1, branch=branch).skipped is None
        assert send(builder, 1, branch=branch).skipped is not None
    assert send(builder, 1, app="main.other").skipped is None
    assert last_committed(builder.table.metadata, "main.other").version == 1
    assert last_committed(builder.table.metadata, "main.other", branch="b.%1") is None


def test_a_version_without_changes_is_committed_too():
    builder = TableBuilder()
    once = AppTransaction(app_id="job", version=4)
    (made,) = builder.table._commit(once=once).snapshots
    assert made.operation == "append"
    assert made.summary["total-records"] == "0"
    assert builder.table._commit(once=once).skipped is not None


def test_the_same_version_with_other_content_is_an_error():
    builder = TableBuilder()
    send(builder, 1, content="a")
    assert send(builder, 1, content="a").skipped is not None
    assert send(builder, 1).skipped is not None
    send(builder, 2, content="b")
    for version in (1, 2):
        with pytest.raises(InvalidInput, match="checkpoint"):
            send(builder, version, content="c")
    expire_all(builder)
    with pytest.raises(InvalidInput, match="checkpoint"):
        send(builder, 2, content="c")


@pytest.mark.parametrize(("app_id", "version", "named"), [("", 1, "app id is empty"), ("job", -1, "negative")])
def test_a_transaction_that_names_nothing_is_refused(app_id, version, named):
    with pytest.raises(InvalidInput, match=named):
        AppTransaction(app_id=app_id, version=version)


def test_what_was_committed_is_known_after_expiry():
    builder = TableBuilder()
    send(builder, 1)
    builder.append((9,))
    expire_all(builder)
    assert send(builder, 1).skipped is not None
    assert ids(builder) == [1, 9]


def test_without_the_property_it_would_be_committed_again_after_expiry(monkeypatch):
    monkeypatch.setattr(commit, "record_updates", lambda *args, **named: [])
    builder = TableBuilder()
    send(builder, 1)
    assert send(builder, 1).skipped is not None
    builder.append((9,))
    expire_all(builder)
    assert send(builder, 1).skipped is None


def rolled_back_by_another_engine(monkeypatch) -> list[bool]:
    builder = TableBuilder()
    first = send(builder, 1).snapshots[-1]
    send(builder, 2)
    by_another_engine(monkeypatch, builder, SetBranchSnapshot(snapshot_id=first.snapshot_id))
    return [send(builder, version).skipped is not None for version in (1, 2)]


def test_a_rollback_of_another_engine_is_seen_by_the_summaries(monkeypatch):
    assert rolled_back_by_another_engine(monkeypatch) == [True, False]


def test_without_the_summaries_the_first_version_would_be_there_twice(monkeypatch):
    monkeypatch.setattr(AppTransaction, "summary", lambda self, base: {})
    assert rolled_back_by_another_engine(monkeypatch) == [False, False]


def test_the_epochs_of_the_java_runtimes_sink_count():
    builder = TableBuilder()
    summary = {"spark.sql.streaming.queryId": "q", "spark.sql.streaming.epochId": "6"}
    builder.table._commit(Append(files=[builder.data_file((6,))], target=SnapshotTarget(summary=summary)))
    assert send(builder, 6, app="q").skipped is not None
    assert send(builder, 7, app="q").skipped is None
    expire_all(builder.append((9,)))
    assert send(builder, 7, app="q").skipped is not None


def test_a_rollback_opens_the_versions_after_it_again_even_after_expiry():
    builder = TableBuilder()
    send(builder, 1)
    middle = builder.append((9,)).table.current_snapshot
    send(builder, 2)
    builder.table._commit(SetBranchSnapshot(snapshot_id=middle.snapshot_id, must_be_ancestor=True))
    expire_all(builder)
    assert send(builder, 1).skipped is not None
    assert send(builder, 2).skipped is None
    assert ids(builder) == [1, 2, 9]


def test_a_rollback_finds_the_record_before_although_its_snapshot_expired():
    builder = TableBuilder()
    send(builder, 1)
    middle = builder.append((9,)).table.current_snapshot
    first = next(iter(builder.table.metadata.snapshots))
    send(builder, 2)
    table = builder.table.refresh()
    expire_snapshots(table._pointer, table._state, Expiry(snapshot_ids=(first.snapshot_id,), older_than_ms=0))
    builder.table.refresh()._commit(SetBranchSnapshot(snapshot_id=middle.snapshot_id, must_be_ancestor=True))
    assert [send(builder, version).skipped is not None for version in (1, 2)] == [True, False]


def test_fast_forward_copies_the_records_also_of_expired_snapshots():
    builder = TableBuilder().append((0,)).branch("b")
    send(builder, 1, branch="b")
    builder.append((9,), branch="b")
    builder.table.refresh()._commit(FastForward(branch="main", to="b"))
    expire_all(builder)
    assert send(builder, 1).skipped is not None
    assert ids(builder) == [0, 1, 9]


def test_a_dropped_or_replaced_branch_forgets_what_is_not_in_it():
    builder = TableBuilder().append((0,)).branch("b")
    send(builder, 1, branch="b")
    start = builder.table.metadata.ref("main").snapshot_id
    builder.table._commit(CreateRef(name="b", type=RefType.BRANCH, snapshot_id=start, replace=True))
    assert send(builder, 1, branch="b").skipped is None
    builder.table._commit(RemoveRef(name="b"))
    assert not [key for key in builder.table.properties if key.startswith(idempotence.PROPERTY_PREFIX)]
    builder.branch("b")
    assert send(builder, 1, branch="b").skipped is None


def test_a_new_or_renamed_branch_has_the_records_of_what_is_in_it():
    builder = TableBuilder()
    send(builder, 1)
    builder.append((9,))
    expire_all(builder)
    builder.branch("b")
    assert send(builder, 1, branch="b").skipped is not None
    send(builder, 2, branch="b")
    builder.table._commit(RenameBranch(name="b", to="c"))
    assert send(builder, 2, branch="c").skipped is not None
    assert send(builder, 2).skipped is None


def test_a_replaced_table_begins_anew():
    builder = TableBuilder()
    send(builder, 1)
    builder.table._commit(ReplaceTable(schema=builder.table.schema))
    assert send(builder, 1).skipped is None
    assert send(builder, 1).skipped is not None


def test_a_record_that_was_copied_from_another_table_says_nothing():
    builder = TableBuilder()
    send(builder, 1)
    records = {key: value for key, value in builder.table.properties.items() if key.startswith("floeberg.")}
    other = TableBuilder(properties=records, name="db.other")
    assert send(other, 1).skipped is None


def test_a_property_that_is_no_record_says_nothing():
    builder = TableBuilder(properties={"floeberg.txn.main.job": "x", "floeberg.txn.nobody": "y"})
    assert send(builder, 1).skipped is None
    assert send(builder, 1).skipped is not None


@pytest.mark.parametrize("moves", [False, True], ids=["published by moving main", "published by a pick"])
def test_a_staged_version_is_done_before_and_after_it_is_published(moves):
    builder = TableBuilder().append((0,))
    (staged,) = send(builder, 1, wap_id="w").snapshots
    assert ids(builder) == [0]
    assert send(builder, 1, wap_id="w").skipped is not None
    assert send(builder, 1).skipped is not None
    if moves:
        builder.append((9,))
    builder.table.refresh()._commit(CherryPick(snapshot_id=staged.snapshot_id))
    builder.append((10,))
    expire_all(builder)
    assert send(builder, 1).skipped is not None
    assert 1 in ids(builder)


def test_a_staged_version_that_expired_unpublished_is_open_again():
    builder = TableBuilder().append((0,))
    send(builder, 1, wap_id="w")
    expire_all(builder)
    assert send(builder, 1, wap_id="w").skipped is None


def test_one_visible_snapshot_is_enough(monkeypatch):
    """As catalogs show tables that send the heads of references only."""
    builder = TableBuilder()
    send(builder, 1)
    builder.append((9,))
    metadata = builder.table.metadata
    older = tuple(one.snapshot_id for one in metadata.snapshots if one != builder.table.current_snapshot)
    by_another_engine(monkeypatch, builder, Raw(RemoveSnapshots(older)))
    once = AppTransaction(app_id="job", version=1)
    assert find_committed(builder.table.metadata, once, identifier="t") is not None
    assert find_committed(builder.table.metadata, replace(once, version=2), identifier="t") is None


def test_a_record_is_taken_off_as_any_property(monkeypatch):
    builder = TableBuilder()
    send(builder, 1)
    builder.append((9,))
    expire_all(builder)
    by_another_engine(monkeypatch, builder, Raw(SetProperties({"floeberg.txn.main.job": ""})))
    assert send(builder, 1).skipped is None
