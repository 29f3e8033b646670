"""The columns of a view keep their names and types, whatever happens to the tables that it reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, StructField, StructType

from floeberg.errors import InvalidInput
from floeberg.spark.host.calls.originals import original
from floeberg.spark.host.session import AttachedSession
from floeberg.spark.host.views import ViewColumns
from floeberg.sql.conditions.predicates import Column as Path
from floeberg.sql.conditions.predicates import Condition, weaken

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def conditions_inside(
    columns: ViewColumns, conditions: Sequence[Condition], *, tells: Callable[[str], bool] = lambda _: True
) -> list[Condition]:
    """Conditions on a view's columns in terms of its query's columns: on those alone for whose name, in lower case, `tells`
    says so."""
    if columns.mode == "EVOLUTION":
        return list(conditions)
    counts = Counter(name.lower() for name in columns.query_names)
    inner = {
        field.name.lower(): name
        for field, name in zip(columns.schema.fields, columns.query_names, strict=True)
        if counts[name.lower()] == 1
    }

    def source(path: Path) -> Path | None:
        name = inner.get(path[0].lower())
        return None if name is None or not tells(name.lower()) else (name, *path[1:])

    return [kept for condition in conditions if (kept := weaken(condition, source)) is not None]


def columns_as_they_are(frame: DataFrame, mode: str = "BINDING") -> ViewColumns:
    """The columns of a view that shows a DataFrame as it is."""
    return ViewColumns(tuple(frame.columns), frame.schema, mode)


def has_other_types(columns: ViewColumns, frame: DataFrame) -> bool:
    """Whether a column of the query has another type than when the view was made."""
    recorded = [
        (name.lower(), type_text(field)) for name, field in zip(columns.query_names, columns.schema, strict=True)
    ]
    now = {(field.name.lower(), type_text(field)) for field in frame.schema.fields}
    return columns.mode != "EVOLUTION" and not now.issuperset(recorded)


def type_text(field: StructField) -> str:
    return str(field.dataType.simpleString())


def view_frame(session: AttachedSession, name: str, columns: ViewColumns, frame: DataFrame) -> DataFrame:
    """The rows of the view's query with the view's columns. Raises InvalidInput when a column no longer exists, or has a type
    that cannot be cast to the recorded one."""
    now = frame.schema.fields
    if columns.mode == "EVOLUTION" or _is_same(columns, now):
        return frame
    case_sensitive = session.setting("spark.sql.caseSensitive", "false") == "true"
    ansi = session.setting("spark.sql.ansi.enabled", "true") == "true"
    try:
        places = _places(name, columns, now, case_sensitive=case_sensitive)
    except InvalidInput:
        if not columns.by_position or len(now) != len(columns.schema.fields):
            raise
        places = list(range(len(now)))
    names = [f"c{number}" for number in range(len(now))]
    shown: list[Column] = []
    for field, at in zip(columns.schema.fields, places, strict=True):
        column = F.col(names[at])
        if columns.mode != "TYPE EVOLUTION" and now[at].dataType.simpleString() != type_text(field):
            _check_type(name, columns, field, now[at].dataType)
            column = _cast(column, field.dataType, name, field.name, ansi=ansi)
        shown.append(column.alias(field.name, metadata=field.metadata or {}))
    found: DataFrame = original(original(frame, "toDF")(*names), "select")(*shown)
    return found


def _is_same(columns: ViewColumns, now: list[StructField]) -> bool:
    shown = [(field.name, type_text(field)) for field in columns.schema.fields]
    return shown == [(field.name, type_text(field)) for field in now] and list(columns.query_names) == [
        field.name for field in now
    ]


def _places(name: str, columns: ViewColumns, now: list[StructField], *, case_sensitive: bool) -> list[int]:
    """The position of each column of the view in the query; columns of one name are told apart by their order."""

    def normal(text: str) -> str:
        return text if case_sensitive else text.lower()

    by_name: dict[str, list[int]] = {}
    for at, field in enumerate(now):
        by_name.setdefault(normal(field.name), []).append(at)
    expected = Counter(normal(one) for one in columns.query_names)
    taken: Counter[str] = Counter()
    places = []
    for one in columns.query_names:
        found = by_name.get(normal(one), [])
        if len(found) != expected[normal(one)]:
            raise InvalidInput(
                f"view {name}: its query had {expected[normal(one)]} column(s) {one!r} when it was made and has "
                f"{len(found)} now; replace the view by CREATE OR REPLACE VIEW"
            )
        places.append(found[taken[normal(one)]])
        taken[normal(one)] += 1
    return places


def _check_type(name: str, columns: ViewColumns, field: StructField, now: DataType) -> None:
    nested = isinstance(now, StructType) or "<" in now.simpleString() or "<" in type_text(field)
    if nested or columns.mode == "BINDING":
        raise InvalidInput(
            f"view {name}: column {field.name!r} was {type_text(field)} when it was made and is {now.simpleString()} "
            "now; replace the view by CREATE OR REPLACE VIEW"
        )


def _cast(column: Column, data_type: DataType, view: str, name: str, *, ansi: bool) -> Column:
    """The value in its recorded type; one that does not fit raises, as Spark's views do under any setting."""
    if ansi:
        return column.cast(data_type)
    value = column.try_cast(data_type)
    message = F.lit(f"view {view}: a value of column {name!r} does not fit {data_type.simpleString()}")
    return F.when(column.isNotNull() & value.isNull(), F.raise_error(message).cast(data_type)).otherwise(value)
