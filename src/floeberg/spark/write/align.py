"""Lining a DataFrame up with a table: by name or by position, with casts that store assignment allows, before anything is
written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql import types as st

from floeberg.errors import InvalidInput
from floeberg.spark.host.types import spark_type
from floeberg.spark.write.store_guard import guarded_column, unguarded_problem
from floeberg.spec.schema import Schema
from floeberg.spec.types import UNSET, NestedField

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_NUMBERS = (st.ByteType, st.ShortType, st.IntegerType, st.LongType, st.FloatType, st.DoubleType, st.DecimalType)
_DATETIMES = (st.DateType, st.TimestampType, st.TimestampNTZType)


@dataclass(frozen=True, slots=True)
class Alignment:
    """How the columns of a DataFrame become those of a table."""

    table: str
    schema: Schema
    by_name: bool = True
    case_sensitive: bool = False
    given: Sequence[str] | None = None
    """The target columns that an INSERT lists, in the order of its query's columns."""


def aligned(frame: DataFrame, alignment: Alignment) -> DataFrame:
    """The DataFrame with the table's columns, in its order and types; those it lacks are left to the writer.

    Raises InvalidInput: unknown, doubled or
    missing columns, and types that would lose or change values."""
    sources = _by_name(frame, alignment) if alignment.by_name else _by_position(frame, alignment)
    ansi = str(frame.sparkSession.conf.get("spark.sql.ansi.enabled", "true")).lower() == "true"
    # A query may give one name to several columns (`SELECT id, CAST(id AS STRING)`), or one with a dot in it.
    numbered = frame.toDF(*(f"c{position}" for position in range(len(frame.columns))))
    columns = []
    for field in alignment.schema.fields:
        source = sources.get(field.name)
        if source is None:
            _check_may_be_missing(field, alignment)
            continue
        position, given = source
        target = spark_type(field.type)
        problem = assignment_problem(given.dataType, target, path=field.name)
        if problem is None and not ansi:
            problem = unguarded_problem(given.dataType, target, path=field.name)
        if problem is not None:
            raise InvalidInput(f"table {alignment.table}: {problem}", table=alignment.table, column=field.name)
        column = F.col(f"c{position}")
        if given.dataType != target:
            column = column.cast(target) if ansi else guarded_column(column, given.dataType, target)
        columns.append(column.alias(field.name))
    return numbered.select(*columns)


def _by_name(frame: DataFrame, alignment: Alignment) -> dict[str, tuple[int, st.StructField]]:
    def key(name: str) -> str:
        return name if alignment.case_sensitive else name.lower()

    known = {key(field.name): field.name for field in alignment.schema.fields}
    found: dict[str, tuple[int, st.StructField]] = {}
    for position, field in enumerate(frame.schema.fields):
        name = known.get(key(field.name))
        if name is None:
            raise InvalidInput(
                f"table {alignment.table} has no column {field.name!r}; its columns are "
                f"{', '.join(f.name for f in alignment.schema.fields)}. Drop it, or write with mergeSchema",
                table=alignment.table,
                column=field.name,
            )
        if name in found:
            raise InvalidInput(f"table {alignment.table}: column {name!r} is given twice", column=name)
        found[name] = (position, field)
    return found


def _by_position(frame: DataFrame, alignment: Alignment) -> dict[str, tuple[int, st.StructField]]:
    names = alignment.given if alignment.given is not None else [field.name for field in alignment.schema.fields]
    if len(frame.columns) != len(names):
        raise InvalidInput(
            f"table {alignment.table} takes {len(names)} columns ({', '.join(names)}), and the data has {len(frame.columns)} "
            f"({', '.join(frame.columns)})",
            table=alignment.table,
        )
    fields = []
    for name in names:
        field = alignment.schema.find(name, case_sensitive=alignment.case_sensitive)
        if field is None or field not in alignment.schema.fields:
            raise InvalidInput(f"table {alignment.table} has no column {name!r}", column=name)
        fields.append(field.name)
    if len(set(fields)) != len(fields):
        raise InvalidInput(f"table {alignment.table}: a column is listed twice: {', '.join(names)}")
    return {name: (position, frame.schema.fields[position]) for position, name in enumerate(fields)}


def _check_may_be_missing(field: NestedField, alignment: Alignment) -> None:
    """Writers fill in the write default, or null. Raises InvalidInput for a required column that has none."""
    if field.required and field.write_default in (UNSET, None):
        raise InvalidInput(
            f"table {alignment.table}: column {field.name!r} is required and has no default; the data must have it",
            table=alignment.table,
            column=field.name,
        )


def assignment_problem(source: st.DataType, target: st.DataType, *, path: str) -> str | None:
    """Why a value of one type may not be stored as another, by the rules of ANSI store assignment; None when it may."""
    if source == target or isinstance(source, st.NullType):
        return None
    if isinstance(source, st.StructType) and isinstance(target, st.StructType):
        return _struct_problem(source, target, path=path)
    if isinstance(source, st.ArrayType) and isinstance(target, st.ArrayType):
        return assignment_problem(source.elementType, target.elementType, path=f"{path}.element")
    if isinstance(source, st.MapType) and isinstance(target, st.MapType):
        return assignment_problem(source.keyType, target.keyType, path=f"{path}.key") or assignment_problem(
            source.valueType, target.valueType, path=f"{path}.value"
        )
    if _assignable(source, target):
        return None
    return f"column {path!r}: {source.simpleString()} cannot be stored as {target.simpleString()} safely; cast it explicitly"


def _struct_problem(source: st.StructType, target: st.StructType, *, path: str) -> str | None:
    if [f.name.lower() for f in source.fields] != [f.name.lower() for f in target.fields]:
        return (
            f"column {path!r}: a struct of ({', '.join(source.fieldNames())}) cannot be stored as one of "
            f"({', '.join(target.fieldNames())})"
        )
    for own, other in zip(source.fields, target.fields, strict=True):
        if problem := assignment_problem(own.dataType, other.dataType, path=f"{path}.{own.name}"):
            return problem
    return None


def _assignable(source: st.DataType, target: st.DataType) -> bool:
    if isinstance(source, _NUMBERS) and isinstance(target, _NUMBERS):
        return True  # a value that does not fit raises when it is cast
    if isinstance(source, _DATETIMES) and isinstance(target, _DATETIMES):
        return True
    if isinstance(target, st.StringType):
        return not isinstance(source, (st.StructType, st.ArrayType, st.MapType, st.BinaryType))
    return isinstance(source, (st.CharType, st.VarcharType)) and isinstance(target, st.StringType)
