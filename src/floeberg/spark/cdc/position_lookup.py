"""Events applied by position: keys are looked up in the table first, so that no equality deletes are left behind and rows
that are updated keep their ids. Concurrent changes of the keys are conflicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F

from floeberg.catalogs.base import LoadedTable
from floeberg.change_events.events import KIND, PREFIX, EventKind, order_columns
from floeberg.change_events.unavailable import numbers_of_lists, texts_of_lists
from floeberg.commit.commit import Committed
from floeberg.commit.operation import Operation
from floeberg.errors import InvalidInput
from floeberg.spark.cdc.last_states import LastStates
from floeberg.spark.dml import change_job
from floeberg.spark.dml.carry_out import FoundChange, carry_out
from floeberg.spark.dml.change_job import FILE, POSITION, SOURCE_ROW, RowKind, find_changes
from floeberg.spark.dml.merge.key_pairs import KEY_TYPES, KeyPair
from floeberg.spark.dml.merge.source_keys import source_keys
from floeberg.spark.dml.target import ChangedTable
from floeberg.spark.host.calls.evaluated_once import evaluated_once
from floeberg.spark.host.types.spark_types import spark_type
from floeberg.spec.schemas.metadata_columns import FILE_PATH, ROW_ID, ROW_POSITION
from floeberg.spec.schemas.rules import ENGINE_PREFIX
from floeberg.spec.types import (
    BinaryType,
    DoubleType,
    FloatType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    NestedField,
    StringType,
    UuidType,
)
from floeberg.sql.text.lexer import quote_name

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_MERGE_ON_READ: Final = {"write.merge.mode": "merge-on-read", "write.merge.isolation-level": "serializable"}
_OLDER: Final = f"{PREFIX}older"
_ROW_ID: Final = f"{PREFIX}row_id"
_KEY: Final = f"{PREFIX}key_"
_STORED: Final = f"{PREFIX}stored_"
_HELD: Final = f"{PREFIX}held_"
_TEXTS: Final = (StringType, UuidType)
_NUMBERS: Final = (IntegerType, LongType, FloatType, DoubleType)


@dataclass(frozen=True, slots=True, kw_only=True)
class AppliedStates:
    """What came of it; `older` keys have rows in the table that are newer than their events."""

    committed: Committed | None
    rows_written: int = 0
    rows_deleted: int = 0
    older: int = 0


def by_position(target: ChangedTable, evolves: Sequence[Operation]) -> ChangedTable:
    """The target of a change that deletes by position and validates serializably, whatever the table's properties say."""
    state = target.table.state
    metadata = replace(state.metadata, properties={**state.metadata.properties, **_MERGE_ON_READ})
    table = LoadedTable(target.table.pointer, replace(state, metadata=metadata))
    return replace(target, table=table, operations_before=(*target.operations_before, *evolves))


def apply_states(
    target: ChangedTable,
    states: LastStates,
    keys: Sequence[NestedField],
    *,
    order_by: Sequence[NestedField],
    placeholder: str | None = None,
) -> AppliedStates:
    """Looks the keys up, and commits the last states in their place. `order_by` are the columns of the table that hold the
    order of events, where it has them: an event that is older than what is stored changes nothing. The placeholder of values
    that were not sent is replaced by what the table holds. Raises InvalidInput when it holds nothing."""
    source = evaluated_once(states.frame.withColumn(SOURCE_ROW, F.monotonically_increasing_id()))
    pairs = [KeyPair(field, field.name) for field in keys if isinstance(field.type, KEY_TYPES)]
    found_keys = source_keys(source, pairs, target.schema)
    if not found_keys.rows:
        return AppliedStates(committed=carry_out(target, FoundChange()))
    tasks = target.plan(found_keys.condition)
    held: list[NestedField] = []
    if states.counts.unavailable:
        held = [one for one in target.schema.fields if _may_be_left_out(one.type) and one.name in source.columns]
    matches = evaluated_once(_matches(target, target.rows(tasks), source, keys, order_by, held))
    older = evaluated_once(matches.where(_OLDER).select(SOURCE_ROW).distinct())
    skipped = older.count()
    if skipped:
        matches = matches.join(older, SOURCE_ROW, "left_anti")
        source = source.join(older, SOURCE_ROW, "left_anti")
    touched = find_changes(target, matches.select(change_job.KIND, FILE, POSITION, SOURCE_ROW))
    rows = source.where(F.col(KIND) >= int(EventKind.INSERT))
    written = rows.count()
    new = None
    if written:
        new = _new_rows(target, rows, matches if touched.matched else None, held, placeholder)
    change = FoundChange(
        tasks=tasks,
        condition=found_keys.condition,
        positions=touched.positions,
        deleted=touched.deleted,
        new_rows=new,
        expected_rows=written,
    )
    committed = carry_out(target, change)
    return AppliedStates(committed=committed, rows_written=written, rows_deleted=touched.deleted, older=skipped)


