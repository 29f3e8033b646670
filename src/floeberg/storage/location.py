"""Locations: the one place where a path or URI of table metadata is taken apart and compared.

A recorded path is literal text: a `%`, a space, `?` or `#` in it is a character of the file's name, in `file:` URIs as
much as in `s3://` ones. That is how Java's Hadoop paths, PyIceberg and Trino read them, and partition folders such as
`s=a%2Fb` depend on it. Text that is known to be percent-encoded (`_metadata.file_path` of Spark, `Path.as_uri()`) comes
in through `parse_encoded`.

| written as                       | scheme | authority            | path                                            |
|----------------------------------|--------|----------------------|-------------------------------------------------|
| `/x`, `file:/x`, `file:///x`     | file   |                      | `/x`; `//`, `.` and `..` resolved               |
| `hdfs://host:port/x`             | hdfs   | host:port            | `/x`; `//`, `.` and `..` resolved               |
| `s3://b/k`, `s3a://`, `s3n://`   | s3     | bucket               | `/k`; `//` kept, `.` and `..` refused           |
| `gs://b/k`                       | gs     | bucket               | the same                                        |
| `abfs(s)://c@a.host/k`, `wasb(s)`| abfs   | container@account    | the same                                        |
| `memory://x/k`                   | memory | x                    | the same                                        |
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TypeAlias
from urllib.parse import unquote

from floeberg.errors import InvalidInput, PathEscape
from floeberg.storage.secret import redact

GivenPath: TypeAlias = "str | os.PathLike[str]"
"""A place as a user names it."""

SCHEMES = {
    "file": "file",
    "s3": "s3",
    "s3a": "s3",
    "s3n": "s3",
    "gs": "gs",
    "gcs": "gs",
    "abfs": "abfs",
    "abfss": "abfs",
    "wasb": "abfs",
    "wasbs": "abfs",
    "hdfs": "hdfs",
    "memory": "memory",
}
"""Every scheme that is understood, and the one that stands for it."""

HIERARCHICAL = frozenset({"file", "hdfs"})
"""Schemes with real folders, where `//` and `/` are the same and `..` goes up."""

MAX_SEGMENT_BYTES = 255


@dataclass(frozen=True, slots=True)
class Location:
    """A location taken apart. Two locations are equal when they name the same file, however they are written."""

    scheme: str
    authority: str
    path: str
    """Absolute and literal, without a slash at the end; the root is `/`."""
    text: str = field(compare=False)
    """As it was written, without a slash at the end."""

    def __str__(self) -> str:
        return self.text

    @property
    def key(self) -> str:
        """The object's name in its bucket: the path without its first slash."""
        return self.path[1:]

    @property
    def name(self) -> str:
        """The last segment."""
        return self.path.rpartition("/")[2]

    @property
    def uri(self) -> str:
        """The one canonical form, with a scheme always."""
        return f"{self.scheme}://{self.authority}{self.path}"

    @property
    def spellings(self) -> frozenset[str]:
        """How writers write this location: as it is here, and with every name of its scheme."""
        names = [name for name, scheme in SCHEMES.items() if scheme == self.scheme]
        found = {self.text, *(f"{name}://{self.authority}{self.path}" for name in names)}
        return frozenset(found | {self.path, f"file:{self.path}"} if self.scheme == "file" else found)

    def is_within(self, root: Location) -> bool:
        """Whether this is `root` or below it, by whole segments: `/ab` is not within `/a`."""
        if (self.scheme, self.authority) != (root.scheme, root.authority):
            return False
        return root.path == "/" or self.path == root.path or self.path.startswith(root.path + "/")

    def relative_to(self, root: Location) -> str:
        """What follows `root`; empty for the root itself.

        Raises:
            PathEscape: this is not within `root`.
        """
        if not self.is_within(root):
            raise PathEscape(f"{redact(self.text)} is not within {redact(root.text)}")
        return self.path[len(root.path.rstrip("/")) + 1 :]


def parse(text: str) -> Location:
    """Takes a recorded location apart.

    Raises:
        InvalidInput: relative, without a bucket, of an unknown scheme, or with a credential in it.
        PathEscape: `..` climbs above the root, or stands in an object's key.
    """
    _check_characters(text)
    scheme_text, colon, rest = text.partition(":")
    if text.startswith("/") or not colon or "/" in scheme_text:
        scheme_text, rest = "", text
    if not scheme_text:
        if not text.startswith("/"):
            raise InvalidInput(
                f"{redact(text)!r} is a relative path; give an absolute path or a URI, or map it with relocate",
                location=redact(text),
            )
        return Location("file", "", _resolve(rest, text), _trim(text))
    scheme = SCHEMES.get(scheme_text.lower())
    if scheme is None:
        raise InvalidInput(
            f"{redact(text)!r} has the scheme {scheme_text!r}; understood are a plain path and {', '.join(SCHEMES)}",
            location=redact(text),
        )
    authority, path = _split_authority(scheme, rest, text)
    path = _resolve(path, text) if scheme in HIERARCHICAL else _check_key(path, text)
    return Location(scheme, _normalise_authority(scheme, authority, text), path, _trim(text))


