"""Files are read ahead in order, within a bound of memory, and errors come where their batches would."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pyarrow as pa
import pytest

from floeberg.arrow.scan.read_ahead import read_in_order


def batch(number: int, rows: int = 1) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"x": [number] * rows})


def numbers(batches: Iterator[pa.RecordBatch]) -> list[int]:
    return [found.column(0)[0].as_py() for found in batches]


def readers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("floeberg-read")]


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_batches_come_in_the_order_of_the_tasks(threads: int) -> None:
    def read(task: int) -> Iterator[pa.RecordBatch]:
        time.sleep(0.002 * (task % 3))
        for part in range(3):
            yield batch(10 * task + part)

    found = numbers(read_in_order(range(20), read, threads=threads))
    assert found == [10 * task + part for task in range(20) for part in range(3)]
    assert readers() == []


def test_what_waits_to_be_taken_is_bounded() -> None:
    made: list[int] = []

    def read(task: int) -> Iterator[pa.RecordBatch]:
        for _ in range(50):
            made.append(task)
            yield batch(task, rows=1000)

    size = batch(0, rows=1000).nbytes
    stream = read_in_order(range(8), read, threads=2, max_buffered_bytes=8 * size)
    next(stream)
    deadline = time.monotonic() + 1
    while time.monotonic() < deadline and len(made) < 60:
        time.sleep(0.01)
    assert len(made) < 20
    assert len(list(stream)) == 8 * 50 - 1


def test_an_error_comes_after_the_batches_before_it_and_ends_the_threads() -> None:
    def read(task: int) -> Iterator[pa.RecordBatch]:
        yield batch(task)
        if task == 2:
            raise OSError("broken")

    stream = read_in_order(range(6), read, threads=3)
    assert [next(stream).column(0)[0].as_py() for _ in range(3)] == [0, 1, 2]
    with pytest.raises(OSError, match="broken"):
        next(stream)
    assert readers() == []


def test_closing_the_stream_ends_the_threads() -> None:
    def read(task: int) -> Iterator[pa.RecordBatch]:
        while True:
            yield batch(task, rows=100)

    stream = read_in_order(range(4), read, threads=2, max_buffered_bytes=1)
    next(stream)
    stream.close()  # type: ignore[attr-defined]
    assert readers() == []


def test_no_tasks_give_no_batches_and_one_task_no_threads() -> None:
    assert numbers(read_in_order([], lambda task: iter([]), threads=4)) == []
    stream = read_in_order([7], lambda task: iter([batch(task)]), threads=4)
    assert next(stream).column(0)[0].as_py() == 7
    assert readers() == []
