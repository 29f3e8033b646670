"""Reads the relations of a FROM clause: tables, queries, functions, joins."""

from __future__ import annotations

from functools import reduce
from typing import Final

from floeberg.sql.queries.expression_scan import ExpressionScan
from floeberg.sql.queries.query_nodes import (
    Alias,
    Body,
    Expression,
    Join,
    OpaqueRelation,
    Pipe,
    QueryRelation,
    Relation,
    TableRelation,
    TimeTravel,
)
from floeberg.sql.text.lexer import Kind, string_value, words
from floeberg.sql.text.query_starts import starts_query

# A word that follows a relation and is not its alias.
_NOT_ALIAS: Final = words(
    "WHERE GROUP HAVING ORDER SORT CLUSTER DISTRIBUTE LIMIT OFFSET WINDOW QUALIFY UNION EXCEPT MINUS SETMINUS "
    "INTERSECT JOIN INNER CROSS LEFT RIGHT FULL SEMI ANTI NATURAL LATERAL ON USING PIVOT UNPIVOT TABLESAMPLE SELECT "
    "INSERT WHEN SET WITH FOR WATERMARK AS"
)
_JOIN_KINDS: Final = {
    "INNER": "inner", "CROSS": "cross", "LEFT": "left", "RIGHT": "right", "FULL": "full", "SEMI": "semi",
    "ANTI": "anti",
}  # fmt: skip
_TRAVEL: Final = {
    "VERSION": "version", "SYSTEM_VERSION": "version", "TIMESTAMP": "timestamp", "SYSTEM_TIME": "timestamp",
}  # fmt: skip
_VALUE_OPERATORS: Final = frozenset({"+", "-", "*", "/", "%", "||", "::", "."})


