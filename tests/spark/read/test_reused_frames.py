"""A statement uses the DataFrame that an earlier one made of a table, and nobody can tell."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pytest

from floeberg.api.attach import explain
from floeberg.spark.host.calls import statement_views
from floeberg.spark.host.calls.kept_frames import KeptFrames
from floeberg.spark.host.session import session_of
from floeberg.spark.read import frame as frames
from floeberg.spark.read.frame import table_frame
from floeberg.spark.read.joins.key_values import JoinKey, KeyValues
from floeberg.spec.types import LONG
from spark_runs.spark_rows import loaded


@pytest.fixture
def made(session: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """`lake.db.reused` with ids 0 to 9 in two files, and the tables whose DataFrames were made anew."""
    table = session.lake.create_table("db.reused", pa.schema([("id", pa.int64()), ("v", pa.int32())]))
    for ids in (range(5), range(5, 10)):
        table.append(pa.table({"id": pa.array(ids, pa.int64()), "v": pa.array([i % 2 for i in ids], pa.int32())}))
    found: list[str] = []
    own = frames.planned_frame

    def planned_frame(spark: Any, table: Any, plan: Any, **given: Any) -> Any:
        found.append(table.state.identifier)
        return own(spark, table, plan, **given)

    monkeypatch.setattr(frames, "planned_frame", planned_frame)
    yield found
    session.lake.drop_table("db.reused", purge=True)


ALL = "SELECT * FROM lake.db.reused"


def test_a_frame_is_made_once_while_what_it_reads_is_the_same(session: Any, made: list[str]) -> None:
    for _ in range(3):
        assert session.sql(f"{ALL} WHERE id < 7").count() == 7
    assert len(made) == 1
    assert session.sql(f"{ALL} WHERE id < 8").count() == 8
    assert len(made) == 2
    session.sql("INSERT INTO lake.db.reused VALUES (3, 3)")
    assert session.sql(f"{ALL} WHERE id < 7").count() == 8
    assert len(made) == 3


def test_each_result_has_columns_of_its_own(session: Any, made: list[str]) -> None:
    one, two = session.sql(ALL), session.sql(ALL)
    assert len(made) == 1
    assert one.join(two, one.id == two.id).count() == 10
    assert one.join(two, one.id == two.v).select(two.id).distinct().count() == 10
    assert two.join(one, one.id < two.id).count() == 45


def test_each_result_of_metadata_columns_has_columns_of_its_own(session: Any, made: list[str]) -> None:
    sql = "SELECT id, v, _pos FROM lake.db.reused"
    one, two = session.sql(sql), session.sql(sql)
    assert len(made) == 1
    assert one.join(two, (one.id == two.v) & (one._pos < two._pos)).count() == 7


def test_columns_are_a_results_own_where_views_are_made_by_commands(
    session: Any, made: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(*_: Any) -> None:
        raise RuntimeError("no such view")

    monkeypatch.setattr(statement_views._ViewParts, "of", refuses)
    one, two = session.sql(ALL), session.sql(ALL)
    assert len(made) == 1
    assert one.join(two, one.id == two.v).select(two.id).distinct().count() == 10


def test_a_cached_table_stays_cached_beside_statements(session: Any, made: list[str]) -> None:
    cached = session.table("lake.db.reused").cache()
    try:
        assert cached.count() == session.sql(ALL).count() == session.sql(f"{ALL} WHERE id >= 0").count() == 10
        assert cached.storageLevel.useMemory
    finally:
        cached.unpersist()


def test_a_cached_result_stays_cached(session: Any, made: list[str]) -> None:
    sql = "SELECT id, id + 1 AS next FROM lake.db.reused"
    cached = session.sql(sql).cache()
    try:
        assert cached.count() == session.sql(sql).count() == 10
        assert cached.storageLevel.useMemory
    finally:
        cached.unpersist()


def test_a_table_joins_itself_in_one_statement(session: Any, made: list[str]) -> None:
    sql = "SELECT a.id, b.id AS other FROM lake.db.reused a JOIN lake.db.reused b ON a.id = b.v"
    for _ in range(2):
        assert sorted(map(tuple, session.sql(sql).collect())) == [(i % 2, i) for i in (0, 2, 4, 6, 8)] + [
            (1, i) for i in (1, 3, 5, 7, 9)
        ]


def test_a_table_read_by_name_is_made_anew(session: Any, made: list[str]) -> None:
    one, two = session.table("lake.db.reused"), session.table("lake.db.reused")
    assert len(made) == 2
    assert one.join(two, one.id == two.id).count() == 10


def test_other_settings_make_another_frame(session: Any, made: list[str]) -> None:
    assert session.sql(ALL).count() == 10
    session.conf.set("spark.sql.ansi.enabled", "false")
    try:
        assert session.sql(ALL).count() == 10
    finally:
        session.conf.unset("spark.sql.ansi.enabled")
    assert len(made) == 2


@dataclass(frozen=True)
class SomeKeys:
    """Keys of a join: the ids of one of the two files."""

    def values(self, *, beside_rows: int) -> KeyValues:
        return KeyValues(LONG, (1, 2), "another table")


@pytest.mark.parametrize("keys", [(), (JoinKey("id", SomeKeys()),)], ids=["no join", "join"])
def test_a_frame_of_some_columns_is_nobody_elses(session: Any, made: list[str], keys: tuple[JoinKey, ...]) -> None:
    table, kept = loaded(session.lake.load_table("db.reused")), KeptFrames()
    for select in (["v"], None, ["id"], None):
        frame = table_frame(session, table, select=select, keys=keys, kept=kept)
        assert frame.columns == (select or ["id", "v"])
        assert frame.count() == (5 if keys else 10)
    assert len(made) == 3


def test_a_frame_that_is_used_again_is_explained(session: Any, made: list[str]) -> None:
    assert explain(session.sql(f"{ALL} WHERE id < 4")) == explain(session.sql(f"{ALL} WHERE id < 4"))
    assert len(made) == 1


def test_no_more_than_so_many_files_are_kept(session: Any, made: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("floeberg.spark.host.calls.kept_frames._MAX_FILES", 2)
    attached = session_of(session)
    assert attached is not None
    kept = KeptFrames()
    monkeypatch.setattr(attached.state, "frames", kept)
    assert session.sql(ALL).count() == 10
    assert session.sql(f"{ALL} WHERE id < 4").count() == 4
    assert kept._kept._size <= 2
