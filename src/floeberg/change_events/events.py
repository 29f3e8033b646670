"""Events of changed rows: their codes, and the columns that events carry beside the table's own."""

from __future__ import annotations

from enum import IntEnum
from types import MappingProxyType
from typing import Final

from floeberg.spec.schemas.rules import ENGINE_PREFIX

PREFIX: Final = f"{ENGINE_PREFIX}cdc_"
KIND: Final = f"{PREFIX}kind"
"""An EventKind, or null for a code that is not known."""
EVENT: Final = f"{PREFIX}event"
"""The number of an event in its batch; the images before and after one update share it."""
REASON: Final = f"{PREFIX}reason"
"""Why an event is bad input, where that is known before it is sorted."""
TEXT: Final = f"{PREFIX}text"
"""The event as it arrived, where its columns do not tell it."""
ORDER: Final = f"{PREFIX}order_"
"""The columns of the order, numbered from 0."""


class EventKind(IntEnum):
    """What an event does to its key. The kinds that bring a row are last: at equal order deletes come first."""

    DELETE = 0
    UPDATE_BEFORE = 1
    INSERT = 2
    UPDATE_AFTER = 3


CODES: Final = MappingProxyType(
    {
        "I": EventKind.INSERT,
        "+I": EventKind.INSERT,
        "C": EventKind.INSERT,
        "R": EventKind.INSERT,
        "INSERT": EventKind.INSERT,
        "-U": EventKind.UPDATE_BEFORE,
        "UPDATE_BEFORE": EventKind.UPDATE_BEFORE,
        "U": EventKind.UPDATE_AFTER,
        "+U": EventKind.UPDATE_AFTER,
        "UPDATE_AFTER": EventKind.UPDATE_AFTER,
        "D": EventKind.DELETE,
        "-D": EventKind.DELETE,
        "DELETE": EventKind.DELETE,
    }
)
"""The codes in upper case: those of Flink, of Debezium, and of changelogs."""
SKIPPABLE: Final = ("t", "m")
"""Debezium's truncate and message events, which are refused unless the caller asks to skip them."""


def order_columns(count: int) -> list[str]:
    """The names of the columns that hold the order of events."""
    return [f"{ORDER}{number}" for number in range(count)]
