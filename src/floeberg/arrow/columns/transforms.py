"""Partition transforms over whole arrays: Arrow in, Arrow out, equal to `spec/partitions/transforms.py` on every value.

https://iceberg.apache.org/spec/#partition-transforms
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from floeberg.arrow.columns.murmur3 import hash_longs, hash_slices
from floeberg.errors import InvalidInput, UnsupportedFeature
from floeberg.spec.partitions.transforms import (
    NANO_TYPES,
    BucketTransform,
    DayTransform,
    HourTransform,
    IdentityTransform,
    MonthTransform,
    TemporalTransform,
    Transform,
    TruncateTransform,
    UnknownTransform,
    VoidTransform,
)
from floeberg.spec.types import DateType, DecimalType, IcebergType, IntegerType, LongType, StringType, TimeType
from floeberg.spec.values.temporal import INT_MAX, INT_MIN, MICROS_PER_DAY, MICROS_PER_HOUR, NANOS_PER_MICRO

_TICKS_PER_SECOND: Final = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def transform_array(transform: Transform, source_type: IcebergType, array: Any) -> Any:
    """The transform of each value of a pyarrow Array or ChunkedArray; nulls stay null, dictionaries are decoded.

    Gives int32, date32 for `day`, and the array's own type for identity, truncate and void. Raises InvalidInput where
    the scalar transform does.
    """
    if isinstance(transform, UnknownTransform):
        raise UnsupportedFeature(f"transform {transform} is not known here, so nothing can be written with it")
    if not transform.can_transform(source_type):
        raise InvalidInput(f"transform {transform} does not take {source_type}", transform=str(transform))
    if isinstance(array, pa.ChunkedArray):
        chunks = [_transform(transform, source_type, chunk) for chunk in array.chunks]
        return pa.chunked_array(chunks or [_transform(transform, source_type, pa.nulls(0, array.type))])
    return _transform(transform, source_type, array)


def _transform(transform: Transform, source_type: IcebergType, array: Any) -> Any:
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    if isinstance(array, pa.DictionaryArray):
        # A dictionary may hold values that no row uses; only those in use may raise.
        compact = array.indices.unique().drop_null()
        values = _transform(transform, source_type, array.dictionary.take(compact))
        return values.take(pc.index_in(array.indices, value_set=compact))
    match transform:
        case IdentityTransform():
            return array
        case VoidTransform():
            return pa.nulls(len(array), array.type)
        case TruncateTransform(width=width):
            return array if pa.types.is_null(array.type) else _truncate(width, source_type, array)
        case BucketTransform(num_buckets=number):
            if pa.types.is_null(array.type):
                return pa.nulls(len(array), pa.int32())
            buckets = (hash_array(source_type, array) & np.uint32(INT_MAX)) % np.uint32(number)
            return pa.array(buckets.astype(np.int32), mask=_null_mask(array))
        case TemporalTransform():
            return _temporal(transform, source_type, array)
    raise UnsupportedFeature(f"transform {transform} has no form over arrays")


def hash_array(source_type: IcebergType, array: Any) -> NDArray[np.uint32]:
    """The unsigned murmur3 hash of each value of a plain array; what stands for a null is arbitrary."""
    if isinstance(source_type, DecimalType):
        return hash_slices(*_decimal_runs(array, source_type))
    if pa.types.is_fixed_size_binary(array.type):
        return hash_slices(*_fixed_runs(array))
    if isinstance(source_type, (IntegerType, LongType, DateType)):
        return hash_longs(_integers(array))
    if _is_temporal(array.type):
        ticks = _ticks(source_type, array)
        return hash_longs(ticks // NANOS_PER_MICRO if isinstance(source_type, NANO_TYPES) else ticks)
    return hash_slices(*_variable_runs(array))


def _temporal(transform: TemporalTransform, source_type: IcebergType, array: Any) -> Any:
    result_type = pa.date32() if isinstance(transform, DayTransform) else pa.int32()
    if pa.types.is_null(array.type):
        return pa.nulls(len(array), result_type)
    per_micro = NANOS_PER_MICRO if isinstance(source_type, NANO_TYPES) else 1
    if isinstance(transform, HourTransform):
        result = _ticks(source_type, array) // (MICROS_PER_HOUR * per_micro)
    else:
        if isinstance(source_type, DateType):
            days = _integers(array)
        else:
            days = _ticks(source_type, array) // (MICROS_PER_DAY * per_micro)
        if isinstance(transform, DayTransform):
            result = days
        else:
            unit = "datetime64[M]" if isinstance(transform, MonthTransform) else "datetime64[Y]"
            result = days.astype("datetime64[D]").astype(unit).astype(np.int64)
    if len(result) and not INT_MIN <= result.min() <= result.max() <= INT_MAX:
        raise InvalidInput(f"a value of {transform} does not fit an int", transform=str(transform))
    return pa.array(result.astype(np.int32), mask=_null_mask(array)).cast(result_type)


def _truncate(width: int, source_type: IcebergType, array: Any) -> Any:
    if isinstance(source_type, (IntegerType, LongType)):
        values = _integers(array)
        result = values - values % width
        least = np.iinfo(np.int32 if isinstance(source_type, IntegerType) else np.int64).min
        if len(result) and (bool((result > values).any()) or result.min() < least):
            raise InvalidInput(f"a value under truncate[{width}] does not fit {source_type}")
        return pa.array(result, mask=_null_mask(array)).cast(_integer_result(array.type, result))
    if isinstance(source_type, DecimalType):
        return _truncate_decimal(width, source_type, array)
    if isinstance(source_type, StringType):
        try:
            return pc.utf8_slice_codeunits(_without_views(array), 0, width).cast(array.type)
        except pa.ArrowInvalid as error:
            raise InvalidInput(f"a string that is not UTF-8 has no truncate[{width}]: {error}") from error
    return pc.binary_slice(_without_views(array), 0, width).cast(array.type)


def _integer_result(array_type: Any, result: NDArray[np.int64]) -> Any:
    """The array's own type, unless it is narrower than the column's and a truncated value needs the whole width."""
    if array_type.bit_width >= 32 or len(result) == 0 or result.min() >= -(1 << (array_type.bit_width - 1)):
        return array_type
    return pa.int32()


def _truncate_decimal(width: int, source_type: DecimalType, array: Any) -> Any:
    words = _decimal_words(array, source_type)
    values = words[:, 0].astype(np.int64)
    # The width may carry a value beyond 64 bits; half of the range leaves room for any.
    fits = bool((words[:, 1:] == (values >> 63)[:, None]).all()) and bool((np.abs(values >> 1) < 1 << 61).all())
    if fits:
        result = values - values % width
        least = int(result.min()) if len(result) else 0
        filled = np.empty(words.shape, dtype=words.dtype)
        filled[:, 0] = result
        filled[:, 1:] = (result >> 63)[:, None]
        raw = filled.tobytes()
    else:
        size = array.type.byte_width
        unscaled = [int.from_bytes(row.tobytes(), "little", signed=True) for row in words]
        numbers = [number - number % width for number in unscaled]
        least = min(numbers, default=0)
        raw = b"".join(number.to_bytes(size + 8, "little", signed=True)[:size] for number in numbers)
    if least <= -(10**source_type.precision):
        raise InvalidInput(f"a value under truncate[{width}] does not fit {source_type}")
    mask = _null_mask(array)
    validity = None if mask is None else pa.array(~mask).buffers()[1]
    return pa.Array.from_buffers(array.type, len(array), [validity, pa.py_buffer(raw)])


def _null_mask(array: Any) -> NDArray[np.bool_] | None:
    if array.null_count == 0:
        return None
    mask: NDArray[np.bool_] = array.is_null().to_numpy(zero_copy_only=False)
    return mask


def _buffer(array: Any, index: int, dtype: Any) -> NDArray[Any]:
    """The values of a fixed-width buffer that belong to the array; zeros when there is none."""
    buffer = array.buffers()[index]
    if buffer is None:
        return np.zeros(len(array), dtype=dtype)
    return np.frombuffer(buffer, dtype=dtype, count=array.offset + len(array))[array.offset :]


def _zero_nulls(array: Any, values: NDArray[Any]) -> NDArray[Any]:
    """What lies under a null is arbitrary and must not overflow or raise."""
    mask = _null_mask(array)
    if mask is None:
        return values
    copy = values.copy()
    copy[mask] = 0
    return copy


def _integers(array: Any) -> NDArray[np.int64]:
    kind = array.type
    if pa.types.is_date64(kind):
        array = array.cast(pa.date32())
        kind = array.type
    if pa.types.is_date32(kind):
        dtype = "<i4"
    elif pa.types.is_integer(kind) and kind != pa.uint64():
        dtype = kind.to_pandas_dtype()
    else:
        raise InvalidInput(f"an Arrow array of {kind} does not hold ints, longs or dates")
    return _zero_nulls(array, _buffer(array, 1, dtype)).astype(np.int64)


def _is_temporal(kind: Any) -> bool:
    return bool(pa.types.is_timestamp(kind) or pa.types.is_time(kind))


def _ticks(source_type: IcebergType, array: Any) -> NDArray[np.int64]:
    """Microseconds, or nanoseconds for the *_ns types, whatever unit the array has; finer ones are rounded down."""
    kind = array.type
    if not _is_temporal(kind) or pa.types.is_time(kind) != isinstance(source_type, TimeType):
        raise InvalidInput(f"an Arrow array of {kind} does not hold values of type {source_type}")
    width = "<i4" if kind.bit_width == 32 else "<i8"
    ticks = _zero_nulls(array, _buffer(array, 1, width)).astype(np.int64)
    wanted = _TICKS_PER_SECOND["ns" if isinstance(source_type, NANO_TYPES) else "us"]
    held = _TICKS_PER_SECOND[kind.unit]
    if held > wanted:
        return ticks // (held // wanted)
    factor = wanted // held
    if factor > 1 and len(ticks):
        limit = np.iinfo(np.int64).max // factor
        if not -limit <= ticks.min() <= ticks.max() <= limit:
            raise InvalidInput(f"a timestamp is outside the range of {source_type}")
    return ticks * factor


def _without_views(array: Any) -> Any:
    if pa.types.is_string_view(array.type):
        return array.cast(pa.large_string())
    if pa.types.is_binary_view(array.type):
        return array.cast(pa.large_binary())
    return array


_Runs = tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]]


def _variable_runs(array: Any) -> _Runs:
    array = _without_views(array)
    kind = array.type
    large = pa.types.is_large_string(kind) or pa.types.is_large_binary(kind)
    if not (large or pa.types.is_string(kind) or pa.types.is_binary(kind)):
        raise InvalidInput(f"an Arrow array of {kind} does not hold text or bytes")
    _, offset_buffer, data = array.buffers()
    if len(array) == 0 or data is None:
        empty = np.zeros(len(array), dtype=np.int64)
        return np.empty(0, dtype=np.uint8), empty, empty
    offsets = np.frombuffer(offset_buffer, dtype="<i8" if large else "<i4", count=array.offset + len(array) + 1)
    offsets = offsets[array.offset :].astype(np.int64)
    first, last = int(offsets[0]), int(offsets[-1])
    bytes_used = np.frombuffer(data, dtype=np.uint8)[first:last]
    starts = offsets[:-1] - first
    return bytes_used, starts, np.diff(offsets)


def _fixed_runs(array: Any) -> _Runs:
    width = array.type.byte_width
    data = _buffer(array, 1, np.dtype((np.void, width))).view(np.uint8) if width else np.empty(0, dtype=np.uint8)
    starts = np.arange(len(array), dtype=np.int64) * width
    return data, starts, np.full(len(array), width, dtype=np.int64)


def _decimal_words(array: Any, source_type: DecimalType) -> NDArray[Any]:
    """Little-endian two's complement, one row a value, in 64-bit words (one 32-bit word for decimal32)."""
    if not pa.types.is_decimal(array.type) or array.type.scale != source_type.scale:
        raise InvalidInput(f"an Arrow array of {array.type} does not hold values of type {source_type}")
    width = array.type.byte_width
    row = np.dtype((np.void, width))
    words = np.ascontiguousarray(_buffer(array, 1, row)).view("<i4" if width == 4 else "<i8")
    return _zero_nulls(array, words.reshape(len(array), -1) if len(array) else words.reshape(0, max(width // 8, 1)))


def _decimal_runs(array: Any, source_type: DecimalType) -> _Runs:
    """The unscaled values big-endian, without the bytes that only repeat the sign."""
    words = np.ascontiguousarray(_decimal_words(array, source_type))
    width = array.type.byte_width
    rows = np.ascontiguousarray(words.view(np.uint8).reshape(-1, width)[:, ::-1])
    negative = rows[:, 0] >> 7
    padding = np.where(negative, 0xFF, 0).astype(np.uint8)
    differs = rows != padding[:, None]
    first = np.where(differs.any(axis=1), differs.argmax(axis=1), width - 1)
    needs_sign = (rows[np.arange(len(rows)), first] >> 7) != negative
    first = (first - needs_sign).astype(np.int64)
    starts = np.arange(len(rows), dtype=np.int64) * width + first
    return rows.reshape(-1), starts, width - first
