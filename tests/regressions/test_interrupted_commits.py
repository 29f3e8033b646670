"""A commit that is interrupted (Ctrl-C, an error that nobody foresaw) after the catalog took it: the files that it refers to are
not taken for leftovers of a failed change. Before the swap they are, and are removed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.types import LongType, StructField, StructType

import floeberg as fb
from floeberg.catalogs.filesystem_pointer import FilesystemPointer
from floeberg.commit.append import Append
from floeberg.commit.commit import commit_operations
from floeberg.commit.row_delta import RowDelta
from floeberg.errors import CommitConflict, CommitUnknown
from floeberg.maintenance.rewrite.arrow_engine import ArrowEngine
from floeberg.maintenance.rewrite.delete_files import (
    DeleteRewriteRequest,
    convert_equality_deletes,
    rewrite_position_deletes,
)
from floeberg.spark.dml.carry_out import removed_on_failure
from floeberg.spark.entry.source_writer import PathWriter
from floeberg.testing.table_builder import TableBuilder
from lakes.stub_pointer import StubPointer

INTERRUPTS = [KeyboardInterrupt, SystemExit, RuntimeError]


class Interrupted(StubPointer):
    """A catalog that commits and is interrupted before it can say so."""

    def __init__(self, pointer: Any, interrupt: type[BaseException]) -> None:
        super().__init__(pointer, "ok")
        self._interrupt = interrupt

    def swap(self, base, new):
        super().swap(base, new)
        raise self._interrupt


def with_deletes(version: int = 2) -> TableBuilder:
    builder = TableBuilder(format_version=version, properties={"write.delete.mode": "merge-on-read"})
    return builder.append((1,), (2,), (3,)).append((4,), (5,)).delete("id in (1, 4)").delete("id = 2")


def merged(builder: TableBuilder, pointer: Any) -> None:
    request = DeleteRewriteRequest(options={"rewrite-all": "true"})
    rewrite_position_deletes(pointer, builder.table._state, request)


def converted(builder: TableBuilder, pointer: Any) -> None:
    convert_equality_deletes(pointer, builder.table._state, ArrowEngine(pointer), DeleteRewriteRequest())


@pytest.mark.parametrize("interrupt", INTERRUPTS)
@pytest.mark.parametrize("work", [merged, converted])
def test_deletes_that_an_interrupted_rewrite_committed_stay(
    work: Callable[[TableBuilder, Any], None], interrupt: type[BaseException]
) -> None:
    builder = with_deletes()
    builder.table._commit(RowDelta(added=[builder.equality_deletes((5,))]))
    before = builder.rows()
    with pytest.raises(interrupt) as caught:
        work(builder, Interrupted(builder.table._pointer, interrupt))
    assert "may have taken effect" in caught.value.__notes__[0]
    head = builder.table.metadata.current_snapshot_id
    assert builder.table.refresh().metadata.current_snapshot_id != head, "the rewrite was committed"
    assert builder.rows() == before


@pytest.mark.parametrize("interrupt", INTERRUPTS)
def test_files_of_an_interrupted_change_of_rows_stay_once_it_may_be_committed(interrupt: type[BaseException]) -> None:
    builder = TableBuilder().append((1,))
    pointer = Interrupted(builder.table._pointer, interrupt)
    file = builder.data_file((2,))
    target: Any = SimpleNamespace(table=SimpleNamespace(pointer=pointer))
    with pytest.raises(interrupt), removed_on_failure(target, [file]):
        commit_operations(pointer, builder.table._state, [Append(files=[file])])  # type: ignore[arg-type]
    builder.table.refresh()
    assert [row[0] for row in builder.rows()] == [1, 2]


@pytest.mark.parametrize("interrupt", INTERRUPTS)
def test_files_of_a_change_that_is_interrupted_before_its_commit_are_removed(interrupt: type[BaseException]) -> None:
    builder = TableBuilder().append((1,))
    file = builder.data_file((2,))
    store = builder.table._pointer.store_for(file.file_path)
    target: Any = SimpleNamespace(table=SimpleNamespace(pointer=builder.table._pointer))
    with pytest.raises(interrupt), removed_on_failure(target, [file]):
        raise interrupt
    assert file.file_path not in {info.location for info in store.list(builder.table.location)}


# the writer of the Python data source, whose `abort` Spark calls after every failure


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    lake = fb.catalog("lake", type="filesystem", warehouse=str(tmp_path))
    lake.create_namespace("db")
    lake.create_table("db.t", "id bigint").append(pa.table({"id": [1]}))
    return tmp_path / "db" / "t"


def path_writer(folder: Path) -> PathWriter:
    return PathWriter(str(folder), StructType([StructField("id", LongType())]), overwrite=False, options={})


def written(writer: PathWriter, *ids: int) -> Any:
    return writer.write(iter([pa.record_batch({"id": pa.array(ids, pa.int64())})]))


def ids(folder: Path) -> list[int]:
    lake = fb.catalog("lake", type="filesystem", warehouse=str(folder.parent.parent))
    return sorted(lake.load_table("db.t").scan().to_arrow()["id"].to_pylist())


def data_files(folder: Path) -> int:
    return len(list(folder.rglob("*.parquet")))


@pytest.mark.parametrize("error", [CommitUnknown("no answer"), RuntimeError("out of memory"), KeyboardInterrupt()])
def test_an_aborted_job_keeps_files_that_its_commit_may_refer_to(folder: Path, monkeypatch, error) -> None:
    real = FilesystemPointer.swap

    def swap(self, base, new):
        real(self, base, new)
        raise error

    writer = path_writer(folder)
    messages = [written(writer, 2, 3)]
    monkeypatch.setattr(FilesystemPointer, "swap", swap)
    monkeypatch.setattr("floeberg.commit.retry._settle_unknown", lambda *given: _raise(error))
    with pytest.raises(type(error)):
        writer.commit(messages)
    writer.abort(messages)
    assert ids(folder) == [1, 2, 3]


def test_an_aborted_job_keeps_nothing_when_its_commit_was_rejected_or_never_tried(folder: Path, monkeypatch) -> None:
    writer = path_writer(folder)
    message = written(writer, 2)
    writer.abort([message, None])
    assert data_files(folder) == 1, "a task failed: there was no commit"
    message = written(writer, 2)
    with monkeypatch.context() as patch:
        patch.setattr(FilesystemPointer, "swap", lambda self, base, new: _raise(CommitConflict("another came first")))
        patch.setattr("floeberg.commit.retry.back_off", lambda *given, **named: None)
        with pytest.raises(CommitConflict):
            writer.commit([message])
    writer.abort([message])
    assert data_files(folder) == 1
    assert ids(folder) == [1]


def _raise(error: BaseException) -> None:
    raise error
