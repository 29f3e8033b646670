"""What Spark's Python workers must have: named when it is missing, sent when it is only floeberg."""

from __future__ import annotations

import re
import stat
import subprocess
import sys
from importlib.metadata import requires
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from floeberg.api.catalog import Catalog
from floeberg.errors import UnsupportedFeature
from floeberg.spark.read.frame import table_frame
from floeberg.spark.workers import check as worker_check
from floeberg.spark.workers.scan import NEEDED_MODULES
from spark_runs.spark_rows import loaded

pytestmark = pytest.mark.cluster

# Runs first in a worker's Python, and hides modules: floeberg wherever it is installed, but not where it was sent to, unless
# that is hidden too (another test may have sent it).
HIDING = """
import sys
from importlib.machinery import PathFinder

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name not in {names!r}:
            return None
        sent = [entry for entry in sys.path if {sees_sent} and entry.endswith(".zip") and "floeberg-" in entry]
        found = PathFinder.find_spec(name, sent) if sent and name == "floeberg" else None
        if found is None:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
        return found

sys.meta_path.insert(0, Hidden())
"""


@pytest.fixture
def workers_without(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes the session's next Python workers lack modules."""
    monkeypatch.setattr(worker_check, "_checked", type(worker_check._checked)())

    def hide(*names: str, sees_sent: bool = True) -> None:
        (tmp_path / "sitecustomize.py").write_text(HIDING.format(names=names, sees_sent=sees_sent))
        python = tmp_path / "python"
        python.write_text(f'#!/bin/sh\nPYTHONPATH="{tmp_path}:$PYTHONPATH" exec {sys.executable} "$@"\n')
        python.chmod(python.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setattr(spark.sparkContext, "pythonExec", str(python))

    return hide


@pytest.fixture
def table(lake: Catalog) -> Any:
    table = lake.create_table("db.t", "id bigint", properties={"write.format.default": "avro"})
    table.append(pa.table({"id": [1, 2, 3]}))
    return table


def test_what_the_workers_lack_is_named_with_the_way_out(spark: Any, table: Any, workers_without: Any) -> None:
    workers_without("floeberg", "msgspec", sees_sent=False)
    with pytest.raises(UnsupportedFeature, match=r"lacks floeberg, msgspec; install floeberg there .* spark\.archives"):
        table_frame(spark, loaded(table))


def test_floeberg_is_sent_to_workers_that_lack_it_alone(spark: Any, table: Any, workers_without: Any) -> None:
    workers_without("floeberg")
    frame = table_frame(spark, loaded(table))
    assert sorted(row.id for row in frame.collect()) == [1, 2, 3]


def test_workers_without_arrow_cannot_even_say_what_they_lack(spark: Any, table: Any, workers_without: Any) -> None:
    workers_without("pyarrow")
    with pytest.raises(UnsupportedFeature, match=r"do not run .* Python that has pyarrow and floeberg"):
        table_frame(spark, loaded(table))


WORKING_MODULES = (
    "dml.change_job", "dml.copying", "dml.target_scan", "read.arrow_scan", "read.changelog", "read.deletes.equality",
    "workers.scan", "workers.changelog", "workers.functions", "entry.source_writer", "write.job",
)  # fmt: skip


def test_what_works_in_executors_needs_no_more_than_they_are_asked_for() -> None:
    names = [re.split(r"[ <>=;\[]", text)[0] for text in requires("floeberg") or () if "extra ==" not in text]
    assert {"polars", "cramjam", "deflate"} <= set(names)
    script = f"""
import importlib, sys
for name in {WORKING_MODULES}:
    importlib.import_module("floeberg.spark." + name)
print(*(name for name in {names} if name in sys.modules))
"""
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert set(loaded) <= set(NEEDED_MODULES)
    assert "pyroaring" in loaded
