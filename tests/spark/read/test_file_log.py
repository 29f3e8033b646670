"""Many files are given to Spark as a log, not listed: the same rows as by listing, and the listing where Spark takes no log."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from floeberg.spark.read.deletes import positions
from floeberg.spark.read.parquet import file_log, scan
from floeberg.spark.read.parquet.kept_relations import KeptRelations
from spark_runs.spark_session import CONNECT

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(CONNECT, reason="a server does not see the client's folders, so that files are listed there"),
]
TABLE = "lake.db.logged"
BY_LOG = "MetadataLogFileIndex"
QUERIES = (
    f"SELECT * FROM {TABLE}",
    f"SELECT id, _file, _pos, _row_id, _partition FROM {TABLE} WHERE id % 3 = 1",
    f"SELECT p, count(*), sum(id) FROM {TABLE} WHERE id BETWEEN 20 AND 70 GROUP BY p",
    f"SELECT a.id, b.p FROM {TABLE} a JOIN {TABLE} b ON a.id = b.id + 1",
)


@pytest.fixture(scope="module")
def table(session: Any) -> Iterator[Any]:
    """A v3 table whose partitions make paths with blanks, percent signs, patterns and letters beyond ASCII; some files have
    deletion vectors."""
    session.sql(
        f"CREATE TABLE {TABLE} (id BIGINT, p STRING) PARTITIONED BY (p) TBLPROPERTIES ('format-version' = '3', "
        "'write.delete.mode' = 'merge-on-read')"
    )
    session.sql(
        f"INSERT INTO {TABLE} SELECT id, element_at(array('a b', '50%', 'x=1&y', 'ü*?[1]', '{{}}+#'), CAST(id % 5 + 1 AS INT)) "
        "FROM range(100)"
    )
    session.sql(f"DELETE FROM {TABLE} WHERE id IN (1, 7, 40)")
    yield session.lake.load_table("db.logged")
    session.sql(f"DROP TABLE {TABLE}")


@pytest.fixture
def logged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_log, "MIN_LOCAL_FILES", 1)
    monkeypatch.setattr(scan, "kept_relations", lambda _: KeptRelations())  # so that every frame is made anew


def _rows(session: Any, query: str) -> list[str]:
    return sorted(str(row) for row in session.sql(query).collect())


def _plan(frame: Any) -> str:
    return str(frame._jdf.queryExecution().executedPlan().toString())


def test_files_of_a_log_give_the_rows_that_listed_files_give(session: Any, table: Any, monkeypatch: Any) -> None:
    listed = [_rows(session, query) for query in QUERIES]
    assert BY_LOG not in _plan(session.sql(QUERIES[0]))
    monkeypatch.setattr(file_log, "MIN_LOCAL_FILES", 1)
    monkeypatch.setattr(scan, "_by_listing", None)
    session.sql(f"ALTER TABLE {TABLE} SET TBLPROPERTIES ('of' = 'another state')")  # so that no kept frame is used
    assert BY_LOG in _plan(session.sql(QUERIES[0]))
    assert [_rows(session, query) for query in QUERIES] == listed
    pruned = session.table(TABLE).where("p = 'a b'")
    assert sorted(row.id for row in pruned.collect()) == [row for row in range(0, 100, 5) if row != 40]


@pytest.mark.usefixtures("logged")
def test_a_session_that_ignores_such_logs_lists_the_files(session: Any, table: Any) -> None:
    session.conf.set("spark.sql.streaming.fileStreamSink.ignoreMetadata", "true")
    try:
        found = session.table(TABLE)
        assert found.count() == 97
    finally:
        session.conf.unset("spark.sql.streaming.fileStreamSink.ignoreMetadata")
    assert BY_LOG not in _plan(found)


@pytest.mark.usefixtures("logged")
def test_a_file_of_a_log_that_is_not_there_is_an_error(session: Any) -> None:
    session.sql("CREATE TABLE lake.db.gone (id BIGINT)")
    for number in range(2):
        session.sql(f"INSERT INTO lake.db.gone VALUES ({number})")
    tasks = session.lake.load_table("db.gone").scan().plan()
    Path(tasks[1].data_file.file_path.removeprefix("file://")).unlink()
    frame = session.table("lake.db.gone")
    assert BY_LOG in _plan(frame)
    with pytest.raises(Exception, match=r"FILE_NOT_EXIST|does not exist|not.*found"):
        frame.collect()


@pytest.mark.usefixtures("logged")
def test_a_log_that_spark_reads_otherwise_is_not_used(
    session: Any, table: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(file_log, "_url", lambda file: f"file://{file.location.path}.other")
    with caplog.at_level(logging.WARNING, "floeberg"):
        assert _rows(session, f"SELECT count(*) FROM {TABLE} WHERE id >= 0") == ["Row(count(1)=97)"]
    assert "listed one by one" in caplog.text


@pytest.mark.parametrize("layout", ["padded", "packed"])
def test_rows_of_many_files_find_their_deletion_vectors_without_a_join(
    session: Any, monkeypatch: pytest.MonkeyPatch, layout: str
) -> None:
    if layout == "packed":
        monkeypatch.setattr(positions, "_padded", lambda _: None)
    name = f"lake.db.carried_{layout}"
    session.sql(
        f"CREATE TABLE {name} (id BIGINT, p INT) PARTITIONED BY (p) TBLPROPERTIES ('format-version' = '3', "
        "'write.delete.mode' = 'merge-on-read')"
    )
    session.sql(f"INSERT INTO {name} SELECT id, CAST(id % 20 AS INT) FROM range(4000)")
    session.sql(f"DELETE FROM {name} WHERE id % 7 = 3 OR (p = 4 AND id > 200) OR id = 19")
    left = sorted(n for n in range(4000) if not (n % 7 == 3 or (n % 20 == 4 and n > 200) or n == 19))
    frame = session.sql(f"SELECT id, p FROM {name}")
    assert BY_LOG in _plan(frame)
    assert "Join" not in _plan(frame)
    assert sorted(row.id for row in frame.collect()) == left
    assert all(row.p == row.id % 20 for row in frame.collect())
    # Listed files have no numbers, and two facts do not fit one: both are joined.
    with_lineage = session.sql(f"SELECT id, _row_id FROM {name}")
    assert "Join" in _plan(with_lineage)
    assert sorted(row.id for row in with_lineage.collect()) == left
    monkeypatch.setattr(scan, "can_use_log", lambda *_, **__: False)
    listed = session.table(name)
    assert "Join" in _plan(listed)
    assert sorted(row.id for row in listed.collect()) == left
