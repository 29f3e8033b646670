"""Calls of a classic session's JVM that take one message where PySpark sends one for each name, path or option.

Over Spark Connect, and where a text cannot travel so, PySpark's own methods are used; both give the same DataFrame.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from weakref import WeakKeyDictionary

from pyspark.sql import types as st

from floeberg.spark.host.originals import original


@dataclass(frozen=True, slots=True)
class _Tools:
    """Methods of the JVM; finding one costs a call for each part of its name."""

    split: Any
    join: Any


_BETWEEN: Final = "\x1f"
"""Stands between texts that are sent as one."""
_TOOLS: Final[WeakKeyDictionary[Any, _Tools]] = WeakKeyDictionary()
_OPTIONS: Final[WeakKeyDictionary[Any, dict[tuple[tuple[str, str], ...], Any]]] = WeakKeyDictionary()


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
        found = _TOOLS[spark] = _Tools(split, spark._jvm.org.apache.hadoop.util.StringUtils.join)
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
    session = spark._jsparkSession
    reader = session.read().format(source).schema(session.parseDataType(schema.json()))
    return original(spark, "read")._df(reader.options(_option_map(spark, options)).load(array))


def input_files(spark: Any, frame: Any) -> list[str]:
    """As `frame.inputFiles()`; paths are encoded, so that nothing in them stands between texts."""
    if not is_classic(spark):
        return list(frame.inputFiles())
    joined: str = _tools(spark).join(_BETWEEN, frame._jdf.inputFiles())
    return joined.split(_BETWEEN) if joined else []


def _option_map(spark: Any, options: Mapping[str, str]) -> Any:
    """The options as a map of the JVM, which is made once a session."""
    known = _OPTIONS.setdefault(spark, {})
    key = tuple(sorted(options.items()))
    found = known.get(key)
    if found is None:
        found = known[key] = spark._jvm.java.util.HashMap()
        for name, value in key:
            found.put(name, value)
    return found
