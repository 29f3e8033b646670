"""Whether a relation or query has a column of a name, as far as the text tells: True, False, or None when it does not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from floeberg.sql.queries.query_nodes import (
    Body,
    Cte,
    Expression,
    Join,
    OpaqueRelation,
    Query,
    QueryRelation,
    Relation,
    Select,
    SetOperation,
    TableRelation,
)
from floeberg.sql.text.case_ends import ends_with_case
from floeberg.sql.text.cursor import Cursor
from floeberg.sql.text.lexer import Kind, Token, name_value, words

Known = bool | None

# Words after which an operand comes: a name that follows is no alias.
_BEFORE_OPERAND: Final = words(
    "AND OR NOT IN LIKE ILIKE RLIKE REGEXP BETWEEN DIV CASE WHEN THEN ELSE SELECT BY DISTINCT ALL INTERVAL WHERE ON "
    "HAVING ESCAPE FROM FOR PLACING LIMIT OFFSET EXTEND AGGREGATE SET USING IS EXISTS ANY SOME FILTER SETS"
)
# Table functions whose columns have names of Spark's, which never start with an underscore.
_PLAIN_FUNCTIONS: Final = words(
    "RANGE EXPLODE EXPLODE_OUTER POSEXPLODE POSEXPLODE_OUTER STACK JSON_TUPLE VARIANT_EXPLODE VARIANT_EXPLODE_OUTER"
)
_PIVOTS: Final = words("PIVOT UNPIVOT NULLS")


def any_known(values: Iterable[Known]) -> Known:
    """True when one is, None when one may be."""
    unknown = False
    for value in values:
        if value:
            return True
        unknown = unknown or value is None
    return None if unknown else False


def ends_operand(token: Token) -> bool:
    """Whether a name after this token can only be an alias."""
    if token.kind is Kind.SYMBOL:
        return token.upper in (")", "]")
    return token.upper not in _BEFORE_OPERAND


@dataclass(slots=True)
class ColumnSources:
    """`tables` has the lower-case columns of our tables by the identity of their relation, `ctes` what other relations read,
    `of_spark` asks Spark for a table's columns."""

    cursor: Cursor
    tables: Mapping[int, frozenset[str]]
    ctes: Mapping[int, Cte]
    of_spark: Callable[[tuple[str, ...]], frozenset[str] | None]
    _asked: dict[tuple[str, ...], frozenset[str] | None] = field(default_factory=dict)
    _open: set[int] = field(default_factory=set)

    def relation(self, relation: Relation, name: str) -> Known:
        if isinstance(relation, Join):
            sides = (relation.left,) if relation.kind in ("semi", "anti") else (relation.left, relation.right)
            return any_known(self.relation(side, name) for side in sides)
        if relation.alias is not None and relation.alias.columns:
            return name in {column.lower() for column in relation.alias.columns}
        if isinstance(relation, QueryRelation):
            return self.query(relation.query, name)
        return self._table(relation, name) if isinstance(relation, TableRelation) else self._opaque(relation, name)

    def _table(self, relation: TableRelation, name: str) -> Known:
        own = self.tables.get(id(relation))
        if own is not None:
            return name in own
        cte = self.ctes.get(id(relation))
        if cte is not None:
            if cte.columns:
                return name in {column.lower() for column in cte.columns}
            return self.query(cte.query, name)
        parts = relation.name.parts
        if parts not in self._asked:
            self._asked[parts] = self.of_spark(parts)
        columns = self._asked[parts]
        return None if columns is None else name in columns

    def kind(self, relation: OpaqueRelation) -> str:
        """group (in parentheses), pivot, values, function or placeholder."""
        if not relation.expressions:
            return "group" if relation.relations else "placeholder"
        tokens = self.cursor.tokens
        before = tokens[relation.expressions[0].first - 1].upper
        if before == "VALUES":
            return "values"
        return "pivot" if before in _PIVOTS and relation.relations else "function"

    def _opaque(self, relation: OpaqueRelation, name: str) -> Known:
        match self.kind(relation):
            case "group":
                return any_known(self.relation(inner, name) for inner in relation.relations)
            case "pivot":
                found = any_known(self.relation(inner, name) for inner in relation.relations)
                return None if self._mentions(relation.expressions[0], name) else found or _unless_metadata(name)
            case "values":
                return None if name.startswith("col") else False
            case "function":
                called = self.cursor.tokens[relation.expressions[0].first - 1].upper
                return _unless_metadata(name) if called in _PLAIN_FUNCTIONS else None
        return None

    def _mentions(self, expression: Expression, name: str) -> bool:
        tokens = self.cursor.tokens[expression.first : expression.last]
        return any(token.is_name and name_value(self.cursor.text(token)).lower() == name for token in tokens)

    def query(self, query: Query, name: str) -> Known:
        """Whether a query's output has the column; None for a query that reads itself."""
        if id(query) in self._open:
            return None
        self._open.add(id(query))
        try:
            return self._body(query.body, name)
        finally:
            self._open.discard(id(query))

    def _body(self, body: Body, name: str) -> Known:
        if isinstance(body, Query):
            return self.query(body, name)
        if isinstance(body, Select):
            return self.select(body, name)
        if isinstance(body, SetOperation):
            branches = (body.left, body.right) if body.by_name else (body.left,)
            return any_known(self._body(branch, name) for branch in branches)
        if isinstance(body, TableRelation):
            return self._table(body, name)
        return None

    def select(self, select: Select, name: str) -> Known:
        if not select.items:
            return self._from(select, name)
        return any_known(self._item(item, select, name) for item in select.items)

    def _from(self, select: Select, name: str) -> Known:
        """Whether the FROM clause has the column. A lateral view has those that its text names, or that its function does."""
        found = any_known(self.relation(relation, name) for relation in select.relations)
        if found or not select.lateral_views:
            return found
        return None if any(self._mentions(view, name) for view in select.others) else _unless_metadata(name)

    def _item(self, item: Expression, select: Select, name: str) -> Known:
        cursor = self.cursor
        tokens = cursor.tokens[item.first : item.last]
        star = _own_star(tokens)
        if star is not None:
            found = self._from(select, name)
            qualifier = [name_value(cursor.text(token)).lower() for token in tokens[:star:2]]
            return self._excepted(item.first + star + 1, item.last, name, self._of_star(found, qualifier, select))
        own = self.item_name(item.first, item.last)
        if own is not None:
            return own == name
        if len(tokens) == 1 and tokens[0].kind is Kind.NUMBER:
            return False
        # CAST(x AS INT) and (x) are named x, a text literal as its text, and a generator names its columns itself.
        return None if self._mentions(item, name) else _unless_metadata(name)

    def _of_star(self, found: Known, qualifier: Sequence[str], select: Select) -> Known:
        """Whether a star has a column that the FROM clause has or not. That of one relation need not have what another has,
        and one that is no relation's is of the fields of a struct."""
        if not qualifier:
            return found
        names = [name for relation in select.relations for name in _names(relation)]
        if qualifier[-1] not in names or (found and len(names) > 1):
            return None
        return found

    def _excepted(self, first: int, last: int, name: str, found: Known) -> Known:
        """Whether a star still has a column after the EXCEPT that may follow it: `EXCEPT (a)` leaves out `a`; `EXCEPT (a.b)` a
        field of it, or a column of the relation `a`."""
        if first == last:
            return found
        for start, end in self.items(first + 2, last - 1):
            if name_value(self.cursor.text(self.cursor.tokens[end - 1])).lower() == name:
                return False if end - start == 1 else found and None
        return found

    def item_name(self, first: int, last: int) -> str | None:
        """The lower-case name that an expression has in an output; None when Spark makes one up."""
        tokens = self.cursor.tokens[first:last]
        if not tokens or not tokens[-1].is_name or ends_with_case(tokens):
            return None
        named = len(tokens) == 1 or tokens[-2].upper in ("AS", ".") or ends_operand(tokens[-2])
        return name_value(self.cursor.text(tokens[-1])).lower() if named else None

    def items(self, first: int, last: int) -> Sequence[tuple[int, int]]:
        """The ranges between the commas of a list."""
        found: list[tuple[int, int]] = []
        depth, start = 0, first
        for index in range(first, last):
            upper = self.cursor.tokens[index].upper
            depth += (upper in ("(", "[")) - (upper in (")", "]"))
            if upper == "," and not depth:
                found.append((start, index))
                start = index + 1
        return [*found, (start, last)]


def _own_star(tokens: Sequence[Token]) -> int | None:
    """Where the star of an item stands that is columns itself: not that of `struct(t.*)`, nor a product's."""
    depth = 0
    for at, token in enumerate(tokens):
        depth += (token.upper in ("(", "[")) - (token.upper in (")", "]"))
        if token.upper == "*" and not depth and (at == 0 or tokens[at - 1].upper == "."):
            return at
    return None


def _unless_metadata(name: str) -> Known:
    """Unknown, but for the names of metadata columns."""
    return False if name.startswith("_") else None


def _names(relation: Relation) -> Iterator[str]:
    """What the relations of a FROM clause are called, in lower case; empty for one without name."""
    if isinstance(relation, Join):
        yield from _names(relation.left)
        yield from _names(relation.right)
    elif relation.alias is not None:
        yield relation.alias.name.lower()
    elif isinstance(relation, TableRelation):
        yield relation.name.parts[-1].lower()
    else:
        yield ""
        for inner in relation.relations if isinstance(relation, OpaqueRelation) else ():
            yield from _names(inner)
