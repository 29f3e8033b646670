"""Statements as data: the grammars of this package read them, `spark/` executes them.

Conditions, values and queries are spans of the user's text, because Spark evaluates them as they were written.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from floeberg.spec.partitions.sort_orders import SortTerm
from floeberg.spec.partitions.terms import PartitionTerm
from floeberg.sql.queries.references import References
from floeberg.sql.text.lexer import Span
from floeberg.sql.text.names import Name

Pairs: TypeAlias = tuple[tuple[str, str], ...]
"""Properties in the order of the text."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement that we execute."""


@dataclass(frozen=True, slots=True)
class PassThrough:
    """Nothing in it is ours: Spark gets it as it is."""


@dataclass(frozen=True, slots=True)
class QueryText:
    """A statement that Spark executes once our tables in it are replaced: a query, or a statement that holds some."""

    references: References


@dataclass(frozen=True, slots=True)
class Explain(Statement):
    """EXPLAIN of a statement of ours."""

    statement: Statement
    mode: str | None = None


# Columns


@dataclass(frozen=True, slots=True)
class ColumnPosition:
    """FIRST, or AFTER a sibling."""

    after: str | None = None

    @property
    def first(self) -> bool:
        return self.after is None


@dataclass(frozen=True, slots=True)
class ColumnDefinition:
    """A column of CREATE or ADD COLUMNS. `path` has several parts for a nested field; the type is text for `sql.ddl.types`."""

    path: tuple[str, ...]
    type_text: str
    type_span: Span
    required: bool = False
    comment: str | None = None
    default: Span | None = None
    position: ColumnPosition | None = None


@dataclass(frozen=True, slots=True)
class ColumnChange:
    """One change of ALTER COLUMN; what is None stays."""

    path: tuple[str, ...]
    type_text: str | None = None
    required: bool | None = None
    comment: str | None = None
    position: ColumnPosition | None = None
    default: Span | None = None
    drop_default: bool = False


# Tables


@dataclass(frozen=True, slots=True)
class CreateTable(Statement):
    """CREATE TABLE, REPLACE TABLE and both with AS. `create` and `replace` say which of the two are allowed."""

    table: Name
    columns: tuple[ColumnDefinition, ...] = ()
    create: bool = True
    replace: bool = False
    if_not_exists: bool = False
    provider: str | None = None
    partitioning: tuple[PartitionTerm, ...] = ()
    location: str | None = None
    comment: str | None = None
    properties: Pairs = ()
    query: Span | None = None


@dataclass(frozen=True, slots=True)
class CreateTableLike(Statement):
    """CREATE TABLE new LIKE source."""

    table: Name
    source: Name
    if_not_exists: bool = False
    provider: str | None = None
    location: str | None = None
    properties: Pairs = ()


@dataclass(frozen=True, slots=True)
class DropTable(Statement):
    """DROP TABLE; `purge` deletes the files as well."""

    table: Name
    if_exists: bool = False
    purge: bool = False


@dataclass(frozen=True, slots=True)
class RenameTable(Statement):
    """ALTER TABLE or VIEW … RENAME TO."""

    table: Name
    new_name: Name
    view: bool = False


@dataclass(frozen=True, slots=True)
class SetTableProperties(Statement):
    """SET TBLPROPERTIES of a table or view."""

    table: Name
    properties: Pairs
    view: bool = False


@dataclass(frozen=True, slots=True)
class UnsetTableProperties(Statement):
    """UNSET TBLPROPERTIES of a table or view."""

    table: Name
    keys: tuple[str, ...]
    if_exists: bool = False
    view: bool = False


@dataclass(frozen=True, slots=True)
class SetTableLocation(Statement):
    """ALTER TABLE … SET LOCATION."""

    table: Name
    location: str


@dataclass(frozen=True, slots=True)
class AddColumns(Statement):
    """ALTER TABLE … ADD COLUMN(S)."""

    table: Name
    columns: tuple[ColumnDefinition, ...]
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class ReplaceColumns(Statement):
    """ALTER TABLE … REPLACE COLUMNS."""

    table: Name
    columns: tuple[ColumnDefinition, ...]


@dataclass(frozen=True, slots=True)
class RenameColumn(Statement):
    """ALTER TABLE … RENAME COLUMN."""

    table: Name
    path: tuple[str, ...]
    new_name: str


@dataclass(frozen=True, slots=True)
class AlterColumns(Statement):
    """ALTER TABLE … ALTER COLUMN, with one change or several."""

    table: Name
    changes: tuple[ColumnChange, ...]


@dataclass(frozen=True, slots=True)
class DropColumns(Statement):
    """ALTER TABLE … DROP COLUMN(S)."""

    table: Name
    paths: tuple[tuple[str, ...], ...]
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class AddPartitionField(Statement):
    """ALTER TABLE … ADD PARTITION FIELD; the term carries the name given with AS."""

    table: Name
    term: PartitionTerm


@dataclass(frozen=True, slots=True)
class DropPartitionField(Statement):
    """ALTER TABLE … DROP PARTITION FIELD, by transform or by the field's name (an identity term)."""

    table: Name
    term: PartitionTerm


@dataclass(frozen=True, slots=True)
class ReplacePartitionField(Statement):
    """ALTER TABLE … REPLACE PARTITION FIELD old WITH new [AS name]."""

    table: Name
    old: PartitionTerm
    new: PartitionTerm


@dataclass(frozen=True, slots=True)
class SetWriteOrder(Statement):
    """ALTER TABLE … WRITE …; `distribution_mode` None leaves the table's as it is, an empty order is unordered."""

    table: Name
    order: tuple[SortTerm, ...]
    distribution_mode: str | None


@dataclass(frozen=True, slots=True)
class ChangeIdentifierFields(Statement):
    """SET or DROP IDENTIFIER FIELDS."""

    table: Name
    paths: tuple[tuple[str, ...], ...]
    drop: bool = False


@dataclass(frozen=True, slots=True)
class CreateReference(Statement):
    """CREATE or REPLACE BRANCH or TAG; `kind` is branch or tag."""

    table: Name
    kind: str
    name: str
    create: bool = True
    replace: bool = False
    if_not_exists: bool = False
    snapshot_id: int | None = None
    max_ref_age_ms: int | None = None
    min_snapshots_to_keep: int | None = None
    max_snapshot_age_ms: int | None = None


@dataclass(frozen=True, slots=True)
class DropReference(Statement):
    """DROP BRANCH or TAG."""

    table: Name
    kind: str
    name: str
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class CommentOn(Statement):
    """COMMENT ON TABLE or NAMESPACE … IS; None removes it."""

    kind: str
    name: Name
    comment: str | None


@dataclass(frozen=True, slots=True)
class RefreshTable(Statement):
    """REFRESH TABLE."""

    table: Name


@dataclass(frozen=True, slots=True)
class CacheTable(Statement):
    """CACHE TABLE, of a table or of a query under a name."""

    table: Name
    lazy: bool = False
    options: Pairs = ()
    query: Span | None = None
    references: References | None = None


@dataclass(frozen=True, slots=True)
class UncacheTable(Statement):
    """UNCACHE TABLE."""

    table: Name
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class TruncateTable(Statement):
    """TRUNCATE TABLE; static partition values limit it."""

    table: Name
    partition: tuple[tuple[str, Span | None], ...] = ()


@dataclass(frozen=True, slots=True)
class AnalyzeTable(Statement):
    """ANALYZE TABLE … COMPUTE STATISTICS."""

    table: Name
    columns: tuple[str, ...] = ()
    all_columns: bool = False
