"""Parquet files read by Spark's own reader, columns matched by field id."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql import types as st

from floeberg.errors import DataFileCorrupt
from floeberg.scan.tasks import FileScanTask
from floeberg.spark.host.calls.file_relations import frame_of_relation, load_files, load_log
from floeberg.spark.host.kept_settings import ensure_field_ids
from floeberg.spark.host.settings.held_settings import held_setting
from floeberg.spark.host.settings.session_settings import setting_of
from floeberg.spark.read.parquet.file_facts import MAX_WRITTEN_OUT, FileKeys, with_facts
from floeberg.spark.read.parquet.file_log import MAX_NUMBER, NUMBER, can_use_log, file_log, is_file, local_size
from floeberg.spark.read.parquet.kept_relations import KeptRelation, kept_relations
from floeberg.spark.read.parquet.paths import authority_of, given_location, metadata_file_path, spark_path
from floeberg.spark.read.parquet.row_sizes import uncounted_bytes
from floeberg.spec.schemas.rules import ENGINE_PREFIX
from floeberg.storage.location import Location

logger = logging.getLogger("floeberg")
ROW_INDEX: Final = f"{ENGINE_PREFIX}row_index"
FILE_NAME: Final = f"{ENGINE_PREFIX}file_name"
"""The name of a row's file, by which later filters prune files; null where it is not known."""

GENERATED_INDEX: Final = st.StructField("_tmp_metadata_row_index", st.LongType())
"""A column of this name is the row's position: Spark's reader makes it, as it does for `_metadata.row_index`. Asked for by
name, it is not first put into a struct for each row."""

_FORMAT: Final = "org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat"
"""The reader by its class: what `parquet` means depends on spark.sql.sources.useV1SourceList, which may change before the frame
is used. The other reader has no `_metadata`."""
_LISTING_THRESHOLD: Final = "spark.sql.sources.parallelPartitionDiscovery.threshold"
_DEFAULT_THRESHOLD: Final = "32"
_NEVER_IN_A_JOB: Final = str(2**31 - 1)
_READ_OPTIONS: Final = {
    "ignoreMissingFiles": "false",
    "ignoreCorruptFiles": "false",
    "datetimeRebaseMode": "CORRECTED",
    "int96RebaseMode": "CORRECTED",
    "mergeSchema": "false",
    "recursiveFileLookup": "true",
    "parquet.filter.dictionary.enabled": "false",
    "parquet.filter.record-level.enabled": "false",
}
"""A folder named `a=1` is no column here, a missing file no empty one, and dates are those of the calendar in use. Parquet
looks for 0.0 in the dictionary of a row group, and in single records where Spark asks it to
(spark.sql.parquet.recordLevelFilter.enabled), where Spark takes -0.0 for the same."""

_LOGS_IGNORED: Final = "spark.sql.streaming.fileStreamSink.ignoreMetadata"
OF_LOCAL_FILES: Final = {"parquet.hadoop.vectored.io.enabled": "false"}
"""Options for local files alone. Hadoop's vectored reads take the parts of a file in threads of their own, which costs small
files more than the reading."""
_STORED: Final = (
    st.BooleanType, st.ByteType, st.ShortType, st.IntegerType, st.LongType, st.FloatType, st.DoubleType, st.DecimalType,
    st.StringType, st.BinaryType, st.DateType, st.TimestampType, st.TimestampNTZType,
)  # fmt: skip
"""Types that Parquet has in every Spark; those that hold others are told by these."""
_WHOLE_FILES: Final = {
    "parquet.filter.stats.enabled": "false",
    "parquet.filter.columnindex.enabled": "false",
    "parquet.filter.bloom.enabled": "false",
}
"""Reads every row group and page, whatever filters are pushed down."""


@dataclass(frozen=True, slots=True)
class PlacedTask:
    """A task, and where Spark finds its file."""

    task: FileScanTask
    location: Location
    scheme: str

    @property
    def authority(self) -> str:
        return authority_of(self.location)

    @property
    def size_in_bytes(self) -> int:
        return self.task.data_file.file_size_in_bytes

    @property
    def last_split_offset(self) -> int:
        return max(self.task.data_file.split_offsets or (0,))


