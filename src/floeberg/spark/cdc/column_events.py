"""Events in plain columns: the table's columns beside a code and an order."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F
from pyspark.sql import types as st

from floeberg.change_events.events import CODES, EVENT, KIND, REASON, TEXT, order_columns
from floeberg.errors import ColumnNotFound, InvalidInput
from floeberg.spark.cdc.options import CdcOptions
from floeberg.spark.host.types.spark_types import spark_type
from floeberg.spec.schemas.schema import Schema
from floeberg.sql.text.lexer import quote_name

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

KAFKA: Final = ("topic", "partition", "offset")
_KAFKA_COLUMNS: Final = (*KAFKA, "key", "value", "timestamp", "timestampType", "headers")
_UNORDERED: Final = (st.StructType, st.ArrayType, st.MapType, st.VariantType)


@dataclass(frozen=True, slots=True)
class EventFrame:
    """Events as a DataFrame: columns for the table, and those that say what each event is."""

    frame: DataFrame
    orders: int
    one_partition: bool
    """Whether the order is Kafka's, whose partitions do not order each other's events."""
    has_text: bool = False
    """Whether events that could not be decoded come as text."""

    @property
    def carried(self) -> tuple[str, ...]:
        """The columns that are not the table's."""
        return (KIND, EVENT, REASON, *((TEXT,) if self.has_text else ()), *order_columns(self.orders))


def column_events(frame: DataFrame, options: CdcOptions, schema: Schema, *, table: str) -> EventFrame:
    """The events of a DataFrame. The code and the order are no columns of the table unless it has columns of those names.
    Raises ColumnNotFound, InvalidInput."""
    own = {field.name.lower() for field in schema.fields}
    names = {name.lower(): name for name in frame.columns}
    code = _column(frame, options.op or "", names, table=table)
    order_by, one_partition = order_of(options, frame.columns, own)
    orders = [ordered_column(frame, name, names, table=table) for name in order_by]
    control = {
        name.lower() for name in (options.op or "", *order_by, *(_KAFKA_COLUMNS if is_kafka(names, own) else ()))
    }
    rows = [F.col(quote_name(name)) for name in frame.columns if name.lower() in own or name.lower() not in control]
    said = F.upper(F.trim(code.cast("string")))
    columns = [
        *rows,
        kind_of(said).alias(KIND),
        F.monotonically_increasing_id().alias(EVENT),
        reason_of(said, code).alias(REASON),
        *(column.alias(name) for column, name in zip(orders, order_columns(len(orders)), strict=True)),
    ]
    source = frame
    if options.skip:
        source = frame.where(said.isNull() | ~said.isin([code.upper() for code in options.skip]))
    return EventFrame(source.select(*columns), len(orders), one_partition)


def with_misfits(events: EventFrame, schema: Schema, *, keys: Collection[str], only_keys: bool) -> EventFrame:
    """The events with a reason where a value does not fit its column's type, and the whole event as text; the value itself is
    null then. A key must also come through its cast as it was: 1.9 is not the key 1. Without dead letters that is asked of
    the keys alone, and for other values Spark's own cast fails."""
    frame = events.frame
    misfit = F.lit(None).cast("string")
    columns, has_casts = [], False
    for field in frame.schema.fields:
        column = F.col(quote_name(field.name))
        target = None if field.name in events.carried else schema.find(field.name, case_sensitive=False)
        wanted = None if target is None else spark_type(target.type)
        is_key = target is not None and target.name in keys
        if (
            (is_key or not only_keys)
            and target is not None
            and wanted != field.dataType
            and isinstance(wanted, st.AtomicType)
        ):
            fits = _fits(column, field.dataType, wanted, exactly=is_key)
            misfit = F.coalesce(misfit, F.when(~fits, F.lit(f"column {target.name!r} does not fit type {target.type}")))
            column = F.when(fits, column)
            has_casts = True
        if field.name not in (REASON, TEXT):
            columns.append(column.alias(field.name))
    if only_keys and not has_casts:
        return events
    own = [quote_name(field.name) for field in frame.schema.fields if field.name not in events.carried]
    text = F.when(misfit.isNotNull(), F.to_json(F.struct(*own)))
    text = F.coalesce(F.col(TEXT), text) if events.has_text else text
    reason = F.coalesce(F.col(REASON), misfit)
    found = frame.select(*columns, reason.alias(REASON), text.alias(TEXT))
    return replace(events, frame=found, has_text=True)


def _fits(column: Column, given: st.DataType, wanted: st.AtomicType, *, exactly: bool) -> Column:
    cast = column.try_cast(wanted)
    if not exactly:
        return column.isNull() | cast.isNotNull()
    return cast.try_cast(given).eqNullSafe(column)


def is_kafka(names: Sequence[str] | dict[str, str], own: set[str]) -> bool:
    """Whether the columns are those of Spark's Kafka source, and not the table's."""
    return all(name in names and name not in own for name in KAFKA)


def order_of(options: CdcOptions, names: Sequence[str], own: set[str]) -> tuple[tuple[str, ...], bool]:
    """The columns that order events, and whether they are Kafka's: by default its partition and offset."""
    if options.order_by is not None:
        return options.order_by, False
    if is_kafka([name.lower() for name in names], own):
        return ("partition", "offset"), True
    return (), False


def kind_of(said: Column) -> Column:
    """The kind of an event by its code in upper case; null for one that is not known."""
    kinds = F.lit(None).cast("tinyint")
    for code, kind in CODES.items():
        kinds = F.when(said == code, F.lit(int(kind)).cast("tinyint")).otherwise(kinds)
    return kinds


def reason_of(said: Column, code: Column) -> Column:
    """Why an event cannot be applied, as far as its code tells; null otherwise."""
    return F.when(
        said.isin("T", "M"),
        F.concat(F.lit("code '"), code, F.lit("' (truncate or message) is applied by nobody; skip it")),
    ).when(said.isNotNull() & ~said.isin(list(CODES)), F.concat(F.lit("the code '"), code, F.lit("' is not known")))


def _column(frame: DataFrame, name: str, names: dict[str, str], *, table: str) -> Column:
    """A column by its name, or a field of a struct by its path."""
    if name.lower() in names:
        return F.col(quote_name(names[name.lower()]))
    if name.partition(".")[0].lower() in names and "." in name:
        return F.col(name)
    raise ColumnNotFound(
        f"events for table {table} have no column {name!r}; they have {', '.join(frame.columns)}", column=name
    )


def ordered_column(frame: DataFrame, name: str, names: dict[str, str], *, table: str) -> Column:
    """A column that events are ordered by. Raises ColumnNotFound, and InvalidInput for one that has no order."""
    column = _column(frame, name, names, table=table)
    kind = frame.select(column).schema.fields[0].dataType
    if isinstance(kind, _UNORDERED):
        raise InvalidInput(
            f"events for table {table} cannot be ordered by {name!r}, which is {kind.simpleString()}; name its fields"
        )
    return column
