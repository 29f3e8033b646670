"""Where a literal lies among the values of a column's type, exactly.

`place` gives the nearest values of the type from below and from above: the same value twice when the type holds the
literal, two neighbours when it lies between them (1.5 among the ints), None on the side where the type ends. Nothing is
rounded away, so `x > 1.5` on an int column becomes `x >= 2` and `x = 1.5` never holds.

Two conversions are decided here. On float and double columns a number is first taken to the nearest double, as Spark
does. A timestamp without zone, compared with a column that has one, is read as UTC.
"""

from __future__ import annotations

import math
import struct
import sys
import uuid
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Final, TypeAlias

from floeberg.errors import InvalidInput
from floeberg.expr.literals import Literal, Temporal, literal_sql, nanos_or_micros
from floeberg.spec.types import (
    DATE,
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
from floeberg.spec.values.physical import decimal_from_unscaled
from floeberg.spec.values.temporal import (
    INT_MAX,
    INT_MIN,
    LONG_MAX,
    LONG_MIN,
    MICROS_PER_DAY,
    NANOS_PER_MICRO,
    NANOS_PER_SECOND,
    parse_date,
    parse_time,
    split_timestamp,
)

Place: TypeAlias = tuple[object | None, object | None]

_NANOS_PER_DAY: Final = MICROS_PER_DAY * NANOS_PER_MICRO
_ZONED: Final = (TimestamptzType, TimestamptzNsType)
_ZONELESS: Final = (TimestampType, TimestampNsType)
_MAX_FLOAT32: Final = struct.unpack("<f", b"\xff\xff\x7f\x7f")[0]
_INFINITIES: Final = {
    sign + word: -math.inf if sign == "-" else math.inf for sign in ("", "+", "-") for word in ("inf", "infinity")
}
_MAX_DIGITS: Final = 100
"""No type holds numbers of so many digits: beyond it a decimal's place is known without computing it."""


def place(data_type: IcebergType, literal: Literal, *, physical: bool = False) -> Place:
    """The nearest values of the type, at or below and at or above the literal. With `physical`, whole numbers stand for
    dates, times and timestamps in their physical form, text for numbers and hexadecimal text for bytes, as in JSON.
    Raises InvalidInput when the two cannot be compared."""
    converter = _CONVERTERS.get(type(data_type))
    if converter is None:
        raise InvalidInput(f"a column of type {data_type} compares with nothing; only IS [NOT] NULL applies to it")
    return converter(data_type, literal, physical)


def _boolean(data_type: IcebergType, literal: Literal, physical: bool) -> Place:
    if isinstance(literal, bool):
        return literal, literal
    raise _mismatch(data_type, literal, "compare with TRUE or FALSE")


def _integer(data_type: IcebergType, literal: Literal, physical: bool) -> Place:
    low, high = (INT_MIN, INT_MAX) if isinstance(data_type, IntegerType) else (LONG_MIN, LONG_MAX)
    return _within(_whole_numbers(data_type, _number(data_type, literal, physical), scale=0), low, high)


def _decimal(data_type: IcebergType, literal: Literal, physical: bool) -> Place:
    assert isinstance(data_type, DecimalType)
    greatest = 10**data_type.precision - 1
    below, above = _within(
        _whole_numbers(data_type, _number(data_type, literal, True), scale=data_type.scale), -greatest, greatest
    )
    return _at_scale(below, data_type.scale), _at_scale(above, data_type.scale)


def _floating(data_type: IcebergType, literal: Literal, physical: bool) -> Place:
    if isinstance(literal, str) and (infinite := _INFINITIES.get(literal.lower())) is not None:
        literal = infinite
    below, above = _doubles(_number(data_type, literal, physical))
    if isinstance(data_type, FloatType):
        return _floats_near(below)[0], _floats_near(above)[1]
    return below, above


def _date(data_type: IcebergType, literal: Literal, physical: bool) -> Place:
    if physical and _is_whole(literal):
        return _within((literal, literal), INT_MIN, INT_MAX)
    if isinstance(literal, str):
        literal = Temporal(DATE, parse_date(literal)) if ":" not in literal else literal
    if isinstance(literal, Temporal) and isinstance(literal.type, DateType):
        return literal.value, literal.value
    nanos, zoned = _nanos(data_type, literal)
    if zoned:
        raise _mismatch(data_type, literal, "a date has no zone: compare with a DATE, or a timestamp without zone")
    return _within((nanos // _NANOS_PER_DAY, -(-nanos // _NANOS_PER_DAY)), INT_MIN, INT_MAX)


def _time(data_type: IcebergType, literal: Literal, physical: bool) -> Place:
    if physical and _is_whole(literal):
        return _within((literal, literal), 0, MICROS_PER_DAY - 1)
    if isinstance(literal, str):
        micros = parse_time(literal)
        return micros, micros
    if isinstance(literal, Temporal) and isinstance(literal.type, TimeType):
        return literal.value, literal.value
    raise _mismatch(data_type, literal, "compare with TIME '12:34:56.789'")


def _timestamp(data_type: IcebergType, literal: Literal, physical: bool) -> Place:
    if physical and _is_whole(literal):
        return _within((literal, literal), LONG_MIN, LONG_MAX)
    nanos, zoned = _nanos(data_type, literal)
    if zoned and isinstance(data_type, _ZONELESS):
        raise _mismatch(data_type, literal, "the column has no zone: leave it out, as in TIMESTAMP_NTZ '…'")
    per_unit = 1 if nanos_or_micros(data_type) == "ns" else NANOS_PER_MICRO
    return _within((nanos // per_unit, -(-nanos // per_unit)), LONG_MIN, LONG_MAX)


def _string(data_type: IcebergType, literal: Literal, physical: bool) -> Place:
    if isinstance(literal, str):
        return literal, literal
    raise _mismatch(data_type, literal, "put the value in quotes")


def _uuid(data_type: IcebergType, literal: Literal, physical: bool) -> Place:
    if isinstance(literal, str):
        try:
            literal = uuid.UUID(literal)
        except ValueError:
            raise _mismatch(data_type, literal, "write f79c3e09-677c-4bbd-a479-3f349cb785e7") from None
    if isinstance(literal, uuid.UUID):
        return literal, literal
    raise _mismatch(data_type, literal, "compare with the UUID as text")


def _bytes(data_type: IcebergType, literal: Literal, physical: bool) -> Place:
    if physical and isinstance(literal, str):
        try:
            literal = bytes.fromhex(literal)
        except ValueError:
            raise _mismatch(data_type, literal, "the JSON form of bytes is hexadecimal text") from None
    if not isinstance(literal, bytes):
        raise _mismatch(data_type, literal, "compare with X'00ff'")
    if isinstance(data_type, FixedType) and len(literal) != data_type.length:
        raise _mismatch(data_type, literal, f"give exactly {data_type.length} bytes")
    return literal, literal


_CONVERTERS: Final[dict[type[IcebergType], Callable[[IcebergType, Literal, bool], Place]]] = {
    BooleanType: _boolean,
    IntegerType: _integer,
    LongType: _integer,
    DecimalType: _decimal,
    FloatType: _floating,
    DoubleType: _floating,
    DateType: _date,
    TimeType: _time,
    TimestampType: _timestamp,
    TimestamptzType: _timestamp,
    TimestampNsType: _timestamp,
    TimestamptzNsType: _timestamp,
    StringType: _string,
    UuidType: _uuid,
    BinaryType: _bytes,
    FixedType: _bytes,
}


def _number(data_type: IcebergType, literal: Literal, from_text: bool) -> int | float | Decimal:
    if isinstance(literal, (int, float, Decimal)) and not isinstance(literal, bool):
        return literal
    if isinstance(literal, str):
        if literal.lower().lstrip("+-") == "nan":
            raise InvalidInput("a NaN is not a literal: use is_nan or not_nan (isnan(x), NOT isnan(x))")
        if from_text and (number := _from_text(literal)) is not None:
            return number
        raise _mismatch(data_type, literal, "compare with a number" if from_text else "take the quotes away")
    raise _mismatch(data_type, literal, "compare with a number")


def _from_text(text: str) -> float | Decimal | None:
    if (infinite := _INFINITIES.get(text.lower())) is not None:
        return infinite
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def _whole_numbers(data_type: IcebergType, number: int | float | Decimal, *, scale: int) -> tuple[float, float]:
    """The whole numbers around number * 10**scale; infinities stand for what is beyond every type."""
    if isinstance(number, int):
        return number * 10**scale, number * 10**scale
    if isinstance(number, float):
        if math.isinf(number):
            return number, number
        # A float among ints is its exact value; among decimals it is the number it prints as, as Spark takes it.
        number = Decimal(repr(number)) if isinstance(data_type, DecimalType) else Decimal(number)
    if number == 0:
        return 0, 0
    if number.adjusted() > _MAX_DIGITS:
        infinite = math.copysign(math.inf, number)
        return infinite, infinite
    if number.adjusted() < -2 * _MAX_DIGITS:
        return (0, 1) if number > 0 else (-1, 0)
    sign, digits, exponent = number.as_tuple()
    unscaled = int("".join(map(str, digits))) * (-1 if sign else 1)
    shift = int(exponent) + scale
    if shift >= 0:
        return unscaled * 10**shift, unscaled * 10**shift
    return unscaled // 10**-shift, -(-unscaled // 10**-shift)


def _within(around: tuple[object, object], least: int, greatest: int) -> Place:
    """Cuts a place to the range of a type."""
    below, above = around
    assert isinstance(below, (int, float))
    assert isinstance(above, (int, float))
    return (
        None if below < least else min(below, greatest),
        None if above > greatest else max(above, least),
    )


def _at_scale(number: object, scale: int) -> Decimal | None:
    return None if number is None else decimal_from_unscaled(int(str(number)), scale)


def _doubles(number: int | float | Decimal) -> tuple[float, float]:
    try:
        nearest = float(number) + 0.0  # -0.0 becomes 0.0: they are one value
    except OverflowError:
        nearest = math.inf if number > 0 else -math.inf
    if math.isinf(nearest) and not isinstance(number, float):
        largest = sys.float_info.max
        return (largest, math.inf) if nearest > 0 else (-math.inf, -largest)
    return nearest, nearest


def _floats_near(number: float) -> tuple[float, float]:
    """The 32-bit floats at or below and at or above a double."""
    if math.isinf(number):
        return number, number
    if abs(number) > _MAX_FLOAT32:
        return (_MAX_FLOAT32, math.inf) if number > 0 else (-math.inf, -_MAX_FLOAT32)
    nearest = struct.unpack("<f", struct.pack("<f", number))[0] + 0.0
    if nearest < number:
        return nearest, _next_float32(nearest)
    if nearest > number:
        return -_next_float32(-nearest) + 0.0, nearest
    return nearest, nearest


def _next_float32(number: float) -> float:
    """The next 32-bit float above."""
    bits = struct.unpack("<i", struct.pack("<f", number))[0]
    if number == 0:
        bits = 1
    else:
        bits += 1 if bits > 0 else -1
    return float(struct.unpack("<f", struct.pack("<i", bits))[0]) + 0.0


def _nanos(data_type: IcebergType, literal: Literal) -> tuple[int, bool]:
    """Nanoseconds since the epoch, and whether a zone was given. Without one, the clock is UTC's."""
    if isinstance(literal, str):
        if ":" not in literal:
            return parse_date(literal) * _NANOS_PER_DAY, False
        nanos, offset_seconds = split_timestamp(literal, allow_space=True)
        return nanos - (offset_seconds or 0) * NANOS_PER_SECOND, offset_seconds is not None
    if isinstance(literal, Temporal):
        if isinstance(literal.type, DateType):
            return literal.value * _NANOS_PER_DAY, False
        if isinstance(literal.type, (*_ZONED, *_ZONELESS)):
            per_unit = 1 if nanos_or_micros(literal.type) == "ns" else NANOS_PER_MICRO
            return literal.value * per_unit, isinstance(literal.type, _ZONED)
    raise _mismatch(data_type, literal, "compare with a DATE '…' or TIMESTAMP '…'")


def _is_whole(literal: Literal) -> bool:
    return isinstance(literal, int) and not isinstance(literal, bool)


def _mismatch(data_type: IcebergType, literal: Literal, hint: str) -> InvalidInput:
    return InvalidInput(f"{literal_sql(literal)[:80]} does not compare with a column of type {data_type}: {hint}")
