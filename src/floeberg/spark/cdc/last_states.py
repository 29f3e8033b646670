"""The last state of each key of a batch, as a DataFrame: what a lookup of keys starts from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Final

import msgspec
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import functions as F
from pyspark.sql import types as st

from floeberg.catalogs.base import LoadedTable
from floeberg.change_events.events import PREFIX
from floeberg.change_events.sequences import (
    BadEvent,
    EventCounts,
    EventRules,
    key_changes,
    refuse_bad,
    screened,
    whole_keys,
)
from floeberg.files.data_file_wire import decode_data_file
from floeberg.spark.cdc.dead_letters import DeadLetterTask
from floeberg.spark.cdc.delta_job import sorted_by_key
from floeberg.spark.host.calls.evaluated_once import evaluated_once
from floeberg.spark.workers.check import check_workers
from floeberg.spark.workers.in_workers import map_in_workers
from floeberg.spark.write.job import remove_written, worker_error
from floeberg.spec.snapshots.manifest_entry import DataFile

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_WHAT: Final = f"{PREFIX}what"
_CONTENT: Final = f"{PREFIX}content"
_STATE, _REPORT, _LETTERS = "state", "report", "letters"


@dataclass(frozen=True, slots=True)
class LastStates:
    """The last event of each key, evaluated; what became of the events; and the files of dead letters."""

    frame: DataFrame
    counts: EventCounts
    dead_letters: list[DataFile]


@dataclass(frozen=True, slots=True, kw_only=True)
class _LastStateTask:
    """Travels with the job. Answers rows of the events' own columns, and beside them what a row is about."""

    table: str
    rules: EventRules
    dead_letters: DeadLetterTask | None

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        bad: list[BadEvent] = []
        counts = EventCounts()
        schema: pa.Schema | None = None

        def good() -> Iterable[pa.RecordBatch]:
            nonlocal schema
            for batch in batches:
                schema = batch.schema
                kept, refused = screened(batch, self.rules)
                counts.events += len(refused)
                counts.bad += len(refused)
                self._refuse(refused, bad)
                yield kept

        for batch in whole_keys(good(), self.rules.keys):
            changes = key_changes(batch, self.rules)
            counts.add(changes.counts)
            self._refuse(changes.bad, bad)
            yield _answered(changes.last, _STATE, [None] * changes.last.num_rows)
        if schema is None or not counts.events:
            return
        nothing = pa.RecordBatch.from_arrays([pa.nulls(1, field.type) for field in schema], schema=_nullable(schema))
        yield _answered(nothing, _REPORT, [msgspec.msgpack.encode(asdict(counts))])
        if self.dead_letters is not None and bad:
            context = TaskContext.get()
            for file in self.dead_letters.write(bad, task=0 if context is None else context.taskAttemptId()):
                yield _answered(nothing, _LETTERS, [file])

    def _refuse(self, refused: list[BadEvent], bad: list[BadEvent]) -> None:
        if refused and self.dead_letters is None:
            refuse_bad(refused, self.table)
        bad.extend(refused)


def _nullable(schema: pa.Schema) -> pa.Schema:
    return pa.schema([field.with_nullable(True) for field in schema])


def _answered(rows: pa.RecordBatch, what: str, content: list[bytes | None]) -> pa.RecordBatch:
    columns = [*rows.columns, pa.array([what] * rows.num_rows), pa.array(content, pa.binary())]
    return pa.RecordBatch.from_arrays(columns, names=[*rows.schema.names, _WHAT, _CONTENT])


def last_states(
    events: DataFrame, rules: EventRules, *, table: str, task: DeadLetterTask | None, letters: LoadedTable | None
) -> LastStates:
    """Evaluates the events once. Raises InvalidInput for a bad event unless it becomes a dead letter."""
    check_workers(events.sparkSession)
    work = _LastStateTask(table=table, rules=replace(rules, collapse=True), dead_letters=task)
    fields = [st.StructField(field.name, field.dataType) for field in events.schema.fields]
    schema = st.StructType([*fields, st.StructField(_WHAT, st.StringType()), st.StructField(_CONTENT, st.BinaryType())])
    try:
        with worker_error(table):
            found = evaluated_once(map_in_workers(sorted_by_key(events, rules), work, schema))
        reports = found.where(F.col(_WHAT) != _STATE).select(_WHAT, _CONTENT).collect()
    except BaseException:
        if task is not None and letters is not None:
            remove_written(task.writer, letters)
        raise
    counts, files = EventCounts(), []
    for row in reports:
        if row[_WHAT] == _REPORT:
            counts.add(EventCounts(**msgspec.msgpack.decode(bytes(row[_CONTENT]))))
        elif task is not None:
            files.append(decode_data_file(bytes(row[_CONTENT]), task.writer.partition_type))
    return LastStates(found.where(F.col(_WHAT) == _STATE).drop(_WHAT, _CONTENT), counts, files)
