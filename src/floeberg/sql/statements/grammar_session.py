"""Namespaces, USE, SHOW, DESCRIBE and the rest that is about what exists rather than about rows."""

from __future__ import annotations

from typing import Final

from floeberg.sql.statements.grammar import Grammar, NotOurs
from floeberg.sql.statements.session_statements import (
    CreateNamespace,
    DescribeNamespace,
    DescribeTable,
    DropNamespace,
    SetNamespaceLocation,
    SetNamespaceProperties,
    ShowCatalogs,
    ShowColumns,
    ShowCreateTable,
    ShowCurrentNamespace,
    ShowNamespaces,
    ShowPartitions,
    ShowTableProperties,
    ShowTables,
    UnsetNamespaceProperties,
    Use,
)
from floeberg.sql.statements.statements import (
    AnalyzeTable,
    CacheTable,
    CommentOn,
    Pairs,
    RefreshTable,
    Statement,
    TruncateTable,
    UncacheTable,
)
from floeberg.sql.text.lexer import Kind, Span
from floeberg.sql.text.names import Name

NAMESPACE_WORDS: Final = ("NAMESPACE", "DATABASE", "SCHEMA")
_NAMESPACES_WORDS: Final = ("NAMESPACES", "DATABASES", "SCHEMAS")


class SessionGrammar(Grammar):
    """Each method starts past the statement's first word."""

    def create_namespace(self) -> Statement:
        cursor = self.cursor
        cursor.expect_any(*NAMESPACE_WORDS)
        if_not_exists = self.if_not_exists()
        namespace = self.namespace()
        comment, location, properties = None, None, list[tuple[str, str]]()
        while not cursor.at_end():
            if cursor.accept("COMMENT"):
                comment = self.string("a comment")
            elif cursor.accept("LOCATION"):
                location = self.string("a location")
            else:
                cursor.expect("WITH", hint="CREATE NAMESPACE name [COMMENT …] [LOCATION …] [WITH DBPROPERTIES (…)]")
                cursor.expect_any("DBPROPERTIES", "PROPERTIES")
                properties.extend(self.properties())
        return CreateNamespace(namespace, if_not_exists, comment, location, tuple(properties))

    def drop_namespace(self) -> Statement:
        cursor = self.cursor
        cursor.expect_any(*NAMESPACE_WORDS)
        if_exists = self.if_exists()
        namespace = self.namespace()
        cascade = cursor.accept_any("CASCADE", "RESTRICT") == "CASCADE"
        cursor.expect_end(hint="DROP NAMESPACE [IF EXISTS] name [CASCADE | RESTRICT]")
        return DropNamespace(namespace, if_exists, cascade)

    def alter_namespace(self) -> Statement:
        cursor = self.cursor
        cursor.expect_any(*NAMESPACE_WORDS)
        namespace = self.namespace()
        statement: Statement
        if cursor.accept("UNSET"):
            cursor.expect_any("DBPROPERTIES", "PROPERTIES")
            if_exists = self.if_exists()
            statement = UnsetNamespaceProperties(namespace, self.property_keys(), if_exists)
        else:
            cursor.expect("SET", hint="SET PROPERTIES (…), SET LOCATION '…' or UNSET PROPERTIES (…)")
            if cursor.accept("LOCATION"):
                statement = SetNamespaceLocation(namespace, self.string("a location"))
            else:
                cursor.expect_any("DBPROPERTIES", "PROPERTIES")
                statement = SetNamespaceProperties(namespace, self.properties())
        cursor.expect_end()
        return statement

    def use(self) -> Statement:
        """USE is always read: the session's place may move from our catalogs to Spark's and back."""
        kind = ""
        if self.cursor.at_any(*NAMESPACE_WORDS) and self.cursor.peek().is_name:
            self.cursor.advance()
            kind = "namespace"
        name = self.cursor.multipart("a catalog or namespace")
        self.cursor.expect_end()
        return Use(name, kind)

    def set_catalog(self) -> Statement:
        self.cursor.expect("CATALOG")
        if self.cursor.at_kind(Kind.STRING):
            start = self.cursor.start
            name = Name((self.string("a catalog"),), start, self.cursor.last_end)
        else:
            name = self.cursor.multipart("a catalog")
        self.cursor.expect_end()
        return Use(name, "catalog")

    def show(self) -> Statement:
        cursor = self.cursor
        word = cursor.advance().upper
        if word == "CATALOGS":
            statement: Statement = ShowCatalogs(self._pattern())
        elif word == "CURRENT" and cursor.accept_any(*NAMESPACE_WORDS):
            self.current_namespace()
            statement = ShowCurrentNamespace()
        elif word in _NAMESPACES_WORDS:
            statement = ShowNamespaces(self._in_namespace(), self._pattern())
        elif word in ("TABLES", "VIEWS"):
            statement = ShowTables(word.lower(), self._in_namespace(), self._pattern())
        elif word == "TABLE" and cursor.accept("EXTENDED"):
            statement = ShowTables("extended", self._in_namespace(), self._pattern())
        elif word == "COLUMNS":
            statement = ShowColumns(self._columns_table())
        elif word == "TBLPROPERTIES":
            statement = self._show_properties()
        elif word == "CREATE" and cursor.accept("TABLE"):
            statement = ShowCreateTable(self.table())
            cursor.accept("AS", "SERDE")
        elif word == "PARTITIONS":
            statement = ShowPartitions(self.table())
        else:
            raise NotOurs
        cursor.expect_end()
        return statement

    def _in_namespace(self) -> Name | None:
        if self.cursor.accept_any("IN", "FROM"):
            return self.namespace()
        self.current_namespace()
        return None

    def _pattern(self) -> str | None:
        if self.cursor.accept("LIKE") or self.cursor.at_kind(Kind.STRING):
            return self.string("a pattern")
        return None

    def _columns_table(self) -> Name:
        """`SHOW COLUMNS IN t [IN ns]`: the namespace may stand apart from the name."""
        cursor = self.cursor
        cursor.expect_any("IN", "FROM")
        name = cursor.multipart("a table's name")
        parts = name.parts
        if cursor.accept_any("IN", "FROM"):
            parts = (*cursor.multipart("a namespace's name").parts, *parts)
        if self.names.table(parts) is None:
            raise NotOurs
        cursor.owned = True
        return Name(parts, name.start, cursor.last_end)

    def _show_properties(self) -> Statement:
        cursor = self.cursor
        table = self.table()
        key = None
        if cursor.accept("("):
            key = self.property_key()
            cursor.expect(")")
        return ShowTableProperties(table, key)

    def describe(self) -> Statement:
        cursor = self.cursor
        if cursor.at_any(*NAMESPACE_WORDS) and (cursor.peek().is_name or cursor.peek().upper == "EXTENDED"):
            cursor.advance()
            extended = cursor.at("EXTENDED") and cursor.peek().is_name and cursor.accept("EXTENDED")
            statement: Statement = DescribeNamespace(self.namespace(), extended)
            cursor.expect_end()
            return statement
        if cursor.at("FUNCTION"):
            raise NotOurs
        if cursor.at("TABLE") and cursor.peek().is_name:
            cursor.advance()
        extended = cursor.at_any("EXTENDED", "FORMATTED") and cursor.peek().is_name
        if extended:
            cursor.advance()
        table = self.table()
        if cursor.at("PARTITION"):
            raise self.unsupported("descriptions of one partition", "query the table's .partitions")
        column = cursor.multipart("a column's name").parts if cursor.token.is_name and not cursor.at("AS") else ()
        as_json = cursor.accept("AS", "JSON")
        cursor.expect_end(hint="DESCRIBE [EXTENDED] table [column]")
        return DescribeTable(table, extended, column, as_json)

    def refresh(self) -> Statement:
        if self.cursor.at("FUNCTION"):
            raise NotOurs
        self.cursor.accept("TABLE")
        table = self.table()
        self.cursor.expect_end()
        return RefreshTable(table)

    def cache(self) -> Statement:
        """CACHE [LAZY] TABLE t [OPTIONS (…)] [AS query]; a query over our tables makes it ours."""
        cursor = self.cursor
        lazy = cursor.accept("LAZY")
        cursor.expect("TABLE")
        table = cursor.multipart("a table's name")
        options: Pairs = self.properties() if cursor.accept("OPTIONS") else ()
        if cursor.at_end():
            if self.names.table(table.parts) is None:
                raise NotOurs
            return CacheTable(table, lazy, options)
        cursor.accept("AS")
        query = self.rest("a query")
        references = self.references(query)
        if not references:
            raise NotOurs
        return CacheTable(table, lazy, options, query, references)

    def uncache(self) -> Statement:
        self.cursor.expect("TABLE")
        if_exists = self.if_exists()
        table = self.table()
        self.cursor.expect_end()
        return UncacheTable(table, if_exists)

    def truncate(self) -> Statement:
        self.cursor.expect("TABLE")
        table = self.table()
        partition = self.partition_values() if self.cursor.at("PARTITION") else ()
        self.cursor.expect_end()
        return TruncateTable(table, partition)

    def partition_values(self) -> tuple[tuple[str, Span | None], ...]:
        """`PARTITION (a = 1, b)`: None for a dynamic one."""
        cursor = self.cursor
        cursor.expect("PARTITION", "(", hint="PARTITION (column = value, dynamic_column)")
        found: list[tuple[str, Span | None]] = []
        while True:
            name = ".".join(cursor.multipart("a column's name").parts)
            value = self.default_value() if cursor.accept_any("=", "==") else None
            found.append((name, value))
            if not cursor.accept(","):
                break
        cursor.expect(")")
        return tuple(found)

    def comment(self) -> Statement:
        cursor = self.cursor
        cursor.expect("ON")
        kind = cursor.expect_any("TABLE", *NAMESPACE_WORDS, hint="COMMENT ON TABLE t IS 'text'")
        name = self.table() if kind == "TABLE" else self.namespace()
        cursor.expect("IS")
        text = self.string_or_null("a comment")
        cursor.expect_end()
        return CommentOn("table" if kind == "TABLE" else "namespace", name, text)

    def analyze(self) -> Statement:
        cursor = self.cursor
        if not cursor.accept("TABLE"):
            raise NotOurs
        table = self.table()
        cursor.expect("COMPUTE", "STATISTICS", hint="ANALYZE TABLE t COMPUTE STATISTICS [FOR COLUMNS a, b]")
        columns: tuple[str, ...] = ()
        all_columns = False
        if cursor.accept("FOR", "ALL", "COLUMNS"):
            all_columns = True
        elif cursor.accept("FOR", "COLUMNS"):
            columns = tuple(".".join(path) for path in self.paths())
        else:
            cursor.accept("NOSCAN")
        cursor.expect_end()
        return AnalyzeTable(table, columns, all_columns)
