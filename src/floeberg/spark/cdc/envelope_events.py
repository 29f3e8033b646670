"""Events in Debezium's envelope: as JSON text, which workers decode, or as a struct, which Spark takes apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql import types as st

from floeberg.arrow.columns.types import arrow_schema
from floeberg.change_events.debezium import (
    MYSQL_ORDER,
    ORDER_DIGITS,
    EnvelopeRules,
    Image,
    columns_of,
    images,
    is_counting_order,
    is_text_order,
)
from floeberg.change_events.events import EVENT, KIND, PREFIX, REASON, TEXT, EventKind, order_columns
from floeberg.errors import ColumnNotFound, InvalidInput, UnsupportedFeature
from floeberg.spark.cdc.column_events import EventFrame, order_of, ordered_column, reason_of
from floeberg.spark.cdc.options import CdcOptions
from floeberg.spark.host.types.spark_types import has_nanoseconds, spark_type
from floeberg.spark.workers.arrow_values import spark_arrow_schema, to_spark
from floeberg.spark.workers.check import check_workers
from floeberg.spark.workers.in_workers import map_in_workers
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.types import DateType
from floeberg.sql.text.lexer import quote_name

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

VALUE: Final = "value"
_VALUE: Final = f"{PREFIX}value"
_IMAGE: Final = f"{PREFIX}image"


def envelope_events(
    frame: DataFrame, options: CdcOptions, schema: Schema, keys: Sequence[str], *, table: str
) -> EventFrame:
    """The events of a DataFrame of envelopes: in the column `value`, or with the envelope's fields as its columns.
    Raises ColumnNotFound, InvalidInput, UnsupportedFeature."""
    names = {name.lower(): name for name in frame.columns}
    given = options.value or VALUE
    kind = frame.schema[names[given.lower()]].dataType if given.lower() in names else None
    if isinstance(kind, st.StringType | st.BinaryType):
        return _text_events(frame, names[given.lower()], options, schema, keys, table=table)
    if isinstance(kind, st.StructType):
        fields = [F.col(f"{quote_name(names[given.lower()])}.{quote_name(field.name)}") for field in kind.fields]
        others = [F.col(quote_name(name)) for name in frame.columns if name.lower() != given.lower()]
        there = frame.where(F.col(quote_name(names[given.lower()])).isNotNull())  # tombstones
        return _struct_events(there.select(*fields, *others), options, schema, keys, table=table)
    if options.value is None and {"op", "after"} <= names.keys():
        return _struct_events(frame, options, schema, keys, table=table)
    raise ColumnNotFound(
        f"events for table {table} have no column {given!r} of text, bytes or struct with Debezium's envelope (value='…'); "
        f"they have {', '.join(frame.columns)}",
        column=given,
    )


def _text_events(
    frame: DataFrame, value: str, options: CdcOptions, schema: Schema, keys: Sequence[str], *, table: str
) -> EventFrame:
    if options.merge_schema:
        raise UnsupportedFeature(
            f"table {table}: merge_schema does not look into JSON text; give events as a struct (from_json), or add the column"
        )
    for field in schema.fields:
        if has_nanoseconds(field.type):
            raise UnsupportedFeature(
                f"table {table}: column {field.name!r} ({field.type}) is not decoded from JSON text"
            )
    names = {name.lower(): name for name in frame.columns}
    order_by, one_partition = order_of(options, frame.columns, set())
    order_by = order_by or MYSQL_ORDER
    columns = [F.col(quote_name(value)).cast("string").alias(_VALUE), F.monotonically_increasing_id().alias(EVENT)]
    paths: list[str] = []
    numbered = order_columns(len(order_by))
    types: list[st.DataType] = []
    for name, number in zip(order_by, numbered, strict=True):
        if name.lower() in names:
            column = ordered_column(frame, name, names, table=table)
            columns.append(column.alias(number))
            types.append(frame.select(column).schema.fields[0].dataType)
        else:
            paths.append(name)
            types.append(st.StringType() if is_text_order(name) else st.LongType())
    rules = EnvelopeRules(schema=schema, keys=tuple(keys), orders=tuple(paths), skip=options.skip)
    outer = tuple(number for name, number in zip(order_by, numbered, strict=True) if name.lower() in names)
    inner = tuple(number for name, number in zip(order_by, numbered, strict=True) if name.lower() not in names)
    fields = [st.StructField(field.name, spark_type(field.type)) for field in schema.fields]
    control = [(KIND, st.ByteType()), (EVENT, st.LongType()), (REASON, st.StringType()), (TEXT, st.StringType())]
    fields += [st.StructField(name, kind) for name, kind in (*control, *zip(numbered, types, strict=True))]
    check_workers(frame.sparkSession)
    work = _DecodeTask(rules=rules, outer=outer, inner=inner)
    sent = frame.where(F.col(quote_name(value)).isNotNull()).select(*columns)
    decoded = map_in_workers(sent, work, st.StructType(fields))
    return EventFrame(decoded, len(order_by), one_partition, has_text=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class _DecodeTask:
    """Decodes envelopes. Travels with the job."""

    rules: EnvelopeRules
    outer: tuple[str, ...]
    """The columns of the order that come with the events."""
    inner: tuple[str, ...]
    """Those that come out of the envelopes."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = Schema(*(replace(field, required=False) for field in self.rules.schema.fields))
        for batch in batches:
            found: list[Image] = []
            taken: list[int] = []
            texts = batch.column(_VALUE).to_pylist()
            for number, text in enumerate(texts):
                for image in images(text, self.rules):
                    found.append(image)
                    taken.append(number)
            if found:
                yield self._answer(batch.take(pa.array(taken)), found, rows)

    def _answer(self, events: pa.RecordBatch, found: list[Image], rows: Schema) -> pa.RecordBatch:
        columns = columns_of(found, rows)
        schema = arrow_schema(rows)
        arrays = [pa.array(columns[field.name], field.type) for field in schema]
        spark = to_spark(pa.RecordBatch.from_arrays(arrays, schema=schema), rows, spark_arrow_schema(rows))
        texts = events.column(_VALUE).to_pylist()
        control: dict[str, Any] = {
            KIND: pa.array([None if one.kind is None else int(one.kind) for one in found], pa.int8()),
            EVENT: events.column(EVENT),
            REASON: pa.array([one.reason for one in found], pa.string()),
            TEXT: pa.array([text if one.reason else None for one, text in zip(found, texts, strict=True)], pa.string()),
        }
        orders = {name: events.column(name) for name in self.outer}
        for number, name in enumerate(self.inner):
            kind = pa.string() if is_text_order(self.rules.orders[number]) else pa.int64()
            orders[name] = pa.array([one.orders[number] for one in found], kind)
        control |= {name: orders[name] for name in sorted(orders, key=_number)}
        return pa.RecordBatch.from_arrays(
            [*spark.columns, *control.values()], names=[*spark.schema.names, *control.keys()]
        )


