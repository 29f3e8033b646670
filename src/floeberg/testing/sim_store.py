"""The simulated store: one disk, seen by each process through its own faults."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol, TypeVar

from floeberg.effects.protocols import Capabilities, FileInfo
from floeberg.errors import FileNotFound, PreconditionFailed, UnsupportedFeature
from floeberg.storage.location import parse

T = TypeVar("T")


class Performer(Protocol):
    """The process that calls: it may fail or die instead."""

    def perform(
        self, operation: str, location: str, effect: Callable[[], T], *, torn: Callable[[], None] | None = None
    ) -> T: ...


class SimDisk:
    """What is stored, and what was stored before (for listings that lag)."""

    def __init__(
        self,
        now_ms: Callable[[], int],
        *,
        capabilities: Capabilities,
        torn_writes: bool = True,
        create_overwrites: bool = False,
    ) -> None:
        self._now_ms = now_ms
        self.capabilities = capabilities
        self.torn_writes = torn_writes
        self.create_overwrites = create_overwrites
        self.stale_changes = 3
        self.objects: dict[str, tuple[bytes, int]] = {}
        self.watch: Callable[[str, bytes], None] | None = None
        """Told of everything that is stored (a checker sees what was there and is gone)."""
        self._journal: list[tuple[str, tuple[bytes, int] | None]] = []
        self._listed: dict[str, tuple[bytes, int]] | None = None

    def put(self, uri: str, content: bytes) -> None:
        self._journal.append((uri, self.objects.get(uri)))
        self.objects[uri] = (bytes(content), self._now_ms())
        if self.watch is not None:
            self.watch(uri, content)

    def remove(self, uri: str) -> None:
        if uri in self.objects:
            self._journal.append((uri, self.objects.pop(uri)))

    def get(self, uri: str) -> bytes:
        found = self.objects.get(uri)
        if found is None:
            raise FileNotFound(f"{uri} is not there", location=uri)
        return found[0]

    def below(self, folder_uri: str) -> list[tuple[str, int, int]]:
        """Name below the folder, size and time of each object, by name; a past state inside `in_the_past`."""
        start = folder_uri.rstrip("/") + "/"
        objects = self.objects if self._listed is None else self._listed
        return sorted(
            (uri[len(start) :], len(content), modified_ms)
            for uri, (content, modified_ms) in objects.items()
            if uri.startswith(start)
        )

    @contextmanager
    def in_the_past(self) -> Iterator[None]:
        """Listings show the state before the last few changes."""
        past = dict(self.objects)
        for uri, before in reversed(self._journal[-self.stale_changes :]):
            if before is None:
                past.pop(uri, None)
            else:
                past[uri] = before
        self._listed = past
        try:
            yield
        finally:
            self._listed = None


class SimStore:
    """A process's view of the disk: the Store protocol, every call through the process's faults."""

    def __init__(self, disk: SimDisk, performer: Performer) -> None:
        self.disk = disk
        self._performer = performer

    @property
    def capabilities(self) -> Capabilities:
        return self.disk.capabilities

    def read(self, location: str, *, offset: int = 0, length: int | None = None) -> bytes:
        uri = parse(location).uri
        end = None if length is None else offset + length
        return self._performer.perform("read", location, lambda: self.disk.get(uri)[offset:end])

    def read_ranges(self, location: str, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        uri = parse(location).uri
        return self._performer.perform(
            "read_ranges",
            location,
            lambda: [self.disk.get(uri)[offset : offset + length] for offset, length in ranges],
        )

    def size(self, location: str) -> int:
        uri = parse(location).uri
        return self._performer.perform("size", location, lambda: len(self.disk.get(uri)))

    def exists(self, location: str) -> bool:
        uri = parse(location).uri
        return self._performer.perform("exists", location, lambda: uri in self.disk.objects)

    def write(self, location: str, content: bytes) -> None:
        self._put("write", location, content)

    def replace(self, location: str, content: bytes) -> None:
        self._put("replace", location, content)

    def create(self, location: str, content: bytes) -> None:
        if not self.capabilities.create_if_absent:
            raise UnsupportedFeature(f"{location}: this store cannot publish a file only if it is absent")
        uri = parse(location).uri

        def publish() -> None:
            if uri in self.disk.objects and not self.disk.create_overwrites:
                raise PreconditionFailed(f"{location} is there already", location=location)
            self.disk.put(uri, content)

        self._performer.perform("create", location, publish)

    def delete(self, location: str) -> None:
        uri = parse(location).uri
        self._performer.perform("delete", location, lambda: self.disk.remove(uri))

    def delete_folder(self, location: str) -> None:
        """A folder is only a part of names here: it goes with its last file."""

    def list(self, prefix: str) -> Iterator[FileInfo]:
        folder = parse(prefix)
        base = folder.text.rstrip("/")
        for below, size_bytes, modified_ms in self._performer.perform(
            "list", prefix, lambda: self.disk.below(folder.uri)
        ):
            yield FileInfo(f"{base}/{below}", size_bytes, modified_ms)

    def list_folders(self, prefix: str) -> Iterator[str]:
        uri = parse(prefix).uri
        found = self._performer.perform("list_folders", prefix, lambda: self.disk.below(uri))
        yield from sorted({below.split("/")[0] for below, _, _ in found if "/" in below})

    def _put(self, operation: str, location: str, content: bytes) -> None:
        uri = parse(location).uri
        self._performer.perform(
            operation,
            location,
            lambda: self.disk.put(uri, content),
            torn=lambda: self.disk.put(uri, content[: len(content) // 2]),
        )
