"""Calls of a classic session's JVM that take one message where PySpark sends one for each name, path or option.

Over Spark Connect, and where a text cannot travel so, PySpark's own methods are used; both give the same DataFrame.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from weakref import WeakKeyDictionary

from pyspark.sql import types as st

from floeberg.spark.host.originals import original


@dataclass(frozen=True, slots=True)
class _Tools:
    """Methods of the JVM, finding one of which costs a call for each part of its name, and the session's class of frames."""

    split: Any
    join: Any
    frame_type: type[Any]
    catalog: Any
    option: Any


logger = logging.getLogger("floeberg")
FORMATTED: Final = ("_pyspark_", "_pyspark_connect_temp_view_")
"""How PySpark begins the names of the views that `spark.sql("… {x} …", x=frame)` makes and drops."""
_BETWEEN: Final = "\x1f"
"""Stands between texts that are sent as one."""
_TOOLS: Final[WeakKeyDictionary[Any, _Tools]] = WeakKeyDictionary()
_VIEWS: Final[WeakKeyDictionary[Any, tuple[Any, Any]]] = WeakKeyDictionary()
"""A temporary view of a DataFrame in each session, and what Spark's catalog says of it: others are copies with another plan."""
_READERS: Final[WeakKeyDictionary[Any, OrderedDict[Any, Any]]] = WeakKeyDictionary()
_MAX_READERS: Final = 256


def is_classic(spark: Any) -> bool:
    """Whether the session talks to its JVM through a gateway."""
    return not type(spark).__module__.startswith("pyspark.sql.connect.")


def string_array(spark: Any, texts: Sequence[str]) -> Any | None:
    """The texts as an array of the JVM; None where PySpark has to send them one by one."""
    # Splitting leaves out empty texts at the end.
    if not texts or not is_classic(spark) or any(not text or _BETWEEN in text for text in texts):
        return None
    return _tools(spark).split(_BETWEEN.join(texts))


def _tools(spark: Any) -> _Tools:
    found = _TOOLS.get(spark)
    if found is None:
        split = spark._jvm.java.util.regex.Pattern.compile(_BETWEEN).split
        join = spark._jvm.org.apache.hadoop.util.StringUtils.join
        catalog = spark._jsparkSession.sessionState().catalog()
        option = spark._jvm.scala.Option.apply
        found = _TOOLS[spark] = _Tools(split, join, type(original(spark, "range")(0)), catalog, option)
    return found


def select_texts(spark: Any, frame: Any, texts: Sequence[str]) -> Any:
    """As `frame.selectExpr(*texts)`, whose texts name nothing of ours."""
    array = string_array(spark, texts)
    if array is None:
        return original(frame, "selectExpr")(*texts)
    return type(frame)(frame._jdf.selectExpr(array), spark)


def load_files(
    spark: Any, source: str, schema: st.StructType, *, options: Mapping[str, str], paths: Sequence[str]
) -> Any:
    """As `spark.read.format(source).schema(schema).options(**options).load(paths)`."""
    array = string_array(spark, paths)
    if array is None:
        reader = original(original(original(spark, "read"), "schema")(schema), "options")(**options)
        return original(original(reader, "format")(source), "load")(list(paths))
    return _tools(spark).frame_type(_reader(spark, source, schema.json(), options).load(array), spark)


def input_files(spark: Any, frame: Any) -> list[str]:
    """As `frame.inputFiles()`; paths are encoded, so that nothing in them stands between texts."""
    if not is_classic(spark):
        return list(frame.inputFiles())
    joined: str = _tools(spark).join(_BETWEEN, frame._jdf.inputFiles())
    return joined.split(_BETWEEN) if joined else []


def temporary_view_names(spark: Any) -> list[str] | None:
    """The names of a classic session's own temporary views; None where only a statement tells them."""
    if not is_classic(spark):
        return None
    try:
        shown = str(_tools(spark).catalog.listLocalTempViews("*").mkString(_BETWEEN))
    except Exception as error:  # whatever this Spark says against it: the statement tells the names too
        logger.debug("temporary views are asked for by a statement: %s", error)
        return None
    # Each is shown as a quoted identifier.
    return [text[1:-1].replace("``", "`") for text in shown.split(_BETWEEN) if text]


def put_view(spark: Any, frame: Any, name: str) -> None:
    """As `frame.createOrReplaceTempView(name)`, for a view that no one but the next statement sees. Spark's method runs a
    command, which costs a statement of many tables more than to analyse it."""
    made = _VIEWS.get(spark) if is_classic(spark) else None
    if made is not None:
        view, described = made
        try:
            tools = _tools(spark)
            tools.catalog.createTempView(name, view.copy(described, tools.option(frame._jdf.logicalPlan())), True)
            return
        except Exception as error:  # whatever this Spark says against it: its own method does the same
            logger.debug("a view is made by a command: %s", error)
    original(frame, "createOrReplaceTempView")(name)
    if made is None and is_classic(spark):
        _keep_view(spark, name)


def _keep_view(spark: Any, name: str) -> None:
    try:
        view = _tools(spark).catalog.getRawTempView(name).get()
        _VIEWS[spark] = (view, view.tableMeta())
    except Exception as error:  # then every view is made by a command
        logger.debug("the views of this Spark cannot be copied: %s", error)


def drop_view(spark: Any, name: str) -> bool:
    """As `spark.catalog.dropTempView(name)`, for a view of `put_view`. Spark's method also looks for the view's plan in the
    cache, and would take a DataFrame of the same plan out of it."""
    if spark in _VIEWS:
        try:
            return bool(_tools(spark).catalog.dropTempView(name))
        except Exception as error:  # as above
            logger.debug("a view is dropped by Spark's own method: %s", error)
    return bool(original(spark.catalog, "dropTempView")(name))


def relation_of(frame: Any) -> Any:
    """The relation that a DataFrame of `load_files` reads, on a classic session."""
    return frame._jdf.queryExecution().analyzed().relation()


def frame_of_relation(spark: Any, relation: Any) -> Any:
    """Another DataFrame of a relation, with columns of its own."""
    return _tools(spark).frame_type(spark._jsparkSession.baseRelationToDataFrame(relation), spark)


def _reader(spark: Any, source: str, schema: str, options: Mapping[str, str]) -> Any:
    """A reader of the JVM with all but the paths, which `load` does not keep: one for many tables' states."""
    known = _READERS.setdefault(spark, OrderedDict())
    key = (source, schema, tuple(sorted(options.items())))
    found = known.pop(key, None)
    if found is None:
        session, given = spark._jsparkSession, spark._jvm.java.util.HashMap()
        for name, value in options.items():
            given.put(name, value)
        found = session.read().format(source).schema(session.parseDataType(schema)).options(given)
        while len(known) >= _MAX_READERS:
            known.popitem(last=False)
    known[key] = found
    return found
