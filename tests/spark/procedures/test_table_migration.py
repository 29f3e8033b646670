"""snapshot and rewrite_table_path: tables over the files of others, and copies under another path."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from floeberg.api.catalog import open_table
from floeberg.errors import InvalidInput, NamespaceNotFound, TableAlreadyExists, UnsupportedFeature
from floeberg.spark.procedures import file_work


def counted(frame: Any) -> Counter[str]:
    return Counter(str(row) for row in frame.collect())


@pytest.fixture(scope="module")
def old(session: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    where = tmp_path_factory.mktemp("old") / "orders"
    session.sql(
        f"CREATE TABLE old_orders (id INT, at TIMESTAMP, city VARCHAR(20), day DATE) USING parquet PARTITIONED BY (day) "
        f"LOCATION '{where}' COMMENT 'orders' TBLPROPERTIES ('team' = 'ann')"
    )
    session.sql(
        "INSERT INTO old_orders VALUES (1, TIMESTAMP'2026-05-01 10:00:00', 'Oslo', DATE'2026-05-01'), "
        "(2, NULL, NULL, NULL), (3, NULL, 'Rome', DATE'2026-05-02')"
    )
    yield "old_orders"
    session.sql("DROP TABLE old_orders")


def test_a_snapshot_has_the_rows_and_is_a_table_of_its_own(session: Any, old: str, tmp_path: Path) -> None:
    expected = counted(session.table(old))
    answer = session.sql(
        f"CALL lake.system.snapshot(source_table => '{old}', table => 'db.tried', properties => map('a', 'b'))"
    )
    assert answer.columns == ["imported_files_count"]
    assert answer.collect() == [(3,)]
    assert counted(session.table("lake.db.tried")) == expected
    table = session.lake.load_table("db.tried")
    assert {"gc.enabled": "false", "snapshot": "true", "a": "b", "team": "ann"}.items() <= dict(
        table.properties
    ).items()
    assert [str(field.transform) for field in table.spec.fields] == ["identity"]
    session.sql("DELETE FROM lake.db.tried WHERE id = 1")
    session.sql("INSERT INTO lake.db.tried VALUES (4, NULL, 'Bonn', DATE'2026-05-02')")
    session.sql("CALL lake.system.rewrite_data_files(table => 'db.tried', options => map('rewrite-all', 'true'))")
    assert sorted(row.id for row in session.table("lake.db.tried").collect()) == [2, 3, 4]
    assert counted(session.table(old)) == expected


def test_what_cannot_be_a_snapshot_is_refused_before_anything_is_made(session: Any, old: str, tmp_path: Path) -> None:
    call = f"CALL lake.system.snapshot('{old}', "
    where = session.sql(f"DESCRIBE TABLE EXTENDED {old}").where("col_name = 'Location'").collect()[0].data_type
    session.sql("CREATE TABLE lake.db.taken (id INT) USING iceberg")
    session.sql("CREATE TABLE rows_of_text (id STRING) USING csv")
    try:
        with pytest.raises(TableAlreadyExists):
            session.sql(f"{call}'db.taken')")
        with pytest.raises(NamespaceNotFound):
            session.sql(f"{call}'nowhere.t')")
        with pytest.raises((InvalidInput, UnsupportedFeature)):
            session.sql(f"{call}'db.inside', location => '{where}/inside')")
        with pytest.raises(InvalidInput, match="csv files"):
            session.sql("CALL lake.system.snapshot('rows_of_text', 'db.text')")
        with pytest.raises(UnsupportedFeature, match=r"CALL lake\.system\.snapshot"):
            session.sql(f"CALL lake.system.migrate('db.{old}')")
    finally:
        session.sql("DROP TABLE rows_of_text")
    assert [one for one in ("inside", "text") if session.lake.table_exists(f"db.{one}")] == []


def test_a_folder_and_an_empty_table_become_tables(session: Any, tmp_path: Path) -> None:
    session.range(4).selectExpr("id", "id % 2 AS p", "'x' AS s").write.partitionBy("p").orc(f"{tmp_path}/in")
    assert (
        session.sql(
            f"CALL lake.system.snapshot('orc.`{tmp_path}/in`', 'db.folder', ignore_missing_files => true)"
        ).collect()[0][0]
        >= 2
    )
    plain = session.read.orc(f"{tmp_path}/in")
    assert counted(session.table("lake.db.folder")) == counted(plain)
    assert session.table("lake.db.folder").dtypes == plain.dtypes
    session.sql("CREATE TABLE nobody (id INT) USING parquet")
    try:
        assert session.sql("CALL lake.system.snapshot('nobody', 'db.nobody')").collect() == [(0,)]
        assert session.table("lake.db.nobody").count() == 0
    finally:
        session.sql("DROP TABLE nobody")


def test_a_copy_under_another_path_is_prepared_and_registered(
    session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.sql(
        "CREATE TABLE lake.db.moving (id BIGINT) USING iceberg TBLPROPERTIES ('write.delete.mode' = 'merge-on-read')"
    )
    session.sql("INSERT INTO lake.db.moving SELECT id FROM range(0, 10, 1, 1)")
    session.sql("DELETE FROM lake.db.moving WHERE id = 3")
    where = session.lake.load_table("db.moving").location
    for few in (file_work.FEW_FILES, 0):  # by this process, and by Spark's workers
        monkeypatch.setattr(file_work, "FEW_FILES", few)
        answer = session.sql(
            f"CALL lake.system.rewrite_table_path(table => 'db.moving', source_prefix => '{where}', "
            f"target_prefix => '{tmp_path}/copy{few}')"
        )
        assert answer.columns == [
            "latest_version", "file_list_location", "rewritten_manifest_file_paths_count",
            "rewritten_delete_file_paths_count",
        ]  # fmt: skip
        (done,) = answer.collect()
        assert tuple(done)[2:] == (2, 1)
        for line in Path(done.file_list_location.removeprefix("file://")).read_text().splitlines():
            source, target = line.split(",")
            Path(target).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source.removeprefix("file://"), target)
        moved = open_table(f"{tmp_path}/copy{few}/metadata/{done.latest_version}")
        assert sorted(row.id for row in moved.to_spark(session).collect()) == [0, 1, 2, *range(4, 10)]
        with pytest.raises(InvalidInput, match="is not below the source prefix"):
            session.sql(f"CALL lake.system.rewrite_table_path('db.moving', '{where}/data', '{tmp_path}/copy')")
    with pytest.raises(InvalidInput, match="has no version"):
        session.sql(
            f"CALL lake.system.rewrite_table_path('db.moving', '{where}', '{tmp_path}/copy', start_version => 'nope')"
        )
