"""What DESCRIBE and SHOW print about a table beside its columns, in the words of Spark and of the reference implementation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pyspark.sql import types as st

from floeberg.spark.host.types.spark_types import frame_schema
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.partitions.terms import PartitionTerm
from floeberg.spec.partitions.transforms import DayTransform, HourTransform, MonthTransform, Transform, YearTransform
from floeberg.spec.schemas.schema import Schema
from floeberg.sql.text.lexer import needs_quotes, quote_name

Line = tuple[str, str, str | None]
RESERVED: Final = ("comment", "location", "provider", "owner", "external", "is_managed_location", "table_type")
"""The properties that Spark shows by themselves and not among the others."""
_PLURALS: Final[dict[type[Transform], str]] = {
    YearTransform: "years",
    MonthTransform: "months",
    DayTransform: "days",
    HourTransform: "hours",
}
_SIZES: Final[dict[type[st.DataType], int]] = {
    st.BooleanType: 1, st.IntegerType: 4, st.LongType: 8, st.FloatType: 4, st.DoubleType: 8, st.DateType: 4,
    st.TimestampType: 8, st.TimestampNTZType: 8, st.StringType: 20, st.BinaryType: 100, st.NullType: 1,
}  # fmt: skip
_OTHER_SIZE: Final = 20


def term_text(transform: Transform, schema: Schema, source_id: int) -> str:
    """A partition transform as Spark writes it: `days(ts)`, `bucket(4, id)`, with quotes where names need them."""
    if source_id not in schema.by_id:
        return str(PartitionTerm(transform, "?"))
    path = [schema.by_id[step].name for step in schema.path_to(source_id)]
    column = ".".join(quote_name(part) if needs_quotes(part) else part for part in path)
    plural = _PLURALS.get(type(transform))
    return str(PartitionTerm(transform, column)) if plural is None else f"{plural}({column})"


def shown_properties(properties: Mapping[str, str]) -> dict[str, str]:
    """The properties that SHOW TBLPROPERTIES, DESCRIBE and SHOW CREATE TABLE list, by their names."""
    return {key: value for key, value in sorted(properties.items()) if key not in RESERVED}


def detail_lines(name: str, metadata: TableMetadata, properties: Mapping[str, str]) -> list[Line]:
    """The lines of DESCRIBE EXTENDED about the table itself."""
    lines = [("Name", name), ("Type", "MANAGED")]
    lines += [("Comment", properties["comment"])] if "comment" in properties else []
    lines += [("Location", metadata.location), ("Provider", "iceberg")]
    lines += [("Owner", properties["owner"])] if "owner" in properties else []
    listed = ",".join(f"{key}={value}" for key, value in shown_properties(properties).items())
    lines += [("Table_type", "EXTERNAL"), ("Table Properties", f"[{listed}]")]
    return [*((key, value, "") for key, value in lines), ("Statistics", statistics(metadata), None)]


def statistics(metadata: TableMetadata) -> str:
    """The size as the reference implementation estimates it for Spark: rows of the snapshot's summary times Spark's estimate
    per row."""
    snapshot = metadata.current_snapshot
    rows = 0 if snapshot is None else int(snapshot.summary.get("total-records", "0"))
    return f"{rows * _size(frame_schema(metadata.current_schema))} bytes, {rows} rows"


def _size(data_type: st.DataType) -> int:
    if isinstance(data_type, st.StructType):
        return sum(_size(field.dataType) for field in data_type.fields)
    if isinstance(data_type, st.ArrayType):
        return _size(data_type.elementType)
    if isinstance(data_type, st.MapType):
        return _size(data_type.keyType) + _size(data_type.valueType)
    if isinstance(data_type, st.DecimalType):
        return 8 if int(data_type.precision) <= 18 else 16
    return _SIZES.get(type(data_type), _OTHER_SIZE)