def _number(name: str) -> int:
    return int(name.rpartition("_")[2])


def _struct_events(
    frame: DataFrame, options: CdcOptions, schema: Schema, keys: Sequence[str], *, table: str
) -> EventFrame:
    names = {name.lower(): name for name in frame.columns}
    for needed in ("op", "before", "after"):
        if needed not in names:
            raise ColumnNotFound(
                f"events for table {table} have no field {needed!r} of Debezium's envelope", column=needed
            )
    after_type = frame.schema[names["after"]].dataType
    if not isinstance(after_type, st.StructType):
        raise InvalidInput(f"events for table {table}: {names['after']} is {after_type.simpleString()}, not a struct")
    order_by, one_partition = order_of(options, frame.columns, set())
    if not order_by and _has_mysql_order(frame, names):
        order_by = MYSQL_ORDER
    orders = [
        column if name.lower() in names else _counted(column, name)
        for name in order_by
        for column in (ordered_column(frame, name, names, table=table),)
    ]
    said = F.upper(F.trim(F.col(quote_name(names["op"]))))
    before = _as_after(frame, names["before"], after_type, table=table)
    after = F.col(quote_name(names["after"]))
    source = frame.where(said.isNotNull() | before.isNotNull() | after.isNotNull())
    if options.skip:
        source = source.where(said.isNull() | ~said.isin([code.upper() for code in options.skip]))
    known_before = before.isNotNull()
    inside = {field.name.lower(): field.name for field in after_type.fields}
    for key in keys:
        if key.lower() not in inside:
            raise ColumnNotFound(f"events for table {table} have no key column {key!r}", column=key)
        known_before = known_before & before.getField(inside[key.lower()]).isNotNull()
    updated = F.array(_image(EventKind.UPDATE_BEFORE, before), _image(EventKind.UPDATE_AFTER, after))
    found = (
        F.when(said == "D", F.array(_image(EventKind.DELETE, before)))
        .when((said == "U") & known_before, updated)
        .when(said == "U", F.array(_image(EventKind.UPDATE_AFTER, after)))
        .when(said.isin("C", "R"), F.array(_image(EventKind.INSERT, after)))
        .otherwise(F.array(_image(None, after)))
    )
    numbered = order_columns(len(orders))
    staged = source.select(
        F.monotonically_increasing_id().alias(EVENT),
        reason_of(said, F.col(quote_name(names["op"]))).alias(REASON),
        *(column.alias(name) for column, name in zip(orders, numbered, strict=True)),
        F.explode(found).alias(_IMAGE),
    )
    rows = [_value(field, schema).alias(field.name) for field in after_type.fields]
    kind = F.col(f"{_IMAGE}.kind").alias(KIND)
    return EventFrame(staged.select(*rows, kind, EVENT, REASON, *numbered), len(orders), one_partition)