def parse_encoded(uri: str) -> Location:
    """Takes a URI apart whose path is percent-encoded (from Spark's `_metadata.file_path`, from `Path.as_uri()`)."""
    return parse(unquote(uri, errors="strict") if "%" in uri else uri)


def parse_from_user(place: GivenPath) -> Location:
    """As `parse`, and a relative path is taken from the current folder (for a warehouse or a table that a user names, as text
    or as a `pathlib.Path`)."""
    text = os.fspath(place) if isinstance(place, os.PathLike) else place
    if not isinstance(text, str):
        raise InvalidInput(f"a place is text or a pathlib.Path, not {place!r:.60}")
    _check_characters(text)
    is_relative = not text.startswith("/") and SCHEMES.get(text.partition(":")[0].lower()) is None and "://" not in text
    return parse(os.path.join(os.getcwd(), text)) if is_relative else parse(text)


def join(base: str, relative: str) -> str:
    """`base`, as it is written, with a relative path of one or more segments after it.

    Raises:
        PathEscape: a segment of `relative` is empty, `.` or `..`.
    """
    for segment in relative.split("/"):
        if segment in ("", ".", "..") or "\0" in segment:
            raise PathEscape(f"{relative!r} is not a path below {redact(base)}: it has the segment {segment!r}")
    return f"{_trim(base)}/{relative}" if base.strip("/") else f"/{relative}"


def child(base: str, name: str) -> str:
    """`base` with one name after it, for names that come from users (namespaces, tables).

    Raises:
        PathEscape: the name is no single path segment.
    """
    return join(base, check_segment(name))


def check_segment(name: str) -> str:
    """The name, if it can be one segment of a path on every store.

    Raises:
        PathEscape: empty, `.`, `..`, with a slash or a control character, or longer than 255 bytes.
    """
    if name in ("", ".", "..") or "/" in name or any(ord(sign) < 32 or ord(sign) == 127 for sign in name):
        raise PathEscape(f"{name!r} cannot be the name of a folder or file: it is no single path segment", name=name)
    try:
        size_bytes = len(name.encode())
    except UnicodeEncodeError as error:
        raise PathEscape(f"{name!r} cannot be the name of a folder or file: it is no valid Unicode") from error
    if size_bytes > MAX_SEGMENT_BYTES:
        raise PathEscape(f"{name[:40]!r}… cannot be the name of a folder or file: it has {size_bytes} bytes of 255")
    return name


def _check_characters(text: str) -> None:
    if not text:
        raise InvalidInput("an empty location; give an absolute path or a URI")
    if "\0" in text:
        raise InvalidInput(f"{redact(text)!r} has a NUL character")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput(f"{redact(text)!r} is no valid Unicode") from error


def _trim(text: str) -> str:
    """Without slashes at the end, but for the root."""
    return text.rstrip("/") or "/"


def _split_authority(scheme: str, rest: str, text: str) -> tuple[str, str]:
    """The authority and the path behind `scheme:`."""
    if rest.startswith("//"):
        authority, _, path = rest[2:].partition("/")
        return authority, "/" + path
    if scheme == "file" and rest.startswith("/"):
        return "", rest
    raise InvalidInput(f"{redact(text)!r} is no absolute location; write {scheme}://… with a path from the root")


def _normalise_authority(scheme: str, authority: str, text: str) -> str:
    userinfo, at, host = authority.rpartition("@")
    if at and (scheme != "abfs" or ":" in userinfo):
        raise InvalidInput(
            f"{redact(text)!r} carries a user or password; give credentials as options of the catalog instead",
            location=redact(text),
        )
    if scheme == "file":
        if authority not in ("", "localhost"):
            raise InvalidInput(f"{text!r} names the host {authority!r}; write file:///… with three slashes")
        return ""
    if not authority:
        raise InvalidInput(f"{text!r} names no bucket or host")
    if scheme == "abfs":
        return f"{userinfo}@{host.partition('.')[0].lower()}" if at else authority.lower()
    return authority.lower() if scheme == "hdfs" else authority


def _resolve(path: str, text: str) -> str:
    """An absolute path with `//`, `.` and `..` resolved by text (symbolic links are not followed)."""
    if "//" not in path and "/." not in path:
        return _trim(path)
    resolved: list[str] = []
    for segment in path.split("/"):
        if segment == "..":
            if not resolved:
                raise PathEscape(f"{redact(text)!r} climbs above the root", location=redact(text))
            resolved.pop()
        elif segment not in ("", "."):
            resolved.append(segment)
    return "/" + "/".join(resolved)


def _check_key(path: str, text: str) -> str:
    """An object's key, as it is: empty segments are part of the name."""
    if "/." in path and any(segment in (".", "..") for segment in path.split("/")):
        raise PathEscape(f"{redact(text)!r} has a `.` or `..` segment, which object stores do not resolve")
    if "?" in path and "sig=" in path.partition("?")[2]:
        raise InvalidInput(f"{redact(text)!r} carries a signature; give credentials as options of the catalog instead")
    return _trim(path)
