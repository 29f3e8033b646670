"""Work of ours in Python workers begins quickly, and gets its rows in batches that are neither slow to send nor too large."""

from __future__ import annotations

import os
import sys
import zipfile
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from zipimport import zipimporter

import pyarrow as pa
import pytest

from floeberg.spark.host.settings.held_settings import SESSION_MARK, held_setting
from floeberg.spark.workers import in_workers
from floeberg.spark.workers.in_workers import collect_from_workers, forget_importers, gathered, map_in_workers


@pytest.mark.parametrize("name", ["pyspark.zip", "py4j-0.10.9.9-src.zip", "spark-core_2.13-4.3.0.jar"])
def test_importers_of_spark_s_archives_are_forgotten_and_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    importer = _importer(tmp_path / name)
    monkeypatch.setitem(sys.path_importer_cache, str(tmp_path / name), importer)
    monkeypatch.syspath_prepend(str(tmp_path / name))
    forget_importers()
    assert str(tmp_path / name) not in sys.path_importer_cache
    module = __import__(f"only_in_{_word(name)}")
    assert module.VALUE == 7


def test_importers_of_users_archives_stay_because_those_may_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    importer = _importer(tmp_path / "jobs.zip")
    monkeypatch.setitem(sys.path_importer_cache, str(tmp_path / "jobs.zip"), importer)
    forget_importers()
    assert sys.path_importer_cache[str(tmp_path / "jobs.zip")] is importer


def test_a_worker_has_no_importer_of_an_archive_left_when_its_next_task_begins(spark: Any) -> None:
    one = spark.range(0, 1, 1, 1)
    left = _left_by_the_task_before(lambda: one.mapInArrow(_archives, "worker long, archives long"))
    assert left
    assert 0 not in left
    left = _left_by_the_task_before(lambda: map_in_workers(one, _archives, "worker long, archives long"))
    assert left
    assert set(left) == {0}


_MAX_BYTES = "spark.sql.execution.arrow.maxBytesPerBatch"
_MAX_ROWS = "spark.sql.execution.arrow.maxRecordsPerBatch"


def test_rows_are_sent_without_their_bytes_being_counted(spark: Any) -> None:
    frame = spark.range(0, 5_000, 1, 1).selectExpr("id", "'x' AS text", "struct(1D AS a, true AS b) AS pair")
    with in_workers._rows_not_bytes(frame):
        assert spark.conf.get(_MAX_BYTES, None) == str(2**31 - 1)
        sizes = [row.rows for row in frame.mapInArrow(_sizes, "rows long").collect()]
    assert sizes == [2_048, 2_048, 904]
    assert (spark.conf.get(_MAX_BYTES, None), spark.conf.get(_MAX_ROWS, None)) == (None, None)


@pytest.mark.parametrize("column", ["X'00'", "array(1)", "struct(map('a', 1) AS m)", "parse_json('1')"])
def test_where_values_may_be_large_spark_counts_their_bytes(spark: Any, column: str) -> None:
    with in_workers._rows_not_bytes(spark.sql(f"SELECT 1 AS id, {column} AS c")):
        assert (spark.conf.get(_MAX_BYTES, None), spark.conf.get(_MAX_ROWS, None)) == (None, None)


def test_limits_that_someone_has_set_stay(spark: Any) -> None:
    frame = spark.range(0, 5_000, 1, 1)
    spark.conf.set(_MAX_BYTES, "1048576")
    try:
        with in_workers._rows_not_bytes(frame):
            assert (spark.conf.get(_MAX_BYTES), spark.conf.get(_MAX_ROWS, None)) == ("1048576", None)
    finally:
        spark.conf.unset(_MAX_BYTES)
    spark.conf.set(_MAX_ROWS, "50000")
    try:
        with in_workers._rows_not_bytes(frame):
            assert (spark.conf.get(_MAX_BYTES, None), spark.conf.get(_MAX_ROWS)) == (None, "50000")
    finally:
        spark.conf.unset(_MAX_ROWS)


