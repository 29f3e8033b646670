"""More than one row of a query that stands for a value is Spark's error, whatever files planning leaves out. Each statement is
compared with plain Spark over Parquet files with the same rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as F

import floeberg as fb

ROWS = {
    "one_f": {"k": [0, 1, 2, 3, 4, 5], "v": [5, 4, 3, 2, 1, 0]},
    "one_d": {"dk": [1, 2, 9], "x": [1, 1, 2]},
    "one_e": {"ek": [1, 1, 7], "y": [3, 3, 8]},
    "one_s": {"sk": [7, 7], "w": [100, 100]},
    "one_r": {"rk": [100], "u": [1]},
    "one_z": {"zk": pa.array([], pa.int64())},
}
TWO_BY_A_FUNCTION = "one_function()"
TWO_EQUAL = "(SELECT w FROM lake.db.one_s WHERE sk = 7)"
TWO_BY_A_JOIN = "(SELECT rk FROM lake.db.one_r JOIN lake.db.one_s ON rk = w WHERE sk = 7)"
ERROR = "SCALAR_SUBQUERY_TOO_MANY_ROWS"


@pytest.fixture(scope="module")
def tables(session: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Each key has a file of its own."""
    folder: Path = tmp_path_factory.mktemp("plain")
    for name, columns in ROWS.items():
        rows = pa.table(columns)
        session.lake.create_table(f"db.{name}", rows.schema, partition_by=[next(iter(columns))]).append(rows)
        (folder / name).mkdir()
        pq.write_table(rows, folder / name / "rows.parquet")
        session.read.parquet(str(folder / name)).createOrReplaceTempView(name)
    session.sql("CREATE TEMPORARY FUNCTION one_function() RETURNS BIGINT RETURN (SELECT w FROM one_s WHERE sk = 7)")
    yield session
    session.sql("DROP TEMPORARY FUNCTION one_function")
    for name in ROWS:
        session.catalog.dropTempView(name)
        session.lake.drop_table(f"db.{name}")


def outcome(frame: Any) -> Any:
    try:
        return sorted(map(tuple, frame.collect()))
    except Exception as error:  # classic PySpark has no class for it
        return ERROR if ERROR in str(error) else error


@pytest.mark.connect
@pytest.mark.parametrize("row", [TWO_EQUAL, TWO_BY_A_JOIN, TWO_BY_A_FUNCTION])
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM lake.db.one_f JOIN lake.db.one_d ON k = dk WHERE dk = {row}",
        "SELECT * FROM lake.db.one_f JOIN lake.db.one_d ON k = dk WHERE x = {row}",
        "SELECT * FROM lake.db.one_f WHERE k IN (SELECT dk FROM lake.db.one_d WHERE dk = {row})",
        "SELECT * FROM lake.db.one_f, lake.db.one_d, lake.db.one_e WHERE k = dk AND dk = ek AND y = {row}",
        "SELECT * FROM lake.db.one_f JOIN (SELECT * FROM lake.db.one_d WHERE dk >= {row}) ON k = dk",
        "SELECT * FROM lake.db.one_f JOIN lake.db.one_d ON k = dk WHERE x = 2 AND v + 1 = {row}",
        "SELECT * FROM lake.db.one_f WHERE k > 100 AND v + 1 = {row}",
        "SELECT * FROM lake.db.one_f WHERE k > 100 AND k = {row}",
        "SELECT count(*) FROM lake.db.one_z WHERE zk = {row}",
        "FROM lake.db.one_z |> WHERE zk = {row}",
        "SELECT * FROM lake.db.one_z WHERE zk IN (SELECT k FROM lake.db.one_f WHERE v = {row})",
    ],
)
def test_two_equal_rows_are_an_error_where_no_file_is_left(tables: Any, sql: str, row: str) -> None:
    sql = sql.format(row=row)
    assert outcome(tables.sql(sql.replace("lake.db.", ""))) == ERROR
    assert outcome(tables.sql(sql)) == ERROR
    one = sql.replace("sk = 7", "sk = 7 AND w = 5").replace(TWO_BY_A_FUNCTION, "-1")
    assert outcome(tables.sql(one)) == outcome(tables.sql(one.replace("lake.db.", "")))