class RelationParser(ExpressionScan):
    """Relations; queries among them are read by `query`."""

    def relations(self) -> list[Relation]:
        """The relations between commas. What follows one of them is about all before it as well: `a, b RIGHT JOIN c` fills `a`
        with nulls too, unless spark.sql.ansi.relationPrecedence is set."""
        found = [self.relation()]
        while self.cursor.accept(","):
            primary = self._first_of_relation()
            at = self.cursor.index
            whole = self._extended(primary)
            if _leaves_others_alone(whole):
                found.append(whole)
            else:
                self.cursor.index = at
                found = [self._extended(reduce(_crossed, [*found, primary]))]
        return found

    def relation(self) -> Relation:
        return self._extended(self._first_of_relation())

    def _first_of_relation(self) -> Relation:
        lateral = self.cursor.at("LATERAL") and not self.cursor.at("LATERAL", "VIEW") and self.cursor.accept("LATERAL")
        return self._primary_relation(lateral=lateral)

    def _extended(self, left: Relation) -> Relation:
        """A relation with the joins and pivots that follow it."""
        while True:
            if self.at_join():
                left = self.join(left)
            elif self.cursor.at_any("PIVOT", "UNPIVOT"):
                left = self._pivot(left)
            else:
                return left

    def at_join(self) -> bool:
        cursor = self.cursor
        if cursor.at_any("JOIN", "NATURAL"):
            return True
        return cursor.token.upper in _JOIN_KINDS and cursor.peek().upper in ("JOIN", "OUTER", "SEMI", "ANTI")

    def join(self, left: Relation) -> Join:
        cursor = self.cursor
        natural = cursor.accept("NATURAL")
        kind = "inner"
        while (word := cursor.accept_any(*_JOIN_KINDS, "OUTER")) is not None:
            kind = _JOIN_KINDS.get(word, kind)
        cursor.expect("JOIN")
        lateral = cursor.accept("LATERAL")
        self.skip_hints()
        right = self._primary_relation(lateral=lateral)
        found = Join(left, right, kind, natural=natural, lateral=lateral)
        if cursor.accept("ON"):
            found.on = self.expression()
        elif cursor.accept("USING"):
            found.using = self.names_in_parentheses()
        elif self._at_nearest():
            self._nearest(found)
        return found

    def _at_nearest(self) -> bool:
        return self.cursor.at_any("APPROX", "EXACT") and self.cursor.peek().upper == "NEAREST"

    def _nearest(self, join: Join) -> None:
        """`EXACT NEAREST 3 BY DISTANCE abs(a.x - b.x)`: which rows are the nearest hangs on all rows of the right side."""
        cursor = self.cursor
        cursor.advance()
        cursor.expect("NEAREST")
        if not cursor.at("BY"):
            cursor.advance()
        cursor.expect("BY")
        cursor.expect_any("DISTANCE", "SIMILARITY", hint="NEAREST 1 BY DISTANCE expression")
        join.on, join.nearest = self.expression(), True

    def pipe_join(self, pipe: Pipe) -> Join:
        """A join of a `|>` step; its left side is what came before."""
        return self.join(OpaqueRelation())

    def _pivot(self, source: Relation) -> OpaqueRelation:
        cursor = self.cursor
        cursor.advance()
        if cursor.accept_any("INCLUDE", "EXCLUDE"):
            cursor.expect("NULLS")
        inside = self._parenthesised_expression()
        return OpaqueRelation(self.alias(), [inside], [source])

    def _parenthesised_expression(self) -> Expression:
        cursor = self.cursor
        if not cursor.at("("):
            raise cursor.error("expected (")
        found = Expression(cursor.index, cursor.index)
        self.parenthesis(found)
        found.last = cursor.index
        return found

    def _primary_relation(self, *, lateral: bool = False) -> Relation:
        cursor = self.cursor
        if cursor.at("("):
            return self._parenthesised(lateral=lateral)
        if cursor.at("VALUES") and cursor.peek().upper != ".":
            cursor.advance()
            rows = self.value_rows()
            return OpaqueRelation(self.alias(), [rows])
        if cursor.token.kind is Kind.PLACEHOLDER:
            cursor.advance()
            self._sample()
            return OpaqueRelation(self.alias())
        if cursor.accept("STREAM"):
            return self._stream()
        if self._at_function():
            return self._function()
        return self.named_relation()

    def value_rows(self) -> Expression:
        """VALUES rows in FROM end where the commas do; a relation follows a comma too, so look for a row."""
        cursor = self.cursor
        rows = Expression(cursor.index, cursor.index)
        while True:
            part = self._row()
            rows.subqueries.extend(part.subqueries)
            if not cursor.at(","):
                break
            cursor.advance()
        rows.last = cursor.index
        return rows

    def _row(self) -> Expression:
        if self.cursor.at("("):
            return self._parenthesised_expression()
        found = Expression(self.cursor.index, self.cursor.index)
        self.value_expression(found)
        found.last = self.cursor.index
        return found

    def _parenthesised(self, *, lateral: bool) -> Relation:
        cursor = self.cursor
        if starts_query(cursor, cursor.index):
            query = self.query_or_none()
            if query is not None:  # else `((SELECT …) a JOIN b)`
                sampled = self._sample()
                return QueryRelation(query, self.alias(), sampled, lateral)
        cursor.deeper()
        try:
            cursor.expect("(")
            relations = self.relations()
            cursor.expect(")")
        finally:
            cursor.nesting -= 1
        sampled = self._sample()
        alias = self.alias()
        if alias is None and not sampled and len(relations) == 1:
            return relations[0]
        return OpaqueRelation(alias, [], relations)

    def _at_function(self) -> bool:
        """Whether a dotted name is followed by a parenthesis; IDENTIFIER(…) names a table unless called itself."""
        cursor = self.cursor
        if not cursor.token.is_name:
            return False
        ahead = 0
        if cursor.at("IDENTIFIER", "("):
            ahead = cursor.closing(cursor.index + 1) - cursor.index
        while cursor.peek(ahead + 1).upper == "." and cursor.peek(ahead + 2).is_name:
            ahead += 2
        return cursor.peek(ahead + 1).upper == "("

    def _function(self) -> OpaqueRelation:
        cursor = self.cursor
        found = OpaqueRelation()
        if cursor.at("IDENTIFIER", "("):
            cursor.advance()
            cursor.skip_parentheses()
        while not cursor.at("("):
            cursor.advance()
        self._arguments(found)
        found.alias = self.alias()
        return found

    def _arguments(self, found: OpaqueRelation) -> None:
        """Arguments may be tables: TABLE t, TABLE(t), TABLE(query), each perhaps named `arg =>`."""
        cursor = self.cursor
        first = cursor.index
        closing = cursor.closing(first)
        arguments = Expression(first, closing + 1)
        cursor.advance()
        while cursor.index < closing:
            if cursor.at("TABLE") and cursor.tokens[cursor.index - 1].upper in ("(", ",", "=>"):
                self._table_argument(found)
            elif cursor.at("("):
                self.parenthesis(arguments)
            else:
                cursor.advance()
        found.expressions.append(arguments)
        cursor.expect(")")

    def _table_argument(self, found: OpaqueRelation) -> None:
        cursor = self.cursor
        cursor.expect("TABLE")
        if cursor.at("(") and starts_query(cursor, cursor.index):
            found.relations.append(QueryRelation(self.query_in_parentheses()))
            return
        parenthesis = cursor.accept("(")
        found.relations.append(self.bare_table("argument", cursor.start))
        if parenthesis:
            cursor.expect(")")

    def _stream(self) -> Relation:
        cursor = self.cursor
        parenthesis = cursor.accept("(")
        table = self.bare_table("argument", cursor.start)
        if parenthesis:
            cursor.expect(")")
        return OpaqueRelation(self.alias(), [], [table])

    def table_query(self) -> Body:
        """TABLE t: the whole of it is one reference."""
        cursor = self.cursor
        start = cursor.start
        cursor.expect("TABLE")
        return self.bare_table("table_query", start)

    def bare_table(self, form: str, start: int) -> TableRelation:
        """A table by name alone, where no alias may stand."""
        name = self.cursor.multipart("a table's name")
        return TableRelation(name, start, name.end, name.end, form=form)

    def table_without_alias(self) -> Relation:
        """A table or a placeholder, with the cursor before any alias."""
        if self.cursor.at_kind(Kind.PLACEHOLDER):
            self.cursor.advance()
            return OpaqueRelation()
        if self._at_function():
            raise self.cursor.error("a function cannot be the source here", hint="write (SELECT * FROM f(…)) AS name")
        table = self._named_table()
        table.alias_at = self.cursor.last_end
        return table

    def named_relation(self) -> TableRelation:
        """A table by name, with all that may follow it."""
        table = self._named_table()
        cursor = self.cursor
        table.sampled = self._sample()
        if cursor.accept("WATERMARK"):
            raise cursor.error("WATERMARK is not supported here")
        table.alias_at = cursor.last_end
        table.alias = self.alias()
        return table

    def _named_table(self) -> TableRelation:
        cursor = self.cursor
        name = cursor.multipart("a table's name")
        table = TableRelation(name, name.start, name.end, name.end)
        table.time_travel = self._time_travel()
        if cursor.at("WITH", "("):
            table.options = self._options()
        table.end = cursor.last_end
        return table

    def _time_travel(self) -> TimeTravel | None:
        cursor = self.cursor
        start = cursor.start
        skipped = 1 if cursor.at("FOR") else 0
        if cursor.peek(skipped).upper not in _TRAVEL or cursor.peek(skipped + 1).upper != "AS":
            return None
        if cursor.peek(skipped + 2).upper != "OF":
            return None
        kind = _TRAVEL[cursor.peek(skipped).upper]
        cursor.index += skipped + 3
        at = cursor.start
        self.value_expression(Expression(cursor.index, cursor.index))
        return TimeTravel(kind, cursor.sql[at : cursor.last_end], start, cursor.last_end)

    def value_expression(self, owner: Expression) -> None:
        """An expression that ends where no operator continues it, because an alias may follow."""
        cursor = self.cursor
        while True:
            self._operand(owner)
            if cursor.token.upper not in _VALUE_OPERATORS:
                return
            cursor.advance()

    def _operand(self, owner: Expression) -> None:
        cursor = self.cursor
        while cursor.at_any("-", "+"):
            cursor.advance()
        if cursor.at("("):
            self.parenthesis(owner)
        elif cursor.accept("INTERVAL"):
            self._interval()
        elif cursor.at_any(":", "?"):
            cursor.parameter()
        elif cursor.token.kind in (Kind.NUMBER, Kind.STRING):
            if not cursor.strings():
                cursor.advance()
        elif cursor.token.is_name:
            cursor.advance()
            if cursor.at("("):
                self.parenthesis(owner)
            elif cursor.at_kind(Kind.STRING):
                cursor.advance()
        else:
            raise cursor.error("expected a value")

    def _interval(self) -> None:
        """`1 DAY 2 HOURS` or `'1-2' YEAR TO MONTH`."""
        cursor = self.cursor
        while cursor.token.kind in (Kind.NUMBER, Kind.STRING) or cursor.at_any("-", "+"):
            cursor.accept_any("-", "+")
            cursor.advance()
            if cursor.at_kind(Kind.WORD) and cursor.token.upper.rstrip("S") in _UNITS:
                cursor.advance()
                if cursor.accept("TO"):
                    cursor.advance()

    def _options(self) -> tuple[tuple[str, str], ...]:
        """`WITH ('key' = 'value')` behind a table's name."""
        cursor = self.cursor
        cursor.expect("WITH", "(")
        found: list[tuple[str, str]] = []
        while True:
            if cursor.token.kind is Kind.STRING:
                key = string_value(cursor.text(cursor.advance()))
            else:
                key = ".".join(cursor.multipart("an option's name").parts)
            cursor.accept_any("=", "==")
            found.append((key, self._option_value()))
            if not cursor.accept(","):
                break
        cursor.expect(")")
        return tuple(found)

    def _option_value(self) -> str:
        cursor = self.cursor
        token = cursor.token
        if token.kind is Kind.STRING:
            return "".join(cursor.strings())
        if token.upper not in (":", "?"):
            return cursor.text(cursor.advance())
        value = cursor.parameter()
        if value is None or not isinstance(value, str | int | float):
            raise cursor.error("expected an option's value", hint="pass it as a string", token=token)
        return str(value).lower() if isinstance(value, bool) else str(value)

    def _sample(self) -> bool:
        cursor = self.cursor
        if not cursor.accept("TABLESAMPLE"):
            return False
        cursor.accept_any("SYSTEM", "BERNOULLI")
        cursor.skip_parentheses()
        if cursor.accept("REPEATABLE"):
            cursor.skip_parentheses()
        return True

    def alias(self) -> Alias | None:
        cursor = self.cursor
        if cursor.accept("AS"):
            name = cursor.name("an alias")
        elif cursor.token.is_name and cursor.token.upper not in _NOT_ALIAS and not self._at_nearest():
            name = cursor.name()
        else:
            return None
        columns = self.names_in_parentheses() if cursor.at("(") else ()
        return Alias(name, columns)


def _crossed(left: Relation, right: Relation) -> Relation:
    return Join(left, right, "cross", comma=True)


def _leaves_others_alone(relation: Relation) -> bool:
    """Whether what follows a relation's first part changes nothing of the relations before a comma."""
    while isinstance(relation, Join):
        if relation.kind in ("right", "full") or relation.natural or relation.using:
            return False
        relation = relation.left
    return not (isinstance(relation, OpaqueRelation) and relation.relations and relation.expressions)


_UNITS: Final = words("YEAR MONTH WEEK DAY HOUR MINUTE SECOND MILLISECOND MICROSECOND NANOSECOND QUARTER")
