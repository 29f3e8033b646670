"""Z-order: rows sorted along a curve that keeps rows close whose values are close in several columns at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from floeberg.arrow.columns.partition import column_by_id
from floeberg.errors import InvalidInput
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IcebergType,
    IntegerType,
    LongType,
    StringType,
    TimestampNsType,
    TimestampType,
    TimestamptzNsType,
    TimestamptzType,
    TimeType,
    UuidType,
)

Words = npt.NDArray[np.uint64]

_INTEGERS = (
    IntegerType, LongType, DateType, TimeType, TimestampType, TimestamptzType, TimestampNsType, TimestamptzNsType,
)  # fmt: skip
_BYTES = (StringType, BinaryType, FixedType, UuidType)
_NUMBERS = (*_INTEGERS, FloatType, DoubleType, DecimalType, BooleanType)
_WORD_BYTES = 8
_BITS = 64
_SIGN = np.uint64(1 << 63)


def check_z_order_column(name: str, kind: IcebergType) -> None:
    """Raises InvalidInput for a column that has no place on the curve."""
    if not isinstance(kind, (*_NUMBERS, *_BYTES)):
        raise InvalidInput(f"column {name!r} of type {kind} cannot be z-ordered", column=name)


def z_order_indices(
    table: pa.Table, schema: Schema, field_ids: Sequence[int], *, variable_length_bytes: int = _WORD_BYTES
) -> pa.Array:
    """The rows of a table in z-order of columns; rows that are equal there stay as they were."""
    columns = [column_by_id(table, schema, field_id) for field_id in field_ids]
    words = z_order_words(columns, variable_length_bytes=variable_length_bytes)
    return pa.array(np.lexsort(tuple(reversed(words))))  # the last key of lexsort is the first to sort by


def z_order_words(columns: Sequence[pa.Array | pa.ChunkedArray], *, variable_length_bytes: int) -> list[Words]:
    """The z-order value of each row as words, the most significant first: the bits of the columns, one of each in turn."""
    ordered = [_ordered_words(_plain(column), variable_length_bytes) for column in columns]
    bits = [(word, bit) for word in range(max(map(len, ordered))) for bit in range(_BITS)]
    found = [(column[word], bit) for word, bit in bits for column in ordered if word < len(column)]
    words = [np.zeros(len(columns[0]), dtype=np.uint64) for _ in range(-(-len(found) // _BITS))]
    for at, (source, bit) in enumerate(found):
        taken = (source >> np.uint64(_BITS - 1 - bit)) & np.uint64(1)
        words[at // _BITS] |= taken << np.uint64(_BITS - 1 - at % _BITS)
    return words


def z_order_bytes(columns: Sequence[pa.Array], *, variable_length_bytes: int) -> pa.Array:
    """The z-order value of each row as binary, which is compared byte by byte."""
    words = z_order_words(columns, variable_length_bytes=variable_length_bytes)
    grid = np.stack(words, axis=1).astype(">u8")
    width = len(words) * _WORD_BYTES
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(width), len(grid), [None, pa.py_buffer(grid.tobytes())]).cast(
        pa.binary()
    )


def _plain(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return array.storage if isinstance(array, pa.ExtensionArray) else array


def _ordered_words(array: pa.Array, variable_length_bytes: int) -> list[Words]:
    """Unsigned words that are ordered as the values are; nulls come first."""
    types, kind = pa.types, array.type
    nulls = array.is_null().to_numpy(zero_copy_only=False)
    if types.is_floating(kind) or types.is_decimal(kind):
        words = [_of_floats(pc.fill_null(array.cast(pa.float64(), safe=False), 0.0))]
    elif types.is_boolean(kind) or types.is_integer(kind) or types.is_temporal(kind):
        numbers = _integers(array).fill_null(0).to_numpy(zero_copy_only=False)
        words = [numbers.astype(np.int64).view(np.uint64) ^ _SIGN]
    else:
        words = _of_bytes(array, variable_length_bytes)
    for word in words:
        word[nulls] = 0
    return words


def _integers(array: pa.Array) -> pa.Array:
    """A day or a boolean is no 64-bit number, and is cast by way of a smaller one."""
    if pa.types.is_date32(array.type) or pa.types.is_time32(array.type):
        array = array.cast(pa.int32())
    return (array.cast(pa.int8()) if pa.types.is_boolean(array.type) else array).cast(pa.int64())


def _of_floats(array: pa.Array) -> Words:
    """IEEE 754 in the order of values: positive ones with the sign bit set, negative ones inverted."""
    raw = array.to_numpy(zero_copy_only=False).astype(np.float64).view(np.uint64)
    ordered: Words = np.where(raw & _SIGN, ~raw, raw | _SIGN)
    return ordered


def _of_bytes(array: pa.Array, length: int) -> list[Words]:
    """The first bytes of each value, with zeros behind shorter ones."""
    count = -(-length // _WORD_BYTES)
    width = count * _WORD_BYTES
    values = array.cast(pa.large_binary()).to_pylist()
    padded = b"".join((value or b"")[:length].ljust(width, b"\0") for value in values)
    grid = np.frombuffer(padded, dtype=">u8").reshape(len(array), count)
    return [grid[:, at].astype(np.uint64) for at in range(count)]
