"""Locations in the forms that Spark's file readers take and give."""

from __future__ import annotations

import re
from typing import Any, Final, Protocol

from floeberg.storage.location import Location, parse_encoded

_GLOB: Final = re.compile(r"([*?\[\]{}\\])")
_ALWAYS_THERE: Final = frozenset({"file", "hdfs"})
_HADOOP_SCHEMES: Final = {"s3": ("s3a",), "gs": ("gs",), "abfs": ("abfss", "abfs")}
_reachable: dict[tuple[str, str], str | None] = {}


class PlacedFile(Protocol):
    """A file, where Spark finds it, and what the table's metadata have for its size and for where its last part begins."""

    @property
    def location(self) -> Location: ...
    @property
    def scheme(self) -> str: ...
    @property
    def authority(self) -> str: ...
    @property
    def size_in_bytes(self) -> int: ...
    @property
    def last_split_offset(self) -> int: ...


def why_unread(location: Location) -> str | None:
    """Why Spark's reader does not read a file of that name; None where it does. It silently skips hidden files and the logs of
    streaming sinks; its local file system keeps checksums under names that a colon makes invalid."""
    name = location.name
    if name.startswith(".") or (name.startswith("_") and "=" not in name) or name.endswith("._COPYING_"):
        return "hidden names"
    if "/_spark_metadata/" in location.path:
        return "folders of streaming sinks"
    return "names with a colon" if location.scheme == "file" and ":" in name else None


def hadoop_scheme(spark: Any, location: Location) -> str | None:
    """The scheme under which Spark's own readers reach a location, None when they have no file system for it. Looked up once
    for each session and bucket."""
    if location.scheme in _ALWAYS_THERE:
        return location.scheme
    if location.scheme not in _HADOOP_SCHEMES:
        return None
    session = str(getattr(spark, "session_id", None) or id(spark))
    key = (session, f"{location.scheme}://{location.authority}")
    if key not in _reachable:
        _reachable[key] = _probe(spark, location)
    return _reachable[key]


def _probe(spark: Any, location: Location) -> str | None:
    written = location.text.partition(":")[0]
    settings = spark.conf.getAll
    for scheme in dict.fromkeys((*_HADOOP_SCHEMES[location.scheme], written)):
        if not any(name.startswith(f"spark.hadoop.fs.{scheme}.") for name in settings):
            continue  # not configured, and a look-up would wait for credentials that do not exist
        try:
            spark.read.schema("probe int").parquet(spark_path(location, scheme)).inputFiles()
        except Exception:  # PySpark has no class for a missing file system; then it is the gateway's
            continue
        return str(scheme)
    return None


def spark_path(location: Location, scheme: str) -> str:
    """The location as an argument of `spark.read.parquet`, which takes `*?[]{}` for patterns unless they are escaped."""
    path = _GLOB.sub(r"\\\1", location.path)
    if scheme == "file":
        return f"file://{path}"
    return f"{scheme}://{authority_of(location)}{path}"


def authority_of(location: Location) -> str:
    """The authority as the location was written."""
    return location.text.partition("://")[2].partition("/")[0]


def given_location(text: str) -> Location:
    """The location of `_metadata.file_path` or `inputFiles()`, which are percent-encoded."""
    return parse_encoded(text)


def metadata_file_path(input_file: str) -> str:
    """The text that `_metadata.file_path` has for a file that `inputFiles()` names: `file:/x`, not `file:///x`."""
    return f"file:/{input_file.removeprefix('file:///')}" if input_file.startswith("file:///") else input_file
