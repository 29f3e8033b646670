"""Metadata columns and row lineage on the native scan, from facts about files.

https://iceberg.apache.org/spec/#reserved-field-ids, https://iceberg.apache.org/spec/#row-lineage
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import functions as F

from floeberg.arrow.columns.physical import array_of
from floeberg.arrow.scan.data_file import partition_value
from floeberg.scan.tasks import FileScanTask
from floeberg.spark.host.types.spark_types import frame_field
from floeberg.spark.read.parquet.columns import NativeColumn
from floeberg.spark.read.parquet.scan import ROW_INDEX
from floeberg.spark.workers.arrow_values import spark_arrow_schema, to_spark
from floeberg.spec.partitions.specs import PartitionSpec
from floeberg.spec.schemas.metadata_columns import (
    FILE_PATH,
    IS_DELETED,
    LAST_UPDATED_SEQUENCE_NUMBER,
    PARTITION_ID,
    ROW_ID,
    ROW_POSITION,
    SPEC_ID,
)
from floeberg.spec.schemas.rules import ENGINE_PREFIX
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.types import NestedField
from floeberg.sql.text.lexer import quote_name

COMPUTED: Final = frozenset(
    {FILE_PATH.field_id, ROW_POSITION.field_id, IS_DELETED.field_id, SPEC_ID.field_id, PARTITION_ID}
)
LINEAGE: Final = frozenset({ROW_ID.field_id, LAST_UPDATED_SEQUENCE_NUMBER.field_id})
_NEED_ROW_INDEX: Final = frozenset({ROW_POSITION.field_id, ROW_ID.field_id})
_WITHOUT_FACTS: Final = frozenset({ROW_POSITION.field_id, IS_DELETED.field_id})
_FIRST_ROW_ID: Final = f"{ENGINE_PREFIX}first_row_id"
_SEQUENCE_NUMBER: Final = f"{ENGINE_PREFIX}data_sequence_number"


def is_metadata(field: NestedField) -> bool:
    return field.field_id in COMPUTED or field.field_id in LINEAGE


def needs_row_index(fields: Sequence[NestedField]) -> bool:
    return any(field.field_id in _NEED_ROW_INDEX for field in fields)


def facts_of(
    fields: Sequence[NestedField], tasks: Sequence[FileScanTask], specs: Mapping[int, PartitionSpec]
) -> dict[str, pa.Array]:
    """The facts that these metadata columns need, a value for each task's file."""
    facts: dict[str, pa.Array] = {}
    ids = {field.field_id for field in fields}
    if FILE_PATH.field_id in ids:
        facts[_fact(FILE_PATH)] = pa.array([task.data_file.file_path for task in tasks], pa.string())
    if SPEC_ID.field_id in ids:
        facts[_fact(SPEC_ID)] = pa.array([task.data_file.spec_id for task in tasks], pa.int32())
    if ids & LINEAGE:
        facts[_FIRST_ROW_ID] = pa.array([task.first_row_id for task in tasks], pa.int64())
    if LAST_UPDATED_SEQUENCE_NUMBER.field_id in ids:
        facts[_SEQUENCE_NUMBER] = pa.array([task.data_sequence_number for task in tasks], pa.int64())
    for field in fields:
        if field.field_id == PARTITION_ID:
            values = [partition_value(field, task.data_file, specs.get(task.data_file.spec_id)) for task in tasks]
            batch = pa.RecordBatch.from_arrays([array_of(values, field.type)], names=[field.name])
            facts[_fact(field)] = to_spark(batch, Schema(field), spark_arrow_schema(Schema(field))).column(0)
    return facts


def metadata_value(field: NestedField, stored: NativeColumn | None) -> Any:
    """The value of a metadata column; `stored` is where a file may hold lineage itself."""
    return F.expr(_text(field, stored)).cast(frame_field(field).dataType)


def metadata_text(field: NestedField, stored: NativeColumn | None) -> str | None:
    """The same as SQL; None where it is nested, or has a comment."""
    if field.doc or field.type.is_nested:
        return None
    kind = frame_field(field).dataType.simpleString()
    return f"CAST({_text(field, stored)} AS {kind}) AS {quote_name(field.name)}"


def _text(field: NestedField, stored: NativeColumn | None) -> str:
    if field.field_id == ROW_POSITION.field_id:
        return ROW_INDEX
    if field.field_id == IS_DELETED.field_id:
        return "FALSE"
    if stored is None or stored.read is None:
        return _fact(field)
    inherited = f"{_FIRST_ROW_ID} + {ROW_INDEX}" if field.field_id == ROW_ID.field_id else _SEQUENCE_NUMBER
    # A file without a first row id is from before the table had lineage.
    return f"CASE WHEN {_FIRST_ROW_ID} IS NOT NULL THEN coalesce({quote_name(stored.read.name)}, {inherited}) END"


def _fact(field: NestedField) -> str:
    return f"{ENGINE_PREFIX}fact_{field.field_id}"
