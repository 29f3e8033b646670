"""Statements, reads and writes go by the settings of their own session, whichever is the active one, and leave that as it was."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import floeberg as fb
from floeberg.spark.host.calls.active_session import active_session
from spark_runs.spark_session import CONNECT

pytestmark = pytest.mark.skipif(CONNECT, reason="a session over Connect has no second one beside it")
TABLE = "lake.db.two_cases"
ROWS = [(1, 10), (2, 20), (3, 30)]


@pytest.fixture
def cased(session: Any) -> Iterator[Any]:
    """A session that tells names by their case, with a table of two columns that case alone tells apart."""
    made = session.newSession()
    made.conf.set("spark.sql.caseSensitive", "true")
    fb.attach(made, session.lake)
    schema = fb.Schema(fb.NestedField(1, "a", fb.types.INT), fb.NestedField(2, "A", fb.types.INT))
    properties = {"write.delete.mode": "merge-on-read", "write.merge.mode": "merge-on-read"}
    table = session.lake.create_table("db.two_cases", schema, properties=properties, format_version=3)
    table.append(pa.table({"a": [row[0] for row in ROWS], "A": [row[1] for row in ROWS]}))
    yield made
    fb.detach(made)
    session.lake.drop_table("db.two_cases", purge=True)


def frame(spark: Any, *rows: tuple[int, int]) -> Any:
    values = ", ".join(map(str, rows))
    return spark.sql(f"SELECT * FROM VALUES {values} AS v(a, A)")


def statement(text: str) -> Callable[[Any], Any]:
    return lambda spark: spark.sql(text.format(t=TABLE))


def merged_by_columns(spark: Any) -> None:
    writer = frame(spark, (2, 21), (4, 40)).mergeInto(TABLE, F.expr(f"v.a = {TABLE}.a").alias("on"))
    writer.whenMatched().updateAll().whenNotMatched().insertAll().merge()


CHANGES: dict[str, tuple[Callable[[Any], Any], list[tuple[int, int]]]] = {
    "INSERT": (statement("INSERT INTO {t} VALUES (4, 40)"), [*ROWS, (4, 40)]),
    "UPDATE": (statement("UPDATE {t} SET A = 21 WHERE a = 2"), [(1, 10), (2, 21), (3, 30)]),
    "DELETE": (statement("DELETE FROM {t} WHERE A = 20"), [(1, 10), (3, 30)]),
    "MERGE": (
        statement(
            "MERGE INTO {t} t USING (SELECT * FROM VALUES (2, 21), (4, 40) AS v(a, A)) s ON t.a = s.a "
            "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
        ),
        [(1, 10), (2, 21), (3, 30), (4, 40)],
    ),
    "CALL": (statement("CALL lake.system.rewrite_data_files(table => 'db.two_cases', options => map('rewrite-all', 'true'))"), ROWS),
    "writeTo": (lambda spark: frame(spark, (4, 40)).writeTo(TABLE).append(), [*ROWS, (4, 40)]),
    "overwrite": (lambda spark: frame(spark, (4, 40)).writeTo(TABLE).overwrite(F.lit(True)), [(4, 40)]),
    "saveAsTable": (lambda spark: frame(spark, (4, 40)).write.mode("append").saveAsTable(TABLE), [*ROWS, (4, 40)]),
    "insertInto": (lambda spark: frame(spark, (4, 40)).write.insertInto(TABLE), [*ROWS, (4, 40)]),
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_rows_are_changed_by_the_names_of_their_own_session(session: Any, cased: Any, change: str) -> None:
    run, expected = CHANGES[change]
    session.createDataFrame([(1,)], "n int")  # makes its session the active one
    run(cased)
    assert is_active(session)
    assert sorted(tuple(row) for row in cased.table(TABLE).collect()) == expected


def test_tables_are_compacted_by_the_names_of_the_session_that_is_given(session: Any, cased: Any) -> None:
    cased.sql(f"DELETE FROM {TABLE} WHERE A = 20")
    session.createDataFrame([(1,)], "n int")
    session.lake.load_table("db.two_cases").maintenance.compact(spark=cased, options={"rewrite-all": "true"})
    assert sorted(tuple(row) for row in cased.table(TABLE).collect()) == [(1, 10), (3, 30)]


def test_reads_leave_another_session_active(session: Any, cased: Any) -> None:
    cased.sql(f"DELETE FROM {TABLE} WHERE A = 20")  # whose vectors become a DataFrame of this process
    session.createDataFrame([(1,)], "n int")
    assert cased.table(TABLE).count() == 2
    assert cased.sql(f"SELECT * FROM {TABLE} WHERE A > 10").count() == 1
    assert cased.sql(f"SELECT * FROM {TABLE}.snapshots").count() == 2
    assert session.lake.load_table("db.two_cases").to_spark(cased).count() == 2
    assert cased.sql("SHOW TABLES IN lake.db").count() >= 1
    assert is_active(session)
    assert SparkSession.getActiveSession() is session


def test_sessions_inside_each_other_are_active_in_turn(session: Any, cased: Any) -> None:
    session.createDataFrame([(1,)], "n int")
    with active_session(cased):
        assert is_active(cased)
        with active_session(session):
            assert is_active(session)
            with active_session(session), active_session(cased):
                assert is_active(cased)
            assert is_active(session)
        assert is_active(cased)
    assert is_active(session)


def is_active(spark: Any) -> bool:
    return bool(spark._jvm.org.apache.spark.sql.classic.SparkSession.getActiveSession().contains(spark._jsparkSession))
