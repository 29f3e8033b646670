"""What may be written and deleted: locations inside the roots of a table and its catalog, and nothing else."""

from __future__ import annotations

import os
from collections.abc import Iterable

from floeberg.errors import PathEscape
from floeberg.storage.location import Location, parse
from floeberg.storage.secret import redact


class Roots:
    """The folders that an operation may write and delete in. Local paths are compared with symbolic links resolved, so
    a link inside a root does not lead out of it, and a root that is itself reached through a link still counts.
    Short-lived: it remembers where each folder leads."""

    def __init__(self, locations: Iterable[str], *, follow_links: bool = False) -> None:
        """`follow_links` is for folders, and for files that are read: a link that is itself the location counts as what it
        leads to."""
        self._follow_links = follow_links
        self._roots = tuple(self._real(parse(location), whole=True) for location in locations)
        self._folders: dict[str, str] = {}

    def contains(self, location: str) -> bool:
        """Whether the location is strictly below a root."""
        real = self._real(parse(location), whole=False)
        return any(real.is_within(root) and real.path != root.path for root in self._roots)

    def guard(self, location: str) -> str:
        """The location, if it lies strictly below a root.

        Raises:
            PathEscape: it does not.
        """
        if not self.contains(location):
            roots = ", ".join(redact(root.text) for root in self._roots) or "none"
            raise PathEscape(
                f"{redact(location)} lies outside the roots that may be written and deleted ({roots}); it was left "
                "alone. If it belongs to this table, name its folder as a root of the catalog",
                location=redact(location),
            )
        return location

    def _real(self, location: Location, *, whole: bool) -> Location:
        """The location with links resolved: of the whole path for a root, of its folder for a file (a file that is a
        link is itself what gets deleted or replaced)."""
        if location.scheme != "file":
            return location
        if whole or self._follow_links or location.path == "/":
            return Location("file", "", os.path.realpath(location.path), location.text)
        folder, _, name = location.path.rpartition("/")
        real = self._folders.get(folder)
        if real is None:
            real = self._folders[folder] = os.path.realpath(folder or "/").rstrip("/")
        return Location("file", "", f"{real}/{name}", location.text)
