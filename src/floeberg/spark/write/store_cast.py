"""Values in the types of the columns that store them: structs lined up by position or by name in lists and maps too, and, in
sessions without ANSI, a value that does not fit raises (there a cast alone would wrap around or give null)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from pyspark.sql import functions as F
from pyspark.sql import types as st

from floeberg.spark.host.types.spark_types import nullable
from floeberg.spark.host.types.type_text import type_text
from floeberg.spark.write.store_assignment import StoreRules, member_places
from floeberg.sql.text.lexer import quote_name

if TYPE_CHECKING:
    from pyspark.sql import Column

_DIGITS: Final[dict[type[st.DataType], int]] = {st.ByteType: 3, st.ShortType: 5, st.IntegerType: 10, st.LongType: 19}
_BITS: Final[dict[type[st.DataType], int]] = {st.ByteType: 8, st.ShortType: 16, st.IntegerType: 32, st.LongType: 64}
_VARIABLE: Final = "floeberg_value"
V = TypeVar("V")


class _Parts(Protocol[V]):
    """What values are taken apart and put together with, whether they are text or Columns."""

    def cast(self, value: V, wanted: st.DataType) -> V: ...
    def null(self, wanted: st.DataType) -> V: ...
    def member(self, value: V, name: str) -> V: ...
    def struct(self, members: Sequence[tuple[str, V]]) -> V: ...
    def unless_null(self, value: V, made: V) -> V: ...
    def each(self, value: V, change: Callable[[V], V]) -> V: ...
    def entries(self, value: V, change: Callable[[V], V]) -> V: ...
    def once(self, value: V, change: Callable[[V], V]) -> V: ...
    def fitting(self, value: V, wanted: st.DataType) -> V: ...


def stored_text(value: str, given: st.DataType, wanted: st.DataType, rules: StoreRules) -> str:
    """The text of a value as a column of the wanted type stores it; it is evaluated once."""
    return _stored(value, given, wanted, rules, _TextParts())


def stored_column(value: Column, given: st.DataType, wanted: st.DataType, rules: StoreRules) -> Column:
    """The same for a Column."""
    return _stored(value, given, wanted, rules, _ColumnParts())


def is_stored_as_it_is(given: st.DataType, wanted: st.DataType, rules: StoreRules) -> bool:
    """Whether the value needs not even a cast."""
    return bool(nullable(given) == nullable(wanted)) and _is_cast(given, wanted, rules)


def _stored(value: V, given: st.DataType, wanted: st.DataType, rules: StoreRules, parts: _Parts[V]) -> V:
    # The writer checks required fields; a cast to a type with them would be refused for types without.
    if _is_cast(given, wanted, rules):
        return parts.cast(value, nullable(wanted))
    return parts.once(value, lambda one: _made(one, given, wanted, rules, parts))


def _is_cast(given: st.DataType, wanted: st.DataType, rules: StoreRules) -> bool:
    """Whether Spark's cast of the whole value does it; it takes the fields of structs by position."""
    if isinstance(given, st.StructType) and isinstance(wanted, st.StructType):
        places = member_places(given, wanted, rules)
        return places == list(range(len(given.fields))) and all(
            _is_cast(one.dataType, other.dataType, rules)
            for one, other in zip(given.fields, wanted.fields, strict=True)
        )
    if isinstance(given, st.ArrayType) and isinstance(wanted, st.ArrayType):
        return _is_cast(given.elementType, wanted.elementType, rules)
    if isinstance(given, st.MapType) and isinstance(wanted, st.MapType):
        return _is_cast(given.keyType, wanted.keyType, rules) and _is_cast(given.valueType, wanted.valueType, rules)
    return rules.ansi or not _may_not_fit(given, wanted)


def _made(value: V, given: st.DataType, wanted: st.DataType, rules: StoreRules, parts: _Parts[V]) -> V:
    """A value that may be used several times, as it is stored."""
    if _is_cast(given, wanted, rules):
        return parts.cast(value, nullable(wanted))
    if isinstance(given, st.StructType) and isinstance(wanted, st.StructType):
        members = []
        for place, field in zip(member_places(given, wanted, rules), wanted.fields, strict=True):
            if place is None:
                members.append((field.name, parts.null(nullable(field.dataType))))
            else:
                own = given.fields[place]
                member = parts.member(value, own.name)
                members.append((field.name, _made(member, own.dataType, field.dataType, rules, parts)))
        return parts.unless_null(value, parts.struct(members))
    if isinstance(given, st.ArrayType) and isinstance(wanted, st.ArrayType):
        element, stored = given.elementType, wanted.elementType
        return parts.each(value, lambda one: _made(one, element, stored, rules, parts))
    if isinstance(given, st.MapType) and isinstance(wanted, st.MapType):
        own_key, own_value, key, item = given.keyType, given.valueType, wanted.keyType, wanted.valueType
        return parts.entries(
            value,
            lambda one: parts.struct(
                [
                    ("key", _made(parts.member(one, "key"), own_key, key, rules, parts)),
                    ("value", _made(parts.member(one, "value"), own_value, item, rules, parts)),
                ]
            ),
        )
    return parts.fitting(value, wanted)


