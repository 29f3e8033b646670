"""Functions of PySpark that ours stand in the place of. A Column belongs to no session, so they go by the attached sessions as
they are when it is made.

`F.current_catalog()`, `F.current_database()` and `F.current_schema()` give the place in a catalog of ours, where Spark would
answer with its own; `F.expr` with a subquery finds the current rows of temporary views over our tables. `F.expr` and
`F.call_function` know the functions of our catalogs.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, Final

from pyspark.sql import functions as F

from floeberg.errors import UnsupportedFeature
from floeberg.spark.entry.function_calls import with_known_functions
from floeberg.spark.entry.subqueries import refresh_views
from floeberg.spark.host.errors.spark_errors import spark_errors
from floeberg.spark.host.session import attached_sessions, current_places
from floeberg.spark.host.views import Place
from floeberg.sql.text.names import display_name

_NAMES: Final = ("current_catalog", "current_database", "current_schema")
_MODULES: Final = ("pyspark.sql.functions", "pyspark.sql.functions.builtin")
"""The second is where calls over Spark Connect start too."""
_replaced: Final[dict[tuple[ModuleType, str], Any]] = {}


def install() -> None:
    """Idempotent."""
    for module, name in _functions():
        if (module, name) not in _replaced:
            found = _replaced[module, name] = getattr(module, name)
            ours = _TEXT[name](found) if name in _TEXT else _current(name, found)
            setattr(module, name, functools.wraps(found)(ours))


def remove() -> None:
    for (module, name), found in _replaced.items():
        setattr(module, name, found)
    _replaced.clear()


def _functions() -> Iterator[tuple[ModuleType, str]]:
    for place in _MODULES:
        module = importlib.import_module(place)
        yield from ((module, name) for name in (*_NAMES, *_TEXT) if hasattr(module, name))


def _expr(found: Callable[[str], Any]) -> Callable[[str], Any]:
    def call(str: str) -> Any:
        with spark_errors():
            refresh_views(str)
            str = with_known_functions(attached_sessions(), str)
        return found(str)

    return call


def _call_function(found: Callable[..., Any]) -> Callable[..., Any]:
    def call(funcName: str, *cols: Any) -> Any:
        with spark_errors():
            known = with_known_functions(attached_sessions(), f"{funcName}()").removesuffix("()")
        return found(known, *cols)

    return call


_TEXT: Final[dict[str, Callable[[Any], Any]]] = {"expr": _expr, "call_function": _call_function}


def _current(name: str, found: Callable[[], Any]) -> Callable[[], Any]:
    def call() -> Any:
        with spark_errors():
            place = _place(name)
        if place is None:
            return found()
        value = place.catalog if name == "current_catalog" else display_name(place.namespace)
        return F.lit(value).alias(name.replace("database", "schema") + "()")

    return call


def _place(name: str) -> Place | None:
    """Where the attached sessions stand; None where Spark does. Raises UnsupportedFeature when they stand apart."""
    places = current_places()
    if len(places) > 1:
        raise UnsupportedFeature(
            f"F.{name}() belongs to no session, and the attached sessions stand in different places; use "
            f"spark.sql('SELECT {name}()')"
        )
    return next(iter(places), None)
