"""Reads tried again with back-off, for stores behind a network. Writes pass through once: a write whose reply was lost
may have taken effect, and only its caller can find out."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from floeberg.effects.protocols import Capabilities, Effects, FileInfo, Store
from floeberg.errors import StorageError
from floeberg.storage.secret import redact

T = TypeVar("T")

logger = logging.getLogger("floeberg.storage")


@dataclass(frozen=True, slots=True)
class ReadRetryPolicy:
    """How often and how long a read is tried."""

    max_attempts: int = 5
    first_wait_ms: float = 100
    max_wait_ms: float = 5_000
    total_ms: float = 60_000

    def wait_ms(self, attempt: int) -> float:
        """The longest wait after the attempt of that number, from 1 on; the real one is drawn below it."""
        return min(self.max_wait_ms, self.first_wait_ms * 2.0 ** (attempt - 1))


class RetryingStore:
    """A store whose reads are tried again on errors that say so (`retryable`), within the policy's bounds; and so are writes
    of files whose names nobody else uses, which are the same however often they are made. What publishes is never repeated."""

    def __init__(self, inner: Store, effects: Effects, policy: ReadRetryPolicy | None = None) -> None:
        self.inner = inner
        self._effects = effects
        self._policy = policy or ReadRetryPolicy()

    @property
    def capabilities(self) -> Capabilities:
        return self.inner.capabilities

    def read(self, location: str, *, offset: int = 0, length: int | None = None) -> bytes:
        return self._retried(location, lambda: self.inner.read(location, offset=offset, length=length))

    def read_ranges(self, location: str, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        return self._retried(location, lambda: self.inner.read_ranges(location, ranges))

    def size(self, location: str) -> int:
        return self._retried(location, lambda: self.inner.size(location))

    def exists(self, location: str) -> bool:
        return self._retried(location, lambda: self.inner.exists(location))

    def write(self, location: str, content: bytes) -> None:
        self._retried(location, lambda: self.inner.write(location, content))

    def create(self, location: str, content: bytes) -> None:
        self.inner.create(location, content)

    def replace(self, location: str, content: bytes) -> None:
        self.inner.replace(location, content)

    def delete(self, location: str) -> None:
        self.inner.delete(location)

    def delete_folder(self, location: str) -> None:
        self.inner.delete_folder(location)

    def list(self, prefix: str) -> Iterator[FileInfo]:
        """Resumes after a failure where the store lists by name, so that what was given can be skipped."""
        last, is_ordered = "", True
        attempt = 1
        started_ms = self._effects.clock.monotonic_ms()
        while True:
            try:
                listed = self.inner.list(prefix)
                for info in listed_after(last, listed) if last else listed:
                    is_ordered = is_ordered and info.location > last
                    last = info.location
                    attempt = 1
                    yield info
                return
            except StorageError as error:
                if not is_ordered:
                    raise
                self._wait_or_raise(prefix, error, attempt=attempt, started_ms=started_ms)
                attempt += 1

    def list_folders(self, prefix: str) -> Iterator[str]:
        yield from self._retried(prefix, lambda: list(self.inner.list_folders(prefix)))

    def _retried(self, location: str, call: Callable[[], T]) -> T:
        attempt = 1
        started_ms = self._effects.clock.monotonic_ms()
        while True:
            try:
                return call()
            except StorageError as error:
                self._wait_or_raise(location, error, attempt=attempt, started_ms=started_ms)
                attempt += 1

    def _wait_or_raise(self, location: str, error: StorageError, *, attempt: int, started_ms: int) -> None:
        elapsed_ms = self._effects.clock.monotonic_ms() - started_ms
        wait_ms = self._effects.rng.uniform(0, self._policy.wait_ms(attempt))
        is_last = attempt >= self._policy.max_attempts or elapsed_ms + wait_ms > self._policy.total_ms
        if not error.retryable or is_last:
            raise error
        logger.info("a request for %s failed at attempt %d: %s", redact(location), attempt, redact(str(error)))
        self._effects.sleeper.sleep_ms(wait_ms)


def listed_after(last: str, listed: Iterator[FileInfo]) -> Iterator[FileInfo]:
    """What comes after a name in a listing by name. Raises StorageError where it is none: files would be left out."""
    before = ""
    for info in listed:
        if info.location <= before:
            raise StorageError(
                f"{redact(info.location)} is listed after {redact(before)}: this store does not list by name, so a listing "
                "that broke off, or whose credentials were renewed, cannot go on",
                location=info.location,
            )
        before = info.location
        if before > last:
            yield info
