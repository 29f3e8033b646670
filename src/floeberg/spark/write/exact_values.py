"""Values between the form that users see and the one that keeps nanoseconds, as Columns and as SQL text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from pyspark.sql import functions as F
from pyspark.sql import types as st

from floeberg.errors import InvalidInput
from floeberg.spark.host.calls.originals import spark_sql
from floeberg.spark.host.settings.held_settings import held_setting
from floeberg.spark.host.types.exact_types import MICROSECOND, NANOSECOND, exact_type
from floeberg.spark.host.types.spark_types import CUT_KEY, NS_TYPES, has_nanoseconds
from floeberg.spark.host.types.type_text import type_text
from floeberg.spark.write.plan_lineage import has_marks, marked_columns
from floeberg.spec.types import IcebergType, ListType, MapType, NestedField, StructType
from floeberg.sql.text.lexer import quote_name

Change = Callable[[Any], Any]
_ALL_FIELDS: Final = str(2**31 - 1)
_NANOSECONDS: Final = 1000
"""Of a microsecond."""


def shown_column(column: Any, data_type: IcebergType) -> Any:
    """What users see of a column in its exact form."""
    return _rebuilt(column, data_type, lambda leaf: leaf.getField(MICROSECOND))


def exact_column(column: Any, data_type: IcebergType) -> Any:
    """A column that users gave, in the exact form; it is evaluated once."""
    if not has_nanoseconds(data_type):
        return column

    def whole(leaf: Any) -> Any:
        made = F.struct(leaf.alias(MICROSECOND), F.lit(0).cast("smallint").alias(NANOSECOND))
        return F.when(leaf.isNotNull(), made)

    made = F.element_at(F.transform(F.array(column), lambda value: _rebuilt(value, data_type, whole)), 1)
    return made.cast(exact_type(data_type))


def _rebuilt(value: Any, data_type: IcebergType, leaf: Change) -> Any:
    if not has_nanoseconds(data_type):
        return value
    match data_type:
        case StructType():
            members = [
                _rebuilt(value.getField(member.name), member.type, leaf).alias(member.name)
                for member in data_type.members
            ]
            return F.when(value.isNotNull(), F.struct(*members))
        case ListType():
            return F.transform(value, lambda element: _rebuilt(element, data_type.element_type, leaf))
        case MapType():
            return F.map_from_entries(
                F.transform(
                    F.map_entries(value),
                    lambda entry: F.struct(
                        _rebuilt(entry.getField("key"), data_type.key_type, leaf).alias("key"),
                        _rebuilt(entry.getField("value"), data_type.value_type, leaf).alias("value"),
                    ),
                )
            )
    return leaf(value)


def exact_text(value: str, data_type: IcebergType) -> str:
    """A value that users gave, in the exact form, as SQL; it is evaluated once."""
    if not has_nanoseconds(data_type):
        return value
    body = _text("floeberg_0", data_type, depth=1)
    return f"CAST(element_at(transform(array({value}), floeberg_0 -> {body}), 1) AS {type_text(exact_type(data_type))})"


def _text(value: str, data_type: IcebergType, *, depth: int) -> str:
    if not has_nanoseconds(data_type):
        return value
    name = f"floeberg_{depth}"
    match data_type:
        case StructType():
            names = [(quote_name(member.name), member.type) for member in data_type.members]
            members = ", ".join(f"{_text(f'{value}.{own}', kind, depth=depth)} AS {own}" for own, kind in names)
            return f"CASE WHEN {value} IS NOT NULL THEN struct({members}) END"
        case ListType():
            return f"transform({value}, {name} -> {_text(name, data_type.element_type, depth=depth + 1)})"
        case MapType():
            key = _text(f"{name}.key", data_type.key_type, depth=depth + 1)
            item = _text(f"{name}.value", data_type.value_type, depth=depth + 1)
            entries = f"transform(map_entries({value}), {name} -> named_struct('key', {key}, 'value', {item}))"
            return f"map_from_entries({entries})"
    return f"CASE WHEN {value} IS NOT NULL THEN named_struct('{MICROSECOND}', {value}, '{NANOSECOND}', 0S) END"


def refuse_cut_default(field: NestedField, *, table: str) -> None:
    """Raises InvalidInput for DEFAULT where a column's default has nanoseconds, which no literal of Spark's has."""
    value = field.write_default
    if isinstance(field.type, NS_TYPES) and isinstance(value, int) and value % _NANOSECONDS:
        raise InvalidInput(
            f"table {table}: the default of column {field.name!r} has nanoseconds, which Spark would cut; leave the column out "
            "of an INSERT, which then stores the default as it is, or give a value",
            table=table,
            column=field.name,
        )


def refuse_cut(frame: Any, positions: Sequence[int], *, table: str) -> None:
    """Raises InvalidInput where columns of a DataFrame have values from columns of nanoseconds, which Spark has cut, unless
    they are cast to their own type."""
    fields = [frame.schema.fields[position] for position in positions]
    for field in fields:
        if CUT_KEY in (field.metadata or {}):
            raise _cut(f"a column of nanoseconds, {field.metadata[CUT_KEY]}", field, table=table)
    asked = [(position, field) for position, field in zip(positions, fields, strict=True) if _has_time(field.dataType)]
    if not asked:
        return
    with held_setting(frame.sparkSession, "spark.sql.debug.maxToStringFields", _ALL_FIELDS):
        found = spark_sql(frame.sparkSession, "EXPLAIN EXTENDED SELECT * FROM {floeberg_rows}", floeberg_rows=frame)
        plan = str(found.collect()[0][0])
    if not has_marks(plan):
        return
    marked = marked_columns(plan)
    for position, field in asked:
        if marked is None or marked[position]:
            raise _cut("columns of nanoseconds", field, table=table)


def _cut(source: str, field: st.StructField, *, table: str) -> InvalidInput:
    return InvalidInput(
        f"table {table}: values are taken from {source}, which Spark cuts to microseconds. To store the microseconds, cast the "
        f"value to its own type, as CAST(… AS {type_text(field.dataType)}); to keep the nanoseconds, copy the rows by "
        "Table.append",
        table=table,
    )


def _has_time(data_type: st.DataType) -> bool:
    if isinstance(data_type, st.StructType):
        return any(_has_time(field.dataType) for field in data_type.fields)
    if isinstance(data_type, st.ArrayType):
        return _has_time(data_type.elementType)
    if isinstance(data_type, st.MapType):
        return _has_time(data_type.keyType) or _has_time(data_type.valueType)
    return isinstance(data_type, st.TimestampType | st.TimestampNTZType)
