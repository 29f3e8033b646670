"""What a MERGE's source says of the rows that it can match: ranges and lists of keys, so that few files are looked at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
from pyroaring import BitMap64
from pyspark.sql import functions as F
from pyspark.sql import types as st

from floeberg.expr.literals import Literal, Temporal
from floeberg.expr.nodes import FALSE, TRUE, Expression, Op, Predicate, Reference, and_
from floeberg.files.deletion_vector import bitmap_of
from floeberg.spark.dml.assignments import TargetColumns
from floeberg.spark.dml.changed_rows import PREFIX, SOURCE_ROW
from floeberg.spark.host.types import spark_type
from floeberg.spark.read.deletes.positions import to_words, words_column
from floeberg.spec.schema import Schema
from floeberg.spec.types import DateType, IntegerType, LongType, NestedField, StringType, TimestamptzType
from floeberg.sql.text.cursor import Cursor
from floeberg.sql.text.lexer import Kind, Span, Token, quote_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MAX_LISTED_KEYS: Final = 1_000
MAX_LISTED_ROWS: Final = 1_000
_PARTITION_SHIFT: Final = 33
_ROW_IN_PARTITION: Final = (1 << _PARTITION_SHIFT) - 1
"""How `monotonically_increasing_id` is made."""
_PARTITION: Final = f"{PREFIX}partition"
_WORDS: Final = f"{PREFIX}words"
_EQUAL: Final = ("=", "==")
_KEY_TYPES: Final = (IntegerType, LongType, StringType, DateType, TimestamptzType)


@dataclass(frozen=True, slots=True)
class KeyPair:
    """`target = source` in a MERGE's condition: a column of the table, and one of the source."""

    field: NestedField
    source: str


def key_pairs(
    cursor: Cursor, span: Span, columns: TargetColumns, source: st.StructType, *, source_alias: str | None
) -> list[KeyPair]:
    """The equalities between a column of each side that must all hold for a match, where both are of one type, so that
    nothing is coerced."""
    pairs = []
    for sides in path_pairs(cursor, span):
        for own, other in (sides, sides[::-1]):
            pair = _pair(own, other, columns, source, source_alias)
            if pair is not None:
                pairs.append(pair)
                break
    return pairs


def path_pairs(cursor: Cursor, span: Span) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Both sides of the equalities between columns that must all hold."""
    tokens = [token for token in cursor.tokens if span.start <= token.start and token.end <= span.end]
    found = [_sides(piece, cursor) for piece in _conjuncts(tokens)]
    return [sides for sides in found if sides is not None]


def _conjuncts(tokens: Sequence[Token]) -> list[list[Token]]:
    """The parts between the ANDs at the top; nothing when an OR stands there."""
    depth = 0
    pieces: list[list[Token]] = [[]]
    between = False
    for token in tokens:
        if token.upper in ("(", "[", "CASE"):
            depth += 1
        elif token.upper in (")", "]", "END"):
            depth -= 1
        elif depth == 0 and token.upper in ("OR", "||", "|"):
            return []
        elif depth == 0 and token.upper == "BETWEEN":
            between = True
        elif depth == 0 and token.upper == "AND":
            if between:
                between = False  # belongs to BETWEEN: what follows is no part of its own
            else:
                pieces.append([])
                continue
        pieces[-1].append(token)
    return pieces


def _sides(piece: Sequence[Token], cursor: Cursor) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    at = [number for number, token in enumerate(piece) if token.upper in _EQUAL]
    if len(at) != 1:
        return None
    left, right = _path(piece[: at[0]], cursor), _path(piece[at[0] + 1 :], cursor)
    return None if left is None or right is None else (left, right)


def _path(tokens: Sequence[Token], cursor: Cursor) -> tuple[str, ...] | None:
    """The parts of a column's name, if that is all that the tokens are."""
    if len(tokens) % 2 == 0 or any(token.upper != "." for token in tokens[1::2]):
        return None
    if not all(token.is_name for token in tokens[::2]):
        return None
    return tuple(_name(token, cursor) for token in tokens[::2])


def _name(token: Token, cursor: Cursor) -> str:
    text = cursor.text(token)
    return text[1:-1].replace("``", "`") if token.kind is Kind.QUOTED else text