def _as_after(frame: DataFrame, name: str, after: st.StructType, *, table: str) -> Column:
    """The row before as one with the fields of the row after, by their names: Spark's cast goes by position. Fields that it
    lacks are null. Raises InvalidInput when it is no struct."""
    kind = frame.schema[name].dataType
    row = F.col(quote_name(name))
    if kind == after or isinstance(kind, st.NullType):
        return row.cast(after)
    if not isinstance(kind, st.StructType):
        raise InvalidInput(
            f"events for table {table}: {name} is {kind.simpleString()}, not a struct; parse it with the schema of `after`"
        )
    own = {field.name.lower(): field.name for field in kind.fields}
    fields = [
        (row.getField(own[field.name.lower()]) if field.name.lower() in own else F.lit(None))
        .cast(field.dataType)
        .alias(field.name)
        for field in after.fields
    ]
    return F.when(row.isNotNull(), F.struct(*fields))


def _image(kind: EventKind | None, row: Column) -> Column:
    said = F.lit(None if kind is None else int(kind)).cast("tinyint")
    return F.struct(said.alias("kind"), row.alias("row"))


def _value(field: st.StructField, schema: Schema) -> Column:
    """A column of the row; whole numbers for a date are days, as Debezium counts them."""
    column = F.col(f"{_IMAGE}.row.{quote_name(field.name)}")
    target = schema.find(field.name, case_sensitive=False)
    if target is not None and isinstance(target.type, DateType) and isinstance(field.dataType, st.IntegerType):
        return F.date_from_unix_date(column)
    return column


def _counted(column: Column, path: str) -> Column:
    """An order of the envelope's, with the numbers in its text as long as `debezium.ORDER_DIGITS` says."""
    if not is_counting_order(path):
        return column
    text = column.cast("string")
    zeros = "0" * (ORDER_DIGITS - 1)
    padded = F.regexp_replace(
        F.regexp_replace(text, "([0-9]+)", f"{zeros}$1"), f"[0-9]*([0-9]{{{ORDER_DIGITS}}})", "$1"
    )
    return F.when(~text.contains("null"), padded) if path.endswith("sequence") else padded


def _has_mysql_order(frame: DataFrame, names: dict[str, str]) -> bool:
    source = frame.schema[names["source"]].dataType if "source" in names else None
    wanted = {path.partition(".")[2] for path in MYSQL_ORDER}
    return isinstance(source, st.StructType) and wanted <= set(source.fieldNames())
