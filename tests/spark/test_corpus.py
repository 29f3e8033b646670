"""The scripts of `corpus/` on our engine; `tests/interop/test_java_corpus.py` runs them on the Java runtime."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import floeberg as fb
from floeberg.errors import FloebergError
from spark_runs.corpus_scripts import SCRIPTS, namespace_of, shown_row, steps

CORE = {
    "branches", "ctas", "files_and_manifests", "filters_of_many_kinds", "joins_and_aliases", "orc_and_avro_rows", "rollback",
    "temporary_view_sees_new_rows",
}  # fmt: skip
"""What is run over Connect too."""


@pytest.fixture(scope="module")
def attached(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    for view in spark.sql("SHOW VIEWS").collect():  # what other tests left in the session is shown too
        if view.isTemporary:
            spark.catalog.dropTempView(view.viewName)
    lake = fb.catalog("lake", warehouse=str(tmp_path_factory.mktemp("corpus") / "warehouse"))
    fb.attach(spark, lake)
    yield spark
    fb.detach(spark)


def _parameters() -> list[Any]:
    return [
        pytest.param(path, id=path.stem, marks=[pytest.mark.connect] if path.stem in CORE else []) for path in SCRIPTS
    ]


@pytest.mark.parametrize("path", _parameters())
def test_a_script_gives_what_it_says(attached: Any, path: Path) -> None:
    attached.sql(f"CREATE NAMESPACE lake.{namespace_of(path)}")
    for step in steps(path):
        if step.fails:
            with pytest.raises(_errors()):
                attached.sql(step.statement).collect()
            continue
        frame = attached.sql(step.statement)
        if step.expected is not None:
            rows = [shown_row(row) for row in frame.collect()]
            assert step.agrees(rows), f"{step.statement}: {rows}, the script says {step.expected}"


def test_the_corpus_is_large_enough() -> None:
    assert len(SCRIPTS) >= 60


def _errors() -> tuple[type[Exception], ...]:
    from pyspark.errors import PySparkException

    return FloebergError, PySparkException
