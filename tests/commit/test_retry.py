from __future__ import annotations

import pytest

from floeberg.commit.append import Append
from floeberg.commit.commit import commit_operations
from floeberg.commit.retry import RetryPolicy
from floeberg.commit.table_changes import ChangeProperties
from floeberg.errors import CommitConflict, CommitUnknown, InvalidInput, Unavailable, ValidationConflict
from floeberg.testing.simulated import SimWorld
from floeberg.testing.table_builder import TableBuilder
from lakes.stub_pointer import StubPointer

QUICK = {"commit.retry.num-retries": "3", "commit.status-check.num-retries": "2"}


def built(**properties: str) -> tuple[TableBuilder, SimWorld]:
    world = SimWorld(1)
    builder = TableBuilder(effects=world.process("writer").effects, properties={**QUICK, **properties}).append((1,))
    return builder, world


def stored(builder: TableBuilder) -> set[str]:
    return {
        info.location for info in builder.table._pointer.store_for(builder.table.location).list(builder.table.location)
    }


def append(builder: TableBuilder, pointer: StubPointer):
    return commit_operations(pointer, builder.table._state, [Append(files=[builder.data_file((2,))])])


def ids(builder: TableBuilder) -> list[int]:
    builder.table.refresh()
    return [row[0] for row in builder.rows()]


def test_a_proved_conflict_is_tried_again_with_the_same_snapshot_id_and_the_same_manifest():
    builder, _ = built()
    pointer = StubPointer(builder.table._pointer, "conflict", "conflict", "ok")
    committed = append(builder, pointer)
    assert pointer.swaps == 3
    assert ids(builder) == [1, 2]
    lists = [path for path in stored(builder) if f"snap-{committed.snapshots[0].snapshot_id}-" in path]
    assert len(lists) == 1, "lists of rejected attempts are removed"
    assert "-3-" in lists[0]
    uuid = lists[0].rpartition("-3-")[2].removesuffix(".avro")
    assert len([path for path in stored(builder) if f"{uuid}-m" in path]) == 1, "one manifest served all attempts"


def test_waits_grow_and_differ_and_the_first_try_on_an_old_state_costs_none():
    builder, world = built(**{"commit.retry.min-wait-ms": "100", "commit.retry.max-wait-ms": "250"})
    pointer = StubPointer(builder.table._pointer, "conflict", "conflict", "conflict", "ok")
    waited: list[float] = []
    world.sleep = waited.append
    append(builder, pointer)
    assert len(waited) == 2
    assert 100 <= waited[0] <= 110
    assert 200 <= waited[1] <= 220


def test_after_the_last_retry_the_conflict_is_raised_and_nothing_is_left():
    builder, _ = built()
    file = builder.data_file((2,))
    before = stored(builder)
    pointer = StubPointer(builder.table._pointer, "conflict")
    with pytest.raises(CommitConflict, match="gave up after 4 attempts") as caught:
        commit_operations(pointer, builder.table._state, [Append(files=[file])])
    assert caught.value.context["attempts"] == 4
    assert caught.value.retryable
    assert caught.value.cleanup_safe
    assert stored(builder) == before


def test_no_time_is_left_after_the_total_timeout():
    builder, world = built(**{"commit.retry.total-timeout-ms": "50"})
    pointer = StubPointer(builder.table._pointer, "conflict")

    def later() -> None:
        world.time_ms += 100

    pointer.before_refresh = later
    with pytest.raises(CommitConflict, match="gave up after 2 attempts"):
        append(builder, pointer)


@pytest.mark.parametrize(
    "answers", [["conflict after"], ["conflict", "conflict after"], ["conflict"] * 3 + ["conflict after"]]
)
def test_a_conflict_with_ourselves_is_a_success_even_at_the_last_attempt(answers):
    builder, _ = built()
    pointer = StubPointer(builder.table._pointer, *answers)
    committed = append(builder, pointer)
    assert pointer.swaps == len(answers)
    assert ids(builder) == [1, 2]
    assert committed.state.metadata.current_snapshot_id == committed.snapshots[0].snapshot_id


def test_an_unknown_outcome_that_shows_in_the_table_is_a_success():
    builder, _ = built()
    append(builder, StubPointer(builder.table._pointer, "unknown after"))
    assert ids(builder) == [1, 2]


def test_an_unknown_outcome_that_shows_late_is_a_success():
    builder, _ = built()
    pointer = StubPointer(builder.table._pointer, "unknown after")
    states = [builder.table._state]
    real = pointer.pointer.refresh
    pointer.refresh = lambda: states.pop() if states else real()
    append(builder, pointer)
    assert ids(builder) == [1, 2]


