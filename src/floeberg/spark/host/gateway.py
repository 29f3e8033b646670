"""Calls of a classic session's JVM that take one message where PySpark sends one for each name or path.

Over Spark Connect, and where a text cannot travel so, PySpark's own methods are used; both give the same DataFrame.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final
from weakref import WeakKeyDictionary

from floeberg.spark.host.originals import original


@dataclass(frozen=True, slots=True)
class Tools:
    """Methods of the JVM, finding one of which costs a call for each part of its name, and the session's class of frames."""

    split: Any
    join: Any
    frame_type: type[Any]
    catalog: Any
    option: Any
    to_paths: Any
    to_seq: Any
    no_cache: Any
    nothing: Any
    column_aliases: Any
    resolve_aliases: Any | None


logger = logging.getLogger("floeberg")
FORMATTED: Final = ("_pyspark_", "_pyspark_connect_temp_view_")
"""How PySpark begins the names of the views that `spark.sql("… {x} …", x=frame)` makes and drops."""
BETWEEN: Final = "\x1f"
"""Stands between texts that are sent as one."""
_SHARED: Final = "_floeberg_shared"
_TOOLS: Final[WeakKeyDictionary[Any, Tools]] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class SharedPlan:
    """A classic session's plan for the views of many statements: `aliased` is the plan below names that Spark has not resolved,
    `resolve` Spark's rule for them, and `names` are the same names for `toDF`."""

    aliased: Any
    resolve: Any
    names: Any

    def resolved(self) -> Any:
        """The plan with columns of its own."""
        return self.resolve(self.aliased)


@dataclass(frozen=True, slots=True)
class _ViewParts:
    """What the temporary views of a session's DataFrames share: a view without its plan, what Spark's catalog says of it, and
    the arguments of a copy of that, around the schema."""

    view: Any
    described: Any
    before: tuple[Any, ...]
    after: tuple[Any, ...]

    def of(self, spark: Any, frame: Any) -> Any:
        """The view of a frame. SHOW COLUMNS and DESCRIBE go by the schema that the catalog has, queries by the plan."""
        known, shared = tools(spark), _shared_plan(frame)
        if shared is not None:
            return self.view.copy(self.described, known.option(shared.resolved()))
        described = self.described.copy(*self.before, frame._jdf.schema(), *self.after)
        return self.view.copy(described, known.option(frame._jdf.logicalPlan()))


_VIEWS: Final[WeakKeyDictionary[Any, _ViewParts]] = WeakKeyDictionary()


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
            split=jvm.java.util.regex.Pattern.compile(BETWEEN).split,
            join=jvm.org.apache.hadoop.util.StringUtils.join,
            frame_type=type(original(spark, "range")(0)),
            catalog=state.catalog(),
            option=jvm.scala.Option.apply,
            to_paths=jvm.org.apache.hadoop.util.StringUtils.stringToPath,
            to_seq=jvm.scala.collection.immutable.ArraySeq.unsafeWrapArray,
            no_cache=getattr(getattr(jvm.org.apache.spark.sql.execution.datasources, "NoopCache$"), "MODULE$"),
            nothing=jvm.scala.Option.apply(None),
            column_aliases=jvm.org.apache.spark.sql.catalyst.analysis.UnresolvedSubqueryColumnAliases,
            resolve_aliases=_alias_rule(state),
        )
    return found


def _alias_rule(state: Any) -> Any | None:
    """The rule of Spark's analyzer that makes the columns of `x AS y(a, b)`; None where it cannot be asked for."""
    try:
        return state.analyzer().ResolveSubqueryColumnAliases().apply
    except Exception as error:  # whatever this Spark says against it: `toDF` does the same
        logger.debug("the analyzer of this Spark has no rule for the columns of a view: %s", error)
        return None


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


def shared_plan(spark: Any, frame: Any, names: Sequence[str]) -> SharedPlan | None:
    """The plan of a DataFrame with these columns, for many views; None where each view needs a DataFrame of its own."""
    array = string_array(spark, names)
    if array is None or (resolve := tools(spark).resolve_aliases) is None:
        return None
    known = tools(spark)
    return SharedPlan(known.column_aliases(known.to_seq(array), frame._jdf.logicalPlan()), resolve, array)


def of_shared_plan(frame: Any, plan: SharedPlan) -> Any:
    """Another DataFrame of the same plan, for a view that queries read and no other statement names. The view has columns of
    its own, the DataFrame has not."""
    found = type(frame)(frame._jdf, frame.sparkSession)
    setattr(found, _SHARED, plan)
    return found


def with_own_columns(frame: Any) -> Any:
    """The rows of a DataFrame of a shared plan under columns of its own; any other DataFrame as it is."""
    plan = _shared_plan(frame)
    return frame if plan is None else type(frame)(frame._jdf.filter("true").toDF(plan.names), frame.sparkSession)


def _shared_plan(frame: Any) -> SharedPlan | None:
    # An attribute that a DataFrame lacks is looked for among its columns, which the JVM tells.
    found: SharedPlan | None = vars(frame).get(_SHARED)
    return found


def put_view(spark: Any, frame: Any, name: str) -> None:
    """As `frame.createOrReplaceTempView(name)`, for a view that no one but the next statement sees. Spark's method runs a
    command, which costs a statement of many tables more than to analyse it."""
    known = _VIEWS.get(spark) if is_classic(spark) else None
    if known is not None:
        try:
            tools(spark).catalog.createTempView(name, known.of(spark, frame), True)
            return
        except Exception as error:  # whatever this Spark says against it: its own method does the same
            logger.debug("a view is made by a command: %s", error)
    original(with_own_columns(frame), "createOrReplaceTempView")(name)
    if known is None and is_classic(spark):
        _keep_view(spark, name)


def _keep_view(spark: Any, name: str) -> None:
    """Keeps the parts of this view, but not its plan, which may hold rows."""
    try:
        view = tools(spark).catalog.getRawTempView(name).get()
        described = view.tableMeta()
        places = range(described.productArity())
        at = [described.productElementName(place) for place in places].index("schema")
        values = tuple(described.productElement(place) for place in places)
        planless = view.copy(described, tools(spark).nothing)
        _VIEWS[spark] = _ViewParts(planless, described, values[:at], values[at + 1 :])
    except Exception as error:  # then every view is made by a command
        logger.debug("the views of this Spark cannot be copied: %s", error)


def drop_view(spark: Any, name: str) -> bool:
    """As `spark.catalog.dropTempView(name)`, for a view of `put_view`. Spark's method also looks for the view's plan in the
    cache, and would take a DataFrame of the same plan out of it."""
    if spark in _VIEWS:
        try:
            return bool(tools(spark).catalog.dropTempView(name))
        except Exception as error:  # as above
            logger.debug("a view is dropped by Spark's own method: %s", error)
    return bool(original(spark.catalog, "dropTempView")(name))
