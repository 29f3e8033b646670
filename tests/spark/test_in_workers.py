"""Python workers begin the next task quickly after work of ours."""

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

from floeberg.spark.in_workers import forget_importers, map_in_workers


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
    """How many importers of archives the worker has; a search for what is nowhere then makes them all again."""
    found = sum(isinstance(importer, zipimporter) for importer in sys.path_importer_cache.values())
    assert find_spec("there_is_no_such_module") is None
    for _ in batches:
        yield pa.RecordBatch.from_pydict({"worker": [os.getpid()], "archives": [found]})


def _importer(path: Path) -> zipimporter:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"only_in_{_word(path.name)}.py", "VALUE = 7\n")
    return zipimporter(str(path))


def _word(name: str) -> str:
    return "".join(sign if sign.isalnum() else "_" for sign in name)
