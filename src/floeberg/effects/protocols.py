"""What the outside world can do to us, as protocols. They are passed in and never global, so that tests can simulate
crashes, faults and concurrency: nothing else in the package calls time, random, uuid or open.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a store guarantees. A catalog that needs more than its store declares refuses to be made."""

    create_if_absent: bool
    """`create` publishes whole content under a name or raises PreconditionFailed; two callers never both succeed."""
    atomic_rename: bool
    """A rename never exposes half a file and never replaces an existing one."""
    list_consistent: bool
    """A listing shows every object whose write was acknowledged before it began."""


@dataclass(frozen=True, slots=True)
class FileInfo:
    """A listed file: full location as the store names it, size, and when the store says it was last written."""

    location: str
    size_bytes: int
    modified_ms: int


class Store(Protocol):
    """Where bytes live. Locations are full paths or URIs as table metadata records them; each store normalises them."""

    @property
    def capabilities(self) -> Capabilities: ...

    def read(self, location: str, *, offset: int = 0, length: int | None = None) -> bytes:
        """The bytes from offset, all or at most `length`. Raises FileNotFound."""
        ...

    def read_ranges(self, location: str, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        """The bytes of each (offset, length). Raises FileNotFound."""
        ...

    def size(self, location: str) -> int:
        """The size in bytes. Raises FileNotFound."""
        ...

    def exists(self, location: str) -> bool: ...

    def write(self, location: str, content: bytes) -> None:
        """Writes a file whose name nobody else uses (it carries a uuid); durable when this returns."""
        ...

    def create(self, location: str, content: bytes) -> None:
        """Publishes `content` only if nothing is there. Raises PreconditionFailed when something is, and
        UnsupportedFeature on a store without `create_if_absent`."""
        ...

    def replace(self, location: str, content: bytes) -> None:
        """Writes over what may be there (version hints only: nothing may depend on it)."""
        ...

    def delete(self, location: str) -> None:
        """Deletes a file; deleting what is not there is no error."""
        ...

    def delete_folder(self, location: str) -> None:
        """Removes a folder that is empty, where the store has folders of their own; otherwise does nothing."""
        ...

    def list(self, prefix: str) -> Iterator[FileInfo]:
        """Every file below a folder, recursively; nothing for a folder that is not there."""
        ...

    def list_folders(self, prefix: str) -> Iterator[str]:
        """The names of the folders directly below a folder."""
        ...


class Clock(Protocol):
    """Time. Wall time is for records that people read, monotonic time for durations."""

    def now_ms(self) -> int:
        """Milliseconds since the epoch."""
        ...

    def monotonic_ms(self) -> int: ...


class Ids(Protocol):
    """Names nobody else has."""

    def uuid(self) -> uuid.UUID: ...

    def snapshot_id(self) -> int:
        """A positive 63-bit number."""
        ...


class Rng(Protocol):
    """Chance, for jitter and sampling."""

    def uniform(self, low: float, high: float) -> float: ...


class Sleeper(Protocol):
    """Waiting."""

    def sleep_ms(self, duration_ms: float) -> None: ...


@dataclass(frozen=True, slots=True)
class Effects:
    """The clock, ids, chance and waiting that one catalog or table works with. Stores are resolved by location."""

    clock: Clock
    ids: Ids
    rng: Rng
    sleeper: Sleeper
