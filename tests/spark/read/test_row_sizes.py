"""Spark takes well compressed files for as large as their rows: it broadcasts no millions of them, and reads no file twice."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import types as st

from floeberg.spark.read.parquet import scan
from floeberg.spark.read.parquet.kept_relations import KeptRelations
from floeberg.spark.read.parquet.row_sizes import uncounted_bytes
from spark_runs.spark_session import CONNECT

classic = pytest.mark.skipif(
    CONNECT, reason="a server does not see the client's folders, so that files are listed there"
)
ROWS = 600_000
TABLE = "lake.db.compressed"
JOIN = f"SELECT count(*), sum(b.v) FROM {TABLE} a JOIN {TABLE} b ON a.id = b.id"


@pytest.fixture(scope="module")
def table(session: Any) -> Iterator[Any]:
    """Two files of runs of few numbers: 20 bytes a row to Spark, hardly one on disk."""
    created = session.lake.create_table("db.compressed", "id bigint, k int, v int", format_version=3)
    for start in (0, ROWS // 2):
        ids = np.arange(start, start + ROWS // 2)
        created.append(pa.table({"id": ids, "k": (ids // 1000).astype("int32"), "v": np.ones(len(ids), "int32")}))
    yield created
    session.sql(f"DROP TABLE {TABLE}")


@pytest.fixture
def small_broadcasts(session: Any) -> Iterator[None]:
    session.conf.set("spark.sql.autoBroadcastJoinThreshold", str(3 << 20))
    yield
    session.conf.unset("spark.sql.autoBroadcastJoinThreshold")


def _plan(frame: Any) -> str:
    return str(frame._jdf.queryExecution().executedPlan().toString())


def test_the_table_has_far_fewer_bytes_than_its_rows(table: Any) -> None:
    assert sum(task.data_file.file_size_in_bytes for task in table.scan().plan()) < 3 << 20


@classic
@pytest.mark.usefixtures("small_broadcasts", "table")
def test_many_rows_of_a_small_file_are_not_broadcast(session: Any) -> None:
    for frame in (session.sql(JOIN), session.table(TABLE).join(session.table(TABLE), "id")):
        assert "BroadcastHashJoin" not in _plan(frame)
    assert [tuple(row) for row in session.sql(JOIN).collect()] == [(ROWS, ROWS)]


@classic
def test_a_table_lists_its_files_alone(session: Any, table: Any) -> None:
    files = {task.data_file.file_path.rpartition("/")[2] for task in table.scan().plan()}
    for frame in (session.table(TABLE), session.sql(f"SELECT id FROM {TABLE}")):
        assert {text.rpartition("/")[2] for text in frame.inputFiles()} == files


@classic
@pytest.mark.usefixtures("table")
def test_a_cached_frame_answers_for_another_one_of_the_same_files(session: Any) -> None:
    cached = session.table(TABLE).cache()
    again = session.table(TABLE)
    assert "InMemoryTableScan" in _plan(again.groupBy("k").count())
    cached.unpersist()
    assert "InMemoryTableScan" not in _plan(again.select("v"))


@classic
@pytest.mark.usefixtures("table")
def test_two_frames_of_the_same_files_have_columns_of_their_own(session: Any) -> None:
    one, other = session.table(TABLE), session.table(TABLE)
    joined = one.join(other, one.id == other.id + 1).where(one.id < 10)
    assert sorted(row[0] for row in joined.select(other.id).collect()) == list(range(9))


@classic
@pytest.mark.usefixtures("table")
def test_the_folder_of_the_log_may_have_a_blank(session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "a b"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setattr(scan, "kept_relations", lambda _: KeptRelations())
    session.sql(f"ALTER TABLE {TABLE} SET TBLPROPERTIES ('of' = 'another state')")  # so that no kept frame is used
    assert "MetadataLogFileIndex" in _plan(session.table(TABLE))


def test_a_struct_of_numbers_is_as_large_as_its_members() -> None:
    member = st.StructField(
        "m", st.StructType([st.StructField("x", st.LongType()), st.StructField("y", st.StringType())])
    )
    schema = st.StructType([member, st.StructField("l", st.ArrayType(st.IntegerType()))])
    assert uncounted_bytes(schema, rows=1_000_000, stored_bytes=1000) == 1_000_000 * (8 + 8 + 20 + 4) * 3 // 4 - 1000
    assert uncounted_bytes(schema, rows=1_000_000, stored_bytes=30_000_000) == 0
    assert uncounted_bytes(schema, rows=1000, stored_bytes=1000) == 0
