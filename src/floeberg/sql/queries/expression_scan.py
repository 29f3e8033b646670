"""Finds where an expression ends, without reading what it says."""

from __future__ import annotations

from typing import Final

from floeberg.errors import InvalidInput
from floeberg.sql.queries.query_nodes import Expression, Query
from floeberg.sql.text.case_ends import closes_case
from floeberg.sql.text.cursor import Cursor, UnresolvedIdentifier
from floeberg.sql.text.lexer import Kind, words
from floeberg.sql.text.query_starts import QUERY_STARTS, starts_query

_CLAUSES: Final = words(
    "FROM WHERE HAVING LIMIT OFFSET WINDOW QUALIFY UNION EXCEPT MINUS SETMINUS INTERSECT "
    "JOIN INNER CROSS LEFT RIGHT FULL SEMI ANTI NATURAL LATERAL PIVOT UNPIVOT TABLESAMPLE ON USING "
    "GROUP ORDER SORT CLUSTER DISTRIBUTE SELECT INSERT WHEN THEN"
)
_WITH_BY: Final = frozenset({"GROUP", "ORDER", "SORT", "CLUSTER", "DISTRIBUTE"})
_JOIN_WORDS: Final = frozenset({"JOIN", "OUTER", "SEMI", "ANTI", "INNER", "CROSS", "LEFT", "RIGHT", "FULL", "NATURAL"})
_SET_OPERATORS: Final = frozenset({"UNION", "EXCEPT", "MINUS", "SETMINUS", "INTERSECT"})
_AFTER_SET_OPERATOR: Final = QUERY_STARTS | {"ALL", "DISTINCT", "(", "BY"}

# Words after which an operand comes, so that the next word cannot start a clause.
_BEFORE_OPERAND: Final = words(
    "AND OR NOT IN LIKE ILIKE RLIKE REGEXP BETWEEN DIV CASE WHEN THEN ELSE SELECT AS BY DISTINCT INTERVAL WHERE ON "
    "HAVING ESCAPE COLLATE FROM LIMIT OFFSET"
)
_PREFIXES: Final = frozenset({"NOT", "CASE", "DISTINCT", "INTERVAL", "SELECT"})
"""Those that may begin an expression; the others stand between operands, and are names of columns where none is before them."""
_OPERATORS: Final = frozenset(
    {"=", "==", "<=>", "<>", "!=", "<", "<=", ">", ">=", "!>", "!<", "+", "-", "/", "%", "~", "&", "|", "||", "^"}
    | {":", "::", "->", "=>", "!", "<<", ",", ".", "(", "["}
)


