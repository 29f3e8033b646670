"""Temporary views that one statement sees: made and dropped through the session's catalog where that can be."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any, Final
from weakref import WeakKeyDictionary

from floeberg.spark.host.calls.gateway import is_classic, tools
from floeberg.spark.host.calls.originals import original
from floeberg.spark.host.calls.shared_plans import plan_of, with_own_columns

logger = logging.getLogger("floeberg")


@dataclass(frozen=True, slots=True)
class _ViewParts:
    """What the temporary views of a session's DataFrames share: a view without its plan, what Spark's catalog says of it, and
    the arguments of a copy of that, between its name and the schema and after it."""

    view: Any
    described: Any
    before: tuple[Any, ...]
    after: tuple[Any, ...]

    def of(self, spark: Any, frame: Any, name: str) -> Any:
        """The view of a frame. SHOW COLUMNS and DESCRIBE go by the schema that the catalog has, queries by the plan; the name
        stands before columns where users write `{x}.id`, which they cannot of a shared plan."""
        known, shared = tools(spark), plan_of(frame)
        if shared is not None:
            return self.view.copy(self.described, known.option(shared.resolved()))
        described = self.described.copy(known.view_name(name), *self.before, frame._jdf.schema(), *self.after)
        return self.view.copy(described, known.option(frame._jdf.logicalPlan()))


_VIEWS: Final[WeakKeyDictionary[Any, _ViewParts]] = WeakKeyDictionary()


def put_view(spark: Any, frame: Any, name: str) -> None:
    """As `frame.createOrReplaceTempView(name)`, for a view that no one but the next statement sees. Spark's method runs a
    command, which costs a statement of many tables more than to analyse it."""
    if is_classic(spark):
        try:
            parts = _VIEWS.get(spark) or _learned_parts(spark, name)
            tools(spark).catalog.createTempView(name, parts.of(spark, frame, name), True)
            return
        except Exception as error:  # whatever this Spark says against it: its own method does the same
            logger.debug("a view is made by a command: %s", error)
    original(with_own_columns(frame), "createOrReplaceTempView")(name)


def _learned_parts(spark: Any, name: str) -> _ViewParts:
    """The parts of a view that Spark's own method makes under this name."""
    original(original(spark, "range")(0), "createOrReplaceTempView")(name)
    view = tools(spark).catalog.getRawTempView(name).get()
    described = view.tableMeta()
    places = range(described.productArity())
    names = [described.productElementName(place) for place in places]
    if names[0] != "identifier":
        raise ValueError(f"what the catalog has of a view begins with {names[0]}")
    at = names.index("schema")
    values = tuple(described.productElement(place) for place in places)
    planless = view.copy(described, tools(spark).nothing)
    found = _VIEWS[spark] = _ViewParts(planless, described, values[1:at], values[at + 1 :])
    return found


def drop_view(spark: Any, name: str) -> bool:
    """As `spark.catalog.dropTempView(name)`, for a view of `put_view`. Spark's method also looks for the view's plan in the
    cache, and would take a DataFrame of the same plan out of it."""
    if spark in _VIEWS:
        try:
            return bool(tools(spark).catalog.dropTempView(name))
        except Exception as error:  # as above
            logger.debug("a view is dropped by Spark's own method: %s", error)
    return bool(original(spark.catalog, "dropTempView")(name))
