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
_VERSION: Final = re.compile(r"v(\d{1,18})(\.metadata\.json|\.gz\.metadata\.json|\.metadata\.json\.gz)")
_MAX_HINT_BYTES: Final = 64


@dataclass(frozen=True, slots=True)
class Version:
    """A published version: its number, and the ending of its file's name."""

    number: int
    suffix: str

    @property
    def file_name(self) -> str:
        return f"v{self.number}{self.suffix}"

    def after(self) -> Version:
        """The next version's name. Its codec is this one's: two names for one version would let two writers succeed."""
        return Version(self.number + 1, self.suffix)


def find_head(store: Store, folder: str) -> Version | None:
    """The newest version in a metadata folder, or None when there is none."""
    hinted = _hinted(store, folder)
    head = None if hinted is None else _published(store, folder, hinted)
    if head is None:
        head = _newest_listed(store, folder)
    if head is None:
        return None
    while (following := _published(store, folder, head.number + 1)) is not None:
        head = following
    return head


def write_hint(store: Store, folder: str, number: int) -> None:
    """Helps the next reader; nothing depends on it. The checksum that a Hadoop client left beside it would be stale."""
    store.replace(join(folder, HINT), str(number).encode())
    store.delete(join(folder, HINT_CHECKSUM))


def listed_versions(store: Store, folder: str) -> list[Version]:
    """Every version file in a folder, oldest first."""
    found = []
    for info in store.list(folder):
        match = _VERSION.fullmatch(info.location.rpartition("/")[2])
        if match:
            found.append(Version(int(match[1]), match[2]))
    return sorted(found, key=lambda version: (version.number, version.suffix))


def _hinted(store: Store, folder: str) -> int | None:
    try:
        text = store.read(join(folder, HINT), length=_MAX_HINT_BYTES)
    except FileNotFound:
        return None
    word = text.strip()
    return int(word) if word.isdigit() and len(word) <= 18 else None


def _published(store: Store, folder: str, number: int) -> Version | None:
    for suffix in SUFFIXES:
        version = Version(number, suffix)
        if store.exists(join(folder, version.file_name)):
            return version
    return None


def _newest_listed(store: Store, folder: str) -> Version | None:
    versions = listed_versions(store, folder)
    return versions[-1] if versions else None