def parquet_frame(
    spark: Any,
    tasks: Sequence[PlacedTask],
    schema: st.StructType,
    *,
    facts: Mapping[str, pa.Array],
    facts_used: bool,
    row_index: bool,
    file_name: bool,
    skips_row_groups: bool = True,
) -> Any:
    """The files of tasks as one frame: the columns of the schema, facts about the row's file, which have a value for each
    task, and the row's position and the file's name where they are asked for. Raises DataFileCorrupt when Spark would read
    other files than were planned."""
    ensure_field_ids(spark)
    # Spark refuses the generated name beside all of `_metadata`, of which a fact leaves one field, where it is always used.
    generated = facts_used and row_index
    read = st.StructType([*schema.fields, GENERATED_INDEX]) if generated else schema
    options = _read_options(schema, skips_row_groups=skips_row_groups)
    if all(placed.scheme == "file" for placed in tasks):
        options = options | OF_LOCAL_FILES
    carried = _carried(facts)
    logged = _by_log(spark, tasks, read, options, () if carried is None else carried.numbers)
    frame, keys = logged or _by_listing(spark, tasks, read, options)
    others = []
    if logged is not None and carried is not None:
        others.append(f"{NUMBER} AS {carried.fact}")
        facts = {}
    if row_index:
        others.append(f"{GENERATED_INDEX.name if generated else '_metadata.row_index'} AS {ROW_INDEX}")
    if file_name:
        others.append(f"_metadata.file_name AS {FILE_NAME}")
    return with_facts(spark, frame, keys, [placed.task.data_file.file_path for placed in tasks], facts, others)


def frame_of_no_files(spark: Any, fields: Sequence[st.StructField]) -> Any:
    """A scan without files: to Spark's optimizer it may have rows. Columns of types that Parquet lacks are constants."""
    names = [f"c{number}" for number in range(len(fields))]
    stored = [
        st.StructField(name, field.dataType)
        for name, field in zip(names, fields, strict=True)
        if _is_stored(field.dataType)
    ]
    found = load_files(spark, _FORMAT, st.StructType(stored), options=_READ_OPTIONS, paths=[]).frame
    known = {field.name for field in stored}
    return found.select(
        *(
            (F.col(name) if name in known else F.lit(None).cast(field.dataType)).alias(field.name)
            for name, field in zip(names, fields, strict=True)
        )
    )


def _is_stored(data_type: st.DataType) -> bool:
    """Whether Parquet has the type, and those inside it. Members whose names differ by case alone cannot be loaded."""
    match data_type:
        case st.StructType():
            names = {field.name.lower() for field in data_type.fields}
            return len(names) == len(data_type.fields) and all(_is_stored(field.dataType) for field in data_type.fields)
        case st.ArrayType():
            return _is_stored(data_type.elementType)
        case st.MapType():
            return _is_stored(data_type.keyType) and _is_stored(data_type.valueType)
    return isinstance(data_type, _STORED)


@dataclass(frozen=True, slots=True)
class _Carried:
    """A fact whose value for each file is a number that the log of files can carry."""

    fact: str
    numbers: tuple[int, ...]


def _carried(facts: Mapping[str, pa.Array]) -> _Carried | None:
    """The only fact, where its values are such numbers."""
    if len(facts) != 1:
        return None
    ((name, values),) = facts.items()
    if values.type != pa.int64() or values.null_count:
        return None
    numbers = tuple(values.to_pylist())
    return _Carried(name, numbers) if all(0 <= number <= MAX_NUMBER for number in numbers) else None


