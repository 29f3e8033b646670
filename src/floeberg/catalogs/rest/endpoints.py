"""The endpoints of the protocol, which of them a server offers, and the paths that names become."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, unquote

from floeberg.catalogs.identifiers import Identifier, Namespace
from floeberg.errors import InvalidInput

_NAMESPACES: Final = "/v1/{prefix}/namespaces"
_NAMESPACE: Final = f"{_NAMESPACES}/{{namespace}}"
_TABLE: Final = f"{_NAMESPACE}/tables/{{table}}"
_VIEW: Final = f"{_NAMESPACE}/views/{{view}}"

LIST_NAMESPACES: Final = f"GET {_NAMESPACES}"
CREATE_NAMESPACE: Final = f"POST {_NAMESPACES}"
LOAD_NAMESPACE: Final = f"GET {_NAMESPACE}"
NAMESPACE_EXISTS: Final = f"HEAD {_NAMESPACE}"
DROP_NAMESPACE: Final = f"DELETE {_NAMESPACE}"
UPDATE_NAMESPACE: Final = f"POST {_NAMESPACE}/properties"
LIST_TABLES: Final = f"GET {_NAMESPACE}/tables"
CREATE_TABLE: Final = f"POST {_NAMESPACE}/tables"
LOAD_TABLE: Final = f"GET {_TABLE}"
TABLE_EXISTS: Final = f"HEAD {_TABLE}"
COMMIT_TABLE: Final = f"POST {_TABLE}"
DROP_TABLE: Final = f"DELETE {_TABLE}"
LOAD_CREDENTIALS: Final = f"GET {_TABLE}/credentials"
REGISTER_TABLE: Final = f"POST {_NAMESPACE}/register"
REPORT_METRICS: Final = f"POST {_TABLE}/metrics"
RENAME_TABLE: Final = "POST /v1/{prefix}/tables/rename"
COMMIT_TRANSACTION: Final = "POST /v1/{prefix}/transactions/commit"
PLAN_TABLE_SCAN: Final = f"POST {_TABLE}/plan"
CANCEL_PLANNING: Final = f"DELETE {_TABLE}/plan/{{plan-id}}"
LIST_VIEWS: Final = f"GET {_NAMESPACE}/views"
CREATE_VIEW: Final = f"POST {_NAMESPACE}/views"
LOAD_VIEW: Final = f"GET {_VIEW}"
VIEW_EXISTS: Final = f"HEAD {_VIEW}"
REPLACE_VIEW: Final = f"POST {_VIEW}"
DROP_VIEW: Final = f"DELETE {_VIEW}"
RENAME_VIEW: Final = "POST /v1/{prefix}/views/rename"

DEFAULT_ENDPOINTS: Final = frozenset(
    {LIST_NAMESPACES, CREATE_NAMESPACE, LOAD_NAMESPACE, DROP_NAMESPACE, UPDATE_NAMESPACE, LIST_TABLES, CREATE_TABLE, LOAD_TABLE,
     COMMIT_TABLE, DROP_TABLE, REGISTER_TABLE, REPORT_METRICS, RENAME_TABLE, COMMIT_TRANSACTION}
)  # fmt: skip
"""What a server offers that does not say what it offers."""
VIEW_ENDPOINTS: Final = frozenset({LIST_VIEWS, CREATE_VIEW, LOAD_VIEW, REPLACE_VIEW, DROP_VIEW, RENAME_VIEW})
DEFAULT_SEPARATOR: Final = "%1F"
UNIT_SEPARATOR: Final = "\x1f"


def offered(endpoints: Iterable[str] | None, *, views: bool) -> frozenset[str]:
    """The endpoints of a server by what its configuration lists (None: nothing)."""
    if endpoints is None:
        return DEFAULT_ENDPOINTS | (VIEW_ENDPOINTS if views else frozenset())
    return frozenset(" ".join(one.split()) for one in endpoints)


@dataclass(frozen=True, slots=True)
class Paths:
    """The paths of one catalog, below its uri."""

    prefix: str = ""
    separator: str = DEFAULT_SEPARATOR

    @property
    def root(self) -> str:
        return f"v1/{self.prefix.strip('/')}" if self.prefix.strip("/") else "v1"

    def namespaces(self) -> str:
        return f"{self.root}/namespaces"

    def namespace(self, namespace: Namespace) -> str:
        return f"{self.namespaces()}/{self._encoded(namespace)}"

    def tables(self, namespace: Namespace) -> str:
        return f"{self.namespace(namespace)}/tables"

    def table(self, identifier: Identifier) -> str:
        return f"{self.tables(identifier.namespace)}/{_segment(identifier.name)}"

    def views(self, namespace: Namespace) -> str:
        return f"{self.namespace(namespace)}/views"

    def view(self, identifier: Identifier) -> str:
        return f"{self.views(identifier.namespace)}/{_segment(identifier.name)}"

    def joined(self, namespace: Namespace) -> str:
        """A namespace as one text, before its encoding. Servers also split at the unit separator, which is taken where a
        level holds the one that they advertise. Raises InvalidInput where neither will do."""
        separator = unquote(self.separator)
        if any(separator in level for level in namespace) and len(namespace) > 1:
            separator = UNIT_SEPARATOR
        for level in namespace:
            if separator in level:
                raise InvalidInput(f"a namespace cannot hold the separator of the server, {separator!r}: {level!r}")
        return separator.join(namespace)

    def _encoded(self, namespace: Namespace) -> str:
        return _segment(self.joined(namespace))


def _segment(name: str) -> str:
    """A name as one segment of a path. Dots are not escaped by URL libraries, so that `..` would be another path."""
    return "%2E" * len(name) if name in (".", "..") else quote(name, safe="")
