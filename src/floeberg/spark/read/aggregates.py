"""COUNT, MIN and MAX answered from metadata, as a DataFrame of one row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from floeberg.arrow.columns.physical import array_of
from floeberg.catalogs.base import LoadedTable
from floeberg.expr.nodes import TRUE, Expression
from floeberg.scan.aggregates import Aggregate, AggregateFunction, aggregate_from_metadata
from floeberg.scan.frame_cache import FrameCache
from floeberg.scan.snapshot_choice import choose_snapshot
from floeberg.spark.read.local_frame import arrow_local_frame
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.types import LONG, IcebergType, NestedField


def aggregate_frame(
    spark: Any,
    table: LoadedTable,
    aggregates: Mapping[str, Aggregate],
    *,
    snapshot_id: int | None = None,
    ref: str | None = None,
    as_of_ms: int | None = None,
    where: Expression = TRUE,
    case_sensitive: bool = False,
    cache: FrameCache | None = None,
) -> Any | None:
    """One row with the aggregates under their names, in the types that Spark gives them; None unless metadata prove all of
    them exactly. `where` must say exactly what the query's condition says, not less."""
    chosen = choose_snapshot(table.state.metadata, snapshot_id=snapshot_id, ref=ref, as_of_ms=as_of_ms)
    wanted = list(aggregates.values())
    found = aggregate_from_metadata(
        table.state.metadata,
        chosen,
        wanted,
        store_for=table.pointer.store_for,
        where=where,
        case_sensitive=case_sensitive,
        cache=cache,
    )
    if found is None:
        return None
    types = [_type(aggregate, chosen.schema, case_sensitive=case_sensitive) for aggregate in wanted]
    return _one_row(spark, list(aggregates), types, found.values)


def _type(aggregate: Aggregate, schema: Schema, *, case_sensitive: bool) -> IcebergType:
    if aggregate.column is None or aggregate.function is AggregateFunction.COUNT:
        return LONG
    return schema.field(aggregate.column, case_sensitive=case_sensitive).type


def _one_row(spark: Any, names: Sequence[str], types: Sequence[IcebergType], values: Sequence[object]) -> Any:
    projection = Schema(
        *(NestedField(i, name, kind) for i, (name, kind) in enumerate(zip(names, types, strict=True), 1))
    )
    arrays = [array_of([value], kind) for value, kind in zip(values, types, strict=True)]
    batch = pa.RecordBatch.from_arrays(arrays, names=list(names))
    return arrow_local_frame(spark, [batch], projection)
