"""Files as relations of Spark's own reader.

`DataFrameReader.load` starts 40 threads to look at its paths, and resolves the source anew each time. A classic session calls
it once for a source, schema and options. The relations of other files are made here, with a file index of the class that `load`
chose; `load` is the fallback, where this Spark takes no such index or the index does not find every file.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from tempfile import TemporaryDirectory
from typing import Any, Final
from weakref import WeakKeyDictionary

from pyspark.sql import types as st

from floeberg.scan.last_used import LastUsed
from floeberg.spark.host.calls.gateway import BETWEEN, is_classic, string_array, tools
from floeberg.spark.host.calls.originals import original

logger = logging.getLogger("floeberg")
_WHOLE_PATH: Final = re.compile(r"(?:file:/|[\w+.-]+://[^/])[^{}\[\]*?\\]*")
"""`load` takes a path with other letters for a pattern, and adds the authority that one of another scheme lacks."""
_MAX_SOURCES: Final = 256


@dataclass(frozen=True, slots=True)
class Files:
    """A DataFrame of files, the files as Spark names them, and on a classic session its relation in the JVM."""

    frame: Any
    listed: list[str]
    relation: Any | None


def load_files(
    spark: Any, source: str, schema: st.StructType, *, options: Mapping[str, str], paths: Sequence[str]
) -> Files:
    """As `spark.read.format(source).schema(schema).options(**options).load(paths)`, each of which is a file."""
    array = string_array(spark, paths) if paths else _no_texts(spark)
    if array is None:
        reader = original(original(original(spark, "read"), "schema")(schema), "options")(**options)
        frame = original(original(reader, "format")(source), "load")(list(paths))
        return Files(frame, list(frame.inputFiles()), None)
    found = _source(spark, source, schema, options)
    if not paths:
        found.learn_parts(spark)
    are_whole = all(_WHOLE_PATH.fullmatch(path) for path in paths)
    return (found.by_index(spark, array, files=len(paths)) if are_whole else None) or found.by_load(spark, array)


def _no_texts(spark: Any) -> Any | None:
    """An array of no texts in the JVM of a classic session."""
    return spark.sparkContext._gateway.new_array(spark._jvm.java.lang.String, 0) if is_classic(spark) else None


def load_log(spark: Any, source: str, schema: st.StructType, *, options: Mapping[str, str], folder: str) -> Files:
    """The files that the log of a streaming sink in this folder names, on a classic session."""
    array = string_array(spark, [folder])
    found = _source(spark, source, schema, options, logged=True)
    return found.by_index(spark, array, files=None) or found.by_load(spark, array)


def frame_of_relation(spark: Any, relation: Any) -> Any:
    """Another DataFrame of a relation, with columns of its own."""
    return tools(spark).frame_type(spark._jsparkSession.baseRelationToDataFrame(relation), spark)


@dataclass(frozen=True, slots=True)
class _Parts:
    """What the relations of one source, schema and options share: their class, that of their file index, and the arguments of
    both but the files."""

    relation: Any
    index: Any
    options: Any
    schema: Any
    rest: tuple[Any, ...]
    """Of the relation, after its file index."""


@dataclass(slots=True)
class _Source:
    """A reader of the JVM with all but the paths, which `load` does not keep; `parts` are known after its first `load`. It does
    not hold the session, which ends when no one else holds it."""

    reader: Any
    logged: bool
    parts: _Parts | None = None

    def by_index(self, spark: Any, array: Any, *, files: int | None) -> Files | None:
        """The files of an index made here; None where that cannot be, or it has another number of files."""
        if self.parts is None:
            return None
        try:
            index = self._index(spark, self.parts, array)
            listed = _listed(spark, index)
            return _files(spark, self.parts, index, listed) if files in (None, len(listed)) else None
        except Exception as error:  # whatever Spark says against it: `load` tells what is wrong with the files
            logger.debug("files are loaded by their paths: %s", error)
            return None

    def learn_parts(self, spark: Any) -> None:
        """Finds what relations share by an empty folder: to load no path at all has Spark warn the user of it."""
        if self.parts is not None:
            return
        try:
            with TemporaryDirectory(prefix="floeberg-no-files-") as folder:
                self.by_load(spark, string_array(spark, [f"file://{folder}"]))
        except Exception as error:  # there is no such folder, or not for Spark's driver: then no path is loaded
            logger.debug("relations are not learned by an empty folder: %s", error)

    def by_load(self, spark: Any, array: Any) -> Files:
        """The files as `load` finds them."""
        loaded = self.reader.load(array)
        try:
            relation = loaded.queryExecution().analyzed().relation()
            self.parts = self.parts or _parts(spark, relation)
            index = relation.location()
            # Relations of the same files are equal however they are made: `load` notes a single path as an option.
            return _files(spark, self.parts, index, _listed(spark, index))
        except Exception as error:  # an extension may read files by a relation of its own; then each frame is loaded
            logger.debug("relations of this Spark cannot be made here: %s", error)
            frame = tools(spark).frame_type(loaded, spark)
            return Files(frame, list(frame.inputFiles()), None)

    def _index(self, spark: Any, parts: _Parts, array: Any) -> Any:
        known = tools(spark)
        session, paths = spark._jsparkSession, known.to_paths(array)
        if self.logged:
            return parts.index(session, paths[0], parts.options, parts.schema)
        nothing, files = known.nothing, known.to_seq(paths)
        return parts.index(session, files, parts.options, parts.schema, known.no_cache, nothing, nothing)


_SOURCES: Final[WeakKeyDictionary[Any, LastUsed[_Source]]] = WeakKeyDictionary()


def _source(
    spark: Any, source: str, schema: st.StructType, options: Mapping[str, str], *, logged: bool = False
) -> _Source:
    known = _SOURCES.setdefault(spark, LastUsed(most=_MAX_SOURCES))
    key = (source, schema.json(), tuple(sorted(options.items())), logged)
    found = known.get(key)
    if found is None:
        session, given = spark._jsparkSession, spark._jvm.java.util.HashMap()
        for name, value in options.items():
            given.put(name, value)
        reader = session.read().format(source).schema(session.parseDataType(key[1])).options(given)
        found = _Source(reader, logged)
        known.put(key, found)
    return found


def _parts(spark: Any, relation: Any) -> _Parts:
    options = getattr(relation.options(), "$minus")("path")
    schema = relation.dataSchema()
    rest = (relation.partitionSchema(), schema, relation.bucketSpec(), relation.fileFormat(), options)
    return _Parts(
        relation=_class_of(spark, relation),
        index=_class_of(spark, relation.location()),
        options=options,
        schema=tools(spark).option(schema),
        rest=(*rest, spark._jsparkSession),
    )


def _files(spark: Any, parts: _Parts, index: Any, listed: list[str]) -> Files:
    relation = parts.relation(index, *parts.rest)
    return Files(frame_of_relation(spark, relation), listed, relation)


def _class_of(spark: Any, value: Any) -> Any:
    return reduce(getattr, value.getClass().getName().split("."), spark._jvm)


def _listed(spark: Any, index: Any) -> list[str]:
    """The files of an index, each once; paths are encoded, so that nothing in them stands between texts."""
    joined: str = tools(spark).join(BETWEEN, index.inputFiles())
    return list(dict.fromkeys(joined.split(BETWEEN))) if joined else []
