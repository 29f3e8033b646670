"""Multipart names: how Spark finds the catalog and the namespace of a name as written."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Protocol

from floeberg.sql.text.lexer import needs_quotes, quote_name, words

SESSION_CATALOG: Final = "spark_catalog"
GLOBAL_VIEWS: Final = "global_temp"
"""The database of the temporary views that all sessions of an application share."""

METADATA_TABLES: Final = words(
    "history metadata_log_entries snapshots refs entries all_entries files data_files delete_files all_files "
    "all_data_files all_delete_files manifests all_manifests partitions position_deletes changes"
)


@dataclass(frozen=True, slots=True)
class Name:
    """A multipart name at its place in the text."""

    parts: tuple[str, ...]
    start: int
    end: int

    def __str__(self) -> str:
        return display_name(self.parts)


def display_name(parts: tuple[str, ...]) -> str:
    """The parts joined by dots, quoted where Spark would need it."""
    return ".".join(quote_name(part) if needs_quotes(part) else part for part in parts)


def quoted(parts: tuple[str, ...]) -> str:
    """A name for Spark's parser, every part in backticks."""
    return ".".join(quote_name(part) for part in parts)


@dataclass(frozen=True, slots=True)
class TableIdentifier:
    """A name in one of our catalogs: the namespace's parts and then the table's name."""

    catalog: str
    path: tuple[str, ...]

    @property
    def namespace(self) -> tuple[str, ...]:
        return self.path[:-1]

    @property
    def name(self) -> str:
        return self.path[-1]

    @property
    def qualified(self) -> tuple[str, ...]:
        return (self.catalog, *self.path)

    def __str__(self) -> str:
        return display_name(self.qualified)


@dataclass(frozen=True, slots=True)
class NamespaceIdentifier:
    """A namespace in one of our catalogs; an empty path is the catalog's root."""

    catalog: str
    path: tuple[str, ...]

    def __str__(self) -> str:
        return display_name((self.catalog, *self.path))


@dataclass(frozen=True, slots=True)
class Selector:
    """What a last part such as `branch_x`, `snapshot_id_5` or `files` picks of the table before it.

    `kind` is branch, tag, snapshot_id, at_timestamp (both numbers in `value`) or metadata (the metadata table's name).
    """

    kind: str
    value: str


_NUMBERED: Final = re.compile(r"(snapshot_id|at_timestamp)_(\d{1,20})")


def selector_of(part: str) -> Selector | None:
    """The selector that a name's last part can be. It is one only when no table has the full name."""
    if match := _NUMBERED.fullmatch(part.lower()):
        return Selector(match[1], match[2])
    for kind in ("branch", "tag"):
        if part.lower().startswith(kind + "_") and len(part) > len(kind) + 1:
            return Selector(kind, part[len(kind) + 1 :])
    if part.lower() in METADATA_TABLES:
        return Selector("metadata", part.lower())
    return None


def split_selector(identifier: TableIdentifier) -> tuple[TableIdentifier, Selector] | None:
    """The table and selector that the identifier reads as when no table has its full name; None when it cannot."""
    selector = selector_of(identifier.name) if len(identifier.path) > 1 else None
    if selector is None:
        return None
    return TableIdentifier(identifier.catalog, identifier.path[:-1]), selector


class Names(Protocol):
    """What a session knows of names; attach gives the real one."""

    def table(self, parts: tuple[str, ...]) -> TableIdentifier | None:
        """The identifier when the name belongs to us (a remembered view counts), else None."""

    def namespace(self, parts: tuple[str, ...]) -> NamespaceIdentifier | None:
        """The namespace when it is in a catalog of ours; no parts mean the current namespace."""

    def tells_case(self) -> bool:
        """Whether names of a WITH clause that differ by case alone are two names."""

    def may_mention(self, sql: str) -> bool:
        """False only if nothing in the text can be ours, found without reading it closely."""


def _nothing(_: tuple[str, ...]) -> bool:
    return False


def _never() -> bool:
    return False


def _always(_: str) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class SessionNames:
    """Names resolved as Spark does: a catalog's name first, else the current catalog; one part, the current namespace.

    `foreign(parts)` says that a name is Spark's own after all: a temporary view, or a table of the session catalog that
    is not ours. `view_names` are the keys of views over our tables that we remember; they come out with an empty catalog,
    as long as `still_there(key)`.
    """

    catalogs: frozenset[str]
    current_catalog: str = SESSION_CATALOG
    current_namespace: tuple[str, ...] = ("default",)
    foreign: Callable[[tuple[str, ...]], bool] = field(default=_nothing)
    view_names: frozenset[str] = frozenset()
    still_there: Callable[[str], bool] = field(default=_always)
    case_sensitive: Callable[[], bool] = field(default=_never)

    def table(self, parts: tuple[str, ...]) -> TableIdentifier | None:
        if not parts or not parts[-1]:
            return None
        key = view_key(parts)
        if key in self.view_names and self.still_there(key or ""):
            return TableIdentifier("", tuple(part.lower() for part in parts))
        if self.foreign(parts):
            return None
        if len(parts) > 1 and (catalog := self._catalog(parts[0])):
            return TableIdentifier(catalog, parts[1:])
        if self.current_catalog not in self.catalogs or _is_session_name(parts):
            return None
        if len(parts) == 1:
            return TableIdentifier(self.current_catalog, (*self.current_namespace, parts[0]))
        return TableIdentifier(self.current_catalog, parts)

    def namespace(self, parts: tuple[str, ...]) -> NamespaceIdentifier | None:
        if parts and (catalog := self._catalog(parts[0])):
            return NamespaceIdentifier(catalog, parts[1:])
        if self.current_catalog not in self.catalogs or (parts and _is_session_name((*parts, ""))):
            return None
        return NamespaceIdentifier(self.current_catalog, parts or self.current_namespace)

    def tells_case(self) -> bool:
        return self.case_sensitive()

    def may_mention(self, sql: str) -> bool:
        if self.current_catalog in self.catalogs:
            return True
        lowered = sql.lower()
        return (
            any(name.lower() in lowered or "`" in name for name in self.catalogs)
            or any(name.rpartition(".")[2] in lowered for name in self.view_names)
            or "identifier" in lowered
        )

    def _catalog(self, part: str) -> str | None:
        if part in self.catalogs:
            return part
        if part.lower() == SESSION_CATALOG and SESSION_CATALOG in self.catalogs:
            return SESSION_CATALOG
        return None


def view_key(parts: tuple[str, ...]) -> str | None:
    """Under what a temporary view is remembered: its name, or `global_temp.name`; None for what can be no such view."""
    if len(parts) == 1:
        return parts[0].lower()
    return f"{GLOBAL_VIEWS}.{parts[1].lower()}" if len(parts) == 2 and parts[0].lower() == GLOBAL_VIEWS else None


def _is_session_name(parts: tuple[str, ...]) -> bool:
    """Whether the first part names something of Spark's own that no current catalog changes."""
    return len(parts) > 1 and parts[0].lower() in (SESSION_CATALOG, GLOBAL_VIEWS, "session")
