"""HDFS, through pyarrow's client.

pyarrow's `move` deletes a file in the way and renames again, so two writers could both believe that they published one
version: this store does not declare `create_if_absent`, unless it is given a rename that refuses an existing target.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from pyarrow import fs

from floeberg.effects.protocols import Capabilities, FileInfo, Ids
from floeberg.errors import FileNotFound, PreconditionFailed, Unavailable, UnsupportedFeature, WriteRefused
from floeberg.storage.location import Location, join, parse
from floeberg.storage.secret import Secret, redact

Rename = Callable[[str, str], bool]
"""Renames a file unless the target is there; whether it did."""
_REFUSALS = frozenset({errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.ENAMETOOLONG})


class HdfsStore:
    """Files of one name node (or of any pyarrow file system with folders)."""

    def __init__(self, filesystem: Any, ids: Ids, *, rename_if_absent: Rename | None = None) -> None:
        self._filesystem = filesystem
        self._ids = ids
        self._rename_if_absent = rename_if_absent
        self._capabilities = Capabilities(
            create_if_absent=rename_if_absent is not None,
            atomic_rename=rename_if_absent is not None,
            list_consistent=True,
        )

    @property
    def capabilities(self) -> Capabilities:
        return self._capabilities

    def read(self, location: str, *, offset: int = 0, length: int | None = None) -> bytes:
        return self.read_ranges(location, [(offset, -1 if length is None else length)])[0]

    def read_ranges(self, location: str, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        try:
            return self._read_ranges(location, ranges)
        except Unavailable:
            self.size(location)  # a folder opened as a file is reported as any other failure; this tells
            raise

    def _read_ranges(self, location: str, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        with _translated(location), self._filesystem.open_input_file(self._path(location)) as file:
            size_bytes = file.size()
            parts: list[bytes] = []
            for offset, length in ranges:
                left = max(0, size_bytes - offset)
                parts.append(file.read_at(left if length < 0 else min(length, left), offset) if left else b"")
            return parts

    def size(self, location: str) -> int:
        with _translated(location):
            info = self._filesystem.get_file_info(self._path(location))
        if info.type != fs.FileType.File:
            raise FileNotFound(f"{location} is not there", location=location)
        return int(info.size)

    def exists(self, location: str) -> bool:
        with _translated(location):
            return bool(self._filesystem.get_file_info(self._path(location)).type == fs.FileType.File)

    def write(self, location: str, content: bytes) -> None:
        with _translated(location, is_write=True):
            self._write(self._path(location), content)

    def create(self, location: str, content: bytes) -> None:
        if self._rename_if_absent is None:
            raise UnsupportedFeature(
                f"{location}: this HDFS client cannot publish a file only if it is absent; use an SQL catalog",
                location=location,
            )
        path = self._path(location)
        temporary = self._temporary(path)
        self._write_temporary(location, temporary, content)
        with _translated(location):
            if not self._rename_if_absent(temporary, path):
                self._filesystem.delete_file(temporary)
                raise PreconditionFailed(f"{location} is there already", location=location)

    def replace(self, location: str, content: bytes) -> None:
        path = self._path(location)
        temporary = self._temporary(path)
        self._write_temporary(location, temporary, content)
        with _translated(location):
            self._filesystem.move(temporary, path)

    def delete(self, location: str) -> None:
        try:
            with _translated(location):
                self._filesystem.delete_file(self._path(location))
        except FileNotFound:
            return

    def delete_folder(self, location: str) -> None:
        if self._infos(location, recursive=False):
            return
        with _translated(location):
            self._filesystem.delete_dir(self._path(location))

    def list(self, prefix: str) -> Iterator[FileInfo]:
        parsed = parse(prefix)
        for info in sorted(self._infos(prefix, recursive=True), key=lambda info: str(info.path)):
            if info.type == fs.FileType.File:
                below = info.path[len(parsed.path.rstrip("/")) + 1 :]
                yield FileInfo(join(parsed.text, below), int(info.size), int(info.mtime_ns or 0) // 1_000_000)

    def list_folders(self, prefix: str) -> Iterator[str]:
        infos = self._infos(prefix, recursive=False)
        yield from sorted(str(info.base_name) for info in infos if info.type == fs.FileType.Directory)

    def _infos(self, prefix: str, *, recursive: bool) -> Sequence[Any]:
        selector = fs.FileSelector(self._path(prefix), allow_not_found=True, recursive=recursive)
        with _translated(prefix):
            found: Sequence[Any] = self._filesystem.get_file_info(selector)
            return found

    def _write_temporary(self, location: str, temporary: str, content: bytes) -> None:
        """Raises WriteRefused whatever goes wrong: nothing has the location's name yet."""
        try:
            self._write(temporary, content)
        except OSError as error:
            raise _refused(location, error) from None

    def _write(self, path: str, content: bytes) -> None:
        """Writes a file; what is there of one that fails is removed."""
        self._filesystem.create_dir(path.rpartition("/")[0] or "/", recursive=True)
        try:
            with self._filesystem.open_output_stream(path) as stream:
                stream.write(content)
        except OSError:
            with suppress(OSError):
                self._filesystem.delete_file(path)
            raise

    def _temporary(self, path: str) -> str:
        return f"{path.rpartition('/')[0]}/floeberg-{self._ids.uuid()}.tmp"

    def _path(self, location: str) -> str:
        return parse(location).path


def _refused(location: str, error: OSError) -> WriteRefused:
    said = redact(str(error).partition("\n")[0])
    return WriteRefused(f"{redact(location)} could not be written: {said}", location=location)


@contextmanager
def _translated(location: str, *, is_write: bool = False) -> Iterator[None]:
    """Turns what pyarrow raises into our errors."""
    try:
        yield
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError) as error:
        if is_write:
            raise _refused(location, error) from None
        raise FileNotFound(f"{redact(location)} is not there", location=location) from None
    except OSError as error:
        if is_write and error.errno in _REFUSALS:
            raise _refused(location, error) from None
        said = redact(str(error).partition("\n")[0])
        raise Unavailable(f"{redact(location)}: {said}", location=location) from None


def open_hdfs_store(location: Location, options: Mapping[str, str | Secret], ids: Ids) -> HdfsStore:
    """Connects to the name node of the location."""
    plain = {name: value.reveal() if isinstance(value, Secret) else value for name, value in options.items()}
    host, _, port = location.authority.partition(":")
    try:
        filesystem = fs.HadoopFileSystem(
            host=plain.get("hdfs.host", host),
            port=int(plain.get("hdfs.port", port or 0)),
            user=plain.get("hdfs.user"),
            kerb_ticket=plain.get("hdfs.kerberos-ticket"),
        )
    except OSError as error:
        raise UnsupportedFeature(
            f"cannot reach hdfs://{location.authority}: {str(error).splitlines()[0]}; pyarrow needs a Hadoop client "
            "(HADOOP_HOME, CLASSPATH and libhdfs)"
        ) from None
    return HdfsStore(filesystem, ids)