def _by_log(
    spark: Any,
    tasks: Sequence[PlacedTask],
    schema: st.StructType,
    options: Mapping[str, str],
    numbers: tuple[int, ...],
) -> tuple[Any, FileKeys] | None:
    """The files without a look at any of them, each with its number where there are numbers; None where Spark does not take
    them so."""
    rows = sum(placed.task.data_file.record_count for placed in tasks)
    stored = sum(placed.size_in_bytes for placed in tasks)
    uncounted = uncounted_bytes(schema, rows=rows, stored_bytes=stored)
    saves_a_join = bool(numbers) and len(tasks) > MAX_WRITTEN_OUT
    if not can_use_log(spark, tasks, is_worth_it=uncounted > 0 or saves_a_join):
        return None
    if setting_of(spark, _LOGS_IGNORED, "false") == "true":
        return None
    files = tuple((placed.scheme, placed.location.text, placed.size_in_bytes) for placed in tasks)
    key = (files, numbers, schema.json(), tuple(options.items()))
    kept = kept_relations(spark)
    if (known := kept.get(key)) is not None:
        return frame_of_relation(spark, known.relation), _checked_keys(tasks, known.listed, sizes_hold=True)
    try:
        with file_log(tasks, numbers, uncounted) as folder:
            loaded = load_log(spark, _FORMAT, schema, options=options, folder=folder)
        listed = [text for text in loaded.listed if is_file(text)]
        keys = _checked_keys(tasks, listed, sizes_hold=True)
        if loaded.relation is not None:
            kept.put(key, KeptRelation(loaded.relation, listed))
        return loaded.frame, keys
    except Exception as error:  # whatever Spark says against it: the listing tells what is wrong with the files
        logger.warning("%d files are listed one by one, because Spark does not take their log: %s", len(tasks), error)
        return None


def _by_listing(
    spark: Any, tasks: Sequence[PlacedTask], schema: st.StructType, options: Mapping[str, str]
) -> tuple[Any, FileKeys]:
    """The files as Spark lists them."""
    paths = [spark_path(placed.location, placed.scheme) for placed in tasks]
    local = all(placed.scheme in ("file", "hdfs") for placed in tasks)
    with _listing(spark, len(paths) if local else 0):
        loaded = load_files(spark, _FORMAT, schema, options=options, paths=paths)
    sizes_hold = all(placed.scheme == "file" and local_size(placed) == placed.size_in_bytes for placed in tasks)
    return loaded.frame, _checked_keys(tasks, loaded.listed, sizes_hold=sizes_hold)


def _read_options(schema: st.StructType, *, skips_row_groups: bool) -> dict[str, str]:
    """A Bloom filter does not know -0.0 for 0.0 either, and there are none for single columns: it is one for all."""
    if not skips_row_groups:
        return _READ_OPTIONS | _WHOLE_FILES
    has_zeros = any(_is_floating(field.dataType) for field in schema.fields if not field.name.startswith(ENGINE_PREFIX))
    return _READ_OPTIONS | {"parquet.filter.bloom.enabled": "false"} if has_zeros else _READ_OPTIONS


def _is_floating(data_type: st.DataType) -> bool:
    if isinstance(data_type, st.StructType):
        return any(_is_floating(field.dataType) for field in data_type.fields)
    return isinstance(data_type, (st.FloatType, st.DoubleType))


def _listing(spark: Any, files: int) -> AbstractContextManager[None]:
    """Lists local files on the driver rather than in a job: a job for a few files takes far longer than the listing."""
    if files <= int(setting_of(spark, _LISTING_THRESHOLD, _DEFAULT_THRESHOLD)):
        return nullcontext()
    return held_setting(spark, _LISTING_THRESHOLD, _NEVER_IN_A_JOB)


def _checked_keys(tasks: Sequence[PlacedTask], listed: Sequence[str], *, sizes_hold: bool) -> FileKeys:
    """What Spark will read, compared with the plan: a listing leaves out hidden names, and expands patterns. `sizes_hold` says
    that Spark has the recorded sizes: a file of another size may have that of a second file, whose deletes its rows would
    get."""
    planned = {_identity(placed.location): placed.task.data_file for placed in tasks}
    found = {_identity(given_location(text)): text for text in listed}
    if planned.keys() != found.keys() or len(listed) != len(tasks):
        missing = sorted(path for _, path in planned.keys() - found.keys())
        extra = sorted(path for _, path in found.keys() - planned.keys())
        raise DataFileCorrupt(
            f"Spark would read {len(listed)} files where {len(tasks)} are planned: missing {missing[:3]}, not planned "
            f"{extra[:3]}. Read the table with the option scan-engine=arrow, and report this",
        )
    sizes = {file.file_path: file.file_size_in_bytes for file in planned.values()}
    if sizes_hold and len(set(sizes.values())) == len(sizes):
        return FileKeys(sizes, None)
    return FileKeys(sizes, {file.file_path: metadata_file_path(found[key]) for key, file in planned.items()})


def _identity(location: Location) -> tuple[str, str]:
    return (location.authority, location.path)