def test_two_rows_of_a_query_in_a_view_are_an_error_where_no_file_is_left(tables: Any) -> None:
    tables.sql(f"CREATE TEMPORARY VIEW one_view AS SELECT dk FROM lake.db.one_d WHERE dk = {TWO_EQUAL}")
    try:
        assert outcome(tables.sql("SELECT * FROM lake.db.one_f JOIN one_view ON k = dk")) == ERROR
    finally:
        tables.sql("DROP VIEW one_view")


FRAMES: dict[str, Callable[[Any, str], Any]] = {
    "a table without files": lambda spark, of: spark.table(f"{of}one_z").where(
        f"zk = {TWO_EQUAL.replace('lake.db.', of)}"
    ),
    "a condition before": lambda spark, of: (
        spark.table(f"{of}one_f").where("k > 100").where(f"v = {TWO_EQUAL.replace('lake.db.', of)}")
    ),
    "a frame given": lambda spark, of: spark.sql(
        f"SELECT * FROM {{z}} WHERE zk = {TWO_EQUAL.replace('lake.db.', of)}", z=spark.table(f"{of}one_z")
    ),
    "the result of a statement": lambda spark, of: spark.sql(f"SELECT * FROM {of}one_z").where(
        f"zk = {TWO_EQUAL.replace('lake.db.', of)}"
    ),
    "a result without files": lambda spark, of: spark.sql(f"SELECT * FROM {of}one_f WHERE k > 100").where(
        f"v = {TWO_EQUAL.replace('lake.db.', of)}"
    ),
    "a function beside a result": lambda spark, of: spark.sql(f"SELECT * FROM {of}one_f WHERE k > 100").selectExpr(
        TWO_BY_A_FUNCTION
    ),
    "a query of a frame": lambda spark, of: spark.table(f"{of}one_z").where(
        F.col("zk") == spark.table(f"{of}one_s").select("w").scalar()
    ),
}


@pytest.mark.connect
@pytest.mark.parametrize("made", FRAMES)
def test_two_rows_beside_a_frame_are_an_error_where_no_file_is_left(tables: Any, made: str) -> None:
    assert outcome(FRAMES[made](tables, "")) == ERROR
    assert outcome(FRAMES[made](tables, "lake.db.")) == ERROR


CHANGES = {
    "DELETE FROM lake.db.one_z WHERE zk = {row}": "SELECT * FROM one_z WHERE zk = {row}",
    "DELETE FROM lake.db.one_f WHERE k > 100 AND v = {row}": "SELECT * FROM one_f WHERE k > 100 AND v = {row}",
    "UPDATE lake.db.one_f SET v = 1 WHERE k > 100 AND v = {row}": "SELECT * FROM one_f WHERE k > 100 AND v = {row}",
    "UPDATE lake.db.one_f SET v = {row} WHERE k > 100": "SELECT {row} FROM one_f WHERE k > 100",
    "WITH one_c AS (SELECT k FROM lake.db.one_f WHERE v = {row}) DELETE FROM lake.db.one_z WHERE zk IN (SELECT k FROM one_c)": (
        "SELECT * FROM one_z WHERE zk IN (SELECT k FROM one_f WHERE v = {row})"
    ),
    "MERGE INTO lake.db.one_z USING lake.db.one_f ON zk = k AND zk = {row} WHEN MATCHED THEN DELETE": (
        "SELECT * FROM one_z JOIN one_f ON zk = k AND zk = {row}"
    ),
    "MERGE INTO lake.db.one_f t USING lake.db.one_f s ON t.k = s.k + 100 WHEN MATCHED THEN UPDATE SET v = {row}": (
        "SELECT /*+ BROADCAST(s) */ {row} FROM one_f t JOIN one_f s ON t.k = s.k + 100"
    ),
    "MERGE INTO lake.db.one_f USING lake.db.one_z ON k = zk WHEN NOT MATCHED THEN INSERT (k, v) VALUES (zk, {row})": (
        "SELECT zk, {row} FROM one_z"
    ),
    "MERGE INTO lake.db.one_z USING lake.db.one_f ON zk = k WHEN NOT MATCHED BY SOURCE AND zk = {row} THEN DELETE": (
        "SELECT zk = {row} FROM one_z"
    ),
    "INSERT INTO lake.db.one_f SELECT zk, zk FROM lake.db.one_z WHERE zk = {row}": "SELECT * FROM one_z WHERE zk = {row}",
    "INSERT OVERWRITE lake.db.one_z SELECT {row} FROM lake.db.one_f WHERE k > 100": "SELECT {row} FROM one_f WHERE k > 100",
    "CREATE TABLE lake.db.one_made AS SELECT * FROM lake.db.one_z WHERE zk = {row}": "SELECT * FROM one_z WHERE zk = {row}",
}


