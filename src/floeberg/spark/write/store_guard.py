"""Store assignment's casts in sessions without ANSI: there a cast wraps around or gives null where a value does not fit, and
such a value must raise instead of being stored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F
from pyspark.sql import types as st

from floeberg.spark.host.type_text import type_text

if TYPE_CHECKING:
    from pyspark.sql import Column

_DIGITS: Final[dict[type[st.DataType], int]] = {st.ByteType: 3, st.ShortType: 5, st.IntegerType: 10, st.LongType: 19}
_BITS: Final[dict[type[st.DataType], int]] = {st.ByteType: 8, st.ShortType: 16, st.IntegerType: 32, st.LongType: 64}
_VALUE: Final = "floeberg_value"


def may_not_fit(given: st.DataType, wanted: st.DataType) -> bool:
    """Whether a value of one type may have no counterpart in another that it is stored as, in any part of it."""
    if given == wanted or isinstance(given, st.NullType):
        return False
    if isinstance(given, st.StructType) and isinstance(wanted, st.StructType):
        pairs = zip(given.fields, wanted.fields, strict=False)
        return any(may_not_fit(one.dataType, other.dataType) for one, other in pairs)
    if isinstance(given, st.ArrayType) and isinstance(wanted, st.ArrayType):
        return may_not_fit(given.elementType, wanted.elementType)
    if isinstance(given, st.MapType) and isinstance(wanted, st.MapType):
        return may_not_fit(given.keyType, wanted.keyType) or may_not_fit(given.valueType, wanted.valueType)
    if type(wanted) in _BITS:
        return _BITS.get(type(given), 99) > _BITS[type(wanted)]
    if isinstance(wanted, st.DecimalType):
        return not _decimal_holds(wanted, given)
    return False


def _decimal_holds(wanted: st.DecimalType, given: st.DataType) -> bool:
    whole = int(wanted.precision) - int(wanted.scale)
    if isinstance(given, st.DecimalType):
        # Where digits are rounded off, the value may become longer by one.
        return int(given.precision) - int(given.scale) + (1 if given.scale > wanted.scale else 0) <= whole
    return _DIGITS.get(type(given), 99) <= whole


def unguarded_problem(given: st.DataType, wanted: st.DataType, *, path: str) -> str | None:
    """Why a value cannot be stored in a session without ANSI; only single values are looked at one by one."""
    if isinstance(wanted, st.StructType | st.ArrayType | st.MapType) and may_not_fit(given, wanted):
        return (
            f"column {path!r}: parts of {given.simpleString()} may not fit {wanted.simpleString()}, and without ANSI they "
            "would change unnoticed; cast it explicitly, or set spark.sql.ansi.enabled=true"
        )
    return None


def guarded_text(value: str, given: st.DataType, wanted: st.DataType) -> str:
    """The value in the wanted type, as text: it is evaluated once, and raises when it does not fit."""
    name = type_text(wanted)
    if not may_not_fit(given, wanted):
        return f"CAST({value} AS {name})"
    if isinstance(wanted, st.DecimalType):
        fits = f"CAST({_VALUE} AS {name}) IS NOT NULL"
    else:
        low, high = _limits(wanted)
        fits = f"({_VALUE} >= {low} AND {_VALUE} < {high})"
    return (
        f"element_at(transform(array({value}), {_VALUE} -> CASE WHEN {_VALUE} IS NULL OR {fits} THEN "
        f"CAST({_VALUE} AS {name}) ELSE CAST(raise_error(concat('a value does not fit {name}: ', "
        f"CAST({_VALUE} AS STRING))) AS {name}) END), 1)"
    )


def guarded_column(value: Column, given: st.DataType, wanted: st.DataType) -> Column:
    """The same for a Column."""
    if not may_not_fit(given, wanted):
        return value.cast(wanted)

    def stored(one: Column) -> Column:
        if isinstance(wanted, st.DecimalType):
            fits = one.cast(wanted).isNotNull()
        else:
            low, high = (F.expr(str(limit)) for limit in _limits(wanted))
            fits = (one >= low) & (one < high)
        message = F.concat(F.lit(f"a value does not fit {wanted.simpleString()}: "), one.cast("string"))
        return F.when(one.isNull() | fits, one.cast(wanted)).otherwise(F.raise_error(message).cast(wanted))

    return F.element_at(F.transform(F.array(value), stored), 1)


def _limits(wanted: st.DataType) -> tuple[int, int]:
    """The lowest value, and the first beyond the highest; fractions are cut off."""
    bound = 1 << (_BITS[type(wanted)] - 1)
    return -bound, bound
