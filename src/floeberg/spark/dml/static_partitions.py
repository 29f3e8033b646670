"""`PARTITION (column = value)`: values in the types of their columns, whatever literals they are written as."""

from __future__ import annotations

from typing import Final

from floeberg.spark.host.execution import Execution
from floeberg.spark.host.type_text import type_text
from floeberg.spark.host.types import spark_type
from floeberg.spec.schema import Schema
from floeberg.spec.types import DateType, IcebergType, IntegerType, LongType, StringType
from floeberg.sql.text.lexer import Span, quote_name, quote_string
from floeberg.sql.text.parameters import with_literals

Partition = tuple[tuple[str, Span | None], ...]
_NULL: Final = "NULL"


def static_values(execution: Execution, schema: Schema, partition: Partition) -> dict[str, str]:
    """The text of each static value by its column's name as given; Spark casts it to the column's type, as it does for its
    own tables, and raises for a value that the type does not have."""
    return {name: _value(execution, schema, name, span) for name, span in partition if span is not None}


def static_condition(values: dict[str, str]) -> str:
    """A condition for the rows of the static partitions; empty without any."""
    return " AND ".join(
        f"{quote_name(name)} IS NULL" if value == _NULL else f"{quote_name(name)} = {value}"
        for name, value in values.items()
    )


def _value(execution: Execution, schema: Schema, name: str, span: Span) -> str:
    text = with_literals(span.of(execution.sql), execution.args, what="PARTITION")
    field = next((one for one in schema.fields if one.name.lower() == name.lower()), None)
    if text.strip().upper() == _NULL or field is None or not isinstance(field.type, _WRITTEN):
        return _NULL if text.strip().upper() == _NULL else text
    wanted = type_text(spark_type(field.type))
    value = execution.value(text, within=f"CAST(CAST({{}} AS {wanted}) AS STRING)")
    return _NULL if value is None else _literal(field.type, str(value))


_WRITTEN: Final = (IntegerType, LongType, StringType, DateType)
"""The types whose values are written anew; values of others are literals of their types as they stand."""


def _literal(data_type: IcebergType, value: str) -> str:
    if isinstance(data_type, StringType):
        return quote_string(value)
    return f"DATE {quote_string(value)}" if isinstance(data_type, DateType) else value