def _pair(
    own: tuple[str, ...],
    other: tuple[str, ...],
    columns: TargetColumns,
    source: st.StructType,
    source_alias: str | None,
) -> KeyPair | None:
    field = _target_field(own, columns, source)
    name = _source_column(other, columns, source, source_alias)
    if field is None or name is None:
        return None
    types = [column.dataType for column in source.fields if column.name.lower() == name.lower()]
    return KeyPair(field, name) if len(types) == 1 and can_list(field, types[0]) else None


def can_list(field: NestedField, data_type: st.DataType) -> bool:
    """Whether values of the source are those of the column: another collation has another equality, and types that Spark
    has no type for are shown in another form."""
    same = data_type == spark_type(field.type)
    return same and isinstance(field.type, _KEY_TYPES)


def _target_field(path: tuple[str, ...], columns: TargetColumns, source: st.StructType) -> NestedField | None:
    """A top-level column of the table, said to be of the table."""
    if len(path) == 2 and path[0].lower() == columns.alias.lower():
        name = path[1]
    elif len(path) == 1 and all(column.name.lower() != path[0].lower() for column in source.fields):
        name = path[0]
    else:
        return None
    found = [field for field in columns.schema.fields if field.name.lower() == name.lower()]
    return found[0] if len(found) == 1 else None


def _source_column(
    path: tuple[str, ...], columns: TargetColumns, source: st.StructType, alias: str | None
) -> str | None:
    if len(path) == 2 and alias is not None and path[0].lower() == alias.lower():
        return path[1]
    if len(path) == 1 and all(field.name.lower() != path[0].lower() for field in columns.schema.fields):
        return path[0]
    return None


@dataclass(frozen=True, slots=True)
class SourceKeys:
    """How many rows a source has, and what its keys say of the rows that it can match."""

    rows: int
    condition: Expression


def source_keys(source: DataFrame, pairs: Sequence[KeyPair], schema: Schema) -> SourceKeys:
    """Looks at the source, which must be one that gives the same rows each time. The keys of a small source come with
    its size; those of a large one that has few of them need a second look."""
    items = ["count(1) AS rows"]
    for number, pair in enumerate(pairs):
        key = _physical(pair)
        listed = f"collect_set(IF({SOURCE_ROW} & {_ROW_IN_PARTITION} < {MAX_LISTED_KEYS}, {key}, NULL))"
        items += [
            f"min({key}) AS low{number}",
            f"max({key}) AS high{number}",
            f"approx_count_distinct({key}) AS distinct{number}",
            f"IF(count(1) <= {MAX_LISTED_KEYS}, {listed}, NULL) AS keys{number}",
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
    ]
    return SourceKeys(found["rows"], and_(*conditions) if conditions else TRUE)


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


def _literal(value: Any, field: NestedField) -> Literal:
    if isinstance(field.type, DateType | TimestamptzType):
        return Temporal(field.type, int(value))
    literal: Literal = value
    return literal


def without_rows(source: DataFrame, matched: BitMap64) -> DataFrame:
    """The rows of a source but those whose SOURCE_ROW is given."""
    if not matched:
        return source
    if len(matched) <= MAX_LISTED_ROWS:
        return source.where(f"{SOURCE_ROW} NOT IN ({', '.join(str(row) for row in matched)})")
    # A row's number is that of its partition, and under it its place there: a bitmap for each partition.
    partitions: dict[int, BitMap64] = {}
    rows = np.frombuffer(matched.to_array(), dtype=np.uint64)
    numbers = rows >> np.uint64(_PARTITION_SHIFT)
    for number in np.unique(numbers):
        partitions[int(number)] = bitmap_of(rows[numbers == number] & np.uint64(_ROW_IN_PARTITION))
    words = words_column([to_words(found) for found in partitions.values()])
    known = source.sparkSession.createDataFrame(pa.table({_PARTITION: pa.array(partitions, pa.int64()), _WORDS: words}))
    joined = source.join(
        F.broadcast(known), F.expr(f"shiftright({SOURCE_ROW}, {_PARTITION_SHIFT}) = {_PARTITION}"), "left"
    )
    place = f"{SOURCE_ROW} & {_ROW_IN_PARTITION}"
    word = f"get({_WORDS}, CAST(shiftright({place}, 6) AS INT))"
    return joined.where(f"coalesce(bit_get({word}, CAST({place} & 63 AS INT)), 0) = 0").drop(_PARTITION, _WORDS)
