"""Partition transforms, one value at a time: https://iceberg.apache.org/spec/#partition-transforms

`arrow/columns/transforms.py` applies the same to whole arrays. A result that its type cannot hold (the hour of a timestamp
beyond the year 246,000, a truncated minimum) raises InvalidInput on both paths; whoever projects a predicate must then
keep every file.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import ClassVar, Final

from floeberg.errors import InvalidInput, UnsupportedFeature
from floeberg.spec.types import (
    DATE,
    INT,
    UNKNOWN,
    BinaryType,
    DateType,
    DecimalType,
    FixedType,
    GeographyType,
    GeometryType,
    IcebergType,
    IntegerType,
    LongType,
    PrimitiveType,
    StringType,
    TimestampNsType,
    TimestampType,
    TimestamptzNsType,
    TimestamptzType,
    TimeType,
    UuidType,
    VariantType,
)
from floeberg.spec.values import human, temporal
from floeberg.spec.values.murmur3 import hash_value
from floeberg.spec.values.physical import decimal_from_unscaled, unscaled, wrong_value
from floeberg.spec.values.temporal import INT_MAX, INT_MIN, LONG_MAX, LONG_MIN

NANO_TYPES: Final = (TimestampNsType, TimestamptzNsType)
TIMESTAMP_TYPES: Final = (TimestampType, TimestamptzType, *NANO_TYPES)
BUCKET_TYPES: Final = (
    IntegerType, LongType, DecimalType, DateType, TimeType, *TIMESTAMP_TYPES, StringType, UuidType, FixedType,
    BinaryType,
)  # fmt: skip
TRUNCATE_TYPES: Final = (IntegerType, LongType, DecimalType, StringType, BinaryType)

_HAS_WIDTH: Final = re.compile(r"(bucket|truncate)\[(\d{1,20})\]", re.IGNORECASE | re.ASCII)


@dataclass(frozen=True, slots=True)
class Transform:
    """What turns a source value into a partition value or a sort value. `str()` gives the JSON name."""

    preserves_order: ClassVar[bool] = False
    """Whether the results of ordered values are ordered the same way."""

    def can_transform(self, source_type: IcebergType) -> bool:
        """Whether the specification allows this transform on the type."""
        raise AssertionError("every transform says what it takes")

    def result_type(self, source_type: IcebergType) -> IcebergType:
        """The type of results. A dropped source column is passed as `unknown`, which never fails."""
        raise AssertionError("every transform says what it gives")

    def apply(self, source_type: IcebergType, value: object) -> object:
        """The result of one value; null gives null. Raises InvalidInput."""
        if value is None:
            return None
        if not self.can_transform(source_type):
            raise InvalidInput(f"transform {self} does not take {source_type}", transform=str(self))
        return self._apply(source_type, value)

    def _apply(self, source_type: IcebergType, value: object) -> object:
        raise AssertionError("every transform says what it does")

    def satisfies_order_of(self, other: Transform, source_type: IcebergType | None = None) -> bool:
        """Whether rows ordered by this transform are ordered by the other one of the same column too."""
        return self == other

    def to_human_string(self, result_type: IcebergType, value: object) -> str:
        """The text of a result, as in partition paths; `null` for None."""
        return human.human_string(result_type, value)


@dataclass(frozen=True, slots=True)
class IdentityTransform(Transform):
    """The source value itself."""

    preserves_order = True

    def __str__(self) -> str:
        return "identity"

    def can_transform(self, source_type: IcebergType) -> bool:
        return isinstance(source_type, PrimitiveType) and not isinstance(
            source_type, (GeometryType, GeographyType, VariantType)
        )

    def result_type(self, source_type: IcebergType) -> IcebergType:
        return source_type

    def _apply(self, source_type: IcebergType, value: object) -> object:
        return value

    def satisfies_order_of(self, other: Transform, source_type: IcebergType | None = None) -> bool:
        return other.preserves_order


@dataclass(frozen=True, slots=True)
class BucketTransform(Transform):
    """The hash of the value, sign bit discarded, modulo a number of buckets."""

    num_buckets: int

    def __post_init__(self) -> None:
        if not 1 <= self.num_buckets <= INT_MAX:
            raise InvalidInput(f"bucket[{self.num_buckets}]: the number of buckets must be 1 to {INT_MAX}")

    def __str__(self) -> str:
        return f"bucket[{self.num_buckets}]"

    def can_transform(self, source_type: IcebergType) -> bool:
        return isinstance(source_type, BUCKET_TYPES)

    def result_type(self, source_type: IcebergType) -> IcebergType:
        return INT

    def _apply(self, source_type: IcebergType, value: object) -> object:
        hashed = hash_value(source_type, value)
        return None if hashed is None else (hashed & INT_MAX) % self.num_buckets


@dataclass(frozen=True, slots=True)
class TruncateTransform(Transform):
    """Numbers down to a multiple of the width; text to so many code points, binary to so many bytes."""

    width: int

    preserves_order = True

    def __post_init__(self) -> None:
        if not 1 <= self.width <= INT_MAX:
            raise InvalidInput(f"truncate[{self.width}]: the width must be 1 to {INT_MAX}")

    def __str__(self) -> str:
        return f"truncate[{self.width}]"

    def can_transform(self, source_type: IcebergType) -> bool:
        return isinstance(source_type, TRUNCATE_TYPES)

    def result_type(self, source_type: IcebergType) -> IcebergType:
        return source_type

    def _apply(self, source_type: IcebergType, value: object) -> object:
        match source_type, value:
            case (IntegerType(), int()):
                return self._truncate_integer(value, source_type, INT_MIN)
            case (LongType(), int()):
                return self._truncate_integer(value, source_type, LONG_MIN)
            case (DecimalType(), Decimal()):
                number = self._truncate_integer(
                    unscaled(value, source_type), source_type, 1 - 10**source_type.precision
                )
                return decimal_from_unscaled(number, source_type.scale)
            case (StringType(), str()):
                return value[: self.width]
            case (BinaryType(), bytes()):
                return value[: self.width]
        raise wrong_value(source_type, value)

    def _truncate_integer(self, value: int, source_type: IcebergType, least: int) -> int:
        result = value - value % self.width
        if result < least:
            raise InvalidInput(f"{value} under {self} does not fit {source_type}", transform=str(self))
        return result

    def satisfies_order_of(self, other: Transform, source_type: IcebergType | None = None) -> bool:
        """A longer prefix orders a shorter one; a finer grid orders a coarser one whose steps it divides."""
        if not isinstance(other, TruncateTransform) or source_type is None:
            return self == other
        if isinstance(source_type, (StringType, BinaryType)):
            return other.width <= self.width
        return other.width % self.width == 0


@dataclass(frozen=True, slots=True)
class TemporalTransform(Transform):
    """Whole years, months, days or hours since 1970-01-01 00:00 UTC, rounded down also before it."""

    name: ClassVar[str]
    granularity: ClassVar[int]
    """Finer ones are lower: what is ordered by hour is ordered by day."""

    preserves_order = True

    def __str__(self) -> str:
        return self.name

    def can_transform(self, source_type: IcebergType) -> bool:
        return isinstance(source_type, (DateType, *TIMESTAMP_TYPES))

    def result_type(self, source_type: IcebergType) -> IcebergType:
        return INT

    def _apply(self, source_type: IcebergType, value: object) -> object:
        if not isinstance(value, int) or isinstance(value, bool) or not LONG_MIN <= value <= LONG_MAX:
            raise wrong_value(source_type, value)
        if isinstance(source_type, DateType):
            hours = value * 24
        elif isinstance(source_type, NANO_TYPES):
            hours = value // (temporal.MICROS_PER_HOUR * temporal.NANOS_PER_MICRO)
        else:
            hours = value // temporal.MICROS_PER_HOUR
        result = self._from_hours(hours)
        if not INT_MIN <= result <= INT_MAX:
            raise InvalidInput(f"{self}({value}) does not fit an int", transform=str(self))
        return result

    def _from_hours(self, hours: int) -> int:
        raise AssertionError("every temporal transform says what it does")

    def satisfies_order_of(self, other: Transform, source_type: IcebergType | None = None) -> bool:
        return isinstance(other, TemporalTransform) and self.granularity <= other.granularity

    def to_human_string(self, result_type: IcebergType, value: object) -> str:
        if value is None:
            return "null"
        if not isinstance(value, int):
            raise wrong_value(result_type, value)
        return _HUMAN[self.name](value)


@dataclass(frozen=True, slots=True)
class YearTransform(TemporalTransform):
    """Years since 1970."""

    name = "year"
    granularity = 4

    def _from_hours(self, hours: int) -> int:
        return temporal.civil_from_days(hours // 24)[0] - 1970


@dataclass(frozen=True, slots=True)
class MonthTransform(TemporalTransform):
    """Months since 1970-01."""

    name = "month"
    granularity = 3

    def _from_hours(self, hours: int) -> int:
        year, month, _ = temporal.civil_from_days(hours // 24)
        return (year - 1970) * 12 + month - 1


@dataclass(frozen=True, slots=True)
class DayTransform(TemporalTransform):
    """Days since 1970-01-01. The result is a date; manifests of some writers hold it as an int."""

    name = "day"
    granularity = 2

    def result_type(self, source_type: IcebergType) -> IcebergType:
        return DATE

    def _from_hours(self, hours: int) -> int:
        return hours // 24


@dataclass(frozen=True, slots=True)
class HourTransform(TemporalTransform):
    """Hours since 1970-01-01 00:00."""

    name = "hour"
    granularity = 1

    def can_transform(self, source_type: IcebergType) -> bool:
        return isinstance(source_type, TIMESTAMP_TYPES)

    def _from_hours(self, hours: int) -> int:
        return hours


@dataclass(frozen=True, slots=True)
class VoidTransform(Transform):
    """Null for every value: a field that was dropped from a v1 spec."""

    def __str__(self) -> str:
        return "void"

    def can_transform(self, source_type: IcebergType) -> bool:
        return True

    def result_type(self, source_type: IcebergType) -> IcebergType:
        return source_type

    def _apply(self, source_type: IcebergType, value: object) -> object:
        return None

    def to_human_string(self, result_type: IcebergType, value: object) -> str:
        return "null"


@dataclass(frozen=True, slots=True)
class UnknownTransform(Transform):
    """A transform that we do not know: its fields are read and ignored, never written."""

    text: str

    def __str__(self) -> str:
        return self.text

    def can_transform(self, source_type: IcebergType) -> bool:
        return True

    def result_type(self, source_type: IcebergType) -> IcebergType:
        return UNKNOWN

    def _apply(self, source_type: IcebergType, value: object) -> object:
        raise UnsupportedFeature(
            f"transform {self.text!r} is not known here; evolve the partition spec or sort order before writing",
            transform=self.text,
        )


_HUMAN: Final[dict[str, Callable[[int], str]]] = {
    "year": human.human_year,
    "month": human.human_month,
    "day": human.human_day,
    "hour": human.human_hour,
}

IDENTITY: Final = IdentityTransform()
YEAR: Final = YearTransform()
MONTH: Final = MonthTransform()
DAY: Final = DayTransform()
HOUR: Final = HourTransform()
VOID: Final = VoidTransform()
_SIMPLE: Final[dict[str, Transform]] = {str(t): t for t in (IDENTITY, YEAR, MONTH, DAY, HOUR, VOID)}


def parse_transform(text: str) -> Transform:
    """The transform of a JSON name such as `bucket[16]`; one that we do not know becomes an UnknownTransform.
    Raises InvalidInput for a bad number of buckets or width."""
    if match := _HAS_WIDTH.fullmatch(text):
        number = int(match[2])
        return BucketTransform(number) if match[1].lower() == "bucket" else TruncateTransform(number)
    return _SIMPLE.get(text.lower()) or UnknownTransform(text)
