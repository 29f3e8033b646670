"""A Python value as an array of a column's type: exactly that value, or refused. Arrow itself cuts 1.5 to 1, a datetime to its
date and nanoseconds to microseconds without a word."""

from __future__ import annotations

import datetime as dt
import math
import uuid
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

import numpy as np
import pyarrow as pa

from floeberg.arrow.columns.types import arrow_type
from floeberg.arrow.variant.encode import variant_array
from floeberg.errors import InvalidInput
from floeberg.spec.types import (
    DateType,
    FloatType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StructType,
    TimestampNsType,
    TimestampType,
    TimestamptzType,
    VariantType,
)

_INFINITE_FLOAT32: Final = float(2**128 - 2**103)
"""From here on a number becomes an infinity as a 32-bit float."""
_ZONELESS: Final = (TimestampType, TimestampNsType)
_OF_MICROSECONDS: Final = (TimestampType, TimestamptzType)


def constant(value: Any, field: NestedField) -> pa.Array:
    """One value as an array, which repeats whatever its type is. Raises InvalidInput for one that the type does not hold."""
    if isinstance(value, pa.Scalar):
        return pa.array([value.as_py()], value.type)
    if isinstance(field.type, VariantType):
        return variant_array([value])
    plain = value.bytes if isinstance(value, uuid.UUID) else value
    try:
        _check(plain, field.type)
        return pa.array([plain], arrow_type(field.type))
    except (pa.ArrowException, TypeError, ValueError, ArithmeticError) as error:
        raise InvalidInput(
            f"column {field.name!r} is {field.type} and cannot be set to {value!r:.60}: {error}", column=field.name
        ) from error


def _check(value: Any, data_type: IcebergType) -> None:
    """Raises ValueError for a value that Arrow would change, at any depth."""
    match data_type:
        case IntegerType() | LongType() if isinstance(value, (float, Decimal, np.floating)) and value % 1 != 0:
            raise ValueError("it is no whole number")
        case FloatType() if isinstance(value, (float, np.floating)):
            if math.isfinite(value) and abs(float(value)) >= _INFINITE_FLOAT32:
                raise ValueError("it is beyond 32-bit floats")
        case DateType() if isinstance(value, dt.datetime) and value != dt.datetime(value.year, value.month, value.day):
            raise ValueError("a date has no time of day; take the day: value.date()")
        case _ if isinstance(value, dt.datetime):
            _check_instant(value, data_type)
        case StructType(members=members) if isinstance(value, (Mapping, tuple)):
            named = (
                value if isinstance(value, Mapping) else dict(zip((one.name for one in members), value, strict=False))
            )
            for member in members:
                _check(named.get(member.name), member.type)
        case ListType() if isinstance(value, (list, tuple, np.ndarray)):
            for item in value:
                _check(item, data_type.element.type)
        case MapType() if isinstance(value, (Mapping, list, tuple)):
            for key, item in value.items() if isinstance(value, Mapping) else value:
                _check(key, data_type.key.type)
                _check(item, data_type.value.type)


def _check_instant(value: dt.datetime, data_type: IcebergType) -> None:
    if isinstance(data_type, _ZONELESS) and value.tzinfo is not None:
        raise ValueError("the column has no time zone; take it off: value.replace(tzinfo=None)")
    if isinstance(data_type, _OF_MICROSECONDS) and getattr(value, "nanosecond", 0) > 0:  # of a pandas Timestamp
        raise ValueError("the column keeps microseconds; value.floor('us')")
