"""Aligns a DataFrame with a table: by name or by position, with the casts of store assignment, before anything is written."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F
from pyspark.sql import types as st

from floeberg.errors import ColumnAlreadyExists, ColumnNotFound, InvalidInput
from floeberg.spark.host.types.spark_types import has_nanoseconds, spark_type
from floeberg.spark.write.exact_values import refuse_cut
from floeberg.spark.write.store_assignment import assignment_problem, store_rules
from floeberg.spark.write.store_cast import is_stored_as_it_is, stored_text
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.types import UNSET, NestedField

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_TOO_MANY: Final = "TOO_MANY_DATA_COLUMNS"
_NOT_ENOUGH: Final = "NOT_ENOUGH_DATA_COLUMNS"
"""Spark's words for data of another width than the table's."""


@dataclass(frozen=True, slots=True)
class Alignment:
    """How the columns of a DataFrame become those of a table."""

    table: str
    schema: Schema
    by_name: bool = True
    case_sensitive: bool = False
    given: Sequence[str] | None = None
    """The target columns that an INSERT lists, in the order of its query's columns."""
    fills: bool = False
    """Whether structs may lack fields, which become null; the table's columns may be missing anyway."""
    carried: Sequence[str] = ()
    """Columns that are not the table's and come along as they are, after its own."""
    new_ids: Container[int] = ()
    """The columns that the write makes, with the types that Spark has for their values."""

    def key(self, name: str) -> str:
        return name if self.case_sensitive else name.lower()

    @property
    def names(self) -> dict[str, str]:
        """The table's columns by the keys of their names."""
        return {self.key(field.name): field.name for field in self.schema.fields}


def aligned(frame: DataFrame, alignment: Alignment) -> DataFrame:
    """The DataFrame with the table's columns, in its order and types; those it lacks are left to the writer.

    Raises InvalidInput: unknown, doubled or missing columns and fields, and types that would lose or change values."""
    sources = _by_name(frame, alignment) if alignment.by_name else _by_position(frame, alignment)
    rules = store_rules(frame.sparkSession, by_name=alignment.by_name, fills=alignment.fills)
    # A query may give one name to several columns (`SELECT id, CAST(id AS STRING)`), or one with a dot in it.
    numbered = frame.toDF(*(f"c{position}" for position in range(len(frame.columns))))
    _refuse_cut(numbered, sources, alignment)
    columns = []
    for field in alignment.schema.fields:
        source = sources.get(field.name)
        if source is None:
            _check_may_be_missing(field, alignment)
            continue
        position, given = source
        target = spark_type(field.type)
        problem = assignment_problem(given.dataType, target, rules, path=field.name)
        if problem is not None:
            raise InvalidInput(
                f"table {alignment.table}: {problem}",
                table=alignment.table,
                column=field.name,
                condition="INCOMPATIBLE_DATA_FOR_TABLE.CANNOT_SAFELY_CAST",
            )
        if is_stored_as_it_is(given.dataType, target, rules):
            column = F.col(f"c{position}")
        else:
            column = F.expr(stored_text(f"c{position}", given.dataType, target, rules))
        columns.append(column.alias(field.name))
    for name in alignment.carried:
        columns.append(F.col(f"c{frame.columns.index(name)}").alias(name))
    return numbered.select(*columns)


def _refuse_cut(frame: DataFrame, sources: Mapping[str, tuple[int, st.StructField]], alignment: Alignment) -> None:
    """Raises InvalidInput where a column takes values that Spark has cut: one of nanoseconds, or one that is made for them."""
    fields = [field for field in alignment.schema.fields if field.name in sources]
    taking = [field for field in fields if has_nanoseconds(field.type) or field.field_id in alignment.new_ids]
    if taking:
        refuse_cut(frame, [sources[field.name][0] for field in taking], table=alignment.table)


def _by_name(frame: DataFrame, alignment: Alignment) -> dict[str, tuple[int, st.StructField]]:
    found: dict[str, tuple[int, st.StructField]] = {}
    for position, field in enumerate(frame.schema.fields):
        if field.name in alignment.carried:
            continue
        name = alignment.names.get(alignment.key(field.name))
        if name is None:
            raise InvalidInput(
                f"table {alignment.table} has no column {field.name!r}; its columns are "
                f"{', '.join(f.name for f in alignment.schema.fields)}. Drop it, or write with mergeSchema",
                table=alignment.table,
                column=field.name,
                condition="INCOMPATIBLE_DATA_FOR_TABLE.EXTRA_COLUMNS",
            )
        if name in found:
            raise ColumnAlreadyExists(f"table {alignment.table}: column {name!r} is given twice", column=name)
        found[name] = (position, field)
    return found


def _by_position(frame: DataFrame, alignment: Alignment) -> dict[str, tuple[int, st.StructField]]:
    names = alignment.given if alignment.given is not None else [field.name for field in alignment.schema.fields]
    if len(frame.columns) != len(names):
        raise InvalidInput(
            f"table {alignment.table} takes {len(names)} columns ({', '.join(names)}), and the data has {len(frame.columns)} "
            f"({', '.join(frame.columns)})",
            table=alignment.table,
            condition=f"INSERT_COLUMN_ARITY_MISMATCH.{_TOO_MANY if len(frame.columns) > len(names) else _NOT_ENOUGH}",
        )
    fields = []
    for name in names:
        known = alignment.names.get(alignment.key(name))
        if known is None:
            raise ColumnNotFound(
                f"table {alignment.table} has no column {name!r}; its columns are "
                f"{', '.join(f.name for f in alignment.schema.fields)}",
                column=name,
            )
        fields.append(known)
    if len(set(fields)) != len(fields):
        raise ColumnAlreadyExists(f"table {alignment.table}: a column is listed twice: {', '.join(names)}")
    return {name: (position, frame.schema.fields[position]) for position, name in enumerate(fields)}


def _check_may_be_missing(field: NestedField, alignment: Alignment) -> None:
    """Writers fill in the write default, or null. Raises InvalidInput for a required column that has none."""
    if field.required and field.write_default in (UNSET, None):
        raise InvalidInput(
            f"table {alignment.table}: column {field.name!r} is required and has no default; the data must have it",
            table=alignment.table,
            column=field.name,
            condition="INCOMPATIBLE_DATA_FOR_TABLE.CANNOT_FIND_DATA",
        )
