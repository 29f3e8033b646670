"""Columns that their table's name qualifies on its DataFrame, as Spark finds them on those of its own tables: `orders.id` on
`spark.table("lake.shop.orders")`.

The name is an alias of the DataFrame, given where a column is qualified by it, and before joins and groups, whose results have
the table's columns under its name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from floeberg.spark.host.calls.originals import original
from floeberg.spark.read.column_conditions import shown_column
from floeberg.spark.read.derived_frames import TableOrigin, source_of
from floeberg.spark.read.frame_registry import TableFrame


def table_name(frame: Any, found: TableFrame) -> str | None:
    """The name that qualifies the columns of a table's DataFrame; None for one that has been given an alias, or that was not
    read by a name."""
    source = source_of(frame)
    if not isinstance(source, TableOrigin) or any(step.method == "alias" for step in found.steps):
        return None
    return source.identifier.name


def qualifies(name: str, values: Iterable[Any], found: TableFrame) -> bool:
    """Whether names, SQL texts or Columns have a column of the table behind its name."""
    pattern = _qualified(name, found)
    return any(pattern.search(text) for text in _texts(values))


def unqualified(name: str, column: str, found: TableFrame) -> str:
    """The name of one of the table's columns without that of the table."""
    match = _qualified(name, found).match(column)
    return column if match is None else column[match.start("column") :]


def _qualified(name: str, found: TableFrame) -> re.Pattern[str]:
    columns = "|".join(_pattern(field.name) for field in found.scan.projection.fields)
    return re.compile(rf"(?<![\w.`]){_pattern(name)}\s*\.\s*(?P<column>\*|{columns})(?!\w)", re.IGNORECASE)


def _pattern(name: str) -> str:
    return f"`?{re.escape(name.replace('`', '``'))}`?"


def _texts(values: Iterable[Any]) -> Iterable[str]:
    for value in values:
        if isinstance(value, Mapping):
            yield from _texts(value.values())
        elif isinstance(value, list | tuple):
            yield from _texts(value)
        else:
            yield value if isinstance(value, str) else shown_column(value)


def under_its_name(frame: Any, found: TableFrame | None, rows: Any = None) -> Any:
    """A table's DataFrame, or `rows` of it, with the table's name as its alias; any other as it is."""
    name = None if found is None else table_name(frame, found)
    shown = frame if rows is None else rows
    return shown if name is None else original(shown, "alias")(name)
