"""Projection of row predicates to predicates on the partition tuple of a spec.

Inclusive: when a row makes the predicate true, its partition makes the projection true, so other files may be skipped.
Strict: when a partition makes the projection true, every row in it makes the predicate true.
https://iceberg.apache.org/spec/#scan-planning

Projections are bound to the partition tuple (`evaluate(projection, partition)`). A transform that we do not know, and
one whose result would overflow, projects to true (inclusive) and false (strict). Two errors of other writers are
allowed for, because their files are there: results before 1970 that are one too great (rounded up, by the Java library
to 0.10), and numbers near a type's minimum whose truncation wrapped around (the Java library's).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any, Final

from floeberg.errors import InvalidInput
from floeberg.expr.bind import bind
from floeberg.expr.evaluate import order_key
from floeberg.expr.nodes import (
    FALSE,
    TRUE,
    UNARY_OPS,
    BoundPredicate,
    BoundReference,
    BoundTransform,
    Expression,
    Op,
    and_,
    fold,
    not_,
    or_,
)
from floeberg.expr.time_fixes import fix_inclusive_time, fix_strict_time
from floeberg.spec.partitions.specs import PartitionField, PartitionSpec
from floeberg.spec.partitions.transforms import (
    BucketTransform,
    DayTransform,
    IdentityTransform,
    TemporalTransform,
    Transform,
    TruncateTransform,
)
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.types import BinaryType, DateType, DecimalType, IcebergType, IntegerType, LongType, StringType
from floeberg.spec.values.physical import decimal_from_unscaled, unscaled
from floeberg.spec.values.temporal import INT_MAX, LONG_MAX

Apply = Callable[[Any], Any]


def inclusive_projection(
    spec: PartitionSpec, schema: Schema, expression: Expression, *, case_sensitive: bool = True
) -> Expression:
    """The partitions that may hold a row for which the expression is true."""
    return fold(
        bind(expression, schema, case_sensitive=case_sensitive),
        leaf=lambda node: and_(*project_inclusive(spec, node)),
        every=lambda parts: and_(*parts),
        some=lambda parts: or_(*parts),
        negate=not_,
    )


def project_inclusive(spec: PartitionSpec, leaf: Expression) -> list[Expression]:
    """What a bound predicate (or constant) says of each partition field; all of it holds where the predicate does."""
    if not isinstance(leaf, BoundPredicate):
        return [leaf]
    return [_inclusive(leaf, field.transform, target) for field, target in _fields_of(spec, leaf)]


def project_strict(spec: PartitionSpec, leaf: Expression) -> list[Expression]:
    """Conditions on partition fields, each of which proves the bound predicate (or constant)."""
    if not isinstance(leaf, BoundPredicate):
        return [leaf]
    return [_strict(leaf, field.transform, target) for field, target in _fields_of(spec, leaf)]


def _fields_of(spec: PartitionSpec, leaf: BoundPredicate) -> Iterable[tuple[PartitionField, BoundReference]]:
    """The partition fields made from the predicate's column alone, with their places in the partition tuple."""
    column = leaf.term.reference
    for position, field in enumerate(spec.fields):
        if field.source_ids == (column.field_id,):
            result = field.transform.result_type(column.type)
            yield field, BoundReference(field.field_id, field.name, result, False, (position,), (field.name,))


def _inclusive(leaf: BoundPredicate, transform: Transform, target: BoundReference) -> Expression:
    try:
        projected = _project(leaf, transform, target, strict=False)
    except InvalidInput:  # the literal's result overflows: nothing is known of the files' values
        return TRUE
    if _rounded_up_before_1970(leaf, transform):
        return fix_inclusive_time(projected)
    return projected


def _strict(leaf: BoundPredicate, transform: Transform, target: BoundReference) -> Expression:
    try:
        projected = _project(leaf, transform, target, strict=True)
    except InvalidInput:
        return FALSE
    if _rounded_up_before_1970(leaf, transform):
        return fix_strict_time(projected)
    return projected


