"""Python values as variants: what `fb.variant_array` writes.
https://github.com/apache/parquet-format/blob/master/VariantEncoding.md"""

from __future__ import annotations

import struct
import uuid
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any, Final

import numpy as np
import pyarrow as pa

from floeberg.arrow.columns.types import VARIANT_ARROW_TYPE
from floeberg.arrow.variant import binary as encoding
from floeberg.arrow.variant.binary import MAX_VARIANT_DEPTH, VariantKind
from floeberg.errors import InvalidInput

_MAX_DIGITS: Final = 38
_INTEGERS: Final = (
    (VariantKind.INT8, 1),
    (VariantKind.INT16, 2),
    (VariantKind.INT32, 4),
    (VariantKind.INT64, 8),
)
_MICROSECOND: Final = timedelta(microseconds=1)


class VariantNull(Enum):
    """The null that lies in a variant, as JSON's null does, which is not the absence of a variant."""

    VARIANT_NULL = "null"

    def __repr__(self) -> str:
        return "VARIANT_NULL"


VARIANT_NULL: Final = VariantNull.VARIANT_NULL


def variant_array(values: Iterable[Any]) -> pa.StructArray:
    """Variants of Python values, as an Arrow array that append, overwrite and upsert take for a variant column.

    None is a missing variant (SQL's NULL), VARIANT_NULL one that holds JSON's null; within lists and dicts None is JSON's
    null. Integers take the fewest bytes, Decimals stay exact, datetimes with a zone are instants. Raises InvalidInput.
    """
    metadata: list[bytes] = []
    encoded: list[bytes] = []
    missing: list[bool] = []
    for row, value in enumerate(values):
        missing.append(value is None)
        try:
            names, content = encode_variant(value)
        except InvalidInput as error:
            raise InvalidInput(f"row {row}: {error}", row=row) from error
        metadata.append(names)
        encoded.append(content)
    return pa.StructArray.from_arrays(
        [pa.array(metadata, pa.binary()), pa.array(encoded, pa.binary())],
        fields=list(VARIANT_ARROW_TYPE),
        mask=pa.array(missing, pa.bool_()),
    )


def encode_variant(value: Any) -> tuple[bytes, bytes]:
    """The metadata and the value of one variant; None is JSON's null. Raises InvalidInput."""
    names: set[str] = set()
    _collect_names(value, names, depth=0)
    ordered = sorted(names, key=_utf8)
    ids = {name: i for i, name in enumerate(ordered)}
    return encoding.variant_metadata(ordered), _encode(value, ids)


def _collect_names(value: Any, names: set[str], *, depth: int) -> None:
    if depth > MAX_VARIANT_DEPTH:
        raise InvalidInput(f"a variant nests deeper than {MAX_VARIANT_DEPTH} levels")
    if isinstance(value, Mapping):
        for name, item in value.items():
            if not isinstance(name, str):
                raise InvalidInput(f"an object's keys are text in a variant, not {type(name).__name__} ({name!r:.40})")
            names.add(name)
            _collect_names(item, names, depth=depth + 1)
    elif isinstance(value, (list, tuple)):
        for item in value:
            _collect_names(item, names, depth=depth + 1)


def _encode(value: Any, ids: Mapping[str, int]) -> bytes:
    if isinstance(value, Mapping):
        return encoding.variant_object({name: _encode(item, ids) for name, item in value.items()}, ids)
    if isinstance(value, (list, tuple)):
        return encoding.array([_encode(item, ids) for item in value])
    if isinstance(value, np.generic) and not isinstance(value, (np.datetime64, np.timedelta64)):
        value = value.item()
    match value:
        case None | VariantNull.VARIANT_NULL:
            return encoding.primitive(VariantKind.NULL)
        case bool():
            return encoding.primitive(VariantKind.TRUE if value else VariantKind.FALSE)
        case int():
            return _integer(value)
        case float():
            return encoding.primitive(VariantKind.DOUBLE, struct.pack("<d", value))
        case str():
            return encoding.sized(VariantKind.STRING, _utf8(value))
        case bytes() | bytearray() | memoryview():
            return encoding.sized(VariantKind.BINARY, bytes(value))
        case Decimal():
            return _decimal(value)
        case uuid.UUID():
            return encoding.primitive(VariantKind.UUID, value.bytes)
        case datetime():
            return _timestamp(value)
        case date():
            return encoding.primitive(VariantKind.DATE, struct.pack("<i", (value - date(1970, 1, 1)).days))
        case time():
            return _time(value)
    raise InvalidInput(
        f"a variant holds no {type(value).__name__} ({value!r:.40}); give it a dict, list, str, bytes, bool, int, float, "
        "Decimal, UUID, date, time, datetime or None"
    )


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise InvalidInput(f"{text[:40]!r} has lone surrogates, which UTF-8 does not allow") from None


def _integer(value: int) -> bytes:
    """The fewest bytes that hold it; beyond 64 bits a decimal, as Spark's parse_json has it."""
    needed = (value if value >= 0 else ~value).bit_length() + 1
    for kind, width in _INTEGERS:
        if needed <= 8 * width:
            return encoding.primitive(kind, value.to_bytes(width, "little", signed=True))
    return _unscaled(value, 0)


def _decimal(value: Decimal) -> bytes:
    sign, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):
        raise InvalidInput(f"a variant holds no Decimal {value}; give it a float")
    magnitude = int("".join(map(str, digits)) or "0")
    if exponent > 0:
        if magnitude and len(digits) + exponent > _MAX_DIGITS:
            raise _too_many_digits(value)
        magnitude, exponent = magnitude * 10**exponent if magnitude else 0, 0
    return _unscaled(-magnitude if sign else magnitude, -exponent)


def _unscaled(value: int, scale: int) -> bytes:
    digits = max(len(str(abs(value))), scale)
    if digits > _MAX_DIGITS:
        raise _too_many_digits(value)
    kind = VariantKind.DECIMAL4 if digits <= 9 else VariantKind.DECIMAL8 if digits <= 18 else VariantKind.DECIMAL16
    return encoding.decimal(kind, value, scale)


def _too_many_digits(value: object) -> InvalidInput:
    return InvalidInput(
        f"a variant holds numbers of at most {_MAX_DIGITS} digits exactly, not {value!s:.60}; give a float"
    )


def _timestamp(value: datetime) -> bytes:
    if value != value:
        raise InvalidInput("a variant holds no NaT; give it None")
    zoned = value.tzinfo is not None
    epoch = datetime(1970, 1, 1, tzinfo=UTC if zoned else None)
    micros = (value - epoch) // _MICROSECOND
    # pandas' Timestamp is a datetime that knows nanoseconds.
    nanos = getattr(value, "nanosecond", 0)
    if not nanos:
        kind = VariantKind.TIMESTAMPTZ if zoned else VariantKind.TIMESTAMPNTZ
        return encoding.primitive(kind, struct.pack("<q", micros))
    kind = VariantKind.TIMESTAMPTZ_NANOS if zoned else VariantKind.TIMESTAMPNTZ_NANOS
    return encoding.primitive(kind, struct.pack("<q", micros * 1000 + nanos))


def _time(value: time) -> bytes:
    if value.tzinfo is not None:
        raise InvalidInput(f"a variant holds times without a zone, not {value!r}")
    since = datetime.combine(date(1970, 1, 1), value) - datetime(1970, 1, 1)
    return encoding.primitive(VariantKind.TIME, struct.pack("<q", since // _MICROSECOND))
