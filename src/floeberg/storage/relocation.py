"""Reading a table that was moved: recorded prefixes mapped to where the files are now."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from floeberg.errors import InvalidInput
from floeberg.storage.location import Location, join, parse, parse_from_user
from floeberg.storage.secret import redact


@dataclass(frozen=True, slots=True)
class Relocation:
    """Prefix → prefix, by whole segments and however a scheme is written; the longest prefix wins. A prefix may be
    relative when the table records relative paths."""

    absolute: tuple[tuple[Location, str], ...] = ()
    relative: tuple[tuple[str, str], ...] = ()
    malformed: tuple[tuple[str, str], ...] = ()
    """Prefixes that are no location (`file://folder/…`), compared as text."""

    @classmethod
    def of(cls, mapping: Mapping[str, str]) -> Relocation:
        """From what a user gave; targets that are relative paths are taken from the current folder."""
        absolute: list[tuple[Location, str]] = []
        relative: list[tuple[str, str]] = []
        malformed: list[tuple[str, str]] = []
        for given, new in mapping.items():
            old = os.fspath(given)
            target = parse_from_user(new).text
            if is_relative(old):
                relative.append((_clean(old), target))
            elif (location := _parsed(old)) is not None:
                absolute.append((location, target))
            else:
                malformed.append((old.rstrip("/"), target))
        absolute.sort(key=lambda pair: len(pair[0].path), reverse=True)
        relative.sort(key=lambda pair: len(pair[0]), reverse=True)
        malformed.sort(key=lambda pair: len(pair[0]), reverse=True)
        return cls(tuple(absolute), tuple(relative), tuple(malformed))

    def apply(self, recorded: str) -> str:
        """Where a recorded location is now; what no prefix matches stays as it is.

        Raises:
            InvalidInput: a relative path that no prefix matches.
        """
        for prefix, new in self.malformed:
            if recorded == prefix or recorded.startswith(prefix + "/"):
                rest = recorded[len(prefix) :].strip("/")
                return join(new, rest) if rest else new
        if is_relative(recorded):
            return self._apply_relative(recorded)
        if not self.absolute:
            return recorded
        location = parse(recorded)
        for old, new in self.absolute:
            if location.is_within(old):
                rest = location.relative_to(old)
                return f"{new.rstrip('/')}/{rest}" if rest else new
        return recorded

    def _apply_relative(self, recorded: str) -> str:
        cleaned = _clean(recorded)
        for old, new in self.relative:
            if old == "" or cleaned == old or cleaned.startswith(old + "/"):
                rest = cleaned[len(old) :].lstrip("/")
                return join(new, rest) if rest else new
        raise InvalidInput(
            f"the table records the relative path {redact(recorded)!r}; open it with relocate={{first_part: folder}}",
            location=redact(recorded),
        )


def _parsed(text: str) -> Location | None:
    try:
        return parse(text)
    except InvalidInput:
        return None


def is_relative(text: str) -> bool:
    """Whether the text is a path without a root and without a scheme."""
    return not text.startswith("/") and ":/" not in text


def _clean(text: str) -> str:
    """A relative path without `.` and empty segments; `..` stays and is refused by join."""
    return "/".join(segment for segment in text.split("/") if segment not in ("", "."))
