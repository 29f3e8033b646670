"""Avro records to bytes, for the shapes that manifests have.

A general writer must find out for every optional value which branch of its union it is; here the shape is known, which
makes writing an order of magnitude cheaper.
"""

from __future__ import annotations

import struct
import uuid
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Final

from floeberg.errors import InvalidInput
from floeberg.files.avro_container import encode_long
from floeberg.files.avro_types import decimal_required_bytes
from floeberg.spec.types import (
    BinaryType,
    BooleanType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IcebergType,
    StringType,
    StructType,
    UnknownType,
    UuidType,
)
from floeberg.spec.values.physical import check_value, unscaled

LONG_MIN: Final = -(1 << 63)
LONG_MAX: Final = (1 << 63) - 1
_SMALL: Final = tuple(encode_long(number) for number in range(4096))


def long_bytes(number: int) -> bytes:
    """A zigzag varint. Raises InvalidInput beyond 64 bits."""
    if 0 <= number < 4096:
        return _SMALL[number]
    if not LONG_MIN <= number <= LONG_MAX:
        raise InvalidInput(f"{number} does not fit into a 64-bit number", value=str(number)[:40])
    return encode_long(number)


def encode_bytes(value: bytes) -> bytes:
    return long_bytes(len(value)) + value


def encode_text(value: str) -> bytes:
    data = value.encode()
    return long_bytes(len(data)) + data


def encode_optional_long(value: int | None) -> bytes:
    return b"\x00" if value is None else b"\x02" + long_bytes(value)


def encode_optional_bytes(value: bytes | None) -> bytes:
    return b"\x00" if value is None else b"\x02" + long_bytes(len(value)) + value


def encode_optional_text(value: str | None) -> bytes:
    return b"\x00" if value is None else b"\x02" + encode_text(value)


def encode_optional_longs(values: Sequence[int] | None) -> bytes:
    if values is None:
        return b"\x00"
    if not values:
        return b"\x02\x00"
    return b"\x02" + long_bytes(len(values)) + b"".join([long_bytes(value) for value in values]) + b"\x00"


def encode_counts(counts: Mapping[int, int] | None) -> bytes:
    """An optional map of ints to longs, as an array of pairs."""
    if counts is None:
        return b"\x00"
    if not counts:
        return b"\x02\x00"
    pairs = [long_bytes(key) + long_bytes(value) for key, value in counts.items()]
    return b"\x02" + long_bytes(len(pairs)) + b"".join(pairs) + b"\x00"


def encode_bounds(bounds: Mapping[int, bytes] | None) -> bytes:
    """An optional map of ints to bytes, as an array of pairs."""
    if bounds is None:
        return b"\x00"
    if not bounds:
        return b"\x02\x00"
    pairs = [long_bytes(key) + long_bytes(len(value)) + value for key, value in bounds.items()]
    return b"\x02" + long_bytes(len(pairs)) + b"".join(pairs) + b"\x00"


def partition_encoder(partition_type: StructType) -> Callable[[Sequence[object]], bytes]:
    """A function from a partition tuple of physical values to the bytes of the record `r102`. It raises InvalidInput
    for a tuple of another length or a value that its type does not have."""
    encoders = [(_value_encoder(member.type), member.required, member.name) for member in partition_type]

    def encode(values: Sequence[object]) -> bytes:
        if len(values) != len(encoders):
            raise InvalidInput(
                f"the partition {tuple(values)!r} has {len(values)} values, its spec {len(encoders)} fields"
            )
        parts: list[bytes] = []
        for value, (encoder, required, name) in zip(values, encoders, strict=True):
            if value is None:
                if required:
                    raise InvalidInput(f"partition field {name} is required and its value is null", field=name)
                parts.append(_null_of(encoder))
            else:
                parts.append(encoder(value) if required else b"\x02" + encoder(value))
        return b"".join(parts)

    return encode


def _null_of(encoder: Callable[[object], bytes]) -> bytes:
    return b"" if encoder is _no_value else b"\x00"


def _no_value(value: object) -> bytes:
    raise InvalidInput(f"a partition field of type unknown has the value {value!r}")


def _value_encoder(kind: IcebergType) -> Callable[[object], bytes]:
    if isinstance(kind, UnknownType):
        return _no_value
    pack = _packer(kind)
    return lambda value: pack(check_value(kind, value))


def _packer(kind: IcebergType) -> Callable[..., bytes]:
    if isinstance(kind, BooleanType):
        return lambda value: b"\x01" if value else b"\x00"
    if isinstance(kind, FloatType):
        return struct.Struct("<f").pack
    if isinstance(kind, DoubleType):
        return struct.Struct("<d").pack
    if isinstance(kind, StringType):
        return encode_text
    if isinstance(kind, DecimalType):
        size = decimal_required_bytes(kind.precision)
        return lambda value: _decimal_bytes(value, kind, size)
    if isinstance(kind, UuidType):
        return _uuid_bytes
    if isinstance(kind, FixedType):
        return bytes
    if isinstance(kind, BinaryType):
        return encode_bytes
    return long_bytes


def _decimal_bytes(value: Decimal, kind: DecimalType, size: int) -> bytes:
    return unscaled(value, kind).to_bytes(size, "big", signed=True)


def _uuid_bytes(value: uuid.UUID) -> bytes:
    return value.bytes
