"""Why some of PyIceberg's integration tests fail here."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Known:
    """A reason for failures, told by the test's name and what it said."""

    test: str
    said: str
    why: str


KNOWN: dict[str, Known] = {
    "message": Known(
        "test_update_table_spec_conflict",
        "the default spec is 1, not 0",
        "refused with 409 as it should be; the test wants the reference server's words",
    ),
    "separator": Known(
        "test_rest_custom_namespace_separator",
        "assert '.x1f' == '.'",
        "the reference server is configured with another separator of namespaces; ours keeps the protocol's default",
    ),
    "dot": Known(
        "test_namespace_with_dot",
        "cannot hold a dot in a namespace's name",
        "a SQL catalog joins the levels of a namespace by dots, so a level with a dot is refused",
    ),
    "order": Known(
        "test_inspect_refs",
        "'main'.*'testTag'.*'testTag'",
        "the test wants references in the order of a Java hash map, which the JSON of the reference server has",
    ),
    "uuid": Known(
        "_with_valid_upcast",
        "'str' object is not callable",
        "wants the uuid of an Arrow table as bytes; the PyArrow that is installed gives objects of uuid.UUID",
    ),
    "extension": Known(
        "test_duckdb_url_import|test_sanitize_character_partitioned_avro_bug",
        'Failed to download extension "iceberg"',
        "fetches DuckDB's extension from a host that is no package registry",
    ),
    "engines": Known("", "No module named '(daft|ray|bodo)'", "needs Daft, Ray or Bodo, which are not installed"),
}


def reason(outcome: dict[str, str]) -> str:
    """The key of the known reason; `new` where there is none."""
    for key, known in KNOWN.items():
        if re.search(known.test, outcome["test"]) and re.search(known.said, outcome["said"], re.DOTALL):
            return key
    return "new"