class _Session:
    """One of several Python objects for a session, which has the settings."""

    def __init__(self, settings: dict[str, str]) -> None:
        self.conf = self
        self.get = lambda name, default=None: settings.get(name, default)
        self.set = settings.__setitem__
        self.unset = settings.pop


def test_settings_come_back_when_jobs_hold_them_by_different_objects_of_one_session() -> None:
    settings = {SESSION_MARK: "one", "a": "before"}
    first, second = _Session(settings), _Session(settings)
    jobs = [held_setting(session, name, "held") for session in (first, second) for name in ("a", "b")]
    for job in jobs:
        job.__enter__()
    for job in jobs[:2]:
        job.__exit__(None, None, None)
    assert settings == {SESSION_MARK: "one", "a": "held", "b": "held"}
    for job in jobs[2:]:
        job.__exit__(None, None, None)
    assert settings == {SESSION_MARK: "one", "a": "before"}


def test_streaming_queries_of_one_session_hold_settings_each_in_its_own_clone() -> None:
    clones = [{SESSION_MARK: "one", "a": before} for before in ("first", "second")]
    jobs = [held_setting(_Session(settings), "a", "held") for settings in clones]
    for job in jobs:
        job.__enter__()
    assert [settings["a"] for settings in clones] == ["held", "held"]
    for job in jobs:
        job.__exit__(None, None, None)
    assert [settings["a"] for settings in clones] == ["first", "second"]


def test_work_gets_all_rows_in_order_and_in_larger_batches(spark: Any) -> None:
    answers = collect_from_workers(spark.range(0, 40_000, 1, 1), _spans, "first long, last long, rows long")
    assert [tuple(row) for row in answers] == [(0, 16_383, 16_384), (16_384, 32_767, 16_384), (32_768, 39_999, 7_232)]


def test_batches_are_gathered_until_they_have_rows_or_bytes_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    small = [pa.RecordBatch.from_pydict({"a": list(range(start, start + 3))}) for start in range(0, 12, 3)]
    monkeypatch.setattr(in_workers, "_ENOUGH_ROWS", 6)
    assert [batch.to_pydict()["a"] for batch in gathered(iter(small))] == [list(range(6)), list(range(6, 12))]
    monkeypatch.setattr(in_workers, "_ENOUGH_BYTES", small[0].nbytes)
    assert list(gathered(iter(small))) == small
    assert list(gathered(iter([]))) == []


def _sizes(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield pa.RecordBatch.from_pydict({"rows": [batch.num_rows]})


def _spans(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        ids = batch.column(0).to_pylist()
        yield pa.RecordBatch.from_pydict({"first": [ids[0]], "last": [ids[-1]], "rows": [len(ids)]})


def _left_by_the_task_before(frame: Callable[[], Any]) -> list[int]:
    """How many importers tasks found in workers that had just had such a task; which worker has one is Spark's choice."""
    seen: set[int] = set()
    left = []
    for _ in range(10):
        ((worker, archives),) = frame().collect()
        left += [archives] if worker in seen else []
        seen.add(worker)
    return left


def _archives(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """How many importers of Spark's archives the worker has, beside those that other tests of the session sent; a search for
    what is nowhere then makes them all again."""
    importers = [one for one in sys.path_importer_cache.values() if isinstance(one, zipimporter)]
    found = sum(in_workers._SPARKS_OWN.fullmatch(Path(one.archive).name) is not None for one in importers)
    assert find_spec("there_is_no_such_module") is None
    for _ in batches:
        yield pa.RecordBatch.from_pydict({"worker": [os.getpid()], "archives": [found]})


def _importer(path: Path) -> zipimporter:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"only_in_{_word(path.name)}.py", "VALUE = 7\n")
    return zipimporter(str(path))


def _word(name: str) -> str:
    return "".join(sign if sign.isalnum() else "_" for sign in name)