def _matches(
    target: ChangedTable,
    rows: DataFrame,
    source: DataFrame,
    keys: Sequence[NestedField],
    order_by: Sequence[NestedField],
    held: Sequence[NestedField],
) -> DataFrame:
    """Where the rows of the keys are, and whether they are newer than the events."""
    row_id = F.col(ROW_ID.name) if target.has_lineage else F.lit(None).cast("bigint")
    own = rows.select(
        *(F.col(quote_name(field.name)).alias(f"{_KEY}{number}") for number, field in enumerate(keys)),
        *(F.col(quote_name(field.name)).alias(f"{_STORED}{number}") for number, field in enumerate(order_by)),
        *(F.col(quote_name(field.name)).alias(f"{_HELD}{number}") for number, field in enumerate(held)),
        F.col(FILE_PATH.name).alias(FILE),
        F.col(ROW_POSITION.name).alias(POSITION),
        row_id.alias(_ROW_ID),
    )
    same = F.lit(True)
    for number, field in enumerate(keys):
        same = same & (own[f"{_KEY}{number}"] == source[quote_name(field.name)])
    joined = own.join(source, same)
    kind = F.lit(int(RowKind.DELETE)).alias(change_job.KIND)
    values = [f"{_HELD}{number}" for number in range(len(held))]
    return joined.select(kind, FILE, POSITION, SOURCE_ROW, _ROW_ID, *values, _is_older(len(order_by)).alias(_OLDER))


def _is_older(orders: int) -> Column:
    """Whether the event's order is below the stored one, column by column; never where nothing is stored."""
    older, same = F.lit(False), F.lit(True)
    for number, name in enumerate(order_columns(orders)):
        event, stored = F.col(name), F.col(f"{_STORED}{number}")
        older = older | (same & (event < stored))
        same = same & (event == stored)
    return F.coalesce(older, F.lit(False))


def _new_rows(
    target: ChangedTable,
    rows: DataFrame,
    matches: DataFrame | None,
    held: Sequence[NestedField],
    placeholder: str | None,
) -> DataFrame:
    """The rows to write, with the ids of those that they replace and the values that only those have."""
    names = [name for name in rows.columns if not name.startswith(ENGINE_PREFIX)]
    columns = {name: F.col(quote_name(name)) for name in names}
    if held and placeholder is not None:
        _check_told(target, rows, matches, held, placeholder)
    if matches is None:
        nothing = [F.lit(None).cast("bigint").alias(ROW_ID.name)] if target.has_lineage else []
        return rows.select(*columns.values(), *nothing)
    values = [F.first(f"{_HELD}{number}").alias(f"{_HELD}{number}") for number in range(len(held))]
    replaced = matches.groupBy(SOURCE_ROW).agg(F.min(_ROW_ID).alias(ROW_ID.name), *values)
    if not target.has_lineage and not held:
        return rows.select(*columns.values())
    for number, field in enumerate(held):
        own = columns[field.name]
        kept = F.when(_is_placeholder(own, field.type, placeholder), F.col(f"{_HELD}{number}")).otherwise(own)
        columns[field.name] = kept.alias(field.name)
    ids = [F.col(ROW_ID.name)] if target.has_lineage else []
    return rows.join(replaced, SOURCE_ROW, "left").select(*columns.values(), *ids)


def _may_be_left_out(kind: IcebergType) -> bool:
    if isinstance(kind, ListType):
        return isinstance(kind.element_type, (*_TEXTS, *_NUMBERS, BinaryType))
    return isinstance(kind, (StringType, BinaryType))


def _is_placeholder(column: Column, kind: IcebergType, placeholder: str | None) -> Column:
    if not isinstance(kind, ListType) or placeholder is None:
        return F.coalesce(column.cast("string") == F.lit(placeholder), F.lit(False))
    if isinstance(kind.element_type, _NUMBERS):
        sent = [F.array(*(F.lit(one) for one in numbers_of_lists(placeholder)))]
    else:
        sent = [F.array(F.lit(one)) for one in texts_of_lists(placeholder)]
    wanted = spark_type(kind)
    found = F.lit(False)
    for one in sent:
        found = found | F.coalesce(column == one.cast(wanted), F.lit(False))
    return found


def _check_told(
    target: ChangedTable, rows: DataFrame, matches: DataFrame | None, held: Sequence[NestedField], placeholder: str
) -> None:
    """Raises InvalidInput for a value that was not sent of a key that the table does not have."""
    missing = F.lit(False)
    for field in held:
        missing = missing | _is_placeholder(F.col(quote_name(field.name)), field.type, placeholder)
    left = rows.where(missing)
    if matches is not None:
        left = left.join(matches, SOURCE_ROW, "left_anti")
    found = left.drop(*(name for name in rows.columns if name.startswith(ENGINE_PREFIX))).limit(1).collect()
    if found:
        raise InvalidInput(
            f"table {target.name}: an event leaves out an unchanged value, and the table has no row of its key: "
            f"{found[0].asDict()!s:.300}. Nothing was committed",
            table=target.name,
        )
