"""Calls of a classic session's JVM that take one message where PySpark sends one for each name or path.

Over Spark Connect, and where a text cannot travel so, PySpark's own methods are used; both give the same DataFrame.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final
from weakref import WeakKeyDictionary

from floeberg.spark.host.calls.originals import original


@dataclass(frozen=True, slots=True)
class Tools:
    """Methods of the JVM, finding one of which costs a call for each part of its name, and the session's class of frames."""

    sessions: Any
    split: Any
    join: Any
    frame_type: type[Any]
    catalog: Any
    option: Any
    to_paths: Any
    to_seq: Any
    no_cache: Any
    nothing: Any
    self_join: Callable[[Any], Any]
    renew_columns: Any | None
    to_attributes: Any
    relation: Any
    cache: Any
    of_rows: Any
    view_name: Any


logger = logging.getLogger("floeberg")
FORMATTED: Final = ("_pyspark_", "_pyspark_connect_temp_view_")
"""How PySpark begins the names of the views that `spark.sql("… {x} …", x=frame)` makes and drops."""
BETWEEN: Final = "\x1f"
"""Stands between texts that are sent as one."""
_TOOLS: Final[WeakKeyDictionary[Any, Tools]] = WeakKeyDictionary()


def is_classic(spark: Any) -> bool:
    """Whether the session talks to its JVM through a gateway."""
    return not type(spark).__module__.startswith("pyspark.sql.connect.")


def string_array(spark: Any, texts: Sequence[str]) -> Any | None:
    """The texts as an array of the JVM; None where PySpark has to send them one by one."""
    # Splitting leaves out empty texts at the end.
    if not texts or not is_classic(spark) or any(not text or BETWEEN in text for text in texts):
        return None
    return tools(spark).split(BETWEEN.join(texts))


def tools(spark: Any) -> Tools:
    """Those of a classic session."""
    found = _TOOLS.get(spark)
    if found is None:
        jvm, state = spark._jvm, spark._jsparkSession.sessionState()
        found = _TOOLS[spark] = Tools(
            sessions=jvm.org.apache.spark.sql.classic.SparkSession,
            split=jvm.java.util.regex.Pattern.compile(BETWEEN).split,
            join=jvm.org.apache.hadoop.util.StringUtils.join,
            frame_type=type(original(spark, "range")(0)),
            catalog=state.catalog(),
            option=jvm.scala.Option.apply,
            to_paths=jvm.org.apache.hadoop.util.StringUtils.stringToPath,
            to_seq=jvm.scala.collection.immutable.ArraySeq.unsafeWrapArray,
            no_cache=_module(jvm.org.apache.spark.sql.execution.datasources, "NoopCache"),
            nothing=jvm.scala.Option.apply(None),
            self_join=_self_join(jvm),
            renew_columns=_renewal_rule(jvm),
            to_attributes=jvm.org.apache.spark.sql.catalyst.types.DataTypeUtils.toAttributes,
            relation=jvm.org.apache.spark.sql.execution.datasources.LogicalRelation,
            cache=spark._jsparkSession.sharedState().cacheManager(),
            of_rows=_module(jvm.org.apache.spark.sql.classic, "Dataset").ofRows,
            view_name=jvm.org.apache.spark.sql.catalyst.TableIdentifier,
        )
    return found


def _self_join(jvm: Any) -> Callable[[Any], Any]:
    """What joins a plan with itself."""
    plans = jvm.org.apache.spark.sql.catalyst.plans
    inner, hint = _module(plans, "Inner"), plans.logical.JoinHint.NONE()
    nothing, join = jvm.scala.Option.apply(None), plans.logical.Join
    return lambda plan: join(plan, plan, inner, nothing, hint)


def _renewal_rule(jvm: Any) -> Any | None:
    """The rule of Spark's analyzer that gives the right side of a join columns of its own, where both sides are the same; None
    where it cannot be asked for."""
    try:
        return _module(jvm.org.apache.spark.sql.catalyst.analysis, "DeduplicateRelations").apply
    except Exception as error:  # whatever this Spark says against it: `toDF` does the same
        logger.debug("the analyzer of this Spark has no rule for the columns of a view: %s", error)
        return None


def _module(package: Any, name: str) -> Any:
    """An object of Scala."""
    return getattr(getattr(package, f"{name}$"), "MODULE$")


def select_texts(spark: Any, frame: Any, texts: Sequence[str]) -> Any:
    """As `frame.selectExpr(*texts)`, whose texts name nothing of ours."""
    array = string_array(spark, texts)
    if array is None:
        return original(frame, "selectExpr")(*texts)
    return type(frame)(frame._jdf.selectExpr(array), spark)


def temporary_view_names(spark: Any) -> list[str] | None:
    """The names of a classic session's own temporary views; None where only a statement tells them."""
    if not is_classic(spark):
        return None
    try:
        shown = str(tools(spark).catalog.listLocalTempViews("*").mkString(BETWEEN))
    except Exception as error:  # whatever this Spark says against it: the statement tells the names too
        logger.debug("temporary views are asked for by a statement: %s", error)
        return None
    # Each is shown as a quoted identifier.
    return [text[1:-1].replace("``", "`") for text in shown.split(BETWEEN) if text]


def function_class(spark: Any, name: str) -> str | None:
    """The class of a function that a classic session knows by its name alone, Spark's own or a temporary one; None where only a
    statement tells it."""
    if not is_classic(spark):
        return None
    try:
        found = tools(spark).catalog.lookupBuiltinOrTempFunction(name)
        return str(found.get().getClassName()) if found.isDefined() else None
    except Exception as error:  # whatever this Spark says against it: the statement tells the class too
        logger.debug("functions are looked up by statements: %s", error)
        return None


def has_variable(frame: Any) -> bool:
    """Whether a DataFrame of a classic session has the value of a session variable, as its plan tells."""
    if not is_classic(frame.sparkSession):
        return False
    return "variablereference(" in str(frame._jdf.queryExecution().analyzed().toString())
