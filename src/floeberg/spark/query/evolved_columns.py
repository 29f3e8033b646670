"""The columns of a table's DataFrame over the table as it is now: what was recorded of them may name other fields by now."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import functions as F

from floeberg.spark.host.calls.gateway import is_classic
from floeberg.spark.host.calls.originals import original
from floeberg.spark.host.settings.held_settings import held_setting
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.types import ListType, MapType, NestedField, StructType

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_OPTIMIZED: Final = "== Optimized Logical Plan =="
_PHYSICAL: Final = "== Physical Plan =="


def changed_columns(view: str, before: Schema, now: Schema) -> dict[int, str]:
    """For each column that is no longer the same field with the same name and type, what to say of it."""
    fields = {field.field_id: field for field in now.fields}
    found: dict[int, str] = {}
    for field in before.fields:
        own = fields.get(field.field_id)
        if own is None:
            change = "was dropped after it was made"
        elif own.name.lower() != field.name.lower():
            change = f"was renamed to {own.name!r} after it was made"
        elif _shape(own) != _shape(field):
            change = f"was {field.type} when it was made and is {own.type} now"
        else:
            continue
        found[field.field_id] = f"view {view}: column {field.name!r} {change}; replace the view"
    return found


def _shape(field: NestedField) -> Any:
    """The type with the fields inside it by id and name: two of them may have exchanged their names."""
    members = field.type.fields if isinstance(field.type, StructType | ListType | MapType) else ()
    inside = [(member.field_id, member.name, _shape(member)) for member in members]
    return type(field.type), inside or field.type


def evolved_frame(
    old: DataFrame, before: Schema, after: Schema, changed: Mapping[int, str], now: DataFrame
) -> DataFrame:
    """The columns of the old frame over the rows of the new one, which may have more columns after those of its schema: they
    stay. Of the columns that changed no value can be read: whatever needs one raises."""
    places = {field.field_id: f"c{number}" for number, field in enumerate(after.fields)}
    more = now.columns[len(places) :]
    shown = []
    for field, described in zip(before.fields, old.schema.fields, strict=True):
        if field.field_id in changed:
            column = F.raise_error(F.lit(changed[field.field_id])).cast(described.dataType)
        else:
            column = F.col(places[field.field_id])
        shown.append(column.alias(described.name, metadata=described.metadata or {}))
    named = original(now, "toDF")(*places.values(), *more)
    found: DataFrame = original(named, "select")(*shown, *more)
    return found


def needed_change(frame: Any, changes: Iterable[str]) -> str | None:
    """What there is to say of a changed column that the frame needs, as Spark's optimizer tells; None where it needs none."""
    with held_setting(frame.sparkSession, "spark.sql.debug.maxToStringFields", str(2**31 - 1)):
        optimized = _optimized_plan(frame)
    return next((change for change in changes if change in optimized), None)


def _optimized_plan(frame: Any) -> str:
    if is_classic(frame.sparkSession):
        return str(frame._jdf.queryExecution().optimizedPlan().toString())
    text = str(frame._explain_string(extended=True))
    return text.partition(_OPTIMIZED)[2].partition(_PHYSICAL)[0]
