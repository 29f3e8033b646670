"""Columns that their table's name qualifies on its DataFrame, as Spark finds them on those of its own tables: `orders.id` on
`spark.table("lake.shop.orders")`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from floeberg.spark.host.calls.originals import original
from floeberg.spark.read.derived_frames import TableOrigin, source_of
from floeberg.spark.read.frame_registry import TableFrame, shown_column


def table_name(frame: Any, found: TableFrame) -> str | None:
    """The name that qualifies the columns of a table's DataFrame; None for one that has been given an alias, or that was not
    read by a name."""
    source = source_of(frame)
    if not isinstance(source, TableOrigin) or any(step.method == "alias" for step in found.steps):
        return None
    return source.identifier.name


_LITERAL: Final = re.compile(r"'[^']*'")


def qualifies(name: str, values: Iterable[Any]) -> bool:
    """Whether a name stands before a dot in names, SQL texts and Columns."""
    return any(_before_a_dot(name).search(text) for text in _texts(values))


def unqualified(name: str, column: str, columns: Iterable[str]) -> str:
    """The name of a column without that of its table, where these are the columns."""
    found = _before_a_dot(name).match(column)
    rest = "" if found is None else column[found.end() :]
    return rest if rest.split(".")[0].strip("`").lower() in (one.lower() for one in columns) else column


def _before_a_dot(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w.`])`?{re.escape(name.replace('`', '``'))}`?\s*\.", re.IGNORECASE)


def _texts(values: Iterable[Any]) -> Iterable[str]:
    for value in values:
        if isinstance(value, Mapping):
            yield from _texts(value.values())
        elif isinstance(value, list | tuple):
            yield from _texts(value)
        else:
            yield _LITERAL.sub("''", value) if isinstance(value, str) else shown_column(value)


def under_its_name(frame: Any, found: TableFrame | None, rows: Any = None) -> Any:
    """The DataFrame, or `rows` of it, as one whose columns its table's name qualifies."""
    name = None if found is None else table_name(frame, found)
    shown = frame if rows is None else rows
    return shown if name is None else original(shown, "alias")(name)
