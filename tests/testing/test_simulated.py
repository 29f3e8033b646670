from __future__ import annotations

import pytest

from floeberg.effects.protocols import Capabilities
from floeberg.errors import PreconditionFailed, StorageError, Throttled, Unavailable, UnsupportedFeature
from floeberg.testing.faults import APPLICABLE, READS, WRITES, CrashPoint, Fault, RandomFaults, ScriptedFaults, SimCrash
from floeberg.testing.simulated import TIMEOUT_MS, SimIds, SimRng, SimWorld

X = "s3://b/x"
LAGGING = Capabilities(create_if_absent=True, atomic_rename=True, list_consistent=False)


def struck(fault: Fault, **options):
    world = SimWorld(1, **options)
    return world, world.process("p", faults=ScriptedFaults({1: fault}))


@pytest.mark.parametrize(
    ("fault", "kind", "took_effect"),
    [
        (Fault.ERROR_BEFORE, Unavailable, False),
        (Fault.THROTTLED, Throttled, False),
        (Fault.ERROR_AFTER, Unavailable, True),
        (Fault.REPLY_LOST, Unavailable, True),
        (Fault.LATE, Unavailable, False),
    ],
)
@pytest.mark.parametrize("operation", ["write", "create", "replace"])
def test_a_fault_tells_the_caller_one_thing_and_does_another(fault, kind, took_effect, operation):
    world, process = struck(fault)
    with pytest.raises(kind):
        getattr(process.store, operation)(X, b"x")
    assert (X in world.disk.objects) is took_effect


def test_a_lost_reply_costs_a_time_out_and_a_late_effect_arrives_after_it():
    world, process = struck(Fault.REPLY_LOST)
    with pytest.raises(Unavailable):
        process.store.write(X, b"x")
    assert world.time_ms >= TIMEOUT_MS
    world, process = struck(Fault.LATE)
    with pytest.raises(Unavailable):
        process.store.create(X, b"late")
    world.settle()
    assert world.process("q").store.read(X) == b"late"


def test_a_late_create_that_finds_the_name_taken_changes_nothing():
    world, process = struck(Fault.LATE)
    with pytest.raises(Unavailable):
        process.store.create(X, b"late")
    world.disk.put(X, b"first")
    world.settle()
    assert world.process("q").store.read(X) == b"first"


def test_a_slow_call_works_and_takes_time():
    world, process = struck(Fault.SLOW)
    process.store.write(X, b"x")
    assert world.time_ms > 1
    assert process.store.read(X) == b"x"


def test_a_listing_lags_only_where_the_store_does_not_promise_better():
    for capabilities, expected in ((LAGGING, [X]), (None, [X, "s3://b/y"])):
        world = SimWorld(1, **({"capabilities": capabilities} if capabilities else {}))
        world.disk.stale_changes = 2
        setup = world.process("setup").store
        setup.write(X, b"x")
        setup.write("s3://b/z", b"z")
        setup.write("s3://b/y", b"y")
        setup.delete("s3://b/z")
        process = world.process("p", faults=ScriptedFaults({1: Fault.STALE_LISTING}))
        listed = [info.location for info in process.store.list("s3://b")]
        assert listed == ([X, "s3://b/z"] if capabilities else expected)
        assert [info.location for info in process.store.list("s3://b")] == [X, "s3://b/y"]


def test_a_write_is_torn_only_where_the_store_allows_it_and_a_create_never():
    world, process = struck(Fault.TORN)
    with pytest.raises(Unavailable):
        process.store.write(X, b"12345678")
    assert process.store.read(X) == b"1234"
    world, process = struck(Fault.TORN, torn_writes=False)
    process.store.write(X, b"12345678")
    assert process.store.read(X) == b"12345678"
    world, process = struck(Fault.TORN)
    process.store.create(X, b"12345678")
    assert process.store.read(X) == b"12345678"
    assert world.writes() == 1


@pytest.mark.parametrize("after", [False, True])
def test_a_process_dies_at_its_crash_point_and_its_clean_up_with_it(after):
    world = SimWorld(1)
    process = world.process("p", crash=CrashPoint(2, after=after))
    cleaned = []

    def work() -> None:
        process.store.write("s3://b/1", b"x")
        try:
            process.store.write("s3://b/2", b"x")
        except Exception:
            cleaned.append("handler")
        finally:
            process.store.delete("s3://b/1")

    with pytest.raises(SimCrash):
        work()
    assert process.is_dead
    assert cleaned == []
    assert sorted(world.disk.objects) == (["s3://b/1", "s3://b/2"] if after else ["s3://b/1"])
    with pytest.raises(SimCrash):
        process.effects.sleeper.sleep_ms(1)
    world.process("q").store.delete("s3://b/1")
    assert process.calls == 2


def test_other_calls_to_the_outside_share_faults_and_crash_points():
    world = SimWorld(1)
    process = world.process("p", crash=CrashPoint(1, after=True))
    done = []
    with pytest.raises(SimCrash):
        process.perform("write", "UPDATE iceberg_tables", lambda: done.append(1))
    assert done == [1]
    assert [call.location for call in world.log] == ["UPDATE iceberg_tables"]


def test_a_store_that_lacks_or_breaks_its_promise_can_be_had():
    world = SimWorld(1, capabilities=Capabilities(create_if_absent=False, atomic_rename=False, list_consistent=True))
    with pytest.raises(UnsupportedFeature):
        world.process().store.create(X, b"x")
    broken = SimWorld(1, create_overwrites=True).process().store
    broken.create(X, b"1")
    broken.create(X, b"2")
    honest = SimWorld(1).process().store
    honest.create(X, b"1")
    with pytest.raises(PreconditionFailed):
        honest.create(X, b"2")


def test_clocks_can_be_wrong_and_move_with_the_world():
    world = SimWorld(1)
    right, wrong = world.process("a"), world.process("b", skew_ms=-3_600_000)
    assert right.effects.clock.now_ms() - wrong.effects.clock.now_ms() == 3_600_000
    before = right.effects.clock.now_ms()
    right.effects.sleeper.sleep_ms(500)
    assert right.effects.clock.now_ms() == before + 500
    assert wrong.effects.clock.monotonic_ms() == right.effects.clock.monotonic_ms() == 500
    wrong.clock.skew_ms = 0
    assert right.effects.clock.now_ms() == wrong.effects.clock.now_ms()


def test_ids_repeat_from_a_seed_and_can_be_made_to_collide():
    assert [SimIds(1).uuid(), SimRng(1).uniform(0, 1)] == [SimIds(1).uuid(), SimRng(1).uniform(0, 1)]
    ids = SimIds(2)
    first = ids.snapshot_id()
    assert ids.snapshot_id() != first
    assert 0 < first < 1 << 63
    ids.force_snapshot_id(first)
    assert ids.snapshot_id() == first
    assert ids.snapshot_id() != first
    last = ids.uuid()
    ids.repeat(2)
    assert [ids.uuid(), ids.uuid()] == [last, last]
    assert ids.uuid() != last


def test_random_faults_strike_at_their_rate_and_only_where_they_can():
    world = SimWorld(1)
    process = world.process("p", faults=RandomFaults(1, rate=0.3))
    failed = 0
    for number in range(500):
        try:
            process.store.write(f"s3://b/{number}", b"x")
        except StorageError:
            failed += 1
    assert 80 < failed < 170
    assert set(APPLICABLE) == set(Fault)
    assert not READS & WRITES