def test_an_unknown_outcome_that_stays_unknown_says_what_to_look_for_and_cleans_nothing():
    builder, world = built()
    before = stored(builder)
    waited: list[float] = []
    world.sleep = waited.append
    pointer = StubPointer(builder.table._pointer, "unknown")
    with pytest.raises(CommitUnknown, match="Nothing was cleaned up") as caught:
        append(builder, pointer)
    (snapshot_id,) = caught.value.context["snapshot_ids"]
    assert str(snapshot_id) in str(caught.value)
    assert not caught.value.cleanup_safe
    assert (pointer.swaps, pointer.refreshes, len(waited)) == (1, 2, 1)
    assert len(stored(builder) - before) == 3, "the data file, the manifest and the list"


def test_status_checks_that_fail_are_told_with_the_unknown_outcome():
    builder, _ = built()
    pointer = StubPointer(builder.table._pointer, "unknown")

    def fail() -> None:
        raise Unavailable("no answer")

    pointer.before_refresh = fail
    with pytest.raises(CommitUnknown) as caught:
        append(builder, pointer)
    assert any("no answer" in note for note in caught.value.__cause__.__notes__)


def test_a_change_without_a_snapshot_is_found_by_its_whole_state():
    builder, _ = built()
    pointer = StubPointer(builder.table._pointer, "unknown after")
    state = commit_operations(pointer, builder.table._state, [ChangeProperties(set={"a": "b"})]).state
    assert state.metadata.properties["a"] == "b"
    lost = StubPointer(builder.table._pointer, "unknown")
    builder.table.refresh()
    with pytest.raises(CommitUnknown, match="look at the table's metadata"):
        commit_operations(lost, builder.table._state, [ChangeProperties(set={"c": "d"})])


def test_a_change_that_finds_nothing_to_do_swaps_nothing():
    builder, _ = built()
    pointer = StubPointer(builder.table._pointer, "ok")
    commit_operations(pointer, builder.table._state, [ChangeProperties(set=QUICK)])
    assert pointer.swaps == 0


def test_a_failure_before_the_swap_removes_what_was_written():
    builder, _ = built()
    files = [builder.data_file((2,))]
    before = stored(builder)
    with pytest.raises(InvalidInput):
        commit_operations(
            StubPointer(builder.table._pointer, "ok"),
            builder.table._state,
            [Append(files=files), ChangeProperties(set={"a": "b"}, remove=["a"])],
        )
    assert stored(builder) == before


def test_cleaning_up_never_hides_the_outcome(monkeypatch):
    builder, _ = built()
    pointer = StubPointer(builder.table._pointer, "conflict", "ok")
    store = type(builder.table._pointer.store_for(builder.table.location))

    def refuse(self, location: str) -> None:
        raise Unavailable("cannot delete now")

    monkeypatch.setattr(store, "delete", refuse)
    append(builder, pointer)
    assert ids(builder) == [1, 2]
    with pytest.raises(CommitConflict):
        append(builder, StubPointer(builder.table._pointer, "conflict"))


def test_validations_run_again_on_every_attempt():
    builder, _ = built()
    file = builder.data()[0]
    from floeberg.commit.delete_files import DeleteFiles

    pointer = StubPointer(builder.table._pointer, "conflict", "ok")
    other = builder.second()
    pointer.before_refresh = lambda: (
        other._commit(DeleteFiles(removed=[file])) and setattr(pointer, "before_refresh", None)
    )
    with pytest.raises(ValidationConflict):
        commit_operations(pointer, builder.table._state, [DeleteFiles(removed=[file])])


def test_the_policy_is_the_tables():
    policy = RetryPolicy.from_properties({"commit.retry.num-retries": "9", "commit.status-check.min-wait-ms": "5"})
    assert (policy.num_retries, policy.status_check_min_wait_ms, policy.min_wait_ms) == (9, 5, 100)
    assert RetryPolicy.from_properties({}) == RetryPolicy()


def test_a_retry_property_that_is_no_number_counts_as_its_default(caplog):
    policy = RetryPolicy.from_properties({"commit.retry.num-retries": "many", "commit.retry.min-wait-ms": "7"})
    assert policy == RetryPolicy(min_wait_ms=7)
    assert "commit.retry.num-retries must be a number, not 'many'; the commit goes by 4" in caplog.text


def test_a_base_whose_manifests_expired_is_brought_up_to_date():
    builder = TableBuilder().append((1,))
    stale = builder.second()
    builder.append((2,))
    builder.table.maintenance.expire_snapshots(older_than="2999-01-01", retain_last=1)
    stale._commit(Append(files=[builder.data_file((3,))]))
    builder.table.refresh()
    assert [row[0] for row in builder.rows()] == [1, 2, 3]
