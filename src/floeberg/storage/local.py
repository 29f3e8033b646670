"""The local file system, durable: content is synced before its name appears, and the folder after."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

from floeberg.effects.protocols import Capabilities, FileInfo, Ids
from floeberg.errors import (
    FileNotFound,
    InvalidInput,
    PreconditionFailed,
    StorageError,
    UnsupportedFeature,
    WriteRefused,
)
from floeberg.storage.location import Location, join, parse

TEMPORARY_PREFIX = "floeberg-"
TEMPORARY_SUFFIX = ".tmp"

_NO_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS, errno.EXDEV})
_UNCERTAIN = frozenset({errno.EIO, errno.ETIMEDOUT, errno.ESTALE, errno.EINTR, errno.EREMOTEIO})
"""Errors of a link or rename over a network after which the name may be there all the same."""
_WAYS_OUT = {
    errno.ENOSPC: "free space there, then run the operation again",
    errno.EDQUOT: "free space or raise the quota, then run the operation again",
    errno.EFBIG: "raise the limit of a file's size, or lower write.target-file-size-bytes",
    errno.EROFS: "the file system is mounted read-only",
    errno.EACCES: "give this user the right to write there",
    errno.EPERM: "give this user the right to write there",
    errno.ENAMETOOLONG: "a name in the path, perhaps a partition value, is longer than the file system allows",
}


class LocalStore:
    """Files of this machine. `create` publishes by a hard link, which fails when the name is taken: two callers never
    both succeed, on one machine or over NFS. A crash leaves at most a `floeberg-<uuid>.tmp` for orphan removal."""

    capabilities = Capabilities(create_if_absent=True, atomic_rename=True, list_consistent=True)

    def __init__(self, ids: Ids, *, fsync: bool = True) -> None:
        self._ids = ids
        self._fsync = fsync

    def read(self, location: str, *, offset: int = 0, length: int | None = None) -> bytes:
        path = self.path(location)
        with _translated(location), open(path, "rb", buffering=0) as file:
            size_bytes = _regular_size(file.fileno(), location)
            wanted = max(0, size_bytes - offset) if length is None else min(length, max(0, size_bytes - offset))
            return _read_at(file.fileno(), offset, wanted)

    def read_ranges(self, location: str, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        with _translated(location), open(self.path(location), "rb", buffering=0) as file:
            size_bytes = _regular_size(file.fileno(), location)
            return [
                _read_at(file.fileno(), offset, min(length, max(0, size_bytes - offset))) for offset, length in ranges
            ]

    def size(self, location: str) -> int:
        with _translated(location):
            status = os.stat(self.path(location))
        if not stat.S_ISREG(status.st_mode):
            raise FileNotFound(f"{location} is not a file", location=location)
        return status.st_size

    def exists(self, location: str) -> bool:
        return os.path.isfile(self.path(location))

    def write(self, location: str, content: bytes) -> None:
        path = self.path(location)
        folder = os.path.dirname(path)
        with _refused(location):
            self._make_folder(folder)
            self._write_file(path, content, then=lambda: self._sync_folder(folder))

    def create(self, location: str, content: bytes) -> None:
        path = self.path(location)
        folder = os.path.dirname(path)
        temporary = self._temporary(folder)
        with _refused(location):
            self._make_folder(folder)
            if os.path.lexists(path):
                raise _taken(location)
            self._write_file(temporary, content)
        try:
            with _publishing(location):
                self._link(temporary, path, location)
            with _translated(location, is_write=True):
                self._sync_folder(folder)
        finally:
            with suppress(OSError):
                os.unlink(temporary)

    def replace(self, location: str, content: bytes) -> None:
        path = self.path(location)
        folder = os.path.dirname(path)
        temporary = self._temporary(folder)
        with _refused(location):
            self._make_folder(folder)
            self._write_file(temporary, content)
        with _publishing(location):
            try:
                os.replace(temporary, path)
            except OSError:
                with suppress(OSError):
                    os.unlink(temporary)
                raise
        with _translated(location, is_write=True):
            self._sync_folder(folder)

    def delete(self, location: str) -> None:
        with _translated(location, is_write=True), suppress(FileNotFoundError, NotADirectoryError):
            os.unlink(self.path(location))

    def delete_folder(self, location: str) -> None:
        path = self.path(location)
        if not os.path.isdir(path):
            return
        try:
            os.rmdir(path)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT):
                raise StorageError(f"{location}: the folder could not be removed: {error.strerror}") from error

    def list(self, prefix: str) -> Iterator[FileInfo]:
        root = self.path(prefix)
        base = parse(prefix).text
        with _translated(prefix):
            for folder, names, files in os.walk(root, onerror=_raise_unless_gone):
                names.sort()
                relative = os.path.relpath(folder, root)
                for name in sorted(files):
                    info = _stat(os.path.join(folder, name))
                    if info is not None:
                        below = name if relative == "." else f"{relative}/{name}"
                        yield FileInfo(join(base, below), info.st_size, info.st_mtime_ns // 1_000_000)

    def list_folders(self, prefix: str) -> Iterator[str]:
        try:
            with _translated(prefix), os.scandir(self.path(prefix)) as entries:
                names = sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=True))
        except FileNotFound:
            return
        yield from names

    def path(self, location: str) -> str:
        """The path on this machine.

        Raises:
            InvalidInput: the location is not of the local file system.
        """
        parsed: Location = parse(location)
        if parsed.scheme != "file":
            raise InvalidInput(f"{location} is not a location of the local file system")
        return parsed.path

    def _temporary(self, folder: str) -> str:
        return os.path.join(folder, f"{TEMPORARY_PREFIX}{self._ids.uuid()}{TEMPORARY_SUFFIX}")

    def _write_file(self, path: str, content: bytes, *, then: Callable[[], None] | None = None) -> None:
        """Writes a file and makes it durable; nothing is left of one that fails, so that its space is free again."""
        file = open(path, "wb", buffering=0)  # noqa: SIM115
        try:
            with file:
                view = memoryview(content)
                while view:
                    view = view[file.write(view) :]
                if self._fsync:
                    os.fsync(file.fileno())
            if then is not None:
                then()
        except BaseException:
            with suppress(OSError):
                os.unlink(path)
            raise

    def _link(self, temporary: str, path: str, location: str) -> None:
        """Gives the file its name. Over NFS the reply to a link can be lost and the repeated request find the name
        taken by itself: the link count tells."""
        try:
            os.link(temporary, path)
        except FileExistsError:
            if os.stat(temporary).st_nlink != 2:
                raise _taken(location) from None
        except OSError as error:
            if error.errno in _NO_LINKS:
                raise UnsupportedFeature(
                    f"the file system of {location} has no hard links, so a commit cannot be published safely there; "
                    "use an SQL catalog for tables on it",
                    location=location,
                ) from error
            raise

    def _make_folder(self, folder: str) -> None:
        """Makes the folder and those above it, each durable in its parent."""
        if os.path.isdir(folder):
            return
        parent = os.path.dirname(folder)
        self._make_folder(parent)
        with suppress(FileExistsError):
            os.mkdir(folder)
        self._sync_folder(parent)

    def _sync_folder(self, folder: str) -> None:
        if not self._fsync:
            return
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _taken(location: str) -> PreconditionFailed:
    return PreconditionFailed(f"{location} is there already", location=location)


def _regular_size(descriptor: int, location: str) -> int:
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        raise FileNotFound(f"{location} is not a file", location=location)
    return status.st_size


def _read_at(descriptor: int, offset: int, length: int) -> bytes:
    """At most `length` bytes from `offset`; fewer only at the end of the file."""
    parts: list[bytes] = []
    while length > 0:
        part = os.pread(descriptor, length, offset)
        if not part:
            break
        parts.append(part)
        offset += len(part)
        length -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _raise_unless_gone(error: OSError) -> None:
    """A folder that cannot be listed is an error; one that is not there has no files."""
    if not isinstance(error, FileNotFoundError | NotADirectoryError):
        raise error


def _stat(path: str) -> os.stat_result | None:
    """The status of a regular file, or nothing when it is gone meanwhile or something else."""
    try:
        status = os.stat(path, follow_symlinks=False)
    except FileNotFoundError:
        return None
    return status if stat.S_ISREG(status.st_mode) else None


def write_refused(location: str, error: OSError) -> WriteRefused:
    """Our error for a file that could not be written, with what to do about it."""
    way_out = _WAYS_OUT.get(error.errno or 0)
    said = f"{location} could not be written: {error.strerror or error}"
    return WriteRefused(f"{said}; {way_out}" if way_out else said, location=location)


@contextmanager
def _refused(location: str) -> Iterator[None]:
    """For what happens before a file has its name, or under a name that nobody knows yet."""
    try:
        yield
    except OSError as error:
        raise write_refused(location, error) from error


@contextmanager
def _publishing(location: str) -> Iterator[None]:
    """For the moment at which a file gets its name."""
    try:
        yield
    except OSError as error:
        if error.errno in _UNCERTAIN:
            raise StorageError(f"{location}: {error.strerror or error}", location=location) from error
        raise write_refused(location, error) from error


@contextmanager
def _translated(location: str, *, is_write: bool = False) -> Iterator[None]:
    """Turns what the operating system says into our errors."""
    try:
        yield
    except OSError as error:
        is_absent = isinstance(error, FileNotFoundError | NotADirectoryError | IsADirectoryError)
        if is_absent and not is_write:
            raise FileNotFound(f"{location} is not there: {error.strerror}", location=location) from error
        if error.errno in (errno.ENAMETOOLONG, errno.EINVAL, errno.ELOOP):
            raise InvalidInput(f"{location} cannot be a path here: {error.strerror}", location=location) from error
        raise StorageError(f"{location}: {error.strerror or error}", location=location) from error