def _project(leaf: BoundPredicate, transform: Transform, target: BoundReference, *, strict: bool) -> Expression:
    unknown: Expression = FALSE if strict else TRUE
    source = leaf.term.reference.type
    if isinstance(leaf.term, BoundTransform):
        same = leaf.term.transform == transform
        return BoundPredicate(leaf.op, target, leaf.literals) if same else unknown
    if isinstance(transform, IdentityTransform):
        return BoundPredicate(leaf.op, target, leaf.literals)
    if not isinstance(transform, (BucketTransform, TruncateTransform, TemporalTransform)):
        return unknown
    if not transform.can_transform(source):
        return unknown
    if leaf.op in UNARY_OPS:
        return BoundPredicate(leaf.op, target) if leaf.op in (Op.IS_NULL, Op.NOT_NULL) else unknown

    def apply(value: object) -> object:
        return transform.apply(source, value)

    if isinstance(transform, BucketTransform):
        return _hashed(leaf, target, apply, strict=strict)
    if isinstance(transform, TruncateTransform) and isinstance(source, (StringType, BinaryType)):
        prefixed = _prefix_strict if strict else _prefix_inclusive
        return prefixed(leaf, target, transform.width)
    stepped = _stepped_strict if strict else _stepped_inclusive
    projected = stepped(leaf, target, apply)
    return _around_the_minimum(leaf.op, projected, transform, source, strict=strict)


def _hashed(leaf: BoundPredicate, target: BoundReference, apply: Apply, *, strict: bool) -> Expression:
    """Equal values have equal hashes, and nothing else follows."""
    if leaf.op in ((Op.NOT_EQ, Op.NOT_IN) if strict else (Op.EQ, Op.IN)):
        return among(leaf.op, target, map(apply, leaf.literals))
    return FALSE if strict else TRUE


def _stepped_inclusive(leaf: BoundPredicate, target: BoundReference, apply: Apply) -> Expression:
    """For transforms that keep the order, of types whose values lie one step apart."""
    data_type = leaf.term.type
    match leaf.op:
        case Op.LT:
            return BoundPredicate(Op.LT_EQ, target, (apply(_step(data_type, leaf.literal, -1)),))
        case Op.LT_EQ:
            return BoundPredicate(Op.LT_EQ, target, (apply(leaf.literal),))
        case Op.GT:
            return BoundPredicate(Op.GT_EQ, target, (apply(_step(data_type, leaf.literal, 1)),))
        case Op.GT_EQ:
            return BoundPredicate(Op.GT_EQ, target, (apply(leaf.literal),))
        case Op.EQ | Op.IN:
            return among(leaf.op, target, map(apply, leaf.literals))
    return TRUE


def _stepped_strict(leaf: BoundPredicate, target: BoundReference, apply: Apply) -> Expression:
    data_type = leaf.term.type
    match leaf.op:
        case Op.LT:
            return BoundPredicate(Op.LT, target, (apply(leaf.literal),))
        case Op.LT_EQ:
            return BoundPredicate(Op.LT, target, (apply(_step(data_type, leaf.literal, 1)),))
        case Op.GT:
            return BoundPredicate(Op.GT, target, (apply(leaf.literal),))
        case Op.GT_EQ:
            return BoundPredicate(Op.GT, target, (apply(_step(data_type, leaf.literal, -1)),))
        case Op.NOT_EQ | Op.NOT_IN:
            return among(leaf.op, target, map(apply, leaf.literals))
        case Op.EQ | Op.IN if all(_is_alone(data_type, value, apply) for value in leaf.literals):
            return among(leaf.op, target, map(apply, leaf.literals))
    return FALSE


def _is_alone(data_type: IcebergType, value: object, apply: Apply) -> bool:
    """Whether no other value has the same result, as with the day of a date."""
    result = apply(value)
    return result not in (apply(_step(data_type, value, -1)), apply(_step(data_type, value, 1)))