@pytest.mark.connect
@pytest.mark.parametrize("row", [TWO_EQUAL, TWO_BY_A_FUNCTION])
@pytest.mark.parametrize("change", CHANGES)
def test_two_rows_are_an_error_of_a_change_that_has_no_file_to_read(tables: Any, change: str, row: str) -> None:
    before = {name: outcome(tables.table(f"lake.db.{name}")) for name in ROWS}
    assert outcome(tables.sql(CHANGES[change].format(row=row).replace("lake.db.", ""))) == ERROR
    with pytest.raises(Exception, match=ERROR):
        tables.sql(change.format(row=row))
    assert {name: outcome(tables.table(f"lake.db.{name}")) for name in ROWS} == before
    assert not tables.catalog.tableExists("lake.db.one_made")


@pytest.mark.connect
def test_two_rows_are_an_error_of_a_merge_by_columns_that_has_no_file_to_read(tables: Any) -> None:
    merge = tables.table("lake.db.one_f").mergeInto("lake.db.one_z", F.expr("one_z.zk = k")).whenMatched()
    with pytest.raises(Exception, match=ERROR):
        merge.update({"zk": F.expr(TWO_BY_A_FUNCTION)}).merge()


@pytest.mark.connect
def test_a_change_without_a_file_to_read_that_has_one_row_to_compare_with_changes_nothing(tables: Any) -> None:
    for change in CHANGES:
        if "one_made" not in change and "NOT MATCHED" not in change:
            tables.sql(change.format(row="(SELECT u FROM lake.db.one_r)"))
    assert {name: outcome(tables.table(f"lake.db.{name}")) for name in ROWS} == {
        name: outcome(tables.table(name)) for name in ROWS
    }


def test_a_table_without_files_is_compared_with_the_row_of_a_query(tables: Any, tmp_path: Path) -> None:
    tables.sql(
        "CREATE TABLE lake.db.one_none (k INT, ts TIMESTAMP, l ARRAY<INT>, n VOID, s STRUCT<interval: INT>) TBLPROPERTIES ('format-version' = '3')"
    )
    try:
        sql = f"SELECT * FROM lake.db.one_none WHERE k = {TWO_EQUAL}"
        assert outcome(tables.sql(sql)) == ERROR
        found = tables.sql(sql.replace("sk = 7", "sk = 8"))
        assert found.schema == tables.table("lake.db.one_none").schema
        assert outcome(found) == []
    finally:
        tables.sql("DROP TABLE lake.db.one_none")


def test_joins_leave_out_files_behind_the_row_of_a_query(tables: Any) -> None:
    sql = "SELECT * FROM lake.db.one_f JOIN lake.db.one_d ON k = dk WHERE dk = (SELECT u FROM lake.db.one_r WHERE rk = 100)"
    found = tables.sql(sql)
    assert "one_f: 1 of 6 files" in str(fb.explain(found))
    assert outcome(found) == [(1, 4, 1, 1)]
