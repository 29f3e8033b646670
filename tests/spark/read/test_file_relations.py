"""Relations that are made without `DataFrameReader.load`: those that it makes of the same files, which is their oracle."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import pytest

from floeberg.spark.host.calls import file_relations
from floeberg.spark.read.parquet import file_log, scan
from floeberg.spark.read.parquet.kept_relations import KeptRelations
from spark_runs.spark_session import CONNECT

pytestmark = pytest.mark.skipif(CONNECT, reason="a Connect session has no gateway to its JVM")
ODD = "50% {a,b}[1]*?\\"
"""Letters that make a path a pattern, or a URL that differs from the path."""


@pytest.fixture(params=["listed", "logged"])
def made(request: pytest.FixtureRequest, session: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A table of four files, read by one DataFrame before, so that relations of its columns are made without `load`."""
    if request.param == "logged":
        monkeypatch.setattr(file_log, "MIN_LOCAL_FILES", 1)
        monkeypatch.setattr(scan, "kept_relations", lambda _: KeptRelations())
    session.sql("CREATE TABLE lake.db.made (id BIGINT, p STRING) PARTITIONED BY (p)")
    session.createDataFrame([(1, "a"), (2, "b c"), (3, "ü"), (4, ODD)], "id bigint, p string").writeTo(
        "lake.db.made"
    ).append()
    assert session.table("lake.db.made").count() == 4
    yield session
    session.sql("DROP TABLE lake.db.made")


