"""Floeberg: the Apache Iceberg table format in Python.

Public names only, and each loads on first use, so that `import floeberg` is cheap.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from floeberg.version import VERSION

if TYPE_CHECKING:
    from floeberg import errors
    from floeberg.api.attach import attach, detach, explain
    from floeberg.api.catalog import Catalog, catalog, open_table
    from floeberg.api.cdc import cdc, cdc_sink
    from floeberg.api.incremental import AppendScan, ChangeScan
    from floeberg.api.scan import Scan
    from floeberg.api.staged import StagedTable
    from floeberg.api.table import Table
    from floeberg.api.transaction import Transaction
    from floeberg.api.view import View
    from floeberg.arrow.variant.decode import variant_to_json, variant_to_python
    from floeberg.arrow.variant.encode import VARIANT_NULL, variant_array
    from floeberg.catalogs.identifiers import Identifier
    from floeberg.catalogs.view_changes import ViewDefinition
    from floeberg.commit.refs import Retention
    from floeberg.expr.build import col
    from floeberg.spec import types
    from floeberg.spec.schemas.schema import Schema
    from floeberg.spec.types import NestedField
    from floeberg.storage.secret import Secret

__version__ = VERSION

_HOMES = {
    "AppendScan": "floeberg.api.incremental",
    "Catalog": "floeberg.api.catalog",
    "ChangeScan": "floeberg.api.incremental",
    "Identifier": "floeberg.catalogs.identifiers",
    "NestedField": "floeberg.spec.types",
    "Retention": "floeberg.commit.refs",
    "Scan": "floeberg.api.scan",
    "Schema": "floeberg.spec.schemas.schema",
    "Secret": "floeberg.storage.secret",
    "StagedTable": "floeberg.api.staged",
    "Table": "floeberg.api.table",
    "Transaction": "floeberg.api.transaction",
    "VARIANT_NULL": "floeberg.arrow.variant.encode",
    "View": "floeberg.api.view",
    "ViewDefinition": "floeberg.catalogs.view_changes",
    "attach": "floeberg.api.attach",
    "catalog": "floeberg.api.catalog",
    "cdc": "floeberg.api.cdc",
    "cdc_sink": "floeberg.api.cdc",
    "col": "floeberg.expr.build",
    "detach": "floeberg.api.attach",
    "explain": "floeberg.api.attach",
    "open_table": "floeberg.api.catalog",
    "variant_array": "floeberg.arrow.variant.encode",
    "variant_to_json": "floeberg.arrow.variant.decode",
    "variant_to_python": "floeberg.arrow.variant.decode",
}
"""Where each public name lives."""
_MODULES = {"errors": "floeberg.errors", "types": "floeberg.spec.types"}
"""The modules that are public as a whole."""

__all__ = [
    "VARIANT_NULL",
    "AppendScan",
    "Catalog",
    "ChangeScan",
    "Identifier",
    "NestedField",
    "Retention",
    "Scan",
    "Schema",
    "Secret",
    "StagedTable",
    "Table",
    "Transaction",
    "View",
    "ViewDefinition",
    "attach",
    "catalog",
    "cdc",
    "cdc_sink",
    "col",
    "detach",
    "errors",
    "explain",
    "open_table",
    "types",
    "variant_array",
    "variant_to_json",
    "variant_to_python",
]


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return importlib.import_module(_MODULES[name])
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'floeberg' has no attribute {name!r}")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
