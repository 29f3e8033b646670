"""Reads several files at once and gives their batches in the files' order, within a bound of memory."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

import pyarrow as pa

T = TypeVar("T")

DEFAULT_THREADS: Final = 4
DEFAULT_BUFFER_BYTES: Final = 256 << 20
_LANES_PER_THREAD: Final = 2
_LOOK_AGAIN_SECONDS: Final = 1.0


def read_in_order(
    tasks: Iterable[T],
    read: Callable[[T], Iterator[pa.RecordBatch]],
    *,
    threads: int = DEFAULT_THREADS,
    max_buffered_bytes: int = DEFAULT_BUFFER_BYTES,
) -> Iterator[pa.RecordBatch]:
    """The batches of each task, one task after the other, read by some threads ahead of what is taken.

    What waits to be taken is bounded by bytes (a task may always hold one batch). An error is raised where its batch would
    have come. Closing the iterator ends the threads. One thread, or one task, is read in the caller's own thread.
    """
    source = iter(tasks)
    first = next(source, None)
    if first is None:
        return
    second = next(source, None) if threads > 1 else None
    if second is None:
        yield from read(first)
        for task in source:
            yield from read(task)
        return
    ahead = _ReadAhead(_chained(first, second, source), read, threads, max_buffered_bytes)
    try:
        yield from ahead.batches()
    finally:
        ahead.close()


def _chained(first: T, second: T, rest: Iterator[T]) -> Iterator[T]:
    yield first
    yield second
    yield from rest


@dataclass(slots=True)
class _Lane(Generic[T]):
    """One task, and what was read of it and not taken yet."""

    task: T
    batches: deque[pa.RecordBatch] = field(default_factory=deque)
    nbytes: int = 0
    done: bool = False
    error: BaseException | None = None


class _ReadAhead(Generic[T]):
    """Lanes in order: threads fill them, the caller empties the first. One lock guards all; who waits looks again now and
    then whether the main thread has ended, so that a reader left open never keeps a process alive."""

    def __init__(
        self,
        tasks: Iterator[T],
        read: Callable[[T], Iterator[pa.RecordBatch]],
        threads: int,
        max_buffered_bytes: int,
    ) -> None:
        self._tasks = tasks
        self._read = read
        self._changed = threading.Condition()
        self._lanes: deque[_Lane[T]] = deque()
        self._unread: deque[_Lane[T]] = deque()
        self._most_lanes = threads * _LANES_PER_THREAD
        self._lane_bytes = max(1, max_buffered_bytes // self._most_lanes)
        self._closed = False
        self._threads = [
            threading.Thread(target=self._work, name=f"floeberg-read-{number}") for number in range(threads)
        ]

    def batches(self) -> Iterator[pa.RecordBatch]:
        self._fill()
        for thread in self._threads[: len(self._lanes)]:
            thread.start()
        while self._lanes:
            lane = self._lanes[0]
            while (batch := self._take(lane)) is not None:
                yield batch
            if lane.error is not None:
                raise lane.error
            self._lanes.popleft()
            self._fill()

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join()

    def _fill(self) -> None:
        """Tasks are made by the caller's thread: a plan makes them one by one."""
        while len(self._lanes) < self._most_lanes:
            try:
                lane = _Lane(next(self._tasks))
            except StopIteration:
                break
            self._lanes.append(lane)
            with self._changed:
                self._unread.append(lane)
                self._changed.notify_all()

    def _take(self, lane: _Lane[T]) -> pa.RecordBatch | None:
        with self._changed:
            while not lane.batches and not lane.done:
                self._changed.wait()
            if not lane.batches:
                return None
            batch = lane.batches.popleft()
            lane.nbytes -= batch.nbytes
            self._changed.notify_all()
            return batch

    def _work(self) -> None:
        while (lane := self._next_lane()) is not None:
            error: BaseException | None = None
            try:
                for batch in self._read(lane.task):
                    if not self._put(lane, batch):
                        return
            except BaseException as raised:
                error = raised
            with self._changed:
                lane.error = error
                lane.done = True
                self._changed.notify_all()

    def _next_lane(self) -> _Lane[T] | None:
        with self._changed:
            while not self._unread:
                if not self._wait():
                    return None
            return None if self._closed else self._unread.popleft()

    def _put(self, lane: _Lane[T], batch: pa.RecordBatch) -> bool:
        """Whether the reading should go on."""
        with self._changed:
            while lane.batches and lane.nbytes + batch.nbytes > self._lane_bytes:
                if not self._wait():
                    return False
            lane.batches.append(batch)
            lane.nbytes += batch.nbytes
            self._changed.notify_all()
            return not self._closed

    def _wait(self) -> bool:
        if not self._closed:
            self._changed.wait(_LOOK_AGAIN_SECONDS)
        return not self._closed and threading.main_thread().is_alive()
