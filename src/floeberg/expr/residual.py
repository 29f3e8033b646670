"""Residuals: what is left to ask of the rows of a file once its partition is known.

https://iceberg.apache.org/spec/#scan-planning. For every row of the partition the residual is true exactly when the
expression is.
"""

from __future__ import annotations

from floeberg.expr.bind import bind
from floeberg.expr.evaluate import Row, keeps
from floeberg.expr.nodes import FALSE, TRUE, BoundPredicate, Expression, and_, fold, not_, or_, predicates
from floeberg.expr.projection import project_inclusive, project_strict
from floeberg.spec.partitions.specs import PartitionSpec
from floeberg.spec.schemas.schema import Schema


class Residuals:
    """The residuals of one expression under one spec; each predicate is projected once, for all partitions."""

    __slots__ = ("_projections", "expression")

    def __init__(
        self, spec: PartitionSpec, schema: Schema, expression: Expression, *, case_sensitive: bool = True
    ) -> None:
        self.expression = bind(expression, schema, case_sensitive=case_sensitive)
        self._projections = {
            leaf: (and_(*project_inclusive(spec, leaf)), or_(*project_strict(spec, leaf)))
            for leaf in predicates(self.expression)
            if isinstance(leaf, BoundPredicate)
        }

    def of_partition(self, partition: Row) -> Expression:
        """The residual for the rows of a partition, given as its tuple."""

        def leaf(node: Expression) -> Expression:
            if not isinstance(node, BoundPredicate):
                return node
            inclusive, strict = self._projections[node]
            if keeps(strict, partition):
                return TRUE
            return node if keeps(inclusive, partition) else FALSE

        return fold(
            self.expression, leaf=leaf, every=lambda parts: and_(*parts), some=lambda parts: or_(*parts), negate=not_
        )
