"""Finding the newest version of a table in a folder of `v<V>.metadata.json` files. The version hint is only a hint."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from floeberg.effects.protocols import Store
from floeberg.errors import FileNotFound
from floeberg.storage.location import join

HINT: Final = "version-hint.text"
HINT_CHECKSUM: Final = ".version-hint.text.crc"
SUFFIXES: Final = (".metadata.json", ".gz.metadata.json", ".metadata.json.gz")
"""The endings of a version's file, in the order in which the reference implementation looks for them."""
_VERSION: Final = re.compile(r"v(0|[1-9][0-9]{0,17})(\.metadata\.json|\.gz\.metadata\.json|\.metadata\.json\.gz)")
_MAX_HINT_BYTES: Final = 64


@dataclass(frozen=True, slots=True)
class Version:
    """A published version: its number, and the ending of its file's name."""

    number: int
    suffix: str

    @property
    def file_name(self) -> str:
        return f"v{self.number}{self.suffix}"


def version_of(location: str) -> Version | None:
    """The version that a file's name says; None if it is no version's."""
    match = _VERSION.fullmatch(location.rpartition("/")[2])
    return None if match is None else Version(int(match[1]), match[2])


def find_head(store: Store, folder: str) -> Version | None:
    """The newest version in a metadata folder, or None when there is none. Begins at the hint, where it names a version
    that is there, and otherwise at a listing."""
    hinted = _hinted(store, folder)
    head = None if hinted is None else published(store, folder, hinted)
    return find_head_by_listing(store, folder) if head is None else _walk_on(store, folder, head)


def find_head_by_listing(store: Store, folder: str) -> Version | None:
    """As `find_head`, without the hint: a version that was published again under an old number does not hide the newer ones."""
    versions = listed_versions(store, folder)
    if not versions:
        return None
    newest = max(version.number for version in versions)
    same = [version for version in versions if version.number == newest]
    return _walk_on(store, folder, min(same, key=lambda version: SUFFIXES.index(version.suffix)))


def newer(one: Version | None, other: Version | None) -> Version | None:
    """The version of the higher number."""
    if one is None or other is None:
        return one or other
    return max(one, other, key=lambda version: version.number)


def write_hint(store: Store, folder: str, number: int) -> None:
    """Helps the next reader; nothing depends on it. A later writer's hint is left alone, a hint at nothing is not. The
    checksum that a Hadoop client left beside it would be stale, and that client would refuse the hint."""
    hinted = _hinted(store, folder)
    if hinted is None or hinted < number or published(store, folder, hinted) is None:
        store.replace(join(folder, HINT), str(number).encode())
    store.delete(join(folder, HINT_CHECKSUM))


def listed_versions(store: Store, folder: str) -> list[Version]:
    """Every version file directly in a folder, oldest first."""
    found = []
    start = f"{folder.rstrip('/')}/"
    for info in store.list(folder):
        below = info.location.removeprefix(start)
        version = version_of(below) if "/" not in below else None
        if version is not None:
            found.append(version)
    return sorted(found, key=lambda version: (version.number, SUFFIXES.index(version.suffix)))


def published(store: Store, folder: str, number: int, *, but: str | None = None) -> Version | None:
    """The file of a version, whatever its codec; `but` leaves one ending out."""
    for suffix in SUFFIXES:
        version = Version(number, suffix)
        if suffix != but and store.exists(join(folder, version.file_name)):
            return version
    return None


def _walk_on(store: Store, folder: str, head: Version) -> Version:
    while (following := published(store, folder, head.number + 1)) is not None:
        head = following
    return head


def _hinted(store: Store, folder: str) -> int | None:
    try:
        text = store.read(join(folder, HINT), length=_MAX_HINT_BYTES)
    except FileNotFound:
        return None
    word = text.strip()
    return int(word) if word.isdigit() and len(word) <= 18 else None
