"""`DataFrame.join` of two tables' frames: each side is read without files that cannot match the other one.

The frames themselves stay as they are, for their other uses: a side of the join is the frame with one more condition.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from floeberg.expr.nodes import AlwaysTrue
from floeberg.scan.kept_keys import KeptKeys
from floeberg.spark.read.column_conditions import equal_columns
from floeberg.spark.read.frame_registry import scan_of
from floeberg.spark.read.joins.key_values import JoinKey, KeyReader, key_reference
from floeberg.spark.read.joins.small_table import SmallTable, filter_texts
from floeberg.spark.read.prune_frames import matching

PRUNED_SIDES: Final = {
    "inner": (True, True),
    "left": (False, True),
    "leftouter": (False, True),
    "right": (True, False),
    "rightouter": (True, False),
    "semi": (True, True),
    "leftsemi": (True, True),
    "anti": (False, True),
    "leftanti": (False, True),
}
"""Whether the left and the right side of a join, by its type, lose rows that match nothing without a change of the result."""

Where = Callable[[Any, Any], Any]


def pruned_sides(left: Any, right: Any, on: Any, how: str | None, *, kept: KeptKeys, where: Where) -> tuple[Any, Any]:
    """Both sides of a join, by the original method `where`, as it may read them. `kept` has keys of earlier joins."""
    sides = PRUNED_SIDES.get((how or "inner").lower().replace("_", ""), (False, False))
    if left is right or scan_of(left) is None or scan_of(right) is None or not any(sides):
        return left, right
    pairs = _pairs(on, left, right)
    by_right = [JoinKey(own, keys) for own, other in pairs if (keys := _keys(right, other, kept)) is not None]
    by_left = [JoinKey(own, keys) for other, own in pairs if (keys := _keys(left, other, kept)) is not None]
    return (
        matching(left, by_right, where) if sides[0] and by_right else left,
        matching(right, by_left, where) if sides[1] and by_left else right,
    )


def _pairs(on: Any, left: Any, right: Any) -> list[tuple[str, str]]:
    """The columns of left and right that a join equates: by the names that both have, or by a Column of names that only one
    of them has, since its text does not tell whose they are."""
    given = list(on) if isinstance(on, list | tuple) else [on]
    if all(isinstance(each, str) for each in given):
        return [(each, each) for each in given]
    names = (_names(left), _names(right))
    found: list[tuple[str, str]] = []
    for condition in given:
        for same in [] if condition is None else equal_columns(condition, [*left.columns, *right.columns]):
            if len(same.left) != 1 or len(same.right) != 1:
                continue
            for own, other in ((same.left[0], same.right[0]), (same.right[0], same.left[0])):
                if _is_of(own.lower(), names) and _is_of(other.lower(), names[::-1]):
                    found.append((own, other))
    return found


def _names(frame: Any) -> list[str]:
    return [name.lower() for name in frame.columns]


def _is_of(name: str, names: Sequence[list[str]]) -> bool:
    return names[0].count(name) == 1 and name not in names[1]


def _keys(frame: Any, column: str, kept: KeptKeys) -> KeyReader | None:
    """The keys of a column of a table's frame, under the conditions that planning took from its filters."""
    scan = scan_of(frame)
    if scan is None or scan.chosen is None or isinstance(scan.where, AlwaysTrue):
        return None
    reference = key_reference(column, scan.chosen.schema)
    if reference is None:
        return None
    return SmallTable(
        scan.table,
        scan.chosen,
        scan.chosen.schema.by_id[reference.field_id],
        scan.where,
        filter_texts(scan.where),
        ignore_scheme=scan.options.ignore_scheme,
        by_name=scan.options.by_name,
        manifests=scan.cache,
        kept=kept,
    )