def _loads(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What is loaded from now on."""
    loaded: list[Any] = []
    own = file_relations._Source.by_load

    def by_load(self: Any, spark: Any, array: Any) -> Any:
        loaded.append(array)
        return own(self, spark, array)

    monkeypatch.setattr(file_relations._Source, "by_load", by_load)
    return loaded


def _relation(frame: Any) -> Any:
    plan = frame._jdf.queryExecution().analyzed()
    while plan.getClass().getSimpleName() != "LogicalRelation":
        plan = plan.children().head()
    return plan.relation()


def _options(frame: Any) -> dict[str, str]:
    shown = _relation(frame).options().mkString("\x1f")
    return dict(text.split(" -> ", 1) for text in shown.split("\x1f"))


def test_an_index_gives_the_rows_and_the_files_that_load_gives(made: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    queries = ["SELECT * FROM lake.db.made WHERE p >= 'a'", "SELECT id, _file, _pos FROM lake.db.made WHERE id < 3"]
    with monkeypatch.context() as patch:
        patch.setattr(file_relations._Source, "by_index", lambda *_, **__: None)
        expected = [(sorted(map(str, made.sql(query).collect())), made.sql(query).inputFiles()) for query in queries]
    made.sql("ALTER TABLE lake.db.made SET TBLPROPERTIES ('of' = 'another state')")  # so that no kept frame is used
    loaded = _loads(monkeypatch)
    found = [(sorted(map(str, made.sql(query).collect())), made.sql(query).inputFiles()) for query in queries]
    assert found == expected
    assert loaded == []


def test_paths_that_spark_takes_for_patterns_are_loaded(made: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_relations._Source, "by_index", None)
    assert [row.id for row in made.sql("SELECT id FROM lake.db.made WHERE id >= 4").collect()] == [4]
    assert sorted(row.id for row in made.table("lake.db.made").collect()) == [1, 2, 3, 4]


def test_a_relation_that_is_made_is_equal_to_one_that_is_loaded(session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    session.sql("CREATE TABLE lake.db.equal (id BIGINT, equal BIGINT)")
    session.sql("INSERT INTO lake.db.equal VALUES (1, 1)")
    first = session.table("lake.db.equal")
    loaded = _loads(monkeypatch)
    second = session.table("lake.db.equal")
    assert loaded == []
    assert _relation(first).equals(_relation(second))
    own = (
        session.read.schema(first.schema)
        .options(**scan._READ_OPTIONS, **scan.OF_LOCAL_FILES)
        .parquet(*first.inputFiles())
    )
    options = {name: value for name, value in _options(own).items() if name != "path"}
    assert _options(second) == options
    assert _relation(own).location().equals(_relation(second).location())
    first.cache()
    try:
        assert "InMemoryTableScan" in second._jdf.queryExecution().executedPlan().toString()
    finally:
        first.unpersist()
        session.sql("DROP TABLE lake.db.equal")


def test_a_missing_file_is_sparks_own_error(session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    session.sql("CREATE TABLE lake.db.missing (id BIGINT, missing BIGINT)")
    session.sql("INSERT INTO lake.db.missing VALUES (1, 1)")
    session.table("lake.db.missing").collect()
    (task,) = session.lake.load_table("db.missing").scan().plan()
    Path(task.data_file.file_path.removeprefix("file://")).unlink()
    loaded = _loads(monkeypatch)
    with pytest.raises(Exception, match="PATH_NOT_FOUND"):
        session.table("lake.db.missing")
    assert len(loaded) == 1
    session.sql("DROP TABLE lake.db.missing")


def test_a_spark_that_takes_no_such_index_loads_every_frame(made: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(*_: Any) -> Any:
        raise TypeError("this Spark has another constructor")

    monkeypatch.setattr(file_relations._Source, "_index", refuses)
    loaded = _loads(monkeypatch)
    assert sorted(row.id for row in made.table("lake.db.made").collect()) == [1, 2, 3, 4]
    monkeypatch.setattr(file_relations, "_files", refuses)
    assert sorted(row.id for row in made.table("lake.db.made").collect()) == [1, 2, 3, 4]
    assert len(loaded) == 2


def test_a_frame_of_no_files_is_never_loaded_without_a_path(session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which Spark would warn of."""
    monkeypatch.setattr(file_relations, "_SOURCES", WeakKeyDictionary())
    session.sql("CREATE TABLE lake.db.no_files (id BIGINT, no_files BIGINT)")
    loaded = _loads(monkeypatch)
    assert [session.table("lake.db.no_files").collect() for _ in range(2)] == [[], []]
    assert [len(list(paths)) for paths in loaded] == [1]
    session.sql("DROP TABLE lake.db.no_files")


@pytest.mark.parametrize("name", ["with a space", "josé", "50%", "a[1]{b}*"])
def test_temporary_folders_of_any_name_do_for_frames_of_no_files(
    session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    folder = tmp_path / name
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setattr(file_relations, "_SOURCES", WeakKeyDictionary())
    session.sql("CREATE OR REPLACE TABLE lake.db.empty_here (id BIGINT, v STRING)")
    assert session.sql("SELECT * FROM lake.db.empty_here").collect() == []
    session.sql(
        "MERGE INTO lake.db.empty_here t USING (SELECT 1L AS id, 'a' AS v) s ON t.id = s.id WHEN NOT MATCHED THEN INSERT *"
    )
    assert [tuple(row) for row in session.table("lake.db.empty_here").collect()] == [(1, "a")]


def test_frames_of_no_files_need_no_temporary_folder(
    session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    monkeypatch.setattr(file_relations, "_SOURCES", WeakKeyDictionary())
    session.sql("CREATE OR REPLACE TABLE lake.db.empty_there (id BIGINT, v STRING)")
    assert session.sql("SELECT * FROM lake.db.empty_there").collect() == []


def test_members_of_structs_may_differ_by_case_alone_where_no_file_is_left(session: Any) -> None:
    session.lake.create_table("db.cased_members", "id INT, st STRUCT<a: INT, A: INT>")
    assert session.sql("SELECT * FROM lake.db.cased_members").collect() == []
    session.sql("INSERT INTO lake.db.cased_members SELECT 1, named_struct('a', 1, 'A', 2)")
    assert session.sql("SELECT * FROM lake.db.cased_members WHERE id > 100").collect() == []
    session.sql("UPDATE lake.db.cased_members SET id = 3 WHERE id = 1")
    session.sql("DELETE FROM lake.db.cased_members WHERE id > 100")
    assert [row.id for row in session.table("lake.db.cased_members").collect()] == [3]
