"""Spark's GEOMETRY and GEOGRAPHY values as the WKB that tables store, where the column's CRS is the values' own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F
from pyspark.sql import types as st

from floeberg.errors import InvalidInput
from floeberg.spark.host.types.spark_types import geo_type_of
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.types import IcebergType

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

TO_WKB: Final = "st_asbinary"
"""The function of Spark's that gives a value's WKB."""


def with_wkb(frame: DataFrame, schema: Schema, *, names: Sequence[str] | None, table: str) -> DataFrame:
    """The frame with WKB in place of its geospatial columns, whose targets are `names` in their order, or their own names.

    Raises InvalidInput when the target has another type or CRS: coordinates would mean other places.
    """
    kinds = [geo_type_of(field.dataType) for field in frame.schema.fields]
    if not any(kinds):
        return frame
    targets = list(names) if names is not None else list(frame.columns)
    numbered = frame.toDF(*(f"c{position}" for position in range(len(kinds))))
    columns = []
    for position, (kind, given) in enumerate(zip(kinds, frame.schema.fields, strict=True)):
        column = F.col(f"c{position}")
        name = targets[position] if position < len(targets) else given.name
        target = schema.find(name, case_sensitive=False)
        if kind is not None and target is not None:
            refuse_other_crs(given.dataType, target.type, column=name, table=table)
            column = F.call_function(TO_WKB, column)
        columns.append(column)
    return numbered.select(*columns).toDF(*frame.columns)


def refuse_other_crs(given: st.DataType, wanted: IcebergType, *, column: str, table: str) -> None:
    """Raises InvalidInput when a geospatial value is not of the column's own type and CRS."""
    kind = geo_type_of(given)
    if kind != wanted:
        raise InvalidInput(
            f"table {table}: column {column!r} is {wanted}, and {given.simpleString()} is {kind}; transform the values to the "
            f"column's CRS, and store them with {TO_WKB}",
            table=table,
            column=column,
        )
