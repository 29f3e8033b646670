"""Spark's GEOMETRY and GEOGRAPHY values as the WKB that tables store, where the column's CRS is the values' own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from floeberg.errors import InvalidInput
from floeberg.spark.host.types import geo_type_of
from floeberg.spec.schemas.schema import Schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


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
            if target.type != kind:
                raise InvalidInput(
                    f"table {table}: column {name!r} is {target.type}, and {given.dataType.simpleString()} is {kind}; "
                    "transform the values to the column's CRS, and store them with st_asbinary",
                    table=table,
                    column=name,
                )
            column = F.call_function("st_asbinary", column)
        columns.append(column)
    return numbered.select(*columns).toDF(*frame.columns)
