"""Binding: names become columns of a schema, literals become values of their types.

A bound expression keeps exactly the rows for which the unbound one is true. It has no Not in it: negation is pushed
down first, because a predicate whose literal lies outside the type's range becomes `false` or `IS NOT NULL` (true, when
the column is required), and those stand for it only where just the true rows matter.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from floeberg.errors import InvalidInput
from floeberg.expr.convert import Place, place
from floeberg.expr.evaluate import order_key
from floeberg.expr.literals import Literal
from floeberg.expr.nodes import (
    FALSE,
    SET_OPS,
    TRUE,
    UNARY_OPS,
    BoundPredicate,
    BoundReference,
    BoundTerm,
    BoundTransform,
    Expression,
    Op,
    Predicate,
    Reference,
    Term,
    and_,
    fold,
    not_,
    or_,
)
from floeberg.expr.rewrite import push_down_not
from floeberg.spec.partitions.transforms import (
    DayTransform,
    IdentityTransform,
    UnknownTransform,
    VoidTransform,
)
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.types import DoubleType, FloatType, StringType, StructType, UnknownType


def bind(
    expression: Expression, schema: Schema, *, case_sensitive: bool = True, physical_literals: bool = False
) -> Expression:
    """The expression over the schema's columns, without Not. Predicates that are bound already stay as they are.

    `physical_literals` accepts what JSON from other writers holds: whole numbers for dates, times and timestamps, text
    for numbers, and hexadecimal text for bytes. Raises InvalidInput for unknown columns and literals that do not compare.
    """

    def leaf(node: Expression) -> Expression:
        if not isinstance(node, Predicate):
            return node
        term = bind_term(node.term, schema, case_sensitive=case_sensitive)
        return _bind_predicate(node, term, physical_literals=physical_literals)

    return fold(
        push_down_not(expression),
        leaf=leaf,
        every=lambda parts: and_(*parts),
        some=lambda parts: or_(*parts),
        negate=not_,
    )


def bind_term(term: Term, schema: Schema, *, case_sensitive: bool = True) -> BoundTerm:
    """The column, or the transform of a column, of that schema. Raises InvalidInput."""
    if isinstance(term, Reference):
        return bind_reference(term.name, schema, case_sensitive=case_sensitive)
    reference = bind_reference(term.reference.name, schema, case_sensitive=case_sensitive)
    if isinstance(term.transform, IdentityTransform):
        return reference
    if isinstance(term.transform, UnknownTransform):
        raise InvalidInput(f"transform {term.transform} is not known: compare column {reference.name} itself")
    if not term.transform.can_transform(reference.type):
        raise InvalidInput(f"transform {term.transform} does not apply to column {reference.name} ({reference.type})")
    return BoundTransform(term.transform, reference, term.transform.result_type(reference.type))


def bind_reference(name: str, schema: Schema, *, case_sensitive: bool = True) -> BoundReference:
    """The column of that full name, which must lie in structs only. Raises InvalidInput."""
    found = schema.field(name, case_sensitive=case_sensitive)
    positions: list[int] = []
    names: list[str] = []
    required = True
    members = schema.fields
    for field_id in schema.path_to(found.field_id):
        field = schema.by_id[field_id]
        position = next((i for i, member in enumerate(members) if member.field_id == field_id), None)
        if position is None:
            raise InvalidInput(f"column {name!r} lies in a list or map, which holds many values a row")
        positions.append(position)
        names.append(field.name)
        required = required and field.required
        members = field.type.fields if isinstance(field.type, StructType) else ()
    return BoundReference(
        found.field_id, schema.names[found.field_id], found.type, required, tuple(positions), tuple(names)
    )


def _bind_predicate(predicate: Predicate, term: BoundTerm, *, physical_literals: bool) -> Expression:
    try:
        if predicate.op in UNARY_OPS:
            return _UNARY[predicate.op](term)
        if isinstance(term.type, UnknownType) or _is_void(term):
            return _never_or_everything(predicate)
        physical = physical_literals or _takes_ordinals(term)
        if predicate.op in SET_OPS:
            places = [place(term.type, literal, physical=physical) for literal in predicate.literals]
            return _bind_set(predicate, term, places)
        return _bind_comparison(predicate.op, term, predicate.literals[0], physical=physical)
    except InvalidInput as error:
        raise InvalidInput(f"{str(predicate)[:200]}: {error}", **error.context) from error


def _bind_comparison(op: Op, term: BoundTerm, literal: Literal, *, physical: bool) -> Expression:
    if op in (Op.STARTS_WITH, Op.NOT_STARTS_WITH):
        return _bind_prefix(op, term, literal)
    below, above = place(term.type, literal, physical=physical)
    if below is not None and below == above:
        return BoundPredicate(op, term, (below,))
    match op:
        case Op.LT | Op.LT_EQ:
            if below is None:
                return FALSE
            return present(term) if above is None else BoundPredicate(Op.LT_EQ, term, (below,))
        case Op.GT | Op.GT_EQ:
            if above is None:
                return FALSE
            return present(term) if below is None else BoundPredicate(Op.GT_EQ, term, (above,))
        case Op.EQ:
            return FALSE
    return present(term)


def _bind_prefix(op: Op, term: BoundTerm, literal: Literal) -> Expression:
    if not isinstance(term.type, StringType):
        raise InvalidInput(f"{term} is of type {term.type}; only strings start with something")
    if literal == "":
        return present(term) if op is Op.STARTS_WITH else FALSE
    return BoundPredicate(op, term, (literal,))


def _bind_set(predicate: Predicate, term: BoundTerm, places: list[Place]) -> Expression:
    """Literals that no value equals fall away; one left is a comparison, none left a constant."""
    if not places:
        return _never_or_everything(predicate)
    values = {order_key(below): below for below, above in places if below is not None and below == above}
    if not values:
        return FALSE if predicate.op is Op.IN else present(term)
    ordered = tuple(values[key] for key in sorted(values))
    if len(ordered) == 1:
        return BoundPredicate(Op.EQ if predicate.op is Op.IN else Op.NOT_EQ, term, ordered)
    return BoundPredicate(predicate.op, term, ordered)


def _never_or_everything(predicate: Predicate) -> Expression:
    """A comparison with null is never true; to be in no list at all is true of every row, null or not."""
    return TRUE if predicate.op is Op.NOT_IN and not predicate.literals else FALSE


def present(term: BoundTerm) -> Expression:
    """True when the term is not null."""
    if isinstance(term.type, UnknownType) or _is_void(term):
        return FALSE
    return TRUE if term.required else BoundPredicate(Op.NOT_NULL, term.reference)


def absent(term: BoundTerm) -> Expression:
    """True when the term is null, which is when its column is (a void transform gives nothing but null)."""
    if isinstance(term.type, UnknownType) or _is_void(term):
        return TRUE
    return FALSE if term.required else BoundPredicate(Op.IS_NULL, term.reference)


def _is_nan(term: BoundTerm) -> Expression:
    return BoundPredicate(Op.IS_NAN, term) if isinstance(term.type, (FloatType, DoubleType)) else FALSE


def _not_nan(term: BoundTerm) -> Expression:
    return BoundPredicate(Op.NOT_NAN, term) if isinstance(term.type, (FloatType, DoubleType)) else TRUE


_UNARY: Final[dict[Op, Callable[[BoundTerm], Expression]]] = {
    Op.IS_NULL: absent,
    Op.NOT_NULL: present,
    Op.IS_NAN: _is_nan,
    Op.NOT_NAN: _not_nan,
}


def _is_void(term: BoundTerm) -> bool:
    return isinstance(term, BoundTransform) and isinstance(term.transform, VoidTransform)


def _takes_ordinals(term: BoundTerm) -> bool:
    """A day may be given as its count since 1970, as the other time transforms are."""
    return isinstance(term, BoundTransform) and isinstance(term.transform, DayTransform)


__all__ = ["absent", "bind", "bind_reference", "bind_term", "present"]
