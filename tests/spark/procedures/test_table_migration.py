"""snapshot and migrate: tables of Spark's own catalog as tables of ours, over the same files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from floeberg.api.attach import attach, detach
from floeberg.errors import InvalidInput, NamespaceNotFound, TableAlreadyExists, UnsupportedFeature


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
    assert session.sql(f"CALL lake.system.snapshot('orc.`{tmp_path}/in`', 'db.folder')").collect()[0][0] >= 2
    plain = session.read.orc(f"{tmp_path}/in")
    assert counted(session.table("lake.db.folder")) == counted(plain)
    assert session.table("lake.db.folder").dtypes == plain.dtypes
    session.sql("CREATE TABLE nobody (id INT) USING parquet")
    try:
        assert session.sql("CALL lake.system.snapshot('nobody', 'db.nobody')").collect() == [(0,)]
        assert session.table("lake.db.nobody").count() == 0
    finally:
        session.sql("DROP TABLE nobody")


def test_migrate_takes_the_place_of_a_table_where_the_session_catalog_is_ours(spark: Any, tmp_path: Path) -> None:
    key = "spark.sql.catalog.spark_catalog"
    settings = {
        key: "org.apache.iceberg.spark.SparkSessionCatalog",
        f"{key}.type": "hadoop",
        f"{key}.warehouse": str(tmp_path / "w"),
    }
    for name, value in settings.items():
        spark.conf.set(name, value)
    attach(spark)
    try:
        spark.sql(f"CREATE TABLE moved (id INT, p INT) USING parquet PARTITIONED BY (p) LOCATION '{tmp_path}/t'")
        spark.sql("INSERT INTO moved VALUES (1, 1), (2, 2)")
        spark.sql("CREATE TABLE managed_one (id INT) USING parquet")
        spark.sql("INSERT INTO managed_one VALUES (7)")
        with pytest.raises(InvalidInput, match="managed table"):
            spark.sql("CALL spark_catalog.system.migrate(table => 'default.managed_one', drop_backup => true)")
        assert spark.sql("CALL spark_catalog.system.migrate(table => 'default.managed_one')").collect() == [(1,)]
        assert spark.sql(
            "CALL spark_catalog.system.migrate(table => 'default.moved', drop_backup => true)"
        ).collect() == [(2,)]
        assert sorted(map(tuple, spark.sql("SELECT * FROM moved").collect())) == [(1, 1), (2, 2)]
        assert spark.sql("SELECT file_path FROM default.moved.files").count() == 2
        spark.sql("INSERT INTO moved VALUES (3, 1)")
        assert spark.table("moved").count() == 3
        assert [row.id for row in spark.sql("SELECT * FROM managed_one").collect()] == [7]
        assert [row.id for row in spark.sql("SELECT * FROM managed_one_BACKUP_").collect()] == [7]
        assert spark.sql("SHOW TABLES").where("tableName LIKE 'moved_BACKUP%'").count() == 0
    finally:
        spark.sql("DROP TABLE IF EXISTS moved")
        spark.sql("DROP TABLE IF EXISTS managed_one")
        detach(spark)
        spark.conf.unset(key)
        for table in ("moved", "managed_one", "moved_BACKUP_", "managed_one_BACKUP_"):
            spark.sql(f"DROP TABLE IF EXISTS {table}")
        for name in settings:
            spark.conf.unset(name)
