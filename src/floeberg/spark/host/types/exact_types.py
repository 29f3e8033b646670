"""Types that keep what Spark's own types would truncate: a nanosecond timestamp as its microseconds and the rest.

Users see the microseconds only. Rows that a statement copies or changes have this form, so that columns that it does not
assign keep their values.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import types as st

from floeberg.spark.host.types.spark_types import has_nanoseconds, nullable, spark_type
from floeberg.spec.schemas.rules import ENGINE_PREFIX
from floeberg.spec.types import IcebergType, ListType, MapType, NestedField, StructType

MICROSECOND: Final = "microsecond"
NANOSECOND: Final = "nanosecond"
"""The fields of the form: a timestamp of Spark's, and the nanoseconds (0 to 999) after it."""
_EXACT_PREFIX: Final = f"{ENGINE_PREFIX}exact_"
CUT_PREFIX: Final = f"{ENGINE_PREFIX}cut_"
NESTED: Final = "nested"
"""In the place of a type: the column has what Spark cuts inside."""


def exact_name(field: NestedField) -> str:
    """The name of the column that has a top-level column's exact values, beside what users see of it."""
    return f"{_EXACT_PREFIX}{field.field_id}" if has_nanoseconds(field.type) else field.name


def cut_name(field: NestedField) -> str | None:
    """The name under which a column is first made that Spark cuts, by which a plan tells it; None for other columns."""
    if not has_nanoseconds(field.type):
        return None
    kind = NESTED if field.type.is_nested else spark_type(field.type).simpleString()
    return f"{CUT_PREFIX}{kind}_{field.field_id}"


def exact_type(data_type: IcebergType) -> st.DataType:
    """The type that keeps values exactly: the one that users see, unless it truncates them."""
    if not has_nanoseconds(data_type):
        return spark_type(data_type)
    if isinstance(data_type, StructType):
        members = [st.StructField(member.name, exact_type(member.type), True) for member in data_type.members]
        return st.StructType(members)
    if isinstance(data_type, ListType):
        return st.ArrayType(exact_type(data_type.element_type), True)
    if isinstance(data_type, MapType):
        return st.MapType(exact_type(data_type.key_type), exact_type(data_type.value_type), True)
    whole = st.StructField(MICROSECOND, spark_type(data_type), True)
    return st.StructType([whole, st.StructField(NANOSECOND, st.ShortType(), True)])


def exact_frame_schema(fields: tuple[NestedField, ...]) -> st.StructType:
    """The schema of a DataFrame that has these columns in their exact form; everything is nullable."""
    return st.StructType([st.StructField(field.name, nullable(exact_type(field.type)), True) for field in fields])
