"""The options of a read, as the Java runtime names them, beside ours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from floeberg.errors import InvalidInput

_SNAPSHOT: Final = "snapshot-id"
_AS_OF: Final = "as-of-timestamp"
_VERSION: Final = "versionasof"
_TIMESTAMP: Final = "timestampasof"
_REFS: Final = ("branch", "tag")
_IGNORED: Final = frozenset(
    {
        "path", "vectorization-enabled", "batch-size", "lookback", "file-open-cost", "locality", "preserve-data-grouping",
        "aggregate-push-down-enabled",
    }
)  # fmt: skip
"""Options of the Java runtime that change how it reads and not what."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


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
        for name in _IGNORED:
            given.pop(name, None)
        version = given.pop(_VERSION, None)
        refs = [given.pop(name) for name in _REFS if name in given]
        snapshot_id = _integer(given.pop(_SNAPSHOT, None), _SNAPSHOT)
        if version is not None and snapshot_id is None and version.lstrip("-").isdigit():
            snapshot_id, version = int(version), None
        refs += [version] if version is not None else []
        if len(refs) > 1:
            raise InvalidInput(f"a scan reads one snapshot; give only one of the refs {', '.join(refs)}")
        moment = given.pop(_TIMESTAMP, None)
        as_of_ms = _integer(given.pop(_AS_OF, None), _AS_OF)
        if moment is not None and as_of_ms is None:
            as_of_ms = moment_ms(moment, time_zone=time_zone)
        parsed = FrameOptions(
            snapshot_id=snapshot_id,
            ref=refs[0] if refs else None,
            as_of_ms=as_of_ms,
            start_snapshot_id=_integer(given.pop("start-snapshot-id", None), "start-snapshot-id"),
            end_snapshot_id=_integer(given.pop("end-snapshot-id", None), "end-snapshot-id"),
            start_ms=_integer(given.pop("start-timestamp", None), "start-timestamp"),
            end_ms=_integer(given.pop("end-timestamp", None), "end-timestamp"),
            split_size_bytes=_integer(given.pop("split-size", None), "split-size"),
            ignore_scheme=_flag(given.pop("match-delete-paths-without-scheme", None)),
            by_name=_flag(given.pop("match-columns-by-name", None)),
            engine=_engine(given.pop("scan-engine", None)),
        )
        if given:
            raise InvalidInput(
                f"unknown read option {min(given)!r:.60}; docs/concepts/spark-read.md lists the known ones"
            )
        return parsed


def moment_ms(text: str, *, time_zone: str) -> int:
    """A timestamp of Spark SQL (or whole seconds since the epoch) as milliseconds; without an offset of its own it is in
    the session's time zone. Raises InvalidInput."""
    stripped = text.strip()
    if stripped.lstrip("-").isdigit():
        return int(stripped) * 1000
    try:
        moment = datetime.fromisoformat(stripped)
        if moment.utcoffset() is None:
            moment = moment.replace(tzinfo=ZoneInfo(time_zone))
    except (ValueError, KeyError) as error:
        raise InvalidInput(f"{text!r:.80} is no timestamp: {error}") from error
    return (moment - _EPOCH) // timedelta(milliseconds=1)


def _integer(text: str | None, name: str) -> int | None:
    if text is None:
        return None
    if not text.lstrip("-").isascii() or not text.lstrip("-").isdigit():
        raise InvalidInput(f"the read option {name} is a whole number, not {text!r:.60}")
    return int(text)


def _flag(text: str | None) -> bool:
    shown = "false" if text is None else text.lower()
    if shown not in ("true", "false"):
        raise InvalidInput(f"the option is true or false, not {text!r:.60}")
    return shown == "true"


def _engine(text: str | None) -> str | None:
    if text is not None and text not in ("compiled", "arrow"):
        raise InvalidInput(f"the read option scan-engine is compiled or arrow, not {text!r:.60}")
    return text
