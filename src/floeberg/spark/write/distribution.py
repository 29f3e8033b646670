"""Distributes rows over the tasks that write them, so that a partition's rows end up in few files and files are sorted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql import types as st

from floeberg.arrow.columns.transforms import transform_array
from floeberg.arrow.columns.types import arrow_type, iceberg_type
from floeberg.arrow.columns.z_order import z_order_bytes
from floeberg.spark.host.types.exact_types import MICROSECOND
from floeberg.spark.host.types.spark_types import NS_TYPES, spark_type
from floeberg.spark.write.options import DistributionMode
from floeberg.spec.partitions.sort_orders import NullOrder, SortDirection, SortField, SortOrder
from floeberg.spec.partitions.specs import PartitionField, PartitionSpec
from floeberg.spec.partitions.transforms import IDENTITY, IdentityTransform, Transform, VoidTransform
from floeberg.spec.schemas.rules import ENGINE_PREFIX
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.types import IcebergType
from floeberg.sql.text.lexer import quote_name

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

PREFIX: Final = f"{ENGINE_PREFIX}key_"
_Z_VALUE: Final = f"{ENGINE_PREFIX}z_value"


@dataclass(frozen=True, slots=True, kw_only=True)
class ZOrder:
    """Columns whose values make a row's place on a z-order curve, and how much of a text takes part in it."""

    field_ids: tuple[int, ...]
    variable_length_bytes: int


def distributed(
    frame: DataFrame,
    *,
    schema: Schema,
    spec: PartitionSpec,
    order: SortOrder,
    mode: DistributionMode,
    fanout: bool,
    tasks: int | None = None,
    z_order: ZOrder | None = None,
) -> DataFrame:
    """The rows of an aligned frame, distributed as the mode says (to a given number of tasks, if any), and sorted within each
    task by partition and by the table's order, or along a z-order curve."""
    present = {field.name for field in frame.schema.fields}
    partition = [_term(frame, schema, f, present) for f in spec.fields if not isinstance(f.transform, VoidTransform)]
    keys = [key for key in partition if key is not None]
    sorts = [term for f in order.fields if (term := _sort_term(frame, schema, f, present)) is not None]
    columns = frame.columns
    staged = frame
    if z_order is not None:
        staged = staged.withColumn(_Z_VALUE, _z_value(frame, schema, z_order, present))
        sorts = [F.col(_Z_VALUE)]
    names = []
    for number, key in enumerate(keys):
        staged = staged.withColumn(f"{PREFIX}{number}", key)
        names.append(f"{PREFIX}{number}")
    by_partition = [F.col(name) for name in names]
    if mode is DistributionMode.HASH and names:
        staged = staged.repartition(*by_partition)
    elif mode is DistributionMode.RANGE and (names or sorts):
        count = () if tasks is None else (tasks,)
        staged = staged.repartitionByRange(*count, *by_partition, *sorts)
    if sorts or (names and not fanout):
        staged = staged.sortWithinPartitions(*by_partition, *sorts)
    added = names or z_order is not None
    return staged.select(*[staged[quote_name(name)] for name in columns]) if added else staged


def _z_value(frame: DataFrame, schema: Schema, z_order: ZOrder, present: set[str]) -> Column:
    sources = [_source(frame, schema, field_id, present) for field_id in z_order.field_ids]
    columns = [_key(frame, column, IDENTITY, kind) for column, kind in sources if column is not None]
    plain = [
        column.getField(MICROSECOND)
        if isinstance(frame.select(column).schema.fields[0].dataType, st.StructType)
        else column
        for column in columns
    ]
    most = z_order.variable_length_bytes

    def value(*arrays: pa.Array) -> pa.Array:
        return z_order_bytes(arrays, variable_length_bytes=most)

    value.__annotations__ = {"arrays": pa.Array, "return": pa.Array}
    return F.arrow_udf(value, st.BinaryType())(*plain)


def _term(frame: DataFrame, schema: Schema, field: PartitionField, present: set[str]) -> Column | None:
    column, kind = _source(frame, schema, field.source_id, present)
    return None if column is None else _key(frame, column, field.transform, kind)


def _key(frame: DataFrame, column: Column, transform: Transform, kind: IcebergType) -> Column:
    """A timestamp in its exact form is ordered as it is; every other transform looks at its microsecond."""
    if isinstance(kind, NS_TYPES) and isinstance(frame.select(column).schema.fields[0].dataType, st.StructType):
        if isinstance(transform, IdentityTransform):
            return column
        column = column.getField(MICROSECOND)
    return transformed(column, transform, kind)


def _sort_term(frame: DataFrame, schema: Schema, field: SortField, present: set[str]) -> Column | None:
    column, kind = _source(frame, schema, field.source_id, present)
    if column is None:
        return None
    term = _key(frame, column, field.transform, kind)
    first = field.null_order is NullOrder.NULLS_FIRST
    if field.direction is SortDirection.ASC:
        return term.asc_nulls_first() if first else term.asc_nulls_last()
    return term.desc_nulls_first() if first else term.desc_nulls_last()


def _source(frame: DataFrame, schema: Schema, source_id: int, present: set[str]) -> tuple[Column | None, IcebergType]:
    field = schema.field(source_id)
    path = [schema.by_id[step].name for step in schema.path_to(source_id)]
    if path[0] not in present:
        return None, field.type  # every row has the default value, so the column does not distinguish them
    column = frame[quote_name(path[0])]
    for part in path[1:]:
        column = column.getField(part)
    return column, field.type


def transformed(column: Column, transform: Transform, source_type: IcebergType) -> Column:
    """A transform as a column. Spark's own hash has another seed and its dates another range, so every transform but
    identity is ours, vectorised over Arrow."""
    if isinstance(transform, IdentityTransform):
        return column
    result = transform.result_type(source_type)

    def apply(array: pa.Array) -> pa.Array:
        typed = _as_source(array, source_type)
        return _plain(transform_array(transform, source_type, typed), result)

    apply.__annotations__ = {"array": pa.Array, "return": pa.Array}
    return F.arrow_udf(apply, spark_type(result))(column)


def _as_source(array: Any, source_type: IcebergType) -> Any:
    """What Spark hands over, in the Arrow type that the source's Iceberg type has."""
    wanted = arrow_type(source_type)
    if array.type == wanted or iceberg_type(array.type) == source_type:
        return array
    return array.cast(wanted)


def _plain(array: Any, result: IcebergType) -> Any:
    wanted = arrow_type(result)
    return array if array.type == wanted else array.cast(wanted)
