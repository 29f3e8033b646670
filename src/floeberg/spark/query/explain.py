"""`fb.explain`: what the tables behind a DataFrame are read with."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from weakref import WeakKeyDictionary

from floeberg.spark.read.frame_explanation import explain as explain_table
from floeberg.spark.read.frame_registry import scan_of

_SOURCES: WeakKeyDictionary[Any, tuple[Any, ...]] = WeakKeyDictionary()


def remember_sources(frame: Any, sources: Iterable[Any]) -> None:
    """Keeps the tables' frames behind a query's DataFrame, for as long as that lives."""
    _SOURCES[frame] = tuple(source for source in sources if scan_of(source) is not None)


def explain(frame: Any) -> str:
    """For each table that is read: files planned of files there, and why the others were left out. Raises InvalidInput
    for a DataFrame that is neither a table's nor a query's over one."""
    sources = _SOURCES.get(frame)
    if sources is None:
        return str(explain_table(frame))
    return "\n".join(str(explain_table(source)) for source in sources)
