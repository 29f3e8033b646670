"""Comparing locations that several engines wrote: one file may be `s3a://bucket/x` in a manifest and `s3://bucket/x` in a
listing. What is not certain is an error, never a match."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from floeberg.errors import InvalidInput
from floeberg.storage.location import SCHEMES, Location, parse
from floeberg.storage.secret import redact

Prefix: TypeAlias = tuple[str, str]
"""A scheme and an authority."""

_SHOWN = 5


class PrefixMismatch(StrEnum):
    """What to do with a file whose path is a live file's, under another scheme or authority."""

    ERROR = "error"
    IGNORE = "ignore"
    DELETE = "delete"


def prefix_mismatch(text: str) -> PrefixMismatch:
    """The mode of a text in any case. Raises InvalidInput."""
    if text.lower() not in list(PrefixMismatch):
        raise InvalidInput(f"prefix_mismatch_mode is {', '.join(PrefixMismatch)}, not {text!r:.60}")
    return PrefixMismatch(text.lower())


@dataclass(frozen=True, slots=True, kw_only=True)
class PathEquality:
    """Which schemes and authorities stand for the same. Known spellings of one scheme (s3, s3a, s3n …) always do."""

    schemes: Mapping[str, str] = field(default_factory=dict)
    authorities: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, schemes: Mapping[str, str] | None, authorities: Mapping[str, str] | None) -> PathEquality:
        """From maps as the procedure takes them: `{"s3n,s3a": "s3"}`."""
        return cls(schemes=_flat(schemes or {}), authorities=_flat(authorities or {}))

    def prefix(self, location: Location) -> Prefix:
        """The scheme and authority that stand for a location's."""
        scheme = self.schemes.get(location.scheme, location.scheme)
        return SCHEMES.get(scheme, scheme), self.authorities.get(location.authority, location.authority)


def path_of(text: str) -> str:
    """The path of a location without its scheme and authority; a location that is not understood as it is."""
    try:
        return parse(text).path
    except InvalidInput:
        return text


def orphans_among(
    candidates: Iterable[str], live: Iterable[str], equality: PathEquality, mode: PrefixMismatch
) -> list[str]:
    """The candidates that no live file has the path of. Live files are only looked at one by one: a table may have many times
    more of them than memory should hold. Raises InvalidInput, in the mode `error`, when a candidate has the path of a live file
    under another scheme or authority: it may be that file."""
    left: dict[str, list[str]] = {}
    for text in candidates:
        left.setdefault(parse(text).path, []).append(text)
    unclear: dict[str, Prefix] = {}
    for text in live:
        location = parse(text)
        if location.path in left:
            prefix = equality.prefix(location)
            others = [one for one in left[location.path] if equality.prefix(parse(one)) != prefix]
            unclear |= dict.fromkeys(others, prefix)
            left[location.path] = others
            if not others:
                del left[location.path]
    found = [text for texts in left.values() for text in texts]
    if mode is PrefixMismatch.DELETE:
        return found
    doubtful = [(text, unclear[text]) for text in found if text in unclear]
    if doubtful and mode is PrefixMismatch.ERROR:
        raise _unclear(doubtful)
    return [text for text in found if text not in unclear]


def _unclear(doubtful: Sequence[tuple[str, Prefix]]) -> InvalidInput:
    shown = "; ".join(f"{redact(text)} and {scheme}://{authority}…" for text, (scheme, authority) in doubtful[:_SHOWN])
    return InvalidInput(
        f"{len(doubtful)} files have the path of a live file under another scheme or authority: {shown}. Say which "
        "are equal (equal_schemes, equal_authorities), or prefix_mismatch_mode => 'IGNORE' to keep such files"
    )


def _flat(given: Mapping[str, str]) -> dict[str, str]:
    return {part.strip(): target.strip() for key, target in given.items() for part in key.split(",")}
