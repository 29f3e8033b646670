"""The columns of a UNION in each of its branches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from floeberg.sql.conditions.predicates import Column
from floeberg.sql.queries.query_nodes import Body, Query, Select, SetOperation
from floeberg.sql.queries.select_items import listed_columns
from floeberg.sql.text.cursor import Cursor

ColumnType = Callable[[Select, Column], object | None]
"""The type of a column of a SELECT's FROM clause; None when it is not a table's own."""


@dataclass(frozen=True, slots=True)
class BranchColumns:
    """The columns of a UNION's output, by lower-case name, as those of one branch's FROM clause."""

    named: dict[str, Column]

    def source(self, column: Column) -> Column | None:
        return self.named.get(column[0].lower()) if len(column) == 1 else None


def union_branches(body: Body) -> list[Select] | None:
    """The SELECTs of a UNION; None for other set operations, and where a branch is limited or something else."""
    if isinstance(body, Select):
        return [body]
    if isinstance(body, Query):
        return None if body.limited else union_branches(body.body)
    if not isinstance(body, SetOperation) or body.kind != "UNION" or body.by_name:
        return None
    left, right = union_branches(body.left), union_branches(body.right)
    return None if left is None or right is None else [*left, *right]


def union_columns(cursor: Cursor, branches: Sequence[Select], type_of: ColumnType) -> list[BranchColumns]:
    """For each branch the columns that are plain ones of the same type in all branches: of other types, Spark converts one to
    the other, and compares what comes out."""
    listed = [listed_columns(cursor, select.items) for select in branches]
    found: list[dict[str, Column]] = [{} for _ in branches]
    whole = [items for items in listed if items is not None]
    if len(whole) != len(branches) or len({len(items) for items in whole}) != 1:
        return [BranchColumns(own) for own in found]
    names = [name for _, name in whole[0]]
    for position, name in enumerate(names):
        columns = [items[position][0] for items in whole]
        if name is None or names.count(name) > 1 or None in columns:
            continue
        plain = [column for column in columns if column is not None]
        types = [type_of(select, column) for select, column in zip(branches, plain, strict=True)]
        if types[0] is not None and all(each == types[0] for each in types):
            for own, column in zip(found, plain, strict=True):
                own[name] = column
    return [BranchColumns(own) for own in found]
