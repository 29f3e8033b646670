"""The strict projection of a whole expression, put together from that of its predicates."""

from __future__ import annotations

from floeberg.expr.bind import bind
from floeberg.expr.nodes import Expression, and_, fold, not_, or_
from floeberg.expr.projection import project_strict
from floeberg.spec.partitions.specs import PartitionSpec
from floeberg.spec.schemas.schema import Schema


def strict_projection(
    spec: PartitionSpec, schema: Schema, expression: Expression, *, case_sensitive: bool = True
) -> Expression:
    """The partitions all of whose rows make the expression true."""
    return fold(
        bind(expression, schema, case_sensitive=case_sensitive),
        leaf=lambda node: or_(*project_strict(spec, node)),
        every=lambda parts: and_(*parts),
        some=lambda parts: or_(*parts),
        negate=not_,
    )
