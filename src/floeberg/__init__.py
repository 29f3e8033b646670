"""Floeberg: the Apache Iceberg table format in Python.

Public names only, and each loads on first use, so that `import floeberg` is cheap.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from floeberg import errors
    from floeberg.spec.schema import Schema

__version__ = "0.1.0"

_HOMES = {
    "Schema": "floeberg.spec.schema",
    "errors": "floeberg",
}
"""Where each public name lives."""

__all__ = ["Schema", "errors"]


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'floeberg' has no attribute {name!r}")
    if home == "floeberg":
        return importlib.import_module(f"floeberg.{name}")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
