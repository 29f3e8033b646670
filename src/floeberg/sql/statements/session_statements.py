"""Views, namespaces, USE, SHOW and DESCRIBE as data."""

from __future__ import annotations

from dataclasses import dataclass

from floeberg.sql.queries.references import References
from floeberg.sql.statements.statements import Pairs, Statement
from floeberg.sql.text.lexer import Span
from floeberg.sql.text.names import Name

# Views


@dataclass(frozen=True, slots=True)
class ViewColumn:
    """A column's name and comment in CREATE VIEW."""

    name: str
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class CreateView(Statement):
    """CREATE VIEW in a catalog of ours, or any view over our tables. `references` are those of its query."""

    view: Name
    query: Span
    references: References
    columns: tuple[ViewColumn, ...] = ()
    replace: bool = False
    if_not_exists: bool = False
    temporary: bool = False
    global_temporary: bool = False
    comment: str | None = None
    properties: Pairs = ()


@dataclass(frozen=True, slots=True)
class AlterViewAs(Statement):
    """ALTER VIEW … AS query."""

    view: Name
    query: Span
    references: References


@dataclass(frozen=True, slots=True)
class DropView(Statement):
    """DROP VIEW."""

    view: Name
    if_exists: bool = False


# Namespaces and the session


@dataclass(frozen=True, slots=True)
class CreateNamespace(Statement):
    """CREATE NAMESPACE, DATABASE or SCHEMA."""

    namespace: Name
    if_not_exists: bool = False
    comment: str | None = None
    location: str | None = None
    properties: Pairs = ()


@dataclass(frozen=True, slots=True)
class DropNamespace(Statement):
    """DROP NAMESPACE; `cascade` drops what is in it."""

    namespace: Name
    if_exists: bool = False
    cascade: bool = False


@dataclass(frozen=True, slots=True)
class DescribeNamespace(Statement):
    """DESCRIBE NAMESPACE [EXTENDED]."""

    namespace: Name
    extended: bool = False


@dataclass(frozen=True, slots=True)
class SetNamespaceProperties(Statement):
    """ALTER NAMESPACE … SET PROPERTIES."""

    namespace: Name
    properties: Pairs


@dataclass(frozen=True, slots=True)
class UnsetNamespaceProperties(Statement):
    """ALTER NAMESPACE … UNSET PROPERTIES."""

    namespace: Name
    keys: tuple[str, ...]
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class SetNamespaceLocation(Statement):
    """ALTER NAMESPACE … SET LOCATION."""

    namespace: Name
    location: str


@dataclass(frozen=True, slots=True)
class Use(Statement):
    """USE, or SET CATALOG; `kind` is catalog, namespace or empty (either)."""

    name: Name
    kind: str = ""


# SHOW and DESCRIBE


@dataclass(frozen=True, slots=True)
class ShowCatalogs(Statement):
    """SHOW CATALOGS [LIKE]."""

    pattern: str | None = None


@dataclass(frozen=True, slots=True)
class ShowCurrentNamespace(Statement):
    """SHOW CURRENT NAMESPACE."""


@dataclass(frozen=True, slots=True)
class ShowNamespaces(Statement):
    """SHOW NAMESPACES [IN parent] [LIKE]."""

    parent: Name | None = None
    pattern: str | None = None


@dataclass(frozen=True, slots=True)
class ShowTables(Statement):
    """SHOW TABLES, VIEWS or TABLE EXTENDED; `kind` is tables, views or extended."""

    kind: str = "tables"
    namespace: Name | None = None
    pattern: str | None = None


@dataclass(frozen=True, slots=True)
class ShowColumns(Statement):
    """SHOW COLUMNS IN table; `namespace` where it is given apart."""

    table: Name


@dataclass(frozen=True, slots=True)
class ShowTableProperties(Statement):
    """SHOW TBLPROPERTIES of a table or view, or one of them."""

    table: Name
    key: str | None = None


@dataclass(frozen=True, slots=True)
class ShowCreateTable(Statement):
    """SHOW CREATE TABLE of a table or view."""

    table: Name


@dataclass(frozen=True, slots=True)
class ShowPartitions(Statement):
    """SHOW PARTITIONS."""

    table: Name


@dataclass(frozen=True, slots=True)
class DescribeTable(Statement):
    """DESCRIBE [TABLE] [EXTENDED] of a table or view, or of one column."""

    table: Name
    extended: bool = False
    column: tuple[str, ...] = ()
    as_json: bool = False
