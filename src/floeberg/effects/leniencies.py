"""Leniencies: what is read although it violates the specification, because other writers produce it.

Each one is reported: as a warning in the log, or to the caller that collects them. `docs/reference/leniencies.md` lists them.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

logger = logging.getLogger("floeberg.leniencies")

_MAX_REMEMBERED: Final = 4096


class Leniency(StrEnum):
    """A way in which files may differ from the specification and are read nevertheless."""

    OPTIONAL_RECORD = "optional-record"
    OPTIONAL_ITEM = "optional-item"
    ENUM_FOR_STRING = "enum-for-string"
    FIXED_WITH_LENGTH = "fixed-with-length"
    COLUMNS_BY_POSITION = "columns-by-position"
    COLUMNS_BY_NAME = "columns-by-name"
    PARTIAL_FIELD_IDS = "partial-field-ids"
    MAPPING_OF_OTHER_IDS = "mapping-of-other-ids"
    OTHER_ELEMENT_ID = "other-element-id"
    LOGICAL_TYPE_OF_GROUP = "logical-type-of-group"
    NULL_DELETE_PATH = "null-delete-path"


@dataclass(frozen=True, slots=True)
class Tolerated:
    """A file that was read although it is not as it should be."""

    leniency: Leniency
    location: str
    message: str


_gathered: ContextVar[list[Tolerated] | None] = ContextVar("floeberg_leniencies", default=None)
_said: OrderedDict[tuple[Leniency, str], None] = OrderedDict()
_lock = threading.Lock()


def tolerate(leniency: Leniency, location: str, message: str) -> None:
    """Says that a file is read although it is not as it should be: in the log, once for each leniency and folder."""
    gathered = _gathered.get()
    if gathered is not None:
        gathered.append(Tolerated(leniency, location, message))
    elif _is_new(leniency, location.rpartition("/")[0] or location):
        logger.warning("%s: %s (%s; other files of its folder are not mentioned)", location, message, leniency)


@contextmanager
def gathered_leniencies() -> Iterator[list[Tolerated]]:
    """Inside the block, leniencies of this thread are added to the list and not logged."""
    found: list[Tolerated] = []
    token = _gathered.set(found)
    try:
        yield found
    finally:
        _gathered.reset(token)


def _is_new(leniency: Leniency, folder: str) -> bool:
    with _lock:
        if (leniency, folder) in _said:
            _said.move_to_end((leniency, folder))
            return False
        _said[leniency, folder] = None
        if len(_said) > _MAX_REMEMBERED:
            _said.popitem(last=False)
        return True
