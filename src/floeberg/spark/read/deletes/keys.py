"""Reads the keys of equality delete files in Spark's Python workers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from floeberg.arrow.scan.deletes import read_equality_deletes
from floeberg.scan.tasks import DeleteFile
from floeberg.spark.workers.arrow_values import spark_arrow_schema, to_spark
from floeberg.spark.workers.scan import TableFiles
from floeberg.spec.schemas.rules import ENGINE_PREFIX
from floeberg.spec.schemas.schema import Schema

SCOPE: Final = f"{ENGINE_PREFIX}scope"
SEQUENCE_NUMBER: Final = f"{ENGINE_PREFIX}delete_sequence_number"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteKeys:
    """Groups of delete files, each with the number of its scope, and the columns that are their keys."""

    table: TableFiles
    groups: tuple[tuple[tuple[DeleteFile, int], ...], ...]
    keys: Schema

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The keys of the groups whose numbers come in."""
        for batch in batches:
            for number in batch.column(0).to_pylist():
                for delete, scope in self.groups[number]:
                    yield from self._keys_of(delete, scope)

    def _keys_of(self, delete: DeleteFile, scope: int) -> Iterator[pa.RecordBatch]:
        store = self.table.stores.store_for(delete.file.file_path)
        schema = spark_arrow_schema(self.keys)
        table = read_equality_deletes(store, delete.file, self.keys, name_mapping=self.table.name_mapping)
        for found in table.to_batches():
            rows = to_spark(found, self.keys, schema)
            facts = [
                pa.array([value], pa.int64()).take(pa.nulls(rows.num_rows, pa.int64()).fill_null(0))
                for value in (scope, delete.data_sequence_number)
            ]
            names = [*schema.names, SCOPE, SEQUENCE_NUMBER]
            yield pa.RecordBatch.from_arrays([*rows.columns, *facts], names=names)
