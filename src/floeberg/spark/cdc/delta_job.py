"""The job that writes a batch of events: each task owns some keys, and writes what their events come to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final

import msgspec
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import functions as F

from floeberg.catalogs.base import LoadedTable
from floeberg.change_events.delta_writer import DeltaLayout, DeltaWriter, WrittenDelta
from floeberg.change_events.events import EVENT, KIND, EventKind, order_columns
from floeberg.change_events.sequences import BadEvent, EventCounts, EventRules
from floeberg.files.data_file_wire import decode_data_file, encode_data_file
from floeberg.spark.cdc.dead_letters import DeadLetterTask
from floeberg.spark.workers.arrow_values import from_spark
from floeberg.spark.workers.stores import WorkerStores
from floeberg.spark.write.job import remove_written, run_work
from floeberg.spec.snapshots.manifest_entry import DataFile
from floeberg.spec.types import StructType
from floeberg.sql.text.lexer import quote_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_RESULT: Final = pa.schema([pa.field("spec", pa.int32()), pa.field("file", pa.binary())])
_RESULT_SCHEMA: Final = "spec int, file binary"
_REPORT: Final = -1
"""In the place of a spec: what became of the task's events."""
_DEAD_LETTERS: Final = -2
"""In the place of a spec: a data file of the table of dead letters."""


@dataclass(slots=True)
class WrittenBatch:
    """What all tasks of a batch wrote."""

    deltas: list[WrittenDelta] = field(default_factory=list)
    dead_letters: list[DataFile] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeltaTask:
    """What a worker needs to write its keys. It travels with the job."""

    stores: WorkerStores
    layout: DeltaLayout
    rules: EventRules
    partition_types: Mapping[int, StructType]
    """The partition types of the specs that files are written under."""
    dead_letters: DeadLetterTask | None = None

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        task = 0 if context is None else context.taskAttemptId()
        bad: list[BadEvent] = []
        writer = DeltaWriter(
            self.layout,
            self.rules,
            self.stores.for_location,
            task=task,
            on_bad=None if self.dead_letters is None else bad.extend,
        )
        written = writer.write(from_spark(batch, self.layout.schema) for batch in batches if batch.num_rows)
        if not written.counts.events:
            return
        report = {"counts": asdict(written.counts), "referenced": sorted(written.referenced)}
        specs = [_REPORT, *(file.spec_id for file in written.files)]
        files = [encode_data_file(file, self.partition_types[file.spec_id]) for file in written.files]
        described = [msgspec.msgpack.encode(report), *files]
        if self.dead_letters is not None and bad:
            letters = self.dead_letters.write(bad, task=task)
            specs += [_DEAD_LETTERS] * len(letters)
            described += letters
        yield pa.RecordBatch.from_arrays(
            [pa.array(specs, pa.int32()), pa.array(described, pa.binary())], schema=_RESULT
        )


def write_events(
    events: DataFrame, table: LoadedTable, task: DeltaTask, *, letters: LoadedTable | None = None
) -> WrittenBatch:
    """Writes aligned events as files and describes them; nothing is committed. Raises InvalidInput for a bad event unless
    it becomes a dead letter, in the table `letters`."""
    rows = sorted_by_key(events, task.rules)
    try:
        results = run_work(rows, table, task.layout, task, _RESULT_SCHEMA)
    except BaseException:
        if letters is not None and task.dead_letters is not None:
            remove_written(task.dead_letters.writer, letters)
        raise
    return _written(results, task)


def sorted_by_key(events: DataFrame, rules: EventRules) -> DataFrame:
    """The events of each key on one task, sorted. Keys have the table's types by now, so that equal ones meet."""
    keys = [F.col(quote_name(name)) for name in rules.keys]
    orders = [F.col(name) for name in order_columns(rules.orders)]
    side = F.col(KIND) >= int(EventKind.INSERT)
    return events.repartition(*keys).sortWithinPartitions(*keys, *orders, side, F.col(EVENT), F.col(KIND))


def _written(results: Sequence[Any], task: DeltaTask) -> WrittenBatch:
    batch = WrittenBatch()
    for row in results:
        if row.spec == _REPORT:
            report = msgspec.msgpack.decode(bytes(row.file))
            referenced = frozenset(report["referenced"])
            batch.deltas.append(WrittenDelta([], referenced, EventCounts(**report["counts"])))
        elif row.spec == _DEAD_LETTERS and task.dead_letters is not None:
            batch.dead_letters.append(decode_data_file(bytes(row.file), task.dead_letters.writer.partition_type))
        else:
            file = decode_data_file(bytes(row.file), task.partition_types[row.spec])
            batch.deltas[-1].files.append(file)
    return batch