def _may_not_fit(given: st.DataType, wanted: st.DataType) -> bool:
    """Whether a single value may have no counterpart in the type that it is stored as."""
    if given == wanted or isinstance(given, st.NullType):
        return False
    if type(wanted) in _BITS:
        return _BITS.get(type(given), 99) > _BITS[type(wanted)]
    return isinstance(wanted, st.DecimalType) and not _decimal_holds(wanted, given)


def _decimal_holds(wanted: st.DecimalType, given: st.DataType) -> bool:
    whole = int(wanted.precision) - int(wanted.scale)
    if isinstance(given, st.DecimalType):
        # Where digits are rounded off, the value may become longer by one.
        return int(given.precision) - int(given.scale) + (1 if given.scale > wanted.scale else 0) <= whole
    return _DIGITS.get(type(given), 99) <= whole


def _limits(wanted: st.DataType) -> tuple[int, int]:
    """The lowest value, and the first beyond the highest; fractions are cut off."""
    bound = 1 << (_BITS[type(wanted)] - 1)
    return -bound, bound


class _TextParts:
    """Values that are text; each lambda has a variable of its own."""

    def __init__(self) -> None:
        self._variables = 0

    def cast(self, value: str, wanted: st.DataType) -> str:
        return f"CAST({value} AS {type_text(wanted)})"

    def null(self, wanted: st.DataType) -> str:
        return self.cast("NULL", wanted)

    def member(self, value: str, name: str) -> str:
        return f"{value}.{quote_name(name)}"

    def struct(self, members: Sequence[tuple[str, str]]) -> str:
        return f"struct({', '.join(f'{value} AS {quote_name(name)}' for name, value in members)})"

    def unless_null(self, value: str, made: str) -> str:
        return f"CASE WHEN {value} IS NOT NULL THEN {made} END"

    def each(self, value: str, change: Callable[[str], str]) -> str:
        self._variables += 1
        variable = f"{_VARIABLE}_{self._variables}"
        return f"transform({value}, {variable} -> {change(variable)})"

    def entries(self, value: str, change: Callable[[str], str]) -> str:
        return f"map_from_entries({self.each(f'map_entries({value})', change)})"

    def once(self, value: str, change: Callable[[str], str]) -> str:
        return f"element_at({self.each(f'array({value})', change)}, 1)"

    def fitting(self, value: str, wanted: st.DataType) -> str:
        name = type_text(wanted)
        if isinstance(wanted, st.DecimalType):
            fits = f"CAST({value} AS {name}) IS NOT NULL"
        else:
            low, high = _limits(wanted)
            fits = f"({value} >= {low} AND {value} < {high})"
        return (
            f"CASE WHEN {value} IS NULL OR {fits} THEN CAST({value} AS {name}) ELSE CAST(raise_error(concat("
            f"'a value does not fit {name}: ', CAST({value} AS STRING))) AS {name}) END"
        )


class _ColumnParts:
    """Values that are Columns."""

    def cast(self, value: Column, wanted: st.DataType) -> Column:
        return value.cast(wanted)

    def null(self, wanted: st.DataType) -> Column:
        return F.lit(None).cast(wanted)

    def member(self, value: Column, name: str) -> Column:
        return value.getField(name)

    def struct(self, members: Sequence[tuple[str, Column]]) -> Column:
        return F.struct(*(value.alias(name) for name, value in members))

    def unless_null(self, value: Column, made: Column) -> Column:
        return F.when(value.isNotNull(), made)

    def each(self, value: Column, change: Callable[[Any], Any]) -> Column:
        return F.transform(value, lambda one: change(one))

    def entries(self, value: Column, change: Callable[[Any], Any]) -> Column:
        return F.map_from_entries(self.each(F.map_entries(value), change))

    def once(self, value: Column, change: Callable[[Any], Any]) -> Column:
        return F.element_at(self.each(F.array(value), change), 1)

    def fitting(self, value: Column, wanted: st.DataType) -> Column:
        if isinstance(wanted, st.DecimalType):
            fits = value.cast(wanted).isNotNull()
        else:
            low, high = (F.expr(str(limit)) for limit in _limits(wanted))
            fits = (value >= low) & (value < high)
        message = F.concat(F.lit(f"a value does not fit {wanted.simpleString()}: "), value.cast("string"))
        return F.when(value.isNull() | fits, value.cast(wanted)).otherwise(F.raise_error(message).cast(wanted))
