"""Describes files to import in Spark's workers, where they are many."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from pyspark.errors import PySparkException

from floeberg.arrow.formats.import_file import ImportedFile
from floeberg.catalogs.base import LoadedTable
from floeberg.errors import DataFileCorrupt, UnsupportedFeature
from floeberg.files.data_file_wire import decode_data_file, encode_data_file
from floeberg.maintenance.imports.describe import FileDescriber, FileToImport, InThreads
from floeberg.spark.workers.check import check_workers
from floeberg.spark.workers.in_workers import collect_from_workers
from floeberg.spark.workers.stores import WorkerStores, worker_stores
from floeberg.spec.metadata.partition_types import partition_type_of
from floeberg.spec.schemas.name_mapping import parse_name_mapping, write_name_mapping
from floeberg.spec.types import StructType

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FEW_FILES: Final = 64
"""So many files are described in this process sooner than by a job."""
_FILES_PER_TASK: Final = 32
_SCHEMA: Final = "number int, file binary, name_mapping string"
_ARROW: Final = pa.schema([("number", pa.int32()), ("file", pa.binary()), ("name_mapping", pa.string())])
_WORKER_ERROR: Final = re.compile(r"floeberg\.errors\.(?:DataFileCorrupt|FileNotFound|UnsupportedFeature): (.+)")


@dataclass(frozen=True, slots=True)
class OnWorkers:
    """Describes many files by a Spark job, few of them in this process."""

    spark: SparkSession
    table: LoadedTable
    parallelism: int | None = None

    def __call__(self, describer: FileDescriber, files: Sequence[FileToImport]) -> list[ImportedFile]:
        here = InThreads(self.table.pointer.store_for, self.parallelism)
        if len(files) <= FEW_FILES:
            return here(describer, files)
        try:
            stores = worker_stores(self.table.pointer.stores, location=files[0].location)
        except UnsupportedFeature:
            return here(describer, files)
        check_workers(self.spark)
        kind = partition_type_of(self.table.state.metadata, describer.spec_id)
        tasks = -(-len(files) // _FILES_PER_TASK)
        numbers = self.spark.range(0, len(files), 1, tasks)
        try:
            rows = collect_from_workers(numbers, _Describing(stores, describer, kind, tuple(files)), _SCHEMA)
        except PySparkException as error:
            raise _as_ours(error) from error
        return [
            ImportedFile(
                decode_data_file(bytes(row.file), kind),
                None if row.name_mapping is None else parse_name_mapping(row.name_mapping),
            )
            for row in sorted(rows, key=lambda row: row.number)
        ]


def _as_ours(error: PySparkException) -> Exception:
    """What a worker found wrong with a file."""
    found = _WORKER_ERROR.search(str(error))
    return error if found is None else DataFileCorrupt(found[1].strip())


@dataclass(frozen=True, slots=True)
class _Describing:
    """Each number that comes in is that of a file. Travels to the workers."""

    stores: WorkerStores
    describer: FileDescriber
    partition_type: StructType
    files: tuple[FileToImport, ...]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            rows = [self._described(number) for number in batch.column(0).to_pylist()]
            yield pa.RecordBatch.from_pylist(rows, schema=_ARROW)

    def _described(self, number: int) -> dict[str, object]:
        file = self.files[number]
        found = self.describer.describe(self.stores.for_location(file.location), file)
        return {
            "number": number,
            "file": encode_data_file(found.data_file, self.partition_type),
            "name_mapping": None if found.name_mapping is None else write_name_mapping(found.name_mapping),
        }
