"""Functions of ours in Spark's Python workers, without what a worker does anew at each task."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from zipimport import zipimporter

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Work = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
_SPARKS_OWN: Final = re.compile(r"(pyspark\.zip|py4j-[^/]*\.zip|spark-core_[^/]*\.jar)")


def map_in_workers(frame: DataFrame, work: Work, schema: Any) -> DataFrame:
    """`mapInArrow`, for functions of ours."""
    return frame.mapInArrow(_Tidied(work), schema)


@dataclass(frozen=True, slots=True)
class _Tidied:
    """Work that leaves its worker quick to begin the next task. Travels there."""

    work: Work

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        try:
            yield from self.work(batches)
        finally:
            forget_importers()


def forget_importers() -> None:
    """Takes the importers of Spark's own archives out of Python's cache, which makes them again when they are needed.

    A worker empties the caches of imports before each task. An importer of an archive then reads the archive's table of
    contents, and there is one for each package in it: some 16 times thousands of entries, 0.1 to 0.4 s for every task.
    """
    for path, importer in list(sys.path_importer_cache.items()):
        if isinstance(importer, zipimporter) and _SPARKS_OWN.fullmatch(importer.archive.rpartition("/")[2]):
            sys.path_importer_cache.pop(path, None)
