"""Names of table properties that mean something else in Spark's SQL: clauses of a statement, and facts that SHOW derives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from floeberg.errors import InvalidInput

LOCATION: Final = "location"
SORT_ORDER: Final = "sort-order"
IDENTIFIER_FIELDS: Final = "identifier-fields"
FORMAT: Final = "format"
CURRENT_SNAPSHOT: Final = "current-snapshot-id"
_DERIVED: Final = frozenset((SORT_ORDER, IDENTIFIER_FIELDS, FORMAT, CURRENT_SNAPSHOT))
_ON_CREATE: Final = {LOCATION: "the clause LOCATION", "provider": "the clause USING"}
_ON_ALTER: Final = {
    LOCATION: "ALTER TABLE … SET LOCATION",
    "provider": "write.format.default for the format of new files",
    SORT_ORDER: "ALTER TABLE … WRITE ORDERED BY",
    IDENTIFIER_FIELDS: "ALTER TABLE … SET IDENTIFIER FIELDS",
}


def stated_on_create(table: object, properties: Mapping[str, str]) -> dict[str, str]:
    """The properties of a CREATE TABLE without the facts that SHOW CREATE TABLE lists among them, so that its text can be run.
    Raises InvalidInput for a name that is a clause of the statement."""
    _refuse(table, properties, _ON_CREATE)
    return {key: value for key, value in properties.items() if key not in _DERIVED}


def check_on_alter(table: object, properties: Mapping[str, str]) -> None:
    """Raises InvalidInput for a name that another statement sets."""
    _refuse(table, properties, _ON_ALTER)


def _refuse(table: object, properties: Mapping[str, str], others: Mapping[str, str]) -> None:
    for key in properties:
        if key in others:
            raise InvalidInput(f"table {table}: {key} is no property that can be set; use {others[key]}", name=key)
