"""The options of a read, as the Java runtime names them, beside ours."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, TypedDict
from zoneinfo import ZoneInfo

from floeberg.errors import InvalidInput

_SNAPSHOT: Final = "snapshot-id"
_AS_OF: Final = "as-of-timestamp"
_VERSION: Final = "versionasof"
_TIMESTAMP: Final = "timestampasof"
_REFS: Final = ("branch", "tag")
CHOOSING: Final = frozenset({_SNAPSHOT, _AS_OF, _VERSION, _TIMESTAMP, *_REFS})
"""The options that choose a snapshot."""
TUNING: Final = frozenset(
    {
        "vectorization-enabled", "batch-size", "lookback", "file-open-cost", "locality", "preserve-data-grouping",
        "aggregate-push-down-enabled", "executor-cache-enabled", "data-planning-mode", "delete-planning-mode",
        "mergeschema",
    }
)  # fmt: skip
"""Options of the Java runtime, and of Spark's Parquet reader, that change how rows are read and not which. A table's
schema is always the merged one."""
_HARMLESS: Final = {
    "ignorecorruptfiles": "false",
    "ignoremissingfiles": "false",
    "recursivefilelookup": "false",
    "datetimerebasemode": "corrected",
    "int96rebasemode": "corrected",
}
"""Options of Spark's file readers with the value that every read has; another would change rows."""
WITHOUT_EFFECT: Final = TUNING | _HARMLESS.keys()
"""Options that a parsed read need not carry."""
_OF_STREAMS: Final = ("stream-", "streaming-", "async-")
_INTEGER: Final = re.compile(r"-?[0-9]{1,20}")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LAST_SECOND: Final = 253_402_300_799  # of the year 9999


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameOptions:
    """The options, parsed. Names are taken without regard to case, as Spark does."""

    snapshot_id: int | None = None
    ref: str | None = None
    as_of_ms: int | None = None
    start_snapshot_id: int | None = None
    end_snapshot_id: int | None = None
    start_ms: int | None = None
    end_ms: int | None = None
    split_size_bytes: int | None = None
    ignore_scheme: bool = False
    by_name: bool = False
    engine: str | None = None

    @property
    def is_incremental(self) -> bool:
        return any(
            value is not None for value in (self.start_snapshot_id, self.end_snapshot_id, self.start_ms, self.end_ms)
        )

    @staticmethod
    def of(options: Mapping[str, object], *, time_zone: str = "UTC") -> FrameOptions:
        """Raises InvalidInput for options that are not known (one might be there to protect a result), that contradict one
        another, or whose values are of another kind."""
        given = {name.lower(): str(value) for name, value in options.items() if value is not None}
        for name in TUNING:
            given.pop(name, None)
        for name in [name for name, value in _HARMLESS.items() if given.get(name, "").lower() == value]:
            del given[name]
        chosen = _chosen(given, time_zone=time_zone)
        parsed = FrameOptions(
            **chosen,
            start_snapshot_id=_integer(given.pop("start-snapshot-id", None), "start-snapshot-id"),
            end_snapshot_id=_integer(given.pop("end-snapshot-id", None), "end-snapshot-id"),
            start_ms=_integer(given.pop("start-timestamp", None), "start-timestamp"),
            end_ms=_integer(given.pop("end-timestamp", None), "end-timestamp"),
            split_size_bytes=_integer(given.pop("split-size", None), "split-size"),
            ignore_scheme=_flag(given.pop("match-delete-paths-without-scheme", None)),
            by_name=_flag(given.pop("match-columns-by-name", None)),
            engine=_engine(given.pop("scan-engine", None)),
        )
        if parsed.is_incremental and (parsed.snapshot_id is not None or parsed.as_of_ms is not None):
            raise InvalidInput(
                "an incremental read is of a range of snapshots; leave the snapshot and time options out"
            )
        if given:
            raise InvalidInput(_refusal(min(given)))
        return parsed


class _Choice(TypedDict, total=False):
    """What chooses a snapshot: one of them at most."""

    snapshot_id: int
    ref: str
    as_of_ms: int


def _chosen(given: dict[str, str], *, time_zone: str) -> _Choice:
    """Takes the options that choose a snapshot out of those given. Raises InvalidInput for more than one."""
    found = {name: given.pop(name) for name in sorted(CHOOSING) if name in given}
    if len(found) > 1:
        raise InvalidInput(f"a scan reads one snapshot; give only one of the options {', '.join(found)}")
    for name, text in found.items():
        if name == _SNAPSHOT or (name == _VERSION and _INTEGER.fullmatch(text)):
            return {"snapshot_id": _number(text, name)}
        if name == _AS_OF:
            return {"as_of_ms": _number(text, name)}
        if name == _TIMESTAMP:
            return {"as_of_ms": moment_ms(text, time_zone=time_zone)}
        return {"ref": text}
    return {}


def _refusal(name: str) -> str:
    if name.startswith(_OF_STREAMS):
        return f"the option {name!r:.60} is for readStream; a batch read takes a snapshot or a range of snapshots"
    if name in _HARMLESS:
        return f"the read option {name} can only be {_HARMLESS[name]} for a table: another value would change its rows"
    return f"unknown read option {name!r:.60}; docs/concepts/spark-read.md lists the known ones"


def moment_ms(text: str, *, time_zone: str) -> int:
    """A timestamp of Spark SQL (or whole seconds since the epoch) as milliseconds; without an offset of its own it is in
    the session's time zone. Raises InvalidInput."""
    stripped = text.strip()
    if _INTEGER.fullmatch(stripped):
        if int(stripped) > _LAST_SECOND:
            raise InvalidInput(
                f"timestampAsOf {stripped:.40} is past the year 9999 as seconds; give milliseconds as as-of-timestamp"
            )
        return int(stripped) * 1000
    try:
        moment = datetime.fromisoformat(stripped)
        if moment.utcoffset() is None:
            moment = moment.replace(tzinfo=ZoneInfo(time_zone))
    except (ValueError, KeyError) as error:
        raise InvalidInput(f"{text!r:.80} is no timestamp: {error}") from error
    return (moment - _EPOCH) // timedelta(milliseconds=1)


def _integer(text: str | None, name: str) -> int | None:
    return None if text is None else _number(text, name)


def _number(text: str, name: str) -> int:
    if not _INTEGER.fullmatch(text):
        raise InvalidInput(f"the read option {name} is a whole number, not {text!r:.60}")
    return int(text)


def _flag(text: str | None) -> bool:
    shown = "false" if text is None else text.lower()
    if shown not in ("true", "false"):
        raise InvalidInput(f"the option is true or false, not {text!r:.60}")
    return shown == "true"


def _engine(text: str | None) -> str | None:
    if text is not None and text not in ("native", "arrow"):
        raise InvalidInput(f"the read option scan-engine is native or arrow, not {text!r:.60}")
    return text
