"""The compiled scan: Parquet files read by Spark's own reader, columns matched by field id."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from pyspark.sql import functions as F
from pyspark.sql import types as st

from floeberg.errors import DataFileCorrupt
from floeberg.scan.tasks import FileScanTask
from floeberg.spark.read.compiled_columns import OWN_PREFIX
from floeberg.spark.read.spark_paths import given_location, metadata_file_path, spark_path
from floeberg.storage.location import Location

KEY: Final = f"{OWN_PREFIX}key"
ROW_INDEX: Final = f"{OWN_PREFIX}row_index"

_FIELD_IDS: Final = "spark.sql.parquet.fieldId.read.enabled"
_IGNORE_MISSING_IDS: Final = "spark.sql.parquet.fieldId.read.ignoreMissing"
_LISTING_THRESHOLD: Final = "spark.sql.sources.parallelPartitionDiscovery.threshold"
_DEFAULT_THRESHOLD: Final = 32
_READ_OPTIONS: Final = {
    "ignoreMissingFiles": "false",
    "ignoreCorruptFiles": "false",
    "datetimeRebaseMode": "CORRECTED",
    "int96RebaseMode": "CORRECTED",
    "mergeSchema": "false",
    "recursiveFileLookup": "true",
}
"""A folder named `a=1` is no column here, a missing file no empty one, and dates are those of the calendar in use."""


@dataclass(frozen=True, slots=True)
class PlacedTask:
    """A task, and where Spark finds its file."""

    task: FileScanTask
    location: Location
    scheme: str


@dataclass(frozen=True, slots=True)
class FileKeys:
    """How rows find facts about their file: by its size where no two sizes are equal (a number joins quickly), else by
    its path. `values` has the key of each file by its recorded path."""

    by_size: bool
    values: Mapping[str, int | str]

    @property
    def column(self) -> Any:
        return F.col("_metadata.file_size" if self.by_size else "_metadata.file_path")


@dataclass(frozen=True, slots=True)
class ParquetFrame:
    """Files as Spark reads them: the columns of the read schema, and the hidden `_metadata`."""

    frame: Any
    keys: FileKeys

    def with_identity(self, *, key: bool, row_index: bool) -> Any:
        """The frame with the file's key and the row's position as columns, where they are asked for."""
        added = ([self.keys.column.alias(KEY)] if key else []) + (
            [F.col("_metadata.row_index").alias(ROW_INDEX)] if row_index else []
        )
        return self.frame.select("*", *added) if added else self.frame


def parquet_frame(spark: Any, tasks: Sequence[PlacedTask], schema: st.StructType) -> ParquetFrame:
    """The files of tasks as one frame. Raises DataFileCorrupt when Spark would read other files than were planned."""
    ensure_field_ids(spark)
    paths = [spark_path(placed.location, placed.scheme) for placed in tasks]
    local = all(placed.scheme in ("file", "hdfs") for placed in tasks)
    with _listing(spark, len(paths) if local else 0):
        frame = spark.read.schema(schema).options(**_READ_OPTIONS).parquet(*paths)
        listed = frame.inputFiles()
    return ParquetFrame(frame, _checked_keys(tasks, listed))


def ensure_field_ids(spark: Any) -> None:
    """Makes Spark match Parquet columns by field id, without which another column's values would come back. Asked whenever
    a frame is made, because a session's settings can change at any time."""
    if spark.conf.get(_FIELD_IDS, "false") != "true":
        spark.conf.set(_FIELD_IDS, "true")
    if spark.conf.get(_IGNORE_MISSING_IDS, "false") != "false":
        spark.conf.set(_IGNORE_MISSING_IDS, "false")


@contextmanager
def _listing(spark: Any, files: int) -> Iterator[None]:
    """Lists local files here rather than in a job: a job for each few files takes far longer than the listing."""
    before = spark.conf.get(_LISTING_THRESHOLD, None)
    if files <= int(before or _DEFAULT_THRESHOLD):
        yield
        return
    spark.conf.set(_LISTING_THRESHOLD, str(files + 1))
    try:
        yield
    finally:
        if before is None:
            spark.conf.unset(_LISTING_THRESHOLD)
        else:
            spark.conf.set(_LISTING_THRESHOLD, before)


def _checked_keys(tasks: Sequence[PlacedTask], listed: Sequence[str]) -> FileKeys:
    """What Spark will read, compared with the plan: a listing leaves out hidden names, and expands patterns."""
    planned = {_identity(placed.location): placed.task.data_file for placed in tasks}
    found = {_identity(given_location(text)): text for text in listed}
    if planned.keys() != found.keys() or len(listed) != len(tasks):
        missing = sorted(path for _, path in planned.keys() - found.keys())
        extra = sorted(path for _, path in found.keys() - planned.keys())
        raise DataFileCorrupt(
            f"Spark would read {len(listed)} files where {len(tasks)} are planned: missing {missing[:3]}, not planned "
            f"{extra[:3]}. Read the table with the option scan-engine=arrow, and report this",
        )
    sizes = [file.file_size_in_bytes for file in planned.values()]
    if len(set(sizes)) == len(sizes):
        return FileKeys(True, {file.file_path: file.file_size_in_bytes for file in planned.values()})
    return FileKeys(False, {file.file_path: metadata_file_path(found[key]) for key, file in planned.items()})


def _identity(location: Location) -> tuple[str, str]:
    return (location.authority, location.path)
