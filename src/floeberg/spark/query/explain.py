"""`fb.explain`: how the tables behind a DataFrame are read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from weakref import WeakKeyDictionary

from floeberg.spark.read.aggregates import Summary
from floeberg.spark.read.frame_explanation import explain as explain_table
from floeberg.spark.read.frame_registry import scan_of

_SUMMARIES: WeakKeyDictionary[Any, Summary] = WeakKeyDictionary()
_SOURCES: WeakKeyDictionary[Any, tuple[Any, ...]] = WeakKeyDictionary()


def remember_summary(summary: Summary) -> None:
    """Keeps what a DataFrame of metadata stands for, for as long as it lives."""
    _SUMMARIES[summary.frame] = summary


def remember_sources(frame: Any, sources: Iterable[Any]) -> None:
    """Keeps the tables' frames behind a query's DataFrame, those behind views too, for as long as that lives."""
    found: list[Any] = []
    for source in sources:
        is_table = scan_of(source) is not None or source in _SUMMARIES
        found += [source] if is_table else _SOURCES.get(source, ())
    _SOURCES[frame] = tuple(found)


def explain(frame: Any) -> str:
    """For each table that is read: planned files of all files, and why the others were left out. Raises InvalidInput for a
    DataFrame that reads no table of ours."""
    sources = _SOURCES.get(frame)
    if sources is None:
        return str(explain_table(frame))
    return "\n".join(str(_SUMMARIES.get(source) or explain_table(source)) for source in sources)
