"""Points in time as users give them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

from floeberg.errors import InvalidInput
from floeberg.spec.values.whole_numbers import whole_number

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def parse_moment(text: str) -> datetime:
    """A moment written as ISO 8601, `2026-01-01` or `2026-01-01T12:00:00+02:00`; without a zone it is in UTC. Raises
    InvalidInput."""
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError as error:
        raise InvalidInput(f"{text!r:.60} is no time; write 2024-05-01 or 2024-05-01T12:00:00Z") from error
    return moment if moment.utcoffset() is not None else moment.replace(tzinfo=UTC)


def to_milliseconds(moment: datetime | str | int | None) -> int | None:
    """A point in time as milliseconds since the epoch. Raises InvalidInput for a datetime without time zone."""
    if moment is None:
        return None
    if (number := whole_number(moment)) is not None:
        return number
    if isinstance(moment, str):
        moment = parse_moment(moment)
    if not isinstance(moment, datetime):
        raise InvalidInput(
            f"as_of is a time as text ('2026-01-01'), a datetime or milliseconds since the epoch, not {moment!r:.60}"
        )
    if moment.utcoffset() is None:
        raise InvalidInput(f"as_of must say its time zone: {moment.isoformat()} has none; moment.replace(tzinfo=UTC)")
    return (moment - _EPOCH) // timedelta(milliseconds=1)
