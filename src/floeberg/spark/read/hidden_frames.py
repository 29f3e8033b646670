"""Metadata columns on a table's DataFrame, and on its filters, orders, limits and aliases: hidden until they are named.

A DataFrame has no hidden columns, and one with more columns is another DataFrame, to which `df.id` is not bound. So the
table is read again with the metadata columns, under the same steps, and takes the place of the DataFrame in what columns
are bound to: on a classic session as the other side of a union with none of the DataFrame's rows, whose columns are the
DataFrame's own (Spark's optimizer removes the empty side); over Spark Connect by the ids of the plans.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pyspark.sql import functions as F

from floeberg.errors import UnsupportedFeature
from floeberg.spark.host.calls.originals import original
from floeberg.spark.host.types.spark_types import frame_field
from floeberg.spark.read.column_conditions import shown_column
from floeberg.spark.read.derived_frames import own_copy
from floeberg.spark.read.frame import with_metadata_columns
from floeberg.spark.read.frame_registry import FrameStep, TableFrame, is_connect
from floeberg.spark.read.renamed_columns import HIDDEN_COLUMNS
from floeberg.spec.metadata.partition_union import unified_partition_type
from floeberg.spec.schemas.metadata_columns import PARTITION_NAME, metadata_column
from floeberg.sql.text.cursor import Cursor
from floeberg.sql.text.lexer import quote_name

_NAMES: Final = re.compile(rf"(?<![A-Za-z0-9_])(?:{'|'.join(sorted(HIDDEN_COLUMNS))})(?![A-Za-z0-9_])", re.IGNORECASE)
_STAR: Final = re.compile(r"(?i)(?:^|[(, .])\*(?=$|[,)]| except)|resolvedstar\w*\(|unresolvedregex\(")
_COUNTED: Final = re.compile(r"(?i)\bcount\((?:\*|unresolvedstar\(\))\)")


def mentioned(values: Iterable[Any]) -> list[str]:
    """The metadata columns whose names stand in names, SQL texts and Columns."""
    found: dict[str, None] = {}
    for value in values:
        if isinstance(value, Mapping):
            names = mentioned(value.values())
        elif isinstance(value, list | tuple):
            names = mentioned(value)
        elif isinstance(value, int | float):
            names = []
        else:
            names = [match.lower() for match in _NAMES.findall(value if isinstance(value, str) else repr(value))]
        found.update(dict.fromkeys(names))
    return list(found)


def hidden_of(frame: TableFrame, values: Iterable[Any]) -> list[str]:
    """Those of the mentioned metadata columns that the table's DataFrame does not have as columns."""
    own = {field.name.lower() for field in frame.scan.projection.fields}
    return [name for name in mentioned(values) if name not in own]


