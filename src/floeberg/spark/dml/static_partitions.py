"""`PARTITION (column = value)`: values in the types of their columns, whatever literals they are written as."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Final

from floeberg.errors import InvalidInput
from floeberg.spark.host.execution import Execution
from floeberg.spark.host.settings.session_settings import CASE_SENSITIVE
from floeberg.spark.host.types.spark_types import spark_type
from floeberg.spark.host.types.type_text import type_text
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.types import (
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IcebergType,
    IntegerType,
    LongType,
    StringType,
    TimestampType,
    TimestamptzType,
)
from floeberg.sql.ddl.default_values import literal_text
from floeberg.sql.text.lexer import Span, quote_name, quote_string
from floeberg.sql.text.parameters import with_literals

Partition = tuple[tuple[str, Span | None], ...]
_NULL: Final = "NULL"


def static_values(
    execution: Execution, metadata: TableMetadata, partition: Partition, *, table: str, all_static: bool = False
) -> dict[str, str]:
    """The text of each static value by its column's name as given; Spark casts it to the column's type, as it does for its
    own tables, and raises for a value that the type does not have.

    Raises InvalidInput for a column whose values are no partitions, one that is there twice, and with `all_static` for one
    without a value."""
    _check_names(execution, metadata, partition, table=table)
    if all_static and (empty := [name for name, span in partition if span is None]):
        raise InvalidInput(f"table {table}: PARTITION names {empty[0]!r} without a value; write {empty[0]} = …")
    schema = metadata.current_schema
    return {name: _value(execution, schema, name, span) for name, span in partition if span is not None}


def _check_names(execution: Execution, metadata: TableMetadata, partition: Partition, *, table: str) -> None:
    """As Spark checks them: elsewhere the value of a column is not that of a partition, and its rows are not whole files."""
    case_sensitive = execution.session.setting(CASE_SENSITIVE, "false") == "true"
    known = partition_columns(metadata)
    keys = {column_key(name, case_sensitive=case_sensitive) for name in known}
    seen: set[str] = set()
    for name, _ in partition:
        key = column_key(name, case_sensitive=case_sensitive)
        if key not in keys:
            raise InvalidInput(
                f"table {table}: PARTITION names {name!r}, which is no partition column; the table has "
                f"{', '.join(known) or 'none'}. Name other columns in a list after the table, and replace their rows with "
                "INSERT INTO … REPLACE WHERE",
                column=name,
                condition="NON_PARTITION_COLUMN",
            )
        if key in seen:
            raise InvalidInput(f"table {table}: PARTITION names {name!r} twice", column=name, condition="DUPLICATE_KEY")
        seen.add(key)


def partition_columns(metadata: TableMetadata) -> list[str]:
    """The columns that PARTITION may name: those whose own values are partitions."""
    identities = metadata.default_spec.identity_source_ids
    return [field.name for field in metadata.current_schema.fields if field.field_id in identities]


def column_key(name: str, *, case_sensitive: bool) -> str:
    """A column's name as it is compared with others."""
    return name if case_sensitive else name.lower()


def static_condition(values: dict[str, str]) -> str:
    """A condition for the rows of the static partitions; empty without any."""
    return " AND ".join(
        f"{quote_name(name)} IS NULL" if value == _NULL else f"{quote_name(name)} = {value}"
        for name, value in values.items()
    )


def _value(execution: Execution, schema: Schema, name: str, span: Span) -> str:
    text = with_literals(span.of(execution.sql), execution.args, what="PARTITION")
    case_sensitive = execution.session.setting(CASE_SENSITIVE, "false") == "true"
    key = column_key(name, case_sensitive=case_sensitive)
    field = next((one for one in schema.fields if column_key(one.name, case_sensitive=case_sensitive) == key), None)
    if text.strip().upper() == _NULL or field is None or not isinstance(field.type, _WRITTEN):
        return _NULL if text.strip().upper() == _NULL else text
    typed = f"CAST({{}} AS {type_text(spark_type(field.type))})"
    value = execution.value(text, within=_SHOWN.get(type(field.type), "CAST({} AS STRING)").replace("{}", typed))
    return _NULL if value is None else _literal(field.type, str(value)) or text


_WRITTEN: Final = (
    BooleanType, IntegerType, LongType, FloatType, DoubleType, DecimalType, StringType, DateType, TimestampType,
    TimestamptzType,
)  # fmt: skip
"""The types whose values are formatted again: the overwritten rows have the same value that the new rows get, after Spark has
rounded it. Values of other types stay as they are written."""
_SHOWN: Final[dict[type[IcebergType], str]] = {
    FloatType: "CAST(CAST({} AS DOUBLE) AS STRING)",
    TimestamptzType: "unix_micros({})",
}
"""How a value is asked for where its text as a string has lost something: digits of a float, or the zone of a time."""


def _literal(data_type: IcebergType, value: str) -> str | None:
    """The literal of a value; None where there is none."""
    match data_type:
        case StringType():
            return quote_string(value)
        case DateType():
            return f"DATE {quote_string(value)}"
        case DecimalType():
            return f"{Decimal(value):f}BD"
        case FloatType() | DoubleType():
            suffix = "F" if isinstance(data_type, FloatType) else "D"
            return f"{float(value)!r}{suffix}" if math.isfinite(float(value)) else None
        case TimestampType():
            return f"TIMESTAMP_NTZ {quote_string(value)}"
        case TimestamptzType():
            return literal_text(data_type, int(value))
    return value
