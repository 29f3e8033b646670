"""migrate: a table of Spark's own catalog becomes one of ours, in a session whose `spark_catalog` is ours by its settings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from floeberg.api.attach import attach, detach
from floeberg.errors import InvalidInput


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
