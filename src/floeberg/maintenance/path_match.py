"""Comparing locations that several engines wrote: one file may be `s3a://bucket/x` in a manifest and `s3://bucket/x` in a
listing. What is not certain is an error, never a match."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from floeberg.errors import InvalidInput
from floeberg.storage.location import SCHEMES, Location, parse
from floeberg.storage.secret import redact

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

    def prefix(self, location: Location) -> tuple[str, str]:
        """The scheme and authority that stand for a location's."""
        scheme = self.schemes.get(location.scheme, location.scheme)
        return SCHEMES.get(scheme, scheme), self.authorities.get(location.authority, location.authority)


class LiveLocations:
    """The locations of live files, to be asked about others."""

    def __init__(self, locations: Iterable[str], equality: PathEquality) -> None:
        self._equality = equality
        self._by_path: dict[str, set[tuple[str, str]]] = {}
        for text in locations:
            location = parse(text)
            self._by_path.setdefault(location.path, set()).add(equality.prefix(location))

    def orphans(self, candidates: Iterable[str], mode: PrefixMismatch) -> list[str]:
        """The candidates that no live file has the path of. Raises InvalidInput, in the mode `error`, when one has the path
        of a live file under another scheme or authority: it may be that file."""
        found: list[str] = []
        unclear: list[tuple[str, tuple[str, str]]] = []
        for text in candidates:
            location = parse(text)
            prefixes = self._by_path.get(location.path)
            if prefixes is None:
                found.append(text)
            elif self._equality.prefix(location) in prefixes:
                continue
            elif mode is PrefixMismatch.DELETE:
                found.append(text)
            elif mode is PrefixMismatch.ERROR:
                unclear.append((text, min(prefixes)))
        if unclear:
            shown = "; ".join(
                f"{redact(text)} and {scheme}://{authority}…" for text, (scheme, authority) in unclear[:_SHOWN]
            )
            raise InvalidInput(
                f"{len(unclear)} files have the path of a live file under another scheme or authority: {shown}. Say which "
                "are equal (equal_schemes, equal_authorities), or prefix_mismatch_mode => 'IGNORE' to keep such files"
            )
        return found


def _flat(given: Mapping[str, str]) -> dict[str, str]:
    return {part.strip(): target.strip() for key, target in given.items() for part in key.split(",")}
