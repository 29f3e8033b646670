"""Conditions on a table's columns as an Expression for planning: never stronger than what Spark will filter by."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from floeberg.errors import InvalidInput
from floeberg.expr.bind import bind
from floeberg.expr.nodes import FALSE, Expression, Op, Predicate, Reference, and_, or_
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.types import BinaryType, BooleanType, FixedType, NestedField, StringType, StructType, UuidType
from floeberg.sql.conditions.coercion import Between, Coerced, CoercionSettings, coerce, decimals_fit
from floeberg.sql.conditions.predicates import (
    AllOf,
    AnyOf,
    Column,
    Compare,
    Condition,
    InList,
    IsNull,
    Prefix,
    SparkLiteral,
    Truth,
)

_OPS: Final = {"=": Op.EQ, "<=>": Op.EQ, "!=": Op.NOT_EQ, "<": Op.LT, "<=": Op.LT_EQ, ">": Op.GT, ">=": Op.GT_EQ}
_EQUALITIES: Final = (Op.EQ, Op.NOT_EQ)
_WITHOUT_ORDER: Final = (UuidType, BooleanType, FixedType, BinaryType)


def to_expression(
    conditions: Iterable[Condition],
    schema: Schema,
    *,
    ansi: bool,
    session_time_zone: str,
    case_sensitive: bool = False,
    timestamp_ntz: bool = False,
    binary_strings: bool = True,
    datetimes_as_text: bool = False,
) -> Expression:
    """An expression that is true for every row for which all conditions are; TRUE when nothing is certain."""
    settings = CoercionSettings(
        ansi, session_time_zone, case_sensitive, timestamp_ntz, binary_strings, datetimes_as_text
    )
    converter = _Converter(schema, settings)
    return and_(*(found for condition in conditions if (found := converter.convert(condition)) is not None))


def to_exact_expression(
    conditions: Sequence[Condition],
    schema: Schema,
    *,
    ansi: bool,
    session_time_zone: str,
    case_sensitive: bool = False,
    timestamp_ntz: bool = False,
    binary_strings: bool = True,
    datetimes_as_text: bool = False,
) -> Expression | None:
    """An expression that is true for exactly the rows for which all conditions are, or None.

    For actions on whole files, such as a metadata-only DELETE.
    """
    settings = CoercionSettings(
        ansi, session_time_zone, case_sensitive, timestamp_ntz, binary_strings, datetimes_as_text
    )
    converter = _Converter(schema, settings, exact=True)
    parts = [converter.convert(condition) for condition in conditions]
    whole = [part for part in parts if part is not None]
    return and_(*whole) if len(whole) == len(parts) else None


class _Converter:
    """With `exact`, a condition that is not certain in every part gives None; else it is weakened."""

    def __init__(self, schema: Schema, settings: CoercionSettings, *, exact: bool = False) -> None:
        self.schema = schema
        self.settings = settings
        self.exact = exact

    def convert(self, condition: Condition) -> Expression | None:
        match condition:
            case AllOf(children):
                parts = [self.convert(child) for child in children]
                kept = [part for part in parts if part is not None]
                return None if not kept or (self.exact and len(kept) < len(parts)) else and_(*kept)
            case AnyOf(children):
                parts = [self.convert(child) for child in children]
                kept = [part for part in parts if part is not None]
                return or_(*kept) if len(kept) == len(parts) else None
        try:
            return self._leaf(condition)
        except InvalidInput:
            return None  # the column and the literal do not compare here; Spark decides

    def _leaf(self, condition: Condition) -> Expression | None:
        if not isinstance(condition, Compare | InList | IsNull | Prefix | Truth):
            return None
        field = self._field(condition.column)
        if field is None:
            return None
        reference = Reference(self.schema.names[field.field_id])
        found = self._of_column(condition, field, reference)
        if found is not None:
            bind(found, self.schema)  # raises InvalidInput
        return found

    def _of_column(self, condition: Condition, field: NestedField, reference: Reference) -> Expression | None:
        match condition:
            case IsNull(negated=negated):
                return Predicate(Op.NOT_NULL if negated else Op.IS_NULL, reference)
            case Truth(negated=negated) if isinstance(field.type, BooleanType):
                return Predicate(Op.EQ, reference, (not negated,))
            case Prefix(prefix=prefix, negated=negated) if isinstance(field.type, StringType):
                if not self.settings.binary_strings:
                    return None
                return Predicate(Op.NOT_STARTS_WITH if negated else Op.STARTS_WITH, reference, (prefix,))
            case Compare():
                return self._compare(condition, field, reference)
            case InList():
                return self._in_list(condition, field, reference)
        return None

    def _compare(self, condition: Compare, field: NestedField, reference: Reference) -> Expression | None:
        if condition.literal.type == "null":
            return self._compare_null(condition, reference)
        op = _OPS[condition.op]
        value = self._coerced(field, condition.literal)
        if value is None or (op not in _EQUALITIES and isinstance(field.type, _WITHOUT_ORDER)):
            return None
        if condition.negated:
            if isinstance(value, Between):
                return None
            return or_(Predicate(Op.IS_NULL, reference), Predicate(Op.NOT_EQ, reference, (value,)))
        return self._one(op, reference, value)

    def _compare_null(self, condition: Compare, reference: Reference) -> Expression:
        if condition.op != "<=>":
            return FALSE  # null, whatever the row
        return Predicate(Op.NOT_NULL if condition.negated else Op.IS_NULL, reference)

    def _one(self, op: Op, reference: Reference, value: Coerced) -> Expression | None:
        if value is None:
            return None
        if not isinstance(value, Between):
            return Predicate(op, reference, (value,))
        if self.exact:
            return None
        low = Predicate(Op.GT_EQ, reference, (value.low,))
        high = Predicate(Op.LT_EQ, reference, (value.high,))
        match op:
            case Op.EQ:
                return and_(low, high)
            case Op.LT | Op.LT_EQ:
                return high
            case Op.GT | Op.GT_EQ:
                return low
        return None

    def _in_list(self, condition: InList, field: NestedField, reference: Reference) -> Expression | None:
        if len({literal.type for literal in condition.literals if literal.type != "null"}) > 1:
            return None  # Spark widens the whole list to one type
        given = [literal for literal in condition.literals if literal.type != "null"]
        if not given:
            return FALSE  # null, whatever the row
        values = [self._coerced(field, literal, listed=True) for literal in given]
        if any(value is None for value in values) or not decimals_fit(field.type, given):
            return None
        if condition.negated:
            if len(given) < len(condition.literals):
                return FALSE  # never true beside a null
            return self._not_in(reference, values)
        parts = [self._one(Op.EQ, reference, value) for value in values]
        whole = [part for part in parts if part is not None]
        if len(whole) < len(parts):
            return None
        plain = tuple(value for value in values if value is not None and not isinstance(value, Between))
        return Predicate(Op.IN, reference, plain) if len(plain) == len(values) else or_(*whole)

    def _not_in(self, reference: Reference, values: list[Coerced]) -> Expression | None:
        plain = tuple(value for value in values if value is not None and not isinstance(value, Between))
        return Predicate(Op.NOT_IN, reference, plain) if plain and len(plain) == len(values) else None

    def _coerced(self, field: NestedField, literal: SparkLiteral, *, listed: bool = False) -> Coerced:
        return coerce(field.type, literal, settings=self.settings, listed=listed)

    def _field(self, column: Column) -> NestedField | None:
        """The field that a path leads to through structs; None when there is none, or more than one."""
        members: Sequence[NestedField] = self.schema.fields
        found: NestedField | None = None
        for part in column:
            candidates = [member for member in members if self._same(member.name, part)]
            if len(candidates) != 1:
                return None
            found = candidates[0]
            members = found.type.fields if isinstance(found.type, StructType) else ()
        if found is None or self.schema.find(self.schema.names[found.field_id]) is not found:
            return None
        return found

    def _same(self, name: str, part: str) -> bool:
        return name == part if self.settings.case_sensitive else name.lower() == part.lower()