class ExpressionScan:
    """The part of the query grammar that walks over expressions; queries inside them are read by `query`."""

    def __init__(self, cursor: Cursor) -> None:
        self.cursor = cursor

    def query(self) -> Query:
        raise self.cursor.error("a query was not expected")

    def query_in_parentheses(self) -> Query:
        cursor = self.cursor
        cursor.expect("(", hint="a query in parentheses")
        found = self.query()
        cursor.expect(")", hint="the query's closing parenthesis")
        return found

    def names_in_parentheses(self) -> tuple[str, ...]:
        cursor = self.cursor
        cursor.expect("(")
        names = [cursor.name("a column's name")]
        while cursor.accept(","):
            names.append(cursor.name("a column's name"))
        cursor.expect(")")
        return tuple(names)

    def skip_hints(self) -> None:
        while self.cursor.token.kind is Kind.HINT:
            self.cursor.advance()

    def expressions(self) -> list[Expression]:
        """Expressions between commas."""
        found = [self.expression()]
        while self.cursor.accept(","):
            found.append(self.expression())
        return found

    def expression_list(self) -> Expression:
        """Expressions and the commas between them, as one."""
        parts = self.expressions()
        whole = Expression(parts[0].first, parts[-1].last)
        for part in parts:
            whole.subqueries.extend(part.subqueries)
        return whole

    def expression(self, *, before_query: bool = False) -> Expression:
        """From the cursor to the comma, clause or closing parenthesis that ends it; with `before_query`, also to the
        query that may follow it."""
        cursor = self.cursor
        found = Expression(cursor.index, cursor.index)
        cases = 0
        while not self._ends(found.first, cases) and not (before_query and self._at_query(found.first)):
            token = cursor.token
            if token.upper == "CASE":
                cases += 1
            elif cases and closes_case(cursor.tokens, cursor.index):
                cases -= 1
            if token.upper == "(":
                self.parenthesis(found)
            else:
                cursor.advance()
        found.last = cursor.index
        return found

    def query_or_none(self) -> Query | None:
        """The query in the parentheses here; None, and nothing read, if only an inner one holds a query: `((SELECT 1) + 2)`."""
        cursor = self.cursor
        opening = cursor.index
        try:
            return self.query_in_parentheses()
        except UnresolvedIdentifier:
            raise
        except InvalidInput:
            if cursor.tokens[opening + 1].upper != "(":
                raise
            cursor.index = opening
            return None

    def parenthesis(self, owner: Expression) -> None:
        """Past a parenthesis, whatever it holds, with the queries in it noted."""
        cursor = self.cursor
        closing = cursor.closing(cursor.index)
        while cursor.index < closing:
            if not cursor.at("(") or not starts_query(cursor, cursor.index):
                cursor.advance()
                continue
            query = self.query_or_none()
            if query is None:
                cursor.advance()
                continue
            owner.subqueries.append(query)
        cursor.index = max(cursor.index, closing + 1)

    def _ends(self, first: int, cases: int) -> bool:
        cursor = self.cursor
        token = cursor.token
        upper = token.upper
        if token.kind is Kind.END or upper in (",", ")", ";", "|>"):
            return True
        if upper not in _CLAUSES or cursor.index == first or (cases and upper in ("WHEN", "THEN")):
            return False
        return self._operand_ended(first) and self._starts_clause(upper)

    def _at_query(self, first: int) -> bool:
        cursor = self.cursor
        after = cursor.peek()
        follows = (
            (cursor.at("VALUES") and after.upper == "(")
            or (cursor.at("TABLE") and after.is_name)
            or (cursor.at("WITH") and after.is_name)
            or (cursor.at("(") and starts_query(cursor, cursor.index))
        )
        return follows and cursor.index > first and self._operand_ended(first)

    def _operand_ended(self, first: int) -> bool:
        """Whether an operand of the expression that begins at `first` ends before the cursor."""
        cursor = self.cursor
        if cursor.tokens[cursor.index - 1].upper in _PREFIXES and self._at_relation():
            return self._operand_awaited(cursor.index - 1, first)  # `SELECT interval FROM t`: a column
        return self._ends_operand(cursor.index - 1, first)

    def _at_relation(self) -> bool:
        """At FROM with a name or a query after it, which is no column of that name."""
        cursor = self.cursor
        after = cursor.peek()
        is_name = after.is_name and after.upper not in _CLAUSES | _BEFORE_OPERAND
        return cursor.at("FROM") and (is_name or starts_query(cursor, cursor.index + 1))

    def _ends_operand(self, at: int, first: int) -> bool:
        token = self.cursor.tokens[at]
        if token.kind is Kind.SYMBOL:
            return token.upper not in _OPERATORS
        if token.upper not in _BEFORE_OPERAND:
            return True
        if self.cursor.tokens[at - 1].upper in ("AS", "."):
            return True  # an alias or a field that is named like a keyword
        return token.upper not in _PREFIXES and self._operand_awaited(at, first)

    def _operand_awaited(self, at: int, first: int) -> bool:
        """Whether an operand has to begin at a token: no operator can stand there."""
        before = self.cursor.tokens[at - 1]
        if at <= first or (before.kind is Kind.SYMBOL and before.upper in _OPERATORS):
            return True
        if before.upper == "NOT":
            return self._operand_awaited(at - 1, first)  # not in `a NOT LIKE b` and `a IS NOT DISTINCT FROM b`
        in_case = before.upper in ("CASE", "WHEN", "THEN", "ELSE")
        return before.upper in _BEFORE_OPERAND and not in_case and not self._ends_operand(at - 1, first)

    def _starts_clause(self, upper: str) -> bool:
        """Whether what follows the keyword fits the clause."""
        cursor = self.cursor
        after = cursor.peek()
        if upper in _WITH_BY:
            return after.upper == "BY"
        if upper in _SET_OPERATORS:
            return after.upper in _AFTER_SET_OPERATOR and not self._star_except()
        if upper in ("LEFT", "RIGHT", "FULL", "SEMI", "ANTI", "NATURAL", "INNER", "CROSS"):
            return after.upper in _JOIN_WORDS
        if upper == "LATERAL":
            return after.upper in ("VIEW", "JOIN") or after.upper == "("
        if upper in ("PIVOT", "UNPIVOT", "TABLESAMPLE"):
            return after.upper in ("(", "INCLUDE", "EXCLUDE", "SYSTEM")
        if upper == "WHEN":
            return after.upper in ("MATCHED", "NOT")
        if upper == "THEN":
            return after.upper in ("UPDATE", "DELETE", "INSERT")
        if upper == "INSERT":
            return after.upper in ("INTO", "OVERWRITE")
        if upper == "WINDOW":
            return after.is_name and cursor.peek(2).upper == "AS"
        return True

    def _star_except(self) -> bool:
        """`* EXCEPT (a, b)`: columns left out of a star, no set operation."""
        cursor = self.cursor
        return (
            cursor.at("EXCEPT", "(")
            and cursor.tokens[cursor.index - 1].upper == "*"
            and not starts_query(cursor, cursor.index + 1)
        )
