"""Reads a query's skeleton from the tokens: https://spark.apache.org/docs/latest/sql-ref-syntax-qry-select.html

Spark reserves next to no words, so a clause starts at its keyword only where an operand has just ended: `SELECT limit
FROM t` reads a column. What does not fit raises InvalidInput, and the caller falls back to single names.
"""

from __future__ import annotations

from typing import Final

from floeberg.errors import InvalidInput
from floeberg.sql.queries.query_nodes import Body, Cte, Expression, Pipe, Query, Relation, Select, SetOperation, Values
from floeberg.sql.queries.relation_parser import RelationParser
from floeberg.sql.text.cursor import Cursor
from floeberg.sql.text.query_starts import QUERY_STARTS, starts_query

_ORDERINGS: Final = ("ORDER", "SORT", "CLUSTER", "DISTRIBUTE")
_SET_OPERATORS: Final = ("UNION", "EXCEPT", "MINUS", "SETMINUS", "INTERSECT")


class QueryParser(RelationParser):
    """A recursive-descent reader; results are kept by place, so that going back costs nothing."""

    def __init__(self, cursor: Cursor) -> None:
        super().__init__(cursor)
        self._known: dict[int, tuple[Query, int] | InvalidInput] = {}

    def query(self) -> Query:
        """The query at the cursor. Raises InvalidInput when there is none."""
        cursor = self.cursor
        at = cursor.index
        known = self._known.get(at)
        if isinstance(known, InvalidInput):
            raise known
        if known is None:
            cursor.deeper()
            try:
                found = self._query()
                found.first, found.last = at, cursor.index
                known = (found, cursor.index)
            except InvalidInput as wrong:
                self._known[at] = wrong
                raise
            finally:
                cursor.nesting -= 1
            self._known[at] = known
        query, cursor.index = known
        return query

    def _query(self) -> Query:
        at = self.cursor.index
        recursive, ctes = self.with_clause()
        query = Query(ctes, self._set_operations(self._primary()), recursive=recursive)
        source: Query | None = None
        while True:
            if self._tail(query):
                continue
            if self.cursor.at("|>"):
                source = Query(query.ctes, query.body, recursive=recursive, tail=query.tail, limited=query.limited)
                query.body = self._pipes(source)
                query.ctes, query.tail, query.limited = [], [], False
                continue
            if source is not None and not query.tail and self.cursor.at_any(*_SET_OPERATORS):
                # The steps belong to the first part alone, the WITH clause to all of it.
                query.ctes, source.ctes, source = source.ctes, [], None
                query.body = self._set_operations(Query([], query.body, first=at, last=self.cursor.index))
                continue
            return query

    def with_clause(self) -> tuple[bool, list[Cte]]:
        """The common table expressions at the cursor, and whether they may be recursive."""
        cursor = self.cursor
        if not cursor.accept("WITH"):
            return False, []
        recursive = cursor.at("RECURSIVE") and cursor.peek().is_name and cursor.accept("RECURSIVE")
        ctes = [self._cte()]
        while cursor.accept(","):
            ctes.append(self._cte())
        return recursive, ctes

    def _cte(self) -> Cte:
        cursor = self.cursor
        name = cursor.name("a name for the common table expression")
        columns = self.names_in_parentheses() if cursor.at("(") and not starts_query(cursor, cursor.index) else ()
        if cursor.accept("MAX", "RECURSION", "LEVEL"):
            cursor.advance()
        cursor.accept("AS")
        return Cte(name, columns, self.query_in_parentheses())

    def _set_operations(self, body: Body) -> Body:
        """A body with the set operations that follow it, left to right; precedence does not matter for what is read."""
        while self.cursor.at_any(*_SET_OPERATORS):
            kind = self.cursor.advance().upper
            self.cursor.accept_any("ALL", "DISTINCT")
            by_name = self.cursor.accept("BY", "NAME")
            body = SetOperation(body, self._primary(), kind, by_name=by_name)
        return body

    def _primary(self) -> Body:
        cursor = self.cursor
        if cursor.at("("):
            return self.query_in_parentheses()
        if cursor.at("SELECT"):
            return self._select([])
        if cursor.at("FROM"):
            return self._from_first()
        if cursor.at("VALUES"):
            cursor.advance()
            values = Values(self.value_rows())
            self.alias()
            return values
        if cursor.at("TABLE"):
            return self.table_query()
        raise cursor.error("expected a query", hint="a query starts with SELECT, WITH, FROM, VALUES or TABLE")

    def _from_first(self) -> Body:
        """`FROM t SELECT …`, or `FROM t |> …`; several SELECTs share the relations."""
        cursor = self.cursor
        cursor.expect("FROM")
        relations = self.relations()
        views = self._lateral_views()
        if not cursor.at("SELECT"):
            return Select(relations=relations, others=views, lateral_views=bool(views))
        body: Body = self._select(relations, views)
        while cursor.at("SELECT"):
            body = SetOperation(body, self._select(relations, views), "SHARED")
        return body

    def _select(self, shared: list[Relation], views: list[Expression] | None = None) -> Select:
        cursor = self.cursor
        cursor.expect("SELECT")
        select = Select(relations=list(shared), others=list(views or ()), lateral_views=bool(views))
        self.skip_hints()
        if cursor.at_any("DISTINCT", "ALL") and cursor.peek().upper not in (",", "FROM", "."):
            select.distinct = cursor.advance().upper == "DISTINCT"
        select.items = self.expressions()
        if not shared and cursor.accept("FROM"):
            select.relations = self.relations()
        found = self._lateral_views()
        select.others.extend(found)
        select.lateral_views = select.lateral_views or bool(found)
        self._select_clauses(select)
        return select

    def _lateral_views(self) -> list[Expression]:
        cursor = self.cursor
        found: list[Expression] = []
        while cursor.accept("LATERAL", "VIEW"):
            cursor.accept("OUTER")
            found.append(self.expression())
            while cursor.accept(","):
                found.append(self.expression())
        return found

    def _select_clauses(self, select: Select) -> None:
        cursor = self.cursor
        if cursor.accept("WHERE"):
            select.where = self.expression()
        if cursor.accept("GROUP", "BY"):
            select.group_by = self.expression_list()
        if cursor.accept("HAVING"):
            select.having = self.expression()
        if cursor.accept("QUALIFY"):
            select.windowed = True
            select.others.append(self.expression())
        if cursor.at("WINDOW"):
            cursor.advance()
            select.others.append(self.expression_list())

    def _tail(self, query: Query) -> bool:
        """One clause of what may follow a query's body."""
        cursor = self.cursor
        if cursor.at_any(*_ORDERINGS) and cursor.peek().upper == "BY":
            cursor.index += 2
            query.tail.append(self.expression_list())
        elif cursor.accept("WINDOW"):
            query.tail.append(self.expression_list())
        elif cursor.accept_any("LIMIT", "OFFSET"):
            query.tail.append(self.expression())
            query.limited = True
        else:
            return False
        return True

    def _pipes(self, source: Query) -> Pipe:
        pipe = Pipe(source)
        cursor = self.cursor
        while cursor.accept("|>"):
            if cursor.at_any(*_SET_OPERATORS):
                cursor.advance()
                cursor.accept_any("ALL", "DISTINCT")
                pipe.queries.append(self._primary())
            elif self.at_join():
                pipe.relations.append(self.pipe_join(pipe))
            else:
                self._pipe_step(pipe)
        return pipe

    def _pipe_step(self, pipe: Pipe) -> None:
        """WHERE, SELECT, EXTEND, AGGREGATE and the rest: a keyword and expressions until the next step."""
        cursor = self.cursor
        if cursor.token.upper in QUERY_STARTS and not cursor.at("SELECT"):
            raise cursor.error("expected a pipe operator")
        first = cursor.index
        while not (cursor.at_end() or cursor.at_any("|>", ")", ";") or self._at_set_operation(first)):
            cursor.advance()
            pipe.steps.append(self.expression_list())

    def _at_set_operation(self, first: int) -> bool:
        return self.cursor.at_any(*_SET_OPERATORS) and self._ends(first, 0)
