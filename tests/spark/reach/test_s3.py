"""Tables on S3 with a stock PySpark, which has no S3 file system of its own: everything goes through Python workers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import floeberg as fb
from servers.s3_server import running_s3_server

pytestmark = pytest.mark.s3
KINDS = [(2, "copy-on-write"), (2, "merge-on-read"), pytest.param(3, "merge-on-read", marks=pytest.mark.connect)]


@pytest.fixture(scope="module")
def session(spark: Any) -> Iterator[Any]:
    with running_s3_server() as server:
        far = fb.catalog("far", warehouse=f"s3://{server.new_bucket()}/wh", properties=server.options())
        far.create_namespace("db")
        fb.attach(spark, far)
        spark.far = far
        yield spark
        fb.detach(spark)


def rows(session: Any, query: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in session.sql(query).collect()]


@pytest.mark.parametrize(("version", "mode"), KINDS)
def test_a_tables_life_on_s3(session: Any, version: int, mode: str) -> None:
    name = f"t{version}_{mode.replace('-', '_')}"
    table = f"far.db.{name}"
    modes = ", ".join(f"'write.{verb}.mode' = '{mode}'" for verb in ("delete", "update", "merge"))
    session.sql(
        f"CREATE TABLE {table} (id BIGINT, p STRING, n INT) PARTITIONED BY (p) "
        f"TBLPROPERTIES ('format-version' = '{version}', {modes})"
    )
    session.sql(f"INSERT INTO {table} SELECT id, IF(id < 5, 'a', 'b'), CAST(id AS INT) FROM range(10)")
    first = session.far.load_table(f"db.{name}").current_snapshot.snapshot_id
    frame = session.sql(f"SELECT id FROM {table} WHERE p = 'b' AND id > 7 ORDER BY id")
    assert rows(session, f"SELECT id FROM {table} WHERE p = 'b' AND id > 7 ORDER BY id") == [(8,), (9,)]
    assert "1 files planned of 2" in fb.explain(frame)
    assert "Spark has no file system for s3" in fb.explain(frame)
    session.sql(f"DELETE FROM {table} WHERE id = 3")
    session.sql(f"UPDATE {table} SET n = n + 100, p = 'c' WHERE id IN (4, 5)")
    session.sql(
        f"MERGE INTO {table} t USING (SELECT id, 'm' AS p, 0 AS n FROM range(8, 12)) s ON t.id = s.id "
        "WHEN MATCHED AND t.id = 9 THEN DELETE WHEN MATCHED THEN UPDATE SET p = s.p WHEN NOT MATCHED THEN INSERT *"
    )
    expected = [
        (0, "a", 0), (1, "a", 1), (2, "a", 2), (4, "c", 104), (5, "c", 105), (6, "b", 6), (7, "b", 7), (8, "m", 8),
        (10, "m", 0), (11, "m", 0),
    ]  # fmt: skip
    assert rows(session, f"SELECT * FROM {table} ORDER BY id") == expected
    assert rows(session, f"SELECT count(*), max(p) FROM {table} VERSION AS OF {first}") == [(10, "b")]
    assert sorted(rows(session, f"SELECT DISTINCT partition.p FROM {table}.data_files")) == sorted(
        {(p,) for _, p, _ in expected} | ({("b",)} if mode == "merge-on-read" else set())
    )
    if version == 3:
        ids = rows(session, f"SELECT _row_id, id FROM {table} WHERE id < 10 ORDER BY id")
        assert [one for one, _ in ids] == [one for _, one in ids]
