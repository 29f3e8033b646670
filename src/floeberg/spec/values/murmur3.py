"""32-bit Murmur3, x86 variant, seed 0, per type: https://iceberg.apache.org/spec/#appendix-b-32-bit-hash-requirements"""

from __future__ import annotations

import math
import struct
import uuid
from decimal import Decimal
from typing import Final

from floeberg.errors import InvalidInput
from floeberg.spec.types import (
    DecimalType,
    IcebergType,
    TimestampNsType,
    TimestamptzNsType,
    UnknownType,
    VariantType,
)
from floeberg.spec.values.physical import check_value, minimal_twos_complement, unscaled
from floeberg.spec.values.temporal import NANOS_PER_MICRO

C1: Final = 0xCC9E2D51
C2: Final = 0x1B873593
_MASK: Final = 0xFFFFFFFF
_CANONICAL_NAN: Final = 0x7FF8000000000000


def hash_bytes(data: bytes) -> int:
    """The hash of bytes, as a signed 32-bit integer."""
    h = 0
    blocks = len(data) // 4
    for block in struct.unpack_from(f"<{blocks}I", data):
        h = _mix_block(h, block)
    if tail := data[blocks * 4 :]:
        h ^= _scramble(int.from_bytes(tail, "little"))
    return _finish(h, len(data))


def hash_long(value: int) -> int:
    """The hash of a 64-bit integer: of its eight little-endian bytes."""
    return _finish(_mix_block(_mix_block(0, value & _MASK), (value >> 32) & _MASK), 8)


def hash_value(data_type: IcebergType, value: object) -> int | None:
    """The hash of a value of a type; None for null. Defined also for types that cannot be bucketed (boolean, float,
    double). Raises InvalidInput for types without a hash."""
    if value is None or isinstance(data_type, UnknownType):
        return None
    if data_type.is_nested or isinstance(data_type, VariantType):
        raise InvalidInput(f"values of type {data_type} have no hash", type=str(data_type))
    checked = check_value(data_type, value)
    match checked:
        case int():  # bool included: the specification hashes an int as the long of the same value
            if isinstance(data_type, (TimestampNsType, TimestamptzNsType)):
                return hash_long(checked // NANOS_PER_MICRO)
            return hash_long(checked)
        case float():
            return hash_long(_canonical_bits(checked))
        case Decimal() if isinstance(data_type, DecimalType):
            # The hash of a decimal is that of its unscaled value, in the fewest big-endian two's-complement bytes.
            return hash_bytes(minimal_twos_complement(unscaled(checked, data_type)))
        case str():
            return hash_bytes(checked.encode("utf-8"))
        case uuid.UUID():
            return hash_bytes(checked.bytes)
        case bytes():
            return hash_bytes(checked)
    raise InvalidInput(f"values of type {data_type} have no hash", type=str(data_type))


def _canonical_bits(value: float) -> int:
    if math.isnan(value):
        return _CANONICAL_NAN
    return int(struct.unpack("<q", struct.pack("<d", value + 0.0))[0])


def _scramble(block: int) -> int:
    block = (block * C1) & _MASK
    block = ((block << 15) | (block >> 17)) & _MASK
    return (block * C2) & _MASK


def _mix_block(h: int, block: int) -> int:
    h ^= _scramble(block)
    h = ((h << 13) | (h >> 19)) & _MASK
    return (h * 5 + 0xE6546B64) & _MASK


def _finish(h: int, length: int) -> int:
    h ^= length
    h ^= h >> 16
    h = (h * 0x85EBCA6B) & _MASK
    h ^= h >> 13
    h = (h * 0xC2B2AE35) & _MASK
    h ^= h >> 16
    return h - 0x100000000 if h & 0x80000000 else h
