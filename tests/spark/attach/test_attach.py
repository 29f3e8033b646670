"""Attaching and detaching, whose a name is, and what passes through."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import floeberg as fb
from floeberg.errors import InvalidInput, TableNotFound, UnsupportedFeature
from floeberg.spark.host.calls.originals import ORIGINALS
from floeberg.spark.host.session import session_of
from spark_runs.spark_session import CONNECT

KEY = "spark.sql.catalog."


@pytest.fixture
def plain(spark: Any) -> Iterator[Any]:
    """The session without catalogs, detached afterwards."""
    yield spark
    fb.detach(spark)
    for key in ("spark.sql.defaultCatalog", *(key for key in spark.conf.getAll if key.startswith(KEY))):
        spark.conf.unset(key)


def test_catalogs_come_from_the_settings_of_the_java_runtime(plain: Any, tmp_path: Path) -> None:
    plain.conf.set(f"{KEY}hal", "org.apache.iceberg.spark.SparkCatalog")
    plain.conf.set(f"{KEY}hal.type", "hadoop")
    plain.conf.set(f"{KEY}hal.warehouse", str(tmp_path))
    plain.conf.set(f"{KEY}hal.table-default.write.parquet.page-row-limit", "7")
    plain.conf.set(f"{KEY}hal.table-override.owner", "us")
    plain.conf.set("spark.sql.defaultCatalog", "hal")
    fb.attach(plain)
    plain.sql("CREATE NAMESPACE db")
    plain.sql("CREATE TABLE db.t (id BIGINT) TBLPROPERTIES ('owner' = 'them')")
    assert plain.catalog.currentCatalog() == "hal"
    assert [tuple(row) for row in plain.sql("SHOW TBLPROPERTIES hal.db.t ('owner')").collect()] == [("owner", "us")]
    assert plain.sql("SHOW TBLPROPERTIES db.t ('write.parquet.page-row-limit')").collect()[0][1] == "7"
    assert plain.sql("SELECT 1 AS one").collect()[0].one == 1
    fb.detach(plain)
    assert plain.conf.get("spark.sql.defaultCatalog") == "hal"


@pytest.mark.parametrize(("setting", "required"), [("false", True), ("true", False), (None, False)])
def test_a_catalog_may_be_set_to_keep_which_columns_of_a_query_are_never_null(
    plain: Any, tmp_path: Path, setting: str | None, required: bool
) -> None:
    settings = {"type": "hadoop", "warehouse": str(tmp_path)}
    if setting is not None:
        settings["use-nullable-query-schema"] = setting
    for key, value in settings.items():
        plain.conf.set(f"{KEY}kept.{key}", value)
    fb.attach(plain)
    plain.sql("CREATE NAMESPACE kept.db")
    plain.sql("CREATE TABLE kept.db.t AS SELECT 1 AS id")
    assert fb.open_table(str(tmp_path / "db/t")).schema.fields[0].required is required


def test_whether_columns_of_queries_may_be_null_is_true_or_false(plain: Any, tmp_path: Path) -> None:
    for key, value in {"type": "hadoop", "warehouse": str(tmp_path), "use-nullable-query-schema": "maybe"}.items():
        plain.conf.set(f"{KEY}kept.{key}", value)
    with pytest.raises(InvalidInput, match="use-nullable-query-schema is true or false, not 'maybe'"):
        fb.attach(plain)


def test_a_catalog_that_is_set_after_attach_is_opened_at_its_first_use(plain: Any, lake: Any, tmp_path: Path) -> None:
    fb.attach(plain, lake)
    plain.conf.set(f"{KEY}late", "org.apache.iceberg.spark.SparkCatalog")
    plain.conf.set(f"{KEY}late.type", "hadoop")
    plain.conf.set(f"{KEY}late.warehouse", str(tmp_path / "late"))
    plain.sql("CREATE NAMESPACE late.db")
    plain.sql("CREATE TABLE late.db.t AS SELECT 1 AS id")
    assert plain.table("late.db.t").collect()[0].id == 1
    plain.sql("USE late.db")
    assert plain.table("t").count() == 1
    plain.sql("USE spark_catalog.default")
    assert "late" in [row[0] for row in plain.sql("SHOW CATALOGS").collect()]


def test_settings_after_attach_that_open_no_catalog_hinder_no_other_statement(
    plain: Any, lake: Any, caplog: pytest.LogCaptureFixture
) -> None:
    fb.attach(plain, lake)
    plain.conf.set(f"{KEY}hive", "org.apache.iceberg.spark.SparkCatalog")
    plain.conf.set(f"{KEY}hive.type", "hive")
    plain.sql("CREATE TABLE lake.db.other AS SELECT 1 AS id")
    assert "hive catalog is not supported" in caplog.text
    assert plain.table("lake.db.other").count() == 1


def test_detach_takes_back_the_settings_that_attach_chose(plain: Any, lake: Any) -> None:
    key = "spark.sql.files.openCostInBytes"
    assert plain.conf.get(key, None) is None
    fb.attach(plain, lake)
    assert plain.conf.get(key, None) == str(1 << 20)
    fb.detach(plain)
    assert plain.conf.get(key, None) is None


def test_settings_of_the_user_stay_as_they_are(plain: Any, lake: Any) -> None:
    key = "spark.sql.files.openCostInBytes"
    plain.conf.set(key, "2097152")
    try:
        fb.attach(plain, lake)
        fb.detach(plain)
        assert plain.conf.get(key) == "2097152"
        plain.conf.unset(key)
        fb.attach(plain, lake)
        plain.conf.set(key, "3145728")
        fb.detach(plain)
        assert plain.conf.get(key) == "3145728"
    finally:
        plain.conf.unset(key)


def test_a_kind_of_catalog_that_comes_later_is_refused_by_name(plain: Any) -> None:
    plain.conf.set(f"{KEY}nes.type", "nessie")
    with pytest.raises(UnsupportedFeature, match="nes"):
        fb.attach(plain)


def test_a_session_that_read_files_ends_with_its_last_holder(plain: Any, lake: Any) -> None:
    if CONNECT:
        pytest.skip("Spark Connect makes no second session of one")
    lake.create_table("db.held", "id BIGINT").append(pa.table({"id": [1, 2]}))

    def used() -> weakref.ref[Any]:
        other = plain.newSession()
        fb.attach(other, lake)
        assert other.sql("SELECT sum(id) FROM lake.db.held WHERE id > 1").collect()[0][0] == 2
        assert other.table("lake.db.held").count() == 2
        fb.detach(other)
        return weakref.ref(other)

    ended = used()
    plain.newSession()  # PySpark itself holds the newest session, in RDD.toDF
    gc.collect()
    assert ended() is None


@pytest.mark.connect
def test_detaching_gives_spark_its_methods_back(plain: Any, lake: Any) -> None:
    before = type(plain).sql
    fb.attach(plain, lake)
    fb.attach(plain, lake)
    assert type(plain).sql is not before
    fb.detach(plain)
    fb.detach(plain)
    assert type(plain).sql is before
    assert not ORIGINALS


def test_another_session_is_not_attached_with_the_first(plain: Any, lake: Any, is_connect: bool) -> None:
    fb.attach(plain, lake)
    other = plain.newSession()
    assert session_of(other) is None
    assert other.sql("SELECT 2 AS two").collect()[0].two == 2
    assert not other.catalog.tableExists("default.nothing")


def test_attach_takes_catalogs_only(plain: Any) -> None:
    with pytest.raises(InvalidInput, match="str"):
        fb.attach(plain, "lake")  # type: ignore[arg-type]


@pytest.mark.connect
def test_use_moves_between_our_catalogs_and_sparks(plain: Any, lake: Any) -> None:
    lake.create_table("db.t", "id BIGINT")
    fb.attach(plain, lake)
    plain.sql("USE lake.db")
    assert (plain.catalog.currentCatalog(), plain.catalog.currentDatabase()) == ("lake", "db")
    assert plain.catalog.tableExists("t")
    assert [table.name for table in plain.catalog.listTables() if not table.isTemporary] == ["t"]
    assert [column.name for column in plain.catalog.listColumns("t")] == ["id"]
    plain.sql("USE spark_catalog.default")
    assert plain.catalog.currentCatalog() == "spark_catalog"
    assert not plain.catalog.tableExists("t")
    assert plain.catalog.tableExists("lake.db.t")
    assert "lake" in [found.name for found in plain.catalog.listCatalogs()]


def test_a_temporary_view_of_spark_hides_a_table_of_the_current_namespace(plain: Any, lake: Any) -> None:
    lake.create_table("db.hidden", "id BIGINT")
    fb.attach(plain, lake)
    plain.sql("USE lake.db")
    plain.range(5).createOrReplaceTempView("hidden")
    assert plain.sql("SELECT count(*) AS n FROM hidden").collect()[0].n == 5
    plain.catalog.dropTempView("hidden")
    assert plain.sql("SELECT count(*) AS n FROM hidden").collect()[0].n == 0


def test_what_is_missing_is_named(plain: Any, lake: Any) -> None:
    fb.attach(plain, lake)
    with pytest.raises(TableNotFound, match=r"lake\.db\.nope"):
        plain.sql("SELECT * FROM lake.db.nope")
    with pytest.raises(TableNotFound, match=r"lake\.db\.nope"):
        plain.table("lake.db.nope")


def test_a_malformed_statement_of_ours_says_where(plain: Any, lake: Any) -> None:
    fb.attach(plain, lake)
    with pytest.raises(InvalidInput, match="line 1"):
        plain.sql("ALTER TABLE lake.db.t ADD PARTITION FIELD")


def test_the_session_catalog_can_be_ours_beside_sparks_own(plain: Any, tmp_path: Path) -> None:
    plain.conf.set(f"{KEY}spark_catalog", "org.apache.iceberg.spark.SparkSessionCatalog")
    plain.conf.set(f"{KEY}spark_catalog.type", "hadoop")
    plain.conf.set(f"{KEY}spark_catalog.warehouse", str(tmp_path))
    fb.attach(plain)
    plain.sql("CREATE TABLE default.ours (id BIGINT) USING iceberg")
    plain.range(3).createOrReplaceTempView("theirs")
    assert plain.sql("SELECT count(*) AS n FROM default.ours").collect()[0].n == 0
    assert plain.sql("SELECT count(*) AS n FROM theirs").collect()[0].n == 3
    assert [field.name for field in plain.table("ours").schema] == ["id"]
    plain.catalog.dropTempView("theirs")
    plain.sql("DROP TABLE default.ours")
