"""Views over our tables are kept as text and put into each query that reads them, so that they see new snapshots and
the query's conditions reach their tables."""

from __future__ import annotations

from typing import Final

from floeberg.catalogs.view_changes import view_query
from floeberg.errors import InvalidInput, UnsupportedFeature
from floeberg.spark.host.execution import Execution
from floeberg.spark.host.session import AttachedSession, Resolved, TextView
from floeberg.sql.queries.references import (
    References,
    TableReference,
    double_braces,
    find_references,
    replace_references,
)
from floeberg.sql.text.lexer import quote_name
from floeberg.sql.text.names import Names, display_name

MAX_DEPTH: Final = 50
QUERY_COLUMNS: Final = "spark.query-column-names"
"""The property of a view that holds its query's own column names, where the view renames them."""


def expand_views(execution: Execution, references: References) -> tuple[str, References]:
    """The text with its views replaced by their queries, as often as it takes. Raises InvalidInput for a view that
    holds itself."""
    sql = execution.sql
    names = execution.session.names()
    for _ in range(MAX_DEPTH):
        views = [table for table in references.tables if _is_text(execution.resolve(table.identifier))]
        if not views:
            return sql, references
        sql = replace_references(sql, references, _Expansion(execution, references, sql))
        references = find_references(sql, names, args=execution.args)
    raise InvalidInput(f"views are nested deeper than {MAX_DEPTH}: {execution.sql[:80]!r}")


def _is_text(resolved: Resolved) -> bool:
    return resolved.view is not None or isinstance(resolved.remembered, TextView)


class _Expansion:
    """The text for each reference: a view's query, or what stood there."""

    def __init__(self, execution: Execution, references: References, sql: str) -> None:
        self._execution = execution
        self._sql = sql

    def __call__(self, table: TableReference) -> str:
        resolved = self._execution.resolve(table.identifier)
        if not _is_text(resolved):
            return (
                self._sql[table.start : table.end].removeprefix("TABLE ")
                if table.form == "table_query"
                else (self._sql[table.start : table.end])
            )
        if table.time_travel is not None:
            raise UnsupportedFeature(f"{display_name(table.parts)} is a view: time travel is for tables")
        text = view_text(self._execution.session, resolved)
        if table.form == "argument":
            return text
        return f"({double_braces(text) if self._execution.kwargs else text})"


def view_text(session: AttachedSession, resolved: Resolved) -> str:
    """The query of a view with our names in full."""
    if isinstance(resolved.remembered, TextView):
        return _renamed(resolved.remembered.text, resolved.remembered.columns)
    assert resolved.view is not None
    catalog = resolved.identifier.catalog
    version = resolved.view.metadata.current_version
    query = view_query(session.backend(catalog), resolved.view)
    names = session.names_in(version.default_catalog or catalog, tuple(version.default_namespace))
    text = qualified_text(query, names)
    given = resolved.view.metadata.properties.get(QUERY_COLUMNS)
    columns = tuple(field.name for field in resolved.view.metadata.current_schema.fields)
    return text if given is None or given == ",".join(columns) else _renamed(text, columns)


def _renamed(text: str, columns: tuple[str, ...]) -> str:
    if not columns:
        return text
    return f"SELECT * FROM ({text}) AS view_({', '.join(quote_name(column) for column in columns)})"


def qualified_text(sql: str, names: Names, *, span: tuple[int, int] | None = None) -> str:
    """A query, or the part of a statement that is one, with the names of our tables in full, so that it means the same
    wherever it is put."""
    references = find_references(sql, names, span=span)
    ends = {
        id(table): relation.name.end for table, relation in zip(references.tables, references.relations, strict=True)
    }

    def text(table: TableReference) -> str:
        name = display_name(table.identifier.qualified if table.identifier.catalog else table.parts)
        return name + sql[ends[id(table)] : table.end]

    return replace_references(sql, references, text, span=span)
