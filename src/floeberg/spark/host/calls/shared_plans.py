"""Plans of classic sessions that the views of many statements share, each view with columns of its own: Spark's own rule for a
join of a plan with itself gives them.

Where Spark's reader gives every column as users see it, the plan is the relation of the files alone, as that of a table of
Spark's own is. Names above the relation would stay in the first branch of a UNION, whose columns they are: what is read there
would not be the same to Spark as in the other branches, and be computed twice. DataFrames that users hold have the names. Who
asks for a part of `_metadata` there has Spark make the schema of the files from the columns of the relation, and without names
these lack field ids; and Spark would insert into a view of a relation alone by writing where its files are.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from floeberg.spark.host.calls.gateway import is_classic, string_array, tools

logger = logging.getLogger("floeberg")
_SHARED: Final = "_floeberg_shared"


@dataclass(frozen=True, slots=True)
class SharedPlan:
    """`joined` is the plan joined with itself, `renew` Spark's rule for that, and `names` are its columns for `toDF`."""

    joined: Any
    renew: Any
    names: Any

    def resolved(self) -> Any:
        """The plan with columns of its own."""
        return self.renew(self.joined).right()


def shared_plan(spark: Any, frame: Any, names: Sequence[str]) -> SharedPlan | None:
    """The plan of a DataFrame with these columns, for many views; None where each view needs a DataFrame of its own."""
    array = string_array(spark, names)
    if array is None or (renew := tools(spark).renew_columns) is None:
        return None
    return SharedPlan(tools(spark).self_join(frame._jdf.logicalPlan()), renew, array)


def as_relation(spark: Any, frame: Any) -> Any:
    """A DataFrame that shows one relation as it is, as that relation alone, with columns without the field ids that its files
    are read by: Spark takes those from the schema of the files. Where this Spark has other relations it stays as it is."""
    if not is_classic(spark):
        return frame
    try:
        known, files = tools(spark), frame._jdf.logicalPlan().collectLeaves().head().relation()
        columns = known.to_attributes(frame._jdf.schema())
        relation = known.relation(files, columns, known.nothing, False, known.nothing)
        return type(frame)(known.of_rows(spark._jsparkSession, relation), spark)
    except Exception as error:  # whatever this Spark says against it: then the plan is used as it is
        logger.debug("the relations of this Spark cannot be made here: %s", error)
        return frame


def has_cached_rows(frame: Any) -> bool:
    """Whether a classic session's cache has the rows of a DataFrame, which Spark finds by its plan."""
    try:
        cache = tools(frame.sparkSession).cache
        return not cache.isEmpty() and bool(cache.lookupCachedData(frame._jdf).isDefined())
    except Exception as error:  # whatever this Spark says against it: then the files are read
        logger.debug("the cache of this Spark cannot be asked: %s", error)
        return False


def of_shared_plan(frame: Any, plan: SharedPlan) -> Any:
    """Another DataFrame of the same plan, for a view that queries read and no other statement names. The view has columns of
    its own, the DataFrame has not."""
    found = type(frame)(frame._jdf, frame.sparkSession)
    setattr(found, _SHARED, plan)
    return found


def with_own_columns(frame: Any) -> Any:
    """The rows of a DataFrame of a shared plan under columns of its own; any other DataFrame as it is."""
    plan = plan_of(frame)
    return frame if plan is None else type(frame)(frame._jdf.filter("true").toDF(plan.names), frame.sparkSession)


def plan_of(frame: Any) -> SharedPlan | None:
    """The shared plan of a DataFrame of `of_shared_plan`."""
    # An attribute that a DataFrame lacks is looked for among its columns, which the JVM tells.
    found: SharedPlan | None = vars(frame).get(_SHARED)
    return found
