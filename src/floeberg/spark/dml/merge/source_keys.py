"""The keys of a MERGE's source as conditions on the target: ranges and lists, so that few files are read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import types as st

from floeberg.expr.literals import Literal, Temporal
from floeberg.expr.nodes import FALSE, TRUE, Expression, Op, Predicate, Reference, and_
from floeberg.spark.dml.change_job import SOURCE_ROW
from floeberg.spark.dml.merge.key_pairs import KeyPair
from floeberg.spark.dml.merge.source_rows import ROW_IN_PARTITION
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.types import DateType, NestedField, StringType, TimestamptzType
from floeberg.sql.text.lexer import quote_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MAX_LISTED_KEYS: Final = 1_000


@dataclass(frozen=True, slots=True)
class SourceKeys:
    """The number of rows of a source, and a condition that every target row that it can match meets."""

    rows: int
    condition: Expression
    has_invalid_utf8: bool = False
    """Whether a string of the source is not UTF-8."""


def source_keys(source: DataFrame, pairs: Sequence[KeyPair], schema: Schema) -> SourceKeys:
    """Reads the source, which must give the same rows each time. The keys of a small source come with its size; those of a
    large one with few distinct keys need a second query."""
    items = ["count(1) AS rows", f"bool_and({_is_valid_utf8(source.schema)}) AS valid"]
    for number, pair in enumerate(pairs):
        key = _physical(pair)
        listed = f"collect_set(IF({SOURCE_ROW} & {ROW_IN_PARTITION} < {MAX_LISTED_KEYS}, {key}, NULL))"
        items += [
            f"min({key}) AS low{number}",
            f"max({key}) AS high{number}",
            f"approx_count_distinct({key}) AS distinct{number}",
            f"IF(count(1) <= {MAX_LISTED_KEYS}, {listed}, NULL) AS keys{number}",
            f"{_is_told_exactly(pair)} AS exact{number}",
        ]
    found = source.selectExpr(*items).collect()[0].asDict()
    if not found["rows"]:
        return SourceKeys(0, FALSE)
    few = [number for number in range(len(pairs)) if found[f"distinct{number}"] <= MAX_LISTED_KEYS // 2]
    if few and found["rows"] > MAX_LISTED_KEYS:
        items = [f"collect_set({_physical(pairs[number])}) AS keys{number}" for number in few]
        found |= source.selectExpr(*items).collect()[0].asDict()
    conditions = [
        _condition(schema, pair, found[f"low{number}"], found[f"high{number}"], found[f"keys{number}"])
        for number, pair in enumerate(pairs)
        if found[f"exact{number}"] is not False
    ]
    return SourceKeys(
        found["rows"], and_(*conditions) if conditions else TRUE, has_invalid_utf8=found["valid"] is False
    )


def _is_valid_utf8(schema: st.StructType) -> str:
    """Whether every string of a row is UTF-8, as SQL: Spark may know a column's only value, and compares the target with it.
    Names that occur twice cannot stand in a condition."""
    lowered = [field.name.lower() for field in schema.fields]
    once = [field for field in schema.fields if lowered.count(field.name.lower()) == 1]
    checks = [f"coalesce(is_valid_utf8({path}), true)" for path in _string_paths(once, "")]
    return " AND ".join(checks) or "true"


def _string_paths(fields: Sequence[st.StructField], prefix: str) -> Iterator[str]:
    for field in fields:
        path = f"{prefix}{quote_name(field.name)}"
        if isinstance(field.dataType, st.StringType):
            yield path
        elif isinstance(field.dataType, st.StructType):
            yield from _string_paths(field.dataType.fields, f"{path}.")


def _condition(schema: Schema, pair: KeyPair, low: Any, high: Any, keys: Sequence[Any] | None) -> Expression:
    if low is None:
        return FALSE  # every key is null, and null equals nothing
    reference = Reference(schema.names[pair.field.field_id])
    if keys is not None and len(keys) <= MAX_LISTED_KEYS:
        return Predicate(Op.IN, reference, tuple(_literal(value, pair.field) for value in sorted(keys)))
    return and_(
        Predicate(Op.GT_EQ, reference, (_literal(low, pair.field),)),
        Predicate(Op.LT_EQ, reference, (_literal(high, pair.field),)),
    )


def _physical(pair: KeyPair) -> str:
    """The key as a number or text: Python's own dates and times have another range and zone."""
    column = quote_name(pair.source)
    if isinstance(pair.field.type, DateType):
        return f"unix_date({column})"
    return f"unix_micros({column})" if isinstance(pair.field.type, TimestamptzType) else column


def _is_told_exactly(pair: KeyPair) -> str:
    """Whether Python gets every key unchanged: strings that are not UTF-8 arrive with other characters."""
    return f"bool_and(is_valid_utf8({_physical(pair)}))" if isinstance(pair.field.type, StringType) else "true"


def _literal(value: Any, field: NestedField) -> Literal:
    if isinstance(field.type, DateType | TimestamptzType):
        return Temporal(field.type, int(value))
    literal: Literal = value
    return literal
