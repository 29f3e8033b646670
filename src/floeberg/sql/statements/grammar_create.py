"""CREATE and DROP of tables and views."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from floeberg.spec.partitions.terms import PartitionTerm, parse_partition_term
from floeberg.sql.statements.grammar import Grammar, NotOurs
from floeberg.sql.statements.session_statements import CreateView, DropView, ViewColumn
from floeberg.sql.statements.statements import (
    ColumnDefinition,
    CreateTable,
    CreateTableLike,
    DropTable,
    Pairs,
    Statement,
)
from floeberg.sql.text.lexer import Span, quote_name
from floeberg.sql.text.names import Name

_HINT: Final = "after the columns come USING, PARTITIONED BY, LOCATION, COMMENT, TBLPROPERTIES and AS"


@dataclass(slots=True)
class _Clauses:
    """The clauses of CREATE TABLE, in whichever order they came."""

    provider: str | None = None
    partitioning: tuple[PartitionTerm, ...] = ()
    columns: tuple[ColumnDefinition, ...] = ()
    location: str | None = None
    comment: str | None = None
    properties: Pairs = ()
    seen: set[str] = field(default_factory=set)


class CreateGrammar(Grammar):
    """CREATE TABLE, VIEW; DROP TABLE, VIEW."""

    def create(self) -> Statement:
        """The cursor is past CREATE."""
        cursor = self.cursor
        replace = cursor.accept("OR", "REPLACE")
        if cursor.at_any("TEMPORARY", "TEMP", "GLOBAL", "VIEW"):
            return self._view(replace=replace)
        cursor.accept("EXTERNAL")
        if not cursor.accept("TABLE"):
            raise NotOurs
        return self._table(create=True, replace=replace)

    def replace(self) -> Statement:
        """The cursor is past REPLACE."""
        if not self.cursor.accept("TABLE"):
            raise NotOurs
        return self._table(create=False, replace=True)

    def _table(self, *, create: bool, replace: bool) -> Statement:
        cursor = self.cursor
        if_not_exists = self.if_not_exists()
        table = self.table()
        if replace and if_not_exists:
            raise cursor.error("OR REPLACE and IF NOT EXISTS exclude each other")
        if cursor.accept("LIKE"):
            return self._like(table, if_not_exists=if_not_exists)
        columns: tuple[ColumnDefinition, ...] = ()
        if cursor.at("(") and not self._query_follows():
            cursor.advance()
            columns = self.column_definitions()
            cursor.expect(")", hint="columns are written (name TYPE [NOT NULL] [DEFAULT value] [COMMENT 'text'], …)")
        clauses = self._clauses(columns)
        if clauses.columns and cursor.at_any("AS", "SELECT"):
            raise cursor.error("columns cannot be given together with AS query", hint="cast in the query instead")
        query = self._as_query()
        return CreateTable(
            table,
            clauses.columns,
            create=create,
            replace=replace,
            if_not_exists=if_not_exists,
            provider=clauses.provider,
            partitioning=clauses.partitioning,
            location=clauses.location,
            comment=clauses.comment,
            properties=clauses.properties,
            query=query,
        )

    def _query_follows(self) -> bool:
        return self.cursor.peek().upper in ("SELECT", "WITH", "FROM", "VALUES", "(")

    def _as_query(self) -> Span | None:
        cursor = self.cursor
        if cursor.accept("AS") or cursor.at_any("SELECT", "FROM", "VALUES", "TABLE", "(") or self._at_with():
            return self.query_span()
        cursor.expect_end(hint=_HINT)
        return None

    def _at_with(self) -> bool:
        return self.cursor.at("WITH") and self.cursor.peek(2).upper in ("AS", "(")

    def query_span(self) -> Span:
        """The query that is left, which must be one query to its end. Text that our skeleton cannot follow is left
        to Spark."""
        span = self.rest("a query")
        inside = self.cursor.within(span.start, span.end)
        inside.index = 0
        if inside.token.upper not in ("SELECT", "WITH", "FROM", "VALUES", "TABLE", "("):
            raise inside.error("expected a query", hint="a query starts with SELECT, WITH, FROM, VALUES or TABLE")
        return span

    def _clauses(self, columns: tuple[ColumnDefinition, ...]) -> _Clauses:
        found = _Clauses(columns=columns)
        while self._clause(found):
            pass
        return found

    def _clause(self, found: _Clauses) -> bool:
        cursor = self.cursor
        word = cursor.token.upper
        if word == "USING":
            self._once(found, word)
            found.provider = ".".join(cursor.multipart("a data source").parts)
        elif cursor.at("PARTITIONED", "BY"):
            self._once(found, "PARTITIONED BY", width=2)
            self._partitioning(found)
        elif cursor.at("CLUSTERED", "BY"):
            self._once(found, "CLUSTERED BY", width=2)
            self._clustering(found)
        elif word == "LOCATION":
            self._once(found, word)
            found.location = self.string("a location")
        elif word == "COMMENT":
            self._once(found, word)
            found.comment = self.string("a comment")
        elif word in ("TBLPROPERTIES", "OPTIONS"):
            self._once(found, word)
            found.properties = (*found.properties, *self.properties())
        elif cursor.at("STORED") or cursor.at("ROW", "FORMAT") or cursor.at("SKEWED") or cursor.at("CLUSTER", "BY"):
            raise self.unsupported(f"{word} clauses", "use PARTITIONED BY, TBLPROPERTIES ('write.format.default' = …)")
        elif cursor.at("DEFAULT", "COLLATION"):
            raise self.unsupported("collations", "leave the clause out")
        else:
            return False
        return True

    def _once(self, found: _Clauses, clause: str, *, width: int = 1) -> None:
        if clause in found.seen:
            raise self.cursor.error(f"{clause} stands twice")
        found.seen.add(clause)
        self.cursor.index += width

    def _partitioning(self, found: _Clauses) -> None:
        """Transforms of columns, or new columns with their types (which come last in the table)."""
        cursor = self.cursor
        cursor.expect("(", hint="write PARTITIONED BY (day(ts), bucket(16, id))")
        terms: list[PartitionTerm] = list(found.partitioning)
        while True:
            if cursor.token.is_name and cursor.peek().is_name:
                column = self.column_definition()
                found.columns = (*found.columns, column)
                terms.append(_column_term(column.path[0]))
            else:
                terms.append(self.partition_term())
            if not cursor.accept(","):
                break
        cursor.expect(")", hint="write PARTITIONED BY (day(ts), bucket(16, id))")
        found.partitioning = tuple(terms)

    def _clustering(self, found: _Clauses) -> None:
        """CLUSTERED BY (a) INTO n BUCKETS is a bucket transform."""
        cursor = self.cursor
        columns = self.paths()
        if cursor.at("SORTED", "BY"):
            raise self.unsupported("SORTED BY clauses", "use ALTER TABLE … WRITE ORDERED BY")
        cursor.expect("INTO")
        number = self.whole_number("the number of buckets")
        cursor.expect("BUCKETS")
        if len(columns) != 1:
            raise self.unsupported("buckets over several columns", "use PARTITIONED BY (bucket(n, a), …)")
        name = ".".join(quote_name(part) for part in columns[0])
        found.partitioning = (*found.partitioning, parse_partition_term(f"bucket({number}, {name})"))

    def _like(self, table: Name, *, if_not_exists: bool) -> CreateTableLike:
        cursor = self.cursor
        source = cursor.multipart("the source table's name")
        found = self._clauses(())
        cursor.expect_end()
        return CreateTableLike(
            table,
            source,
            if_not_exists=if_not_exists,
            provider=found.provider,
            location=found.location,
            properties=found.properties,
        )

    def _view(self, *, replace: bool) -> CreateView:
        cursor = self.cursor
        is_global = cursor.accept("GLOBAL")
        temporary = cursor.accept_any("TEMPORARY", "TEMP") is not None
        if not cursor.accept("VIEW"):
            raise NotOurs
        if_not_exists = self.if_not_exists()
        view = cursor.multipart("a view's name")
        ours = not temporary and self.names.table(view.parts) is not None
        cursor.owned = ours
        columns, comment, properties, mode = self._view_head()
        cursor.expect("AS", hint="a view is CREATE VIEW name [(columns)] [COMMENT …] [TBLPROPERTIES …] AS query")
        query = self.query_span()
        references = self.references(query)
        if not ours and not references:
            raise NotOurs
        return CreateView(
            view,
            query,
            references,
            columns=columns,
            replace=replace,
            if_not_exists=if_not_exists,
            temporary=temporary,
            global_temporary=is_global,
            comment=comment,
            properties=properties,
            schema_mode=mode,
        )

    def _view_head(self) -> tuple[tuple[ViewColumn, ...], str | None, Pairs, str | None]:
        cursor = self.cursor
        columns: list[ViewColumn] = []
        comment: str | None = None
        properties: Pairs = ()
        mode: str | None = None
        if cursor.accept("("):
            columns.append(self._view_column())
            while cursor.accept(","):
                columns.append(self._view_column())
            cursor.expect(")")
        while True:
            if cursor.accept("COMMENT"):
                comment = self.string("a comment")
            elif cursor.accept("TBLPROPERTIES"):
                properties = self.properties()
            elif cursor.accept("WITH", "SCHEMA"):
                mode = cursor.accept_any("BINDING", "COMPENSATION", "EVOLUTION")
                if mode is None:
                    cursor.expect("TYPE", "EVOLUTION")
                    mode = "TYPE EVOLUTION"
            else:
                return tuple(columns), comment, properties, mode

    def _view_column(self) -> ViewColumn:
        name = self.cursor.name("a column's name")
        return ViewColumn(name, self.string("a comment") if self.cursor.accept("COMMENT") else None)

    def drop(self) -> Statement:
        """The cursor is past DROP; namespaces are not read here."""
        cursor = self.cursor
        kind = cursor.expect_any("TABLE", "VIEW")
        if_exists = self.if_exists()
        name = self.table(f"a {kind.lower()}'s name")
        if kind == "VIEW":
            cursor.expect_end()
            return DropView(name, if_exists)
        purge = cursor.accept("PURGE")
        cursor.expect_end(hint="DROP TABLE [IF EXISTS] name [PURGE]")
        return DropTable(name, if_exists, purge)


def _column_term(column: str) -> PartitionTerm:
    return parse_partition_term(quote_name(column))
