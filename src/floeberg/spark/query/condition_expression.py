"""The conditions that a statement puts on a table, as planning takes them."""

from __future__ import annotations

from collections.abc import Sequence

from floeberg.expr.nodes import TRUE, Expression
from floeberg.spark.host.session import AttachedSession
from floeberg.spark.host.settings.coercion_rules import coercion_rules
from floeberg.spec.schemas.schema import Schema
from floeberg.sql.conditions.predicates import Condition, Matches
from floeberg.sql.conditions.to_expression import to_expression


def condition_expression(session: AttachedSession, conditions: Sequence[Condition], schema: Schema) -> Expression:
    """The conditions for planning, under the session's own rules of coercion."""
    if all(isinstance(condition, Matches) for condition in conditions):
        return TRUE
    return to_expression(conditions, schema, **coercion_rules(session.setting))
