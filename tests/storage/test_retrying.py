from __future__ import annotations

import pytest

from floeberg.effects.protocols import FileInfo
from floeberg.errors import FileNotFound, StorageError, Throttled, Unavailable
from floeberg.storage.retrying import ReadRetryPolicy, RetryingStore
from floeberg.testing.faults import Fault, ScriptedFaults
from floeberg.testing.simulated import SimWorld

X = "s3://b/x"


def store_with(faults: dict[int, Fault], policy: ReadRetryPolicy | None = None):
    world = SimWorld(1)
    world.process("setup").store.write(X, b"0123")
    process = world.process("reader", faults=ScriptedFaults(faults))
    return world, process, RetryingStore(process.store, process.effects, policy)


@pytest.mark.parametrize(
    "read",
    [
        lambda store: store.read(X) == b"0123",
        lambda store: store.read(X, offset=1, length=2) == b"12",
        lambda store: store.read_ranges(X, [(0, 1), (3, 1)]) == [b"0", b"3"],
        lambda store: store.size(X) == 4,
        lambda store: store.exists(X),
        lambda store: [info.location for info in store.list("s3://b")] == [X],
        lambda store: list(store.list_folders("s3://b")) == [],
    ],
)
def test_reads_are_tried_again_after_errors_that_allow_it(read):
    world, process, store = store_with({1: Fault.ERROR_BEFORE, 2: Fault.THROTTLED})
    assert read(store)
    assert process.calls == 3
    assert world.time_ms > 4, "it waited between the attempts"


@pytest.mark.parametrize("fault", [Fault.ERROR_BEFORE, Fault.ERROR_AFTER, Fault.THROTTLED])
def test_a_file_that_nobody_else_names_is_written_again(fault):
    world, process, store = store_with({1: fault, 2: Fault.THROTTLED})
    store.write("s3://b/y", b"y")
    assert process.calls == 3
    assert world.process("other").store.read("s3://b/y") == b"y"


@pytest.mark.parametrize(
    "write",
    [
        lambda store: store.create("s3://b/y", b"y"),
        lambda store: store.replace("s3://b/y", b"y"),
        lambda store: store.delete(X),
    ],
)
@pytest.mark.parametrize("fault", [Fault.ERROR_BEFORE, Fault.ERROR_AFTER, Fault.THROTTLED])
def test_what_publishes_or_removes_is_never_tried_again(write, fault):
    _, process, store = store_with({1: fault})
    with pytest.raises(StorageError):
        write(store)
    assert process.calls == 1


def test_attempts_and_time_are_bounded():
    _, process, store = store_with(dict.fromkeys(range(1, 100), Fault.THROTTLED), ReadRetryPolicy(max_attempts=4))
    with pytest.raises(Throttled):
        store.read(X)
    assert process.calls == 4
    policy = ReadRetryPolicy(max_attempts=1000, first_wait_ms=1000, total_ms=20_000)
    world, process, store = store_with(dict.fromkeys(range(1, 1000), Fault.ERROR_BEFORE), policy)
    with pytest.raises(Unavailable):
        store.read(X)
    assert world.time_ms < 21_000
    assert process.calls > 4


def test_an_answer_is_not_questioned():
    _, process, store = store_with({})
    with pytest.raises(FileNotFound):
        store.read("s3://b/nope")
    assert process.calls == 1


def test_a_listing_that_breaks_off_goes_on_where_it_was():
    world, _, _ = store_with({})
    setup = world.process("more").store
    for number in range(5):
        setup.write(f"s3://b/f{number}", b"x")

    class BreaksOff:
        def __init__(self) -> None:
            self.capabilities = setup.capabilities
            self.calls = 0

        def list(self, prefix):
            self.calls += 1
            for number, info in enumerate(setup.list(prefix)):
                if number == self.calls:
                    raise Unavailable("connection reset")
                yield info

    inner = BreaksOff()
    listed = [info.location for info in RetryingStore(inner, world.process("r").effects).list("s3://b")]
    assert listed == [info.location for info in setup.list("s3://b")]
    assert inner.calls == 6
    assert RetryingStore(inner, world.process("r").effects).capabilities is setup.capabilities


class ByFolders:
    """Lists folder by folder, as stores with real folders do: `a/b` before `a-b`."""

    def __init__(self, *, breaks_off_at: int | None = None) -> None:
        self.locations = [f"s3://b/{name}" for name in ("a", "c/x", "c-d", "e")]
        self._breaks_off_at = breaks_off_at

    def list(self, prefix):
        for number, location in enumerate(self.locations):
            if number == self._breaks_off_at:
                self._breaks_off_at = None
                raise Unavailable("connection reset")
            yield FileInfo(location, 1, 0)


@pytest.mark.parametrize("breaks_off_at", [None, 0])
def test_a_store_that_does_not_list_by_name_is_listed_whole(breaks_off_at):
    world, _, _ = store_with({})
    inner = ByFolders(breaks_off_at=breaks_off_at)
    listed = RetryingStore(inner, world.process("r").effects).list("s3://b")
    assert [info.location for info in listed] == inner.locations


@pytest.mark.parametrize(("breaks_off_at", "said"), [(1, "listed after"), (2, "listed after"), (3, "connection reset")])
def test_a_listing_by_another_order_that_breaks_off_is_an_error_and_leaves_nothing_out(breaks_off_at, said):
    world, _, _ = store_with({})
    listed = RetryingStore(ByFolders(breaks_off_at=breaks_off_at), world.process("r").effects).list("s3://b")
    with pytest.raises(StorageError, match=said):
        list(listed)
