"""INSERT, DELETE, UPDATE and MERGE as data; conditions and values are spans of the user's text."""

from __future__ import annotations

from dataclasses import dataclass

from floeberg.sql.statements.statements import Statement
from floeberg.sql.text.lexer import Span
from floeberg.sql.text.names import Name


@dataclass(frozen=True, slots=True)
class Insert(Statement):
    """INSERT INTO or OVERWRITE. `ctes` is a WITH clause that stands before INSERT and belongs to the query.

    `partition` maps a column to its static value, or to None when it is dynamic. `overwrite` with no partition clause
    follows `spark.sql.sources.partitionOverwriteMode`; `replace_where` replaces the rows of a condition.
    """

    table: Name
    query: Span
    overwrite: bool = False
    by_name: bool = False
    columns: tuple[tuple[str, ...], ...] = ()
    partition: tuple[tuple[str, Span | None], ...] = ()
    has_partition_clause: bool = False
    if_not_exists: bool = False
    replace_where: Span | None = None
    schema_evolution: bool = False
    options: tuple[tuple[str, str], ...] = ()
    ctes: Span | None = None


@dataclass(frozen=True, slots=True)
class Assignment:
    """`column = value`; a value of None is DEFAULT."""

    column: tuple[str, ...]
    value: Span | None


@dataclass(frozen=True, slots=True)
class Delete(Statement):
    """DELETE FROM; without a condition, all rows."""

    table: Name
    alias: str | None = None
    where: Span | None = None
    ctes: Span | None = None


@dataclass(frozen=True, slots=True)
class Update(Statement):
    """UPDATE … SET."""

    table: Name
    assignments: tuple[Assignment, ...]
    alias: str | None = None
    where: Span | None = None
    ctes: Span | None = None


@dataclass(frozen=True, slots=True)
class MergeClause:
    """One WHEN clause. `when` is matched, not_matched or not_matched_by_source; `action` is update, delete or insert.

    `star` is UPDATE SET * or INSERT *. The assignments of an insert pair its columns with its values.
    """

    when: str
    action: str
    condition: Span | None = None
    star: bool = False
    assignments: tuple[Assignment, ...] = ()


@dataclass(frozen=True, slots=True)
class Merge(Statement):
    """MERGE INTO. `source` spans the table or the query with its parentheses, without the alias."""

    table: Name
    source: Span
    condition: Span
    clauses: tuple[MergeClause, ...]
    alias: str | None = None
    source_alias: str | None = None
    source_name: Name | None = None
    schema_evolution: bool = False
    ctes: Span | None = None