def _prefix_inclusive(leaf: BoundPredicate, target: BoundReference, width: int) -> Expression:
    """For text and bytes cut to a width: the result is a prefix of the value, or the value itself when that is short."""
    cut = tuple(_prefix(value, width) for value in leaf.literals)
    whole = cut == leaf.literals
    match leaf.op:
        case Op.LT:
            return BoundPredicate(Op.LT if whole else Op.LT_EQ, target, cut)
        case Op.LT_EQ:
            return BoundPredicate(Op.LT_EQ, target, cut)
        case Op.GT | Op.GT_EQ:
            return BoundPredicate(Op.GT_EQ, target, cut)
        case Op.EQ | Op.IN:
            return among(leaf.op, target, cut)
        case Op.STARTS_WITH:
            shorter = len(_sized(leaf.literal)) < width
            return BoundPredicate(Op.STARTS_WITH if shorter else Op.EQ, target, cut)
        case Op.NOT_STARTS_WITH if whole:
            shorter = len(_sized(leaf.literal)) < width
            return BoundPredicate(Op.NOT_STARTS_WITH if shorter else Op.NOT_EQ, target, cut)
    return TRUE


def _prefix_strict(leaf: BoundPredicate, target: BoundReference, width: int) -> Expression:
    cut = tuple(_prefix(value, width) for value in leaf.literals)
    whole = cut == leaf.literals
    match leaf.op:
        case Op.LT | Op.LT_EQ:
            return BoundPredicate(Op.LT, target, cut)
        case Op.GT:
            return BoundPredicate(Op.GT, target, cut)
        case Op.GT_EQ:
            return BoundPredicate(Op.GT_EQ if whole else Op.GT, target, cut)
        case Op.NOT_EQ | Op.NOT_IN:
            return among(leaf.op, target, cut)
        case Op.EQ | Op.IN if all(len(_sized(value)) < width for value in leaf.literals):
            return among(leaf.op, target, cut)
        case Op.STARTS_WITH if whole:
            shorter = len(_sized(leaf.literal)) < width
            return BoundPredicate(Op.STARTS_WITH if shorter else Op.EQ, target, cut)
        case Op.NOT_STARTS_WITH:
            shorter = len(_sized(leaf.literal)) < width
            return BoundPredicate(Op.NOT_STARTS_WITH if shorter else Op.NOT_EQ, target, cut)
    return FALSE


def among(op: Op, target: BoundReference, values: Iterable[object]) -> Expression:
    """(Not) equal to one of the values, each kept once."""
    kept = {order_key(value): value for value in values}
    ordered = tuple(kept[key] for key in sorted(kept))
    positive = op in (Op.EQ, Op.IN)
    if len(ordered) == 1:
        return BoundPredicate(Op.EQ if positive else Op.NOT_EQ, target, ordered)
    return BoundPredicate(Op.IN if positive else Op.NOT_IN, target, ordered)


_GREATEST: Final[dict[type[IcebergType], int]] = {IntegerType: INT_MAX, LongType: LONG_MAX}


def _around_the_minimum(
    op: Op, projected: Expression, transform: Transform, source: IcebergType, *, strict: bool
) -> Expression:
    """Numbers below the least multiple of the width have no place to be truncated to; the Java library's wrap around
    and lie, as partition values, within one width of the maximum: small rows under great values."""
    greatest = _GREATEST.get(type(source))
    if greatest is None or not isinstance(transform, TruncateTransform) or (greatest + 1) % transform.width == 0:
        return projected
    if not isinstance(projected, BoundPredicate):
        return projected
    edge = (greatest - transform.width,)
    if strict and op in (Op.GT, Op.GT_EQ):
        return and_(projected, BoundPredicate(Op.LT_EQ, projected.term, edge))
    if not strict and op in (Op.LT, Op.LT_EQ):
        return or_(projected, BoundPredicate(Op.GT, projected.term, edge))
    return projected


def _rounded_up_before_1970(leaf: BoundPredicate, transform: Transform) -> bool:
    """Whether old writers may have got the result wrong; the day of a date is the date itself."""
    if not isinstance(transform, TemporalTransform):
        return False
    return not (isinstance(transform, DayTransform) and isinstance(leaf.term.reference.type, DateType))


def _step(data_type: IcebergType, value: object, by: int) -> object:
    """The next value of the type, or the one before."""
    if isinstance(data_type, DecimalType):
        assert isinstance(value, Decimal)
        return decimal_from_unscaled(unscaled(value, data_type) + by, data_type.scale)
    assert isinstance(value, int)
    return value + by


def _prefix(value: object, width: int) -> str | bytes:
    return _sized(value)[:width]


def _sized(value: object) -> str | bytes:
    assert isinstance(value, (str, bytes))
    return value
