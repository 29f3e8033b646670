"""INSERT, DELETE, UPDATE and MERGE: targets and clauses are read, conditions and values stay text."""

from __future__ import annotations

from typing import Final

from floeberg.errors import InvalidInput
from floeberg.sql.queries.query_nodes import TableRelation
from floeberg.sql.queries.query_parser import QueryParser
from floeberg.sql.statements.dml_statements import Assignment, Delete, Insert, Merge, MergeClause, Update
from floeberg.sql.statements.grammar import NotOurs
from floeberg.sql.statements.grammar_session import SessionGrammar
from floeberg.sql.statements.statements import Pairs, Statement
from floeberg.sql.text.cursor import Cursor
from floeberg.sql.text.lexer import Span
from floeberg.sql.text.names import Name, Names
from floeberg.sql.text.query_starts import starts_query

_CLAUSE_HINT: Final = (
    "WHEN MATCHED [AND c] THEN UPDATE SET …|DELETE, WHEN NOT MATCHED [BY TARGET] [AND c] THEN INSERT …, "
    "WHEN NOT MATCHED BY SOURCE [AND c] THEN UPDATE SET …|DELETE"
)


class DmlGrammar(SessionGrammar):
    """Row-level statements; each method starts past the statement's first word."""

    def __init__(self, cursor: Cursor, names: Names, *, ctes: Span | None = None) -> None:
        super().__init__(cursor, names)
        self.ctes = ctes
        self.parser = QueryParser(cursor)

    def insert(self) -> Statement:
        cursor = self.cursor
        evolution = cursor.accept("WITH", "SCHEMA", "EVOLUTION")
        overwrite = cursor.expect_any("INTO", "OVERWRITE") == "OVERWRITE"
        if cursor.at_any("LOCAL", "DIRECTORY") and not cursor.at("DIRECTORY", "."):
            raise NotOurs
        if cursor.at("TABLE") and cursor.peek().is_name:
            cursor.advance()
        table = self.table()
        options = self._options()
        replace_where = self._replace_where()
        has_partition = cursor.at("PARTITION")
        partition = self.partition_values() if has_partition else ()
        if_not_exists = self.if_not_exists()
        by_name = cursor.accept("BY", "NAME")
        columns: tuple[tuple[str, ...], ...] = ()
        if cursor.at("(") and not starts_query(cursor, cursor.index):
            columns = self.paths()
        query = self._query()
        return Insert(
            table,
            query,
            overwrite=overwrite,
            by_name=by_name,
            columns=columns,
            partition=partition,
            has_partition_clause=has_partition,
            if_not_exists=if_not_exists,
            replace_where=replace_where,
            schema_evolution=evolution,
            options=options,
            ctes=self.ctes,
        )

    def _options(self) -> Pairs:
        """`WITH ('key' = 'value')` behind the table's name; a WITH of the query has no parenthesis."""
        if not self.cursor.at("WITH", "("):
            return ()
        self.cursor.advance()
        return self.properties()

    def _replace_where(self) -> Span | None:
        cursor = self.cursor
        if not cursor.accept("REPLACE"):
            return None
        if cursor.at_any("USING", "ON"):
            raise self.unsupported("INSERT … REPLACE USING statements", "use REPLACE WHERE condition, or MERGE")
        cursor.expect("WHERE", hint="INSERT INTO t REPLACE WHERE condition query")
        return self._span(before_query=True)

    def _query(self) -> Span:
        if self.cursor.token.upper not in ("SELECT", "WITH", "FROM", "VALUES", "TABLE", "("):
            raise self.cursor.error("expected a query", hint="INSERT INTO t [(columns)] SELECT …, VALUES … or TABLE …")
        return self.rest("a query")

    def _span(self, *, before_query: bool = False) -> Span:
        """An expression's text."""
        first = self.cursor.index
        self.parser.expression(before_query=before_query)
        if self.cursor.index == first:
            raise self.cursor.error("expected an expression")
        return self.span_until(first)

    def _target(self) -> tuple[Name, str | None]:
        table = self.table()
        if self.cursor.at_any("VERSION", "TIMESTAMP", "FOR") and self.cursor.peek().upper in ("AS", "SYSTEM_VERSION"):
            raise self.cursor.error("the past cannot be changed", hint="name the table alone, or a branch of it")
        return table, self._alias()

    def _alias(self) -> str | None:
        alias = self.parser.alias()
        if alias is not None and alias.columns:
            raise self.cursor.error(
                f"the alias {alias.name} cannot name columns here", hint="name them in a query: (SELECT … AS a) AS s"
            )
        return None if alias is None else alias.name

    def delete(self) -> Statement:
        cursor = self.cursor
        cursor.expect("FROM", hint="DELETE FROM t [WHERE condition]")
        table, alias = self._target()
        where = self.rest("a condition") if cursor.accept("WHERE") else None
        cursor.expect_end(hint="DELETE FROM t [WHERE condition]")
        return Delete(table, alias, where, self.ctes)

    def update(self) -> Statement:
        cursor = self.cursor
        table, alias = self._target()
        cursor.expect("SET", hint="UPDATE t SET column = value [WHERE condition]")
        assignments = self._assignments()
        where = self.rest("a condition") if cursor.accept("WHERE") else None
        cursor.expect_end(hint="UPDATE t SET column = value [WHERE condition]")
        return Update(table, assignments, alias, where, self.ctes)

    def _assignments(self) -> tuple[Assignment, ...]:
        found = [self._assignment()]
        while self.cursor.accept(","):
            found.append(self._assignment())
        return tuple(found)

    def _assignment(self) -> Assignment:
        cursor = self.cursor
        column = cursor.multipart("a column's name").parts
        if cursor.accept_any("=", "==") is None:
            raise cursor.error("expected =", hint="assignments are written column = value")
        return Assignment(column, self._value())

    def _value(self) -> Span | None:
        """The text of a value; None for DEFAULT."""
        if self.cursor.at("DEFAULT") and self.cursor.peek().upper not in (".", "("):
            self.cursor.advance()
            return None
        return self._span()

    def merge(self) -> Statement:
        cursor = self.cursor
        evolution = cursor.accept("WITH", "SCHEMA", "EVOLUTION")
        cursor.expect("INTO", hint="MERGE [WITH SCHEMA EVOLUTION] INTO target USING source ON condition WHEN …")
        table, alias = self._target()
        cursor.expect("USING", hint="MERGE INTO target USING source ON condition WHEN …")
        source, source_name = self._source()
        source_alias = self._alias()
        cursor.expect("ON", hint="MERGE INTO target USING source ON condition WHEN …")
        condition = self._span()
        clauses: list[MergeClause] = []
        while cursor.accept("WHEN"):
            clauses.append(self._clause())
        cursor.expect_end(hint=_CLAUSE_HINT)
        if not clauses:
            raise cursor.error("MERGE needs a WHEN clause", hint=_CLAUSE_HINT)
        _check_order(cursor, clauses)
        return Merge(
            table,
            source,
            condition,
            tuple(clauses),
            alias=alias,
            source_alias=source_alias,
            source_name=source_name,
            schema_evolution=evolution,
            ctes=self.ctes,
        )

    def _source(self) -> tuple[Span, Name | None]:
        cursor = self.cursor
        start = cursor.start
        if cursor.at("("):
            self.parser.query_in_parentheses()
            return Span(start, cursor.last_end), None
        table = self.parser.table_without_alias()
        name = table.name if isinstance(table, TableRelation) else None
        return Span(start, cursor.last_end), name

    def _clause(self) -> MergeClause:
        cursor = self.cursor
        if cursor.accept("MATCHED"):
            when = "matched"
        else:
            cursor.expect("NOT", "MATCHED", hint=_CLAUSE_HINT)
            when = "not_matched"
            if cursor.accept("BY", "SOURCE"):
                when = "not_matched_by_source"
            else:
                cursor.accept("BY", "TARGET")
        condition = self._span() if cursor.accept("AND") else None
        cursor.expect("THEN", hint=_CLAUSE_HINT)
        if when == "not_matched":
            return self._insert_action(condition)
        return self._change_action(when, condition)

    def _change_action(self, when: str, condition: Span | None) -> MergeClause:
        cursor = self.cursor
        if cursor.accept("DELETE"):
            return MergeClause(when, "delete", condition)
        cursor.expect("UPDATE", "SET", hint=_CLAUSE_HINT)
        if cursor.accept("*"):
            if when == "not_matched_by_source":
                raise cursor.error("UPDATE SET * needs a source row", hint="list the assignments")
            return MergeClause(when, "update", condition, star=True)
        return MergeClause(when, "update", condition, assignments=self._assignments())

    def _insert_action(self, condition: Span | None) -> MergeClause:
        cursor = self.cursor
        cursor.expect("INSERT", hint=_CLAUSE_HINT)
        if cursor.accept("*"):
            return MergeClause("not_matched", "insert", condition, star=True)
        opening = cursor.token
        columns = self.paths()
        cursor.expect("VALUES", hint="INSERT (columns) VALUES (values)")
        cursor.expect("(")
        values = [self._value()]
        while cursor.accept(","):
            values.append(self._value())
        cursor.expect(")")
        if len(columns) != len(values):
            raise cursor.error(f"INSERT lists {len(columns)} columns and {len(values)} values", token=opening)
        assignments = tuple(Assignment(column, value) for column, value in zip(columns, values, strict=True))
        return MergeClause("not_matched", "insert", condition, assignments=assignments)


def _check_order(cursor: Cursor, clauses: list[MergeClause]) -> None:
    """Of each kind only the last clause may lack a condition. Raises InvalidInput."""
    for when in ("matched", "not_matched", "not_matched_by_source"):
        kind = [clause for clause in clauses if clause.when == when]
        if any(clause.condition is None for clause in kind[:-1]):
            words = when.replace("_", " ").upper()
            raise InvalidInput(
                f"SQL: MERGE: a WHEN {words} clause without condition hides the ones after it; only the last of its "
                "kind may have none",
                position=cursor.start,
            )
