"""Columns over Spark Connect that are bound to a DataFrame (`df.id`), made to resolve after that DataFrame was evaluated.

A bound Column names the plan that it belongs to. When the source of a MERGE was evaluated, its plan is another one: the
values of bound Columns are kept beside the rows, under names of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pyspark.sql.connect.column import Column
from pyspark.sql.connect.expressions import ColumnReference, Expression

Bound = tuple[str, int]
"""The name and the plan of a bound Column."""


def bound_columns(columns: Sequence[Any]) -> list[Bound]:
    """What is bound in Columns, each once."""
    found: dict[Bound, None] = {}

    def note(expression: Expression) -> None:
        if isinstance(expression, ColumnReference) and expression._plan_id is not None:
            found[(expression._unparsed_identifier, expression._plan_id)] = None

    for column in columns:
        column._expr.foreach(note)
    return list(found)


def bound_column(bound: Bound) -> Column:
    return Column(ColumnReference(*bound))


def unbound(column: Any, names: Mapping[Bound, str]) -> Column:
    """The Column with what is bound in it under other names."""
    return Column(_Renamed(column._expr, names))


class _Renamed(Expression):  # type: ignore[misc]
    """An expression in whose message for the server bound columns have other names; its members are asked for as they are."""

    def __init__(self, inner: Expression, names: Mapping[Bound, str]) -> None:
        super().__init__()
        self._inner = inner
        self._names = names

    @property
    def children(self) -> Sequence[Expression]:
        return [self._inner]

    def to_plan(self, session: Any) -> Any:
        message = self._inner.to_plan(session)
        for attribute in _attributes(message):
            name = self._names.get((attribute.unparsed_identifier, attribute.plan_id))
            if attribute.HasField("plan_id") and name is not None:
                attribute.unparsed_identifier = name
                attribute.ClearField("plan_id")
        return message

    def __repr__(self) -> str:
        return repr(self._inner)


def _attributes(message: Any) -> Iterator[Any]:
    """Every unresolved attribute in a message, whatever stands around it."""
    for field, value in message.ListFields():
        if field.type != field.TYPE_MESSAGE:
            continue
        if field.message_type.GetOptions().map_entry:
            parts: list[Any] = [part for part in value.values() if hasattr(part, "ListFields")]
        else:
            parts = [value] if hasattr(value, "ListFields") else list(value)
        for part in parts:
            if part.DESCRIPTOR.name == "UnresolvedAttribute":
                yield part
            yield from _attributes(part)
