"""Which values may be stored in which columns: Spark's store assignment, with structs lined up by position or by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pyspark.sql import types as st

from floeberg.errors import InvalidInput, UnsupportedFeature

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

POLICY: Final = "spark.sql.storeAssignmentPolicy"
_NUMBERS: Final = (
    st.ByteType, st.ShortType, st.IntegerType, st.LongType, st.FloatType, st.DoubleType, st.DecimalType
)  # fmt: skip
_WIDTHS: Final = (st.ByteType, st.ShortType, st.IntegerType, st.LongType, st.FloatType, st.DoubleType)
"""The numbers that STRICT widens, each to those after it."""
_DIGITS: Final[dict[type[st.DataType], int]] = {st.ByteType: 3, st.ShortType: 5, st.IntegerType: 10, st.LongType: 20}
_DATETIMES: Final = (st.DateType, st.TimestampType, st.TimestampNTZType)
_NESTED: Final = (st.StructType, st.ArrayType, st.MapType, st.VariantType)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreRules:
    """How one statement stores values. With `fills`, fields that a struct lacks become null where they may be."""

    by_name: bool
    case_sensitive: bool = False
    ansi: bool = True
    strict: bool = False
    fills: bool = False

    def key(self, name: str) -> str:
        return name if self.case_sensitive else name.lower()


def store_rules(spark: SparkSession, *, by_name: bool, fills: bool = False) -> StoreRules:
    """The session's rules. Raises UnsupportedFeature for the policy LEGACY, which Spark refuses for catalogs too."""
    policy = str(spark.conf.get(POLICY, "ANSI")).upper()
    if policy not in ("ANSI", "STRICT"):
        raise UnsupportedFeature(
            f"{POLICY}={policy} could store values that were changed on the way; set it to ANSI or STRICT"
        )
    return StoreRules(
        by_name=by_name,
        case_sensitive=_is_true(spark, "spark.sql.caseSensitive", "false"),
        ansi=_is_true(spark, "spark.sql.ansi.enabled", "true"),
        strict=policy == "STRICT",
        fills=fills,
    )


def _is_true(spark: SparkSession, key: str, default: str) -> bool:
    return str(spark.conf.get(key, default)).lower() == "true"


def assignment_problem(source: st.DataType, target: st.DataType, rules: StoreRules, *, path: str) -> str | None:
    """Why a value of one type may not be stored as another; None when it may."""
    if source == target or isinstance(source, st.NullType):
        return None
    if isinstance(source, st.StructType) and isinstance(target, st.StructType):
        return _struct_problem(source, target, rules, path=path)
    if isinstance(source, st.ArrayType) and isinstance(target, st.ArrayType):
        return assignment_problem(source.elementType, target.elementType, rules, path=f"{path}.element")
    if isinstance(source, st.MapType) and isinstance(target, st.MapType):
        return assignment_problem(source.keyType, target.keyType, rules, path=f"{path}.key") or assignment_problem(
            source.valueType, target.valueType, rules, path=f"{path}.value"
        )
    if (_widens if rules.strict else _assignable)(source, target):
        return None
    return f"column {path!r}: {source.simpleString()} cannot be stored as {target.simpleString()} safely; cast it explicitly"


def _struct_problem(source: st.StructType, target: st.StructType, rules: StoreRules, *, path: str) -> str | None:
    try:
        places = member_places(source, target, rules)
    except InvalidInput as error:
        return f"column {path!r}: {error}"
    for place, wanted in zip(places, target.fields, strict=True):
        if place is not None:
            given = source.fields[place].dataType
            if problem := assignment_problem(given, wanted.dataType, rules, path=f"{path}.{wanted.name}"):
                return problem
    return None


def member_places(source: st.StructType, target: st.StructType, rules: StoreRules) -> list[int | None]:
    """For each field of the target, the place of the source's field that is stored in it; None for one that becomes null.

    Raises InvalidInput when fields are missing, left over or, by name, ambiguous."""
    if not rules.by_name:
        if len(source.fields) != len(target.fields):
            raise InvalidInput(_different(source, target, "by position"))
        return list(range(len(target.fields)))
    by_key: dict[str, int] = {}
    for place, field in enumerate(source.fields):
        if rules.key(field.name) in by_key:
            raise InvalidInput(f"the struct has the field {field.name!r} twice")
        by_key[rules.key(field.name)] = place
    places = [by_key.pop(rules.key(field.name), None) for field in target.fields]
    missing = [
        field
        for field, place in zip(target.fields, places, strict=True)
        if place is None and not (rules.fills and field.nullable)
    ]
    if missing or by_key:
        raise InvalidInput(_different(source, target, "by name"))
    return places


def _different(source: st.StructType, target: st.StructType, how: str) -> str:
    return (
        f"a struct of ({', '.join(source.fieldNames())}) cannot be stored as one of ({', '.join(target.fieldNames())}); "
        f"fields are taken {how}"
    )


def _assignable(source: st.DataType, target: st.DataType) -> bool:
    """ANSI: a number that does not fit raises when it is cast."""
    if isinstance(source, _NUMBERS) and isinstance(target, _NUMBERS):
        return True
    return (isinstance(source, _DATETIMES) and isinstance(target, _DATETIMES)) or _to_string(source, target)


def _widens(source: st.DataType, target: st.DataType) -> bool:
    """STRICT: every value has an equal one in the target type."""
    if isinstance(target, st.DecimalType):
        whole, scale = int(target.precision) - int(target.scale), int(target.scale)
        if isinstance(source, st.DecimalType):
            return int(source.precision) - int(source.scale) <= whole and int(source.scale) <= scale
        return _DIGITS.get(type(source), 99) <= whole
    if isinstance(source, st.DecimalType) and type(target) in _WIDTHS:
        return int(source.scale) == 0 and int(source.precision) < _DIGITS.get(type(target), 0)
    if type(source) in _WIDTHS and type(target) in _WIDTHS:
        return _place(_WIDTHS, source) <= _place(_WIDTHS, target)
    if isinstance(source, _DATETIMES) and isinstance(target, _DATETIMES):
        return not isinstance(target, st.DateType)
    return _to_string(source, target)


def _place(types: Sequence[type[st.DataType]], one: st.DataType) -> int:
    return types.index(type(one))


def _to_string(source: st.DataType, target: st.DataType) -> bool:
    return isinstance(target, st.StringType) and not isinstance(source, _NESTED)