@dataclass(frozen=True, slots=True)
class WideFrame:
    """A table's DataFrame with metadata columns as its last ones."""

    frame: Any
    hidden: tuple[str, ...]
    narrow_frame: Any
    """The DataFrame without them."""

    def narrow(self, frame: Any, *, keep: Iterable[str] = ()) -> Any:
        """What was made of the frame, without the metadata columns but those to keep."""
        kept = {name.lower() for name in keep}
        return original(frame, "drop")(*(name for name in self.hidden if name not in kept))

    def items(self, items: Sequence[Any]) -> list[Any]:
        """The items of a select, with stars and patterns that leave out the metadata columns. Raises UnsupportedFeature for
        a star inside a Column."""
        return [one for item in items for one in self._item(item)]

    def given(self, method: str, args: Sequence[Any]) -> list[Any]:
        """What a method is given, with stars that leave out the metadata columns. Raises UnsupportedFeature for a star
        inside a Column."""
        return [self._argument(method, value) for value in args]

    def text(self, text: str) -> str:
        """An item of selectExpr, or a condition, with stars that leave out the metadata columns."""
        tokens = Cursor(text).tokens
        pieces, position = [], 0
        for number, token in enumerate(tokens):
            before = tokens[number - 1].upper if number else "("
            after = tokens[number + 1].upper if number + 1 < len(tokens) else ""
            counted = before == "(" and number > 1 and tokens[number - 2].upper == "COUNT" and after == ")"
            if token.upper != "*" or before not in ("(", ",", ".", "DISTINCT") or counted:
                continue
            excepts = after == "EXCEPT"
            end = tokens[number + 2].end if excepts else token.end
            names = ", ".join(quote_name(name) for name in self.hidden)
            pieces.append(text[position:end] + (f"{names}, " if excepts else f" EXCEPT ({names})"))
            position = end
        return "".join(pieces) + text[position:]

    def _item(self, item: Any) -> list[Any]:
        if not _has_star(item):
            return [item]
        if set(mentioned([item])) & set(self.hidden):
            raise self._star_inside(item)
        # The text of a Column does not tell a star from the string '*', or from the members of a struct.
        wide = original(self.frame, "select")(item).schema
        narrow = original(self.narrow_frame, "select")(item).schema
        if [(field.name, field.dataType) for field in wide] == [(field.name, field.dataType) for field in narrow]:
            return [item]
        if [name for name in wide.names if name.lower() not in self.hidden] != narrow.names:
            raise self._star_inside(item)
        return [F.col(quote_name(name)) for name in narrow.names]

    def _argument(self, method: str, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: self._argument(method, one) for key, one in value.items()}
        if isinstance(value, list):
            return [self._argument(method, one) for one in value]
        if isinstance(value, str):
            return self.text(value) if method == "filter" else value
        if _has_star(value):
            raise self._star_inside(value)
        return value

    def _star_inside(self, item: Any) -> UnsupportedFeature:
        return UnsupportedFeature(
            f"{item}: a star inside a Column beside metadata columns ({', '.join(self.hidden)}); name the columns, or "
            "write the item in selectExpr or the query in SQL"
        )


def _has_star(item: Any) -> bool:
    """Whether a name or a Column may stand for all columns, or hold what does."""
    shown = item if isinstance(item, str) else shown_column(item)
    return _STAR.search(_COUNTED.sub("", shown)) is not None


def widened(frame: Any, found: TableFrame, columns: Sequence[str]) -> WideFrame:
    """The DataFrame with metadata columns: these, and those that its steps name."""
    names = list(dict.fromkeys((*columns, *_of_steps(found))))
    wide = with_metadata_columns(frame.sparkSession, found.scan, names)
    if is_connect(frame):
        _take_id(wide, found.plan_id)
    else:
        wide = original(_without_rows(frame, found, names), "union")(wide)
    for step in found.steps:
        args = WideFrame(wide, tuple(names), frame).given(step.method, step.args)
        wide = original(wide, step.method)(*args, **step.kwargs)
        if step.plan_id is not None:
            _take_id(wide, step.plan_id)
    return WideFrame(wide, tuple(names), frame)


def _of_steps(found: TableFrame) -> list[str]:
    return hidden_of(found, [value for step in found.steps for value in (*step.args, *step.kwargs.values())])


def step_of(method: str, args: Sequence[Any], kwargs: Mapping[str, Any], plan_id: int | None) -> FrameStep:
    return FrameStep(method, own_copy(tuple(args)), own_copy(kwargs), plan_id)


def _without_rows(frame: Any, found: TableFrame, names: Sequence[str]) -> Any:
    """No rows, with the columns that are bound to the DataFrame, and nulls for metadata columns."""
    metadata = found.scan.table.state.metadata
    nulls = []
    for name in names:
        field = frame_field(metadata_column(name, unified_partition_type(metadata) if name == PARTITION_NAME else None))
        nulls.append(F.lit(None).cast(field.dataType).alias(name, metadata=field.metadata or {}))
    return original(original(frame, "select")("*", *nulls), "filter")(F.lit(False))


def _take_id(frame: Any, plan_id: int | None) -> None:
    """Makes Columns that are bound to a plan of this id resolve in the frame."""
    plan = frame._plan
    # PySpark 4.1 keeps one id, later ones another besides for plans with subqueries.
    names = ("_plan_id_with_rel", "_root_plan_id", "_plan_id")
    setattr(plan, next(name for name in names if vars(plan).get(name) is not None), plan_id)
