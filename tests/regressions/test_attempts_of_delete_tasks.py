"""Attempts of one task that writes deletes: each has files of its own, and one that fails removes no other's."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest
from pyroaring import BitMap64

from floeberg.api.catalog import catalog
from floeberg.catalogs.base import LoadedTable
from floeberg.files.data_file_wire import decode_data_file
from floeberg.spark.dml import delete_job
from floeberg.spark.dml.delete_job import DeleteTask
from floeberg.spark.read.arrow_scan import table_files
from floeberg.spec.types import StructType
from floeberg.testing.table_builder import TableBuilder


@dataclass(frozen=True)
class Attempt:
    """What Spark tells a task of itself."""

    number: int

    def get(self) -> Attempt:
        return self

    def partitionId(self) -> int:
        return 0

    def taskAttemptId(self) -> int:
        return self.number


@pytest.fixture(params=[2, 3])
def task(request: Any, tmp_path: Path) -> DeleteTask:
    lake = catalog("lake", warehouse=str(tmp_path))
    builder = TableBuilder("id bigint, p int", partition_by=["p"], format_version=request.param, in_catalog=lake)
    builder.append((1, 0), (2, 0), (3, 1), (4, 1))
    table = builder.table
    files = table_files(LoadedTable(table._pointer, table._state), table.schema)
    tasks = {task.data_file.file_path: task for task in table.scan().plan()}
    return DeleteTask(files=files, metadata=table.metadata, tasks=tasks, write_id=uuid4())


def batches(task: DeleteTask) -> Iterator[pa.RecordBatch]:
    for path in task.tasks:
        yield pa.record_batch({"file": [path], "content": [BitMap64([1]).serialize()]})


def failing(task: DeleteTask) -> Iterator[pa.RecordBatch]:
    yield from batches(task)
    raise RuntimeError("the task is lost")


def written(task: DeleteTask) -> set[str]:
    folder = Path(task.location.removeprefix("file://"), "data")
    return {file.name for file in folder.rglob("*-deletes.*")}


def run(task: DeleteTask, monkeypatch: pytest.MonkeyPatch, number: int) -> set[str]:
    """The names of the files that an attempt described."""
    monkeypatch.setattr(delete_job, "TaskContext", Attempt(number))
    found = [content for batch in task(batches(task)) for content in batch.column(0).to_pylist()]
    return {decode_data_file(content, StructType(())).file_path.rpartition("/")[2] for content in found}


def test_two_attempts_write_files_of_their_own(task: DeleteTask, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = run(task, monkeypatch, 1), run(task, monkeypatch, 2)
    assert len(first) == len(second) == 2
    assert not first & second
    assert written(task) == first | second


def test_an_attempt_that_fails_removes_its_own_files_alone(task: DeleteTask, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = run(task, monkeypatch, 1)
    monkeypatch.setattr(delete_job, "TaskContext", Attempt(2))
    with pytest.raises(RuntimeError, match="lost"):
        list(task(failing(task)))
    assert written(task) == kept
