"""Metadata columns (`_file`, `_pos` …) in a query: which tables are asked for which, and stars that leave them out.

Spark hides a table's metadata columns unless they are named. A DataFrame can hide none, so a table whose metadata columns
are named is given with them, and `*` becomes `* EXCEPT (…)`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from floeberg.sql.queries.query_nodes import (
    Body,
    Expression,
    Join,
    OpaqueRelation,
    Pipe,
    Query,
    QueryRelation,
    Relation,
    Select,
    SetOperation,
    TableRelation,
    Values,
)
from floeberg.sql.queries.references import References, Rewrite, TableReference
from floeberg.sql.text.cursor import Cursor
from floeberg.sql.text.lexer import Kind, name_value, quote_name


def named_columns(references: References, known: Sequence[str]) -> dict[str, set[str]]:
    """The known names that the text has anywhere, each with the qualifiers that it has there, in lower case; an empty one
    where it stands alone."""
    tokens = references.cursor.tokens
    found: dict[str, set[str]] = {}
    for number, token in enumerate(tokens):
        if token.kind not in (Kind.WORD, Kind.QUOTED):
            continue
        name = name_value(references.cursor.text(token)).lower()
        if name in known:
            qualified = number > 1 and tokens[number - 1].upper == "." and tokens[number - 2].is_name
            qualifier = name_value(references.cursor.text(tokens[number - 2])).lower() if qualified else ""
            found.setdefault(name, set()).add(qualifier)
    return found


def columns_of(table: TableReference, named: Mapping[str, set[str]]) -> tuple[str, ...]:
    """The named columns that may be this table's."""
    own = {"", _alias(table).lower(), table.identifier.name.lower()}
    return tuple(name for name, qualifiers in named.items() if qualifiers & own)


def star_rewrites(references: References, hidden: Mapping[int, Sequence[str]]) -> list[Rewrite]:
    """What to add to the stars of a query. `hidden` has the columns to leave out by the id of a table's reference."""
    if references.query is None or not any(hidden.values()):
        return []
    by_relation = {id(relation): table for relation, table in zip(references.relations, references.tables, strict=True)}
    cursor = references.cursor
    rewrites: list[Rewrite] = []
    for select in _selects(references.query):
        tables = [by_relation[id(one)] for one in _own_tables(select.relations) if id(one) in by_relation]
        left_out = [(_alias(table), name) for table in tables for name in hidden.get(id(table), ())]
        for item in select.items if left_out else ():
            rewrite = _star(cursor, item, left_out)
            if rewrite is not None:
                rewrites.append(rewrite)
    return rewrites


def _alias(table: TableReference) -> str:
    return table.alias.name if table.alias is not None else table.given_alias


def _star(cursor: Cursor, item: Expression, left_out: list[tuple[str, str]]) -> Rewrite | None:
    """The rewrite of an item that is `*`, `t.*` or one of them with EXCEPT; None for any other."""
    tokens = cursor.tokens[item.first : item.last]
    at = next((number for number, token in enumerate(tokens) if token.upper == "*"), None)
    if at is None or any(
        token.upper != "." if number % 2 else not token.is_name for number, token in enumerate(tokens[:at])
    ):
        return None
    if at:
        qualifier = name_value(cursor.text(tokens[at - 2])).lower()
        left_out = [pair for pair in left_out if pair[0].lower() == qualifier]
    if not left_out:
        return None
    names = ", ".join(f"{quote_name(alias)}.{quote_name(name)}" for alias, name in left_out)
    rest = tokens[at + 1 :]
    if len(rest) > 2 and rest[0].upper == "EXCEPT" and rest[1].upper == "(":
        return Rewrite(rest[1].end, rest[1].end, f"{names}, ")
    return Rewrite(tokens[at].end, tokens[at].end, f" EXCEPT ({names})")


def _own_tables(relations: Sequence[Relation]) -> Iterator[TableRelation]:
    """The tables whose columns a star of the same SELECT stands for."""
    for relation in relations:
        if isinstance(relation, TableRelation):
            yield relation
        elif isinstance(relation, Join):
            right = () if relation.kind in ("semi", "anti") else (relation.right,)
            yield from _own_tables((relation.left, *right))


def _selects(query: Query) -> Iterator[Select]:
    for cte in query.ctes:
        yield from _selects(cte.query)
    yield from _of_body(query.body)
    for expression in query.tail:
        yield from _of_expression(expression)


def _of_body(body: Body) -> Iterator[Select]:
    if isinstance(body, Query):
        yield from _selects(body)
    elif isinstance(body, SetOperation):
        yield from _of_body(body.left)
        yield from _of_body(body.right)
    elif isinstance(body, Pipe):
        yield from _of_body(body.source)
        yield from _of_relations(body.relations)
        for other in body.queries:
            yield from _of_body(other)
    elif isinstance(body, Values):
        yield from _of_expression(body.rows)
    elif isinstance(body, Select):
        yield body
        yield from _of_relations(body.relations)
        clauses = (body.where, body.group_by, body.having)
        for expression in (*body.items, *(one for one in clauses if one is not None), *body.others):
            yield from _of_expression(expression)


def _of_relations(relations: Sequence[Relation]) -> Iterator[Select]:
    for relation in relations:
        if isinstance(relation, QueryRelation):
            yield from _selects(relation.query)
        elif isinstance(relation, Join):
            yield from _of_relations((relation.left, relation.right))
            if relation.on is not None:
                yield from _of_expression(relation.on)
        elif isinstance(relation, OpaqueRelation):
            yield from _of_relations(relation.relations)
            for expression in relation.expressions:
                yield from _of_expression(expression)


def _of_expression(expression: Expression) -> Iterator[Select]:
    for query in expression.subqueries:
        yield from _selects(query)
