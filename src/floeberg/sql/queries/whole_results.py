"""Whether the result of a query may be the rows and columns of one table or view as they are."""

from __future__ import annotations

from floeberg.sql.queries.query_nodes import Body, Pipe, Query, QueryRelation, Relation, Select, TableRelation
from floeberg.sql.queries.references import References


def may_be_whole(references: References) -> bool:
    """`SELECT * FROM t`, `TABLE t`, a query over such a query, or a SELECT of columns, which may be all of them."""
    if len(references.tables) != 1 or references.query is None:
        return False
    return _passes(references.query, references)


def _passes(body: Body, references: References) -> bool:
    match body:
        case Query(limited=False, tail=[]):
            return _passes(body.body, references)
        case Select(where=None, group_by=None, having=None, others=[], distinct=False, windowed=False):
            return len(body.relations) == 1 and _relation_passes(body.relations[0], references)
        case TableRelation():
            return _relation_passes(body, references)
    return isinstance(body, Pipe)


def _relation_passes(relation: Relation, references: References) -> bool:
    if isinstance(relation, QueryRelation):
        return not relation.sampled and _passes(relation.query, references)
    if not isinstance(relation, TableRelation) or relation.sampled:
        return False
    cte = references.walk.cte_uses.get(id(relation))
    return cte is None or (id(cte) not in references.walk.recursive and _passes(cte.query, references))
