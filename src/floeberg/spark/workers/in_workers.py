"""Functions of ours in Spark's Python workers, without what a worker does anew at each task."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from zipimport import zipimporter

import pyarrow as pa
from pyspark.sql import types as st

from floeberg.spark.host.settings.held_settings import held_setting

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Work = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
_MAX_BYTES: Final = "spark.sql.execution.arrow.maxBytesPerBatch"
_MAX_ROWS: Final = "spark.sql.execution.arrow.maxRecordsPerBatch"
_NO_LIMIT: Final = str(2**31 - 1)
_ROWS_SENT: Final = 2_048
"""How many rows are sent at a time where their bytes are not counted: with 32 KB a row as many bytes as Spark would send. With
half as many a write takes a tenth longer."""

_ENOUGH_ROWS: Final = 1 << 14
_ENOUGH_BYTES: Final = 32 << 20
_SPARKS_OWN: Final = re.compile(r"(pyspark\.zip|py4j-[^/]*\.zip|spark-core_[^/]*\.jar)")


def map_in_workers(frame: DataFrame, work: Work, schema: Any) -> DataFrame:
    """`mapInArrow`, for functions of ours. PySpark looks its columns up by their names as if these were expressions, so a
    frame with other names, or with names that differ by case alone, travels under plain ones."""
    names = frame.columns
    if len({name.lower() for name in names}) < len(names) or any("." in name or "`" in name for name in names):
        plain = frame.toDF(*(f"c{number}" for number in range(len(names))))
        return plain.mapInArrow(_Tidied(work, tuple(names)), schema)
    return frame.mapInArrow(_Tidied(work), schema)


def collect_from_workers(frame: DataFrame, work: Work, schema: Any) -> list[Any]:
    """What work makes of a frame's rows."""
    with _rows_not_bytes(frame):
        rows: list[Any] = map_in_workers(frame, work, schema).collect()
        return rows


@contextmanager
def _rows_not_bytes(frame: DataFrame) -> Iterator[None]:
    """Bounds what is sent to workers at a time by rows. Spark also counts the bytes of all columns so far, after each row,
    which takes a third of the time of a write. Not where a column is likely to hold large values, nor where someone has
    set a limit of their own. The bounds are the session's while the job runs: they hold for users' functions in it too."""
    spark = frame.sparkSession
    ours = {_MAX_BYTES: _NO_LIMIT, _MAX_ROWS: str(_ROWS_SENT)}
    if any(spark.conf.get(name, None) not in (None, own) for name, own in ours.items()) or _may_be_large(frame.schema):
        yield
        return
    with held_setting(spark, _MAX_BYTES, _NO_LIMIT), held_setting(spark, _MAX_ROWS, str(_ROWS_SENT)):
        yield


def _may_be_large(data_type: Any) -> bool:
    """Whether there are bytes in it, or a list or map, which may be of any length."""
    if isinstance(data_type, st.StructType):
        return any(_may_be_large(field.dataType) for field in data_type.fields)
    return not isinstance(data_type, (st.NumericType, st.StringType, st.DatetimeType, st.BooleanType))


@dataclass(frozen=True, slots=True)
class _Tidied:
    """Work that leaves its worker quick to begin the next task. Travels there."""

    work: Work
    names: tuple[str, ...] | None = None
    """The names of the columns, where they came under others."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        named = batches if self.names is None else (batch.rename_columns(list(self.names)) for batch in batches)
        try:
            yield from self.work(gathered(named))
        finally:
            forget_importers()


def gathered(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows in fewer, larger batches: what is done for each column of a batch costs the same for few rows as for many."""
    parts: list[pa.RecordBatch] = []
    rows = size_bytes = 0
    for batch in batches:
        parts.append(batch)
        rows += batch.num_rows
        size_bytes += batch.nbytes
        if rows >= _ENOUGH_ROWS or size_bytes >= _ENOUGH_BYTES:
            yield from _joined(parts)
            parts, rows, size_bytes = [], 0, 0
    if parts:
        yield from _joined(parts)


def _joined(parts: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    return parts if len(parts) == 1 else pa.Table.from_batches(parts).combine_chunks().to_batches()


def forget_importers() -> None:
    """Takes the importers of Spark's own archives out of Python's cache, which makes them again when they are needed.

    A worker empties the caches of imports before each task. An importer of an archive then reads the archive's table of
    contents, and there is one for each package in it: some 16 times thousands of entries, 0.1 to 0.4 s for every task.
    """
    for path, importer in list(sys.path_importer_cache.items()):
        if isinstance(importer, zipimporter) and _SPARKS_OWN.fullmatch(importer.archive.rpartition("/")[2]):
            sys.path_importer_cache.pop(path, None)
