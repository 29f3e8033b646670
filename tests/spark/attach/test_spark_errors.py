"""Errors on Spark: of the kind, condition and SQLSTATE that Spark raises for the same mistake on a Parquet table, beside our
own class; picklable; in the user's own words."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException, ParseException, PySparkException

import floeberg as fb
from floeberg import errors
from floeberg.spark.host.errors.spark_errors import _BY_CLASS, raises_spark_errors, to_spark_error

SAME_AS_SPARK = [
    "SELECT * FROM {n}.nope",
    "SELECT * FROM {c}.nodb.t",
    "SELECT nope FROM {t}",
    "SELECT x.nope, x.id FROM {t} x",
    "SELECT id FROM {t} WHERE nope = 1 AND id > 0",
    "SELECT id AS nope1 FROM {t} WHERE nope = 1",
    "SELECT id FROM {t} ORDR BY id",
    "SELECT id,, s FROM {t}",
    "SELECT\n  id\nFROM {t} WHERE id = = 1",
    "SELECT id FROM {t} WHERE (id = 1",
    "SELECT id FROM {t} GROUP BY s",
    "WITH c AS (SELECT nope FROM {t}) SELECT * FROM c",
    "SELECT date_add(id) FROM {t}",
    "DROP TABLE {n}.nope",
    "DROP VIEW {n}.nope",
    "DROP SCHEMA {c}.nodb",
    "DROP SCHEMA {n}",
    "CREATE SCHEMA {n}",
    "CREATE TABLE {t} (id INT) USING {p}",
    "CREATE TABLE {n}.twice (id INT, id INT) USING {p}",
    "CREATE TABLE {n}.b (id NOTYPE) USING {p}",
    "CREATE TABLE {n}.b (id INT",
    "INSERT INTO {n}.nope VALUES (1)",
    "INSERT INTO {t} VALUES (1)",
    "INSERT INTO {t} VALUES (1, 'a', 3)",
    "INSERT INTO {t} (id, nope) VALUES (1, 'a')",
    "INSERT INTO {t} (id, id) VALUES (1, 'a')",
    "INSERT INTO {t} VALUES (map(1, 2), 'a')",
    "INSERT INTO {t} SELECT nope, 'a' FROM {t}",
    "INSERT INTO {t} SELECT id, FROM {t}",
    "INSERT INTO {t} BY NAME SELECT 1 AS id, 2 AS nope",
    "DELETE FROM {n}.nope",
    "DELETE FROM {t} WHERE nope = 1",
    "DELETE FROM {t} WHERE id = = 1",
    "UPDATE {n}.nope SET id = 1",
    "UPDATE {t} SET nope = 1",
    "UPDATE {t} SET id = nope",
    "UPDATE {t} SET id = 1 WHERE nope = 1",
    "MERGE INTO {t} t USING (SELECT 1 AS id) s ON t.nope = s.id WHEN MATCHED THEN DELETE",
    "MERGE INTO {t} t USING (SELECT 1 AS id) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET nope = 1",
    "MERGE INTO {t} t USING {n}.nope s ON t.id = s.id WHEN MATCHED THEN DELETE",
    "MERGE INTO {t} t USING (SELECT 1 AS id) s ON t.id = s.id WHEN MATCHED THEN DELET",
    "ALTER TABLE {n}.nope ADD COLUMN x INT",
    "ALTER TABLE {t} ADD COLUMN id INT",
    "ALTER TABLE {t} DROP COLUMN nope",
    "ALTER TABLE {t} RENAME COLUMN nope TO x",
    "ALTER TABLE {t} ALTER COLUMN nope COMMENT 'x'",
    "ALTER TABLE {t} ALTER COLUMN id TYPE BOOLEAN",
    "ALTER TABLE {t} ADD COLUM x INT",
    "DESCRIBE {n}.nope",
    "DESCRIBE {t} nope",
    "SHOW TBLPROPERTIES {n}.nope",
    "SHOW TABLES IN {c}.nodb",
    "TRUNCATE TABLE {n}.nope",
    "REFRESH TABLE {n}.nope",
    "USE {c}.nodb",
    "CREATE VIEW {n}.t AS SELECT 1 AS a",
]
CALLS: dict[str, Callable[[Any, str, str], Any]] = {
    "table": lambda spark, n, p: spark.table(f"{n}.nope").schema,
    "read.table": lambda spark, n, p: spark.read.table(f"{n}.nope").schema,
    "bad name": lambda spark, n, p: spark.table(f"{n}.nope").schema,
    "select": lambda spark, n, p: spark.table(f"{n}.t").select("nope").schema,
    "where": lambda spark, n, p: spark.table(f"{n}.t").where("nope = 1").schema,
    "writeTo append": lambda spark, n, p: spark.range(1).writeTo(f"{n}.nope").append(),
    "saveAsTable": lambda spark, n, p: spark.range(1).write.format(p).saveAsTable(f"{n}.t"),
    "insertInto": lambda spark, n, p: spark.range(1).write.insertInto(f"{n}.nope"),
    "insertInto width": lambda spark, n, p: spark.range(1).write.insertInto(f"{n}.t"),
    "mergeInto": lambda spark, n, p: spark.range(1).mergeInto(f"{n}.nope", _true()).whenMatched().delete().merge(),
    "getTable": lambda spark, n, p: spark.catalog.getTable(f"{n}.nope"),
    "listColumns": lambda spark, n, p: spark.catalog.listColumns(f"{n}.nope"),
    "cacheTable": lambda spark, n, p: spark.catalog.cacheTable(f"{n}.nope"),
    "refreshTable": lambda spark, n, p: spark.catalog.refreshTable(f"{n}.nope"),
    "createTable": lambda spark, n, p: spark.catalog.createTable(f"{n}.t", source=p, schema=spark.range(1).schema),
}
INTERNAL = ("__floeberg", "_pyspark_", "floeberg_0", "floeberg_parameter", "floeberg_frame")


def _true() -> Any:
    from pyspark.sql import functions as F

    return F.lit(True)


@pytest.fixture(scope="module")
def tables(session: Any) -> Iterator[Any]:
    """A table of ours, and Spark's own in Parquet."""
    session.sql("CREATE SCHEMA spark_catalog.db")
    for name, provider in (("lake.db.t", "iceberg"), ("spark_catalog.db.t", "parquet")):
        session.sql(f"CREATE TABLE {name} (id INT, s STRING) USING {provider}")
        session.sql(f"INSERT INTO {name} VALUES (1, 'a'), (2, 'b')")
    yield session
    session.sql("DROP SCHEMA spark_catalog.db CASCADE")


def raised(run: Callable[[], Any]) -> PySparkException:
    with pytest.raises(PySparkException) as caught:
        run()
    found: PySparkException = caught.value
    return found


def facts(error: PySparkException) -> tuple[str, str | None, str | None]:
    kind = next(one for one in type(error).__mro__ if one.__module__ == PySparkException.__module__)
    return kind.__name__, error.getCondition(), error.getSqlState()


def in_lake(mistake: str) -> str:
    return mistake.format(c="lake", n="lake.db", t="lake.db.t", p="iceberg")


def in_spark(mistake: str) -> str:
    return mistake.format(c="spark_catalog", n="spark_catalog.db", t="spark_catalog.db.t", p="parquet")


def test_a_mistake_in_sql_raises_what_spark_raises_for_it(tables: Any) -> None:
    differing = {}
    for mistake in SAME_AS_SPARK:
        sparks = facts(raised(lambda mistake=mistake: tables.sql(in_spark(mistake)).collect()))
        mine = raised(lambda mistake=mistake: tables.sql(in_lake(mistake)).collect())
        if facts(mine) != sparks:
            differing[mistake] = (facts(mine), sparks)
        shown = f"{mine} {mine.getMessageParameters()} {[one.summary() for one in mine.getQueryContext()]}"
        assert not [name for name in INTERNAL if name in shown], mistake
    assert differing == {}


def test_a_mistake_in_a_call_raises_what_spark_raises_for_it(tables: Any) -> None:
    differing = {}
    for name, call in CALLS.items():
        sparks = facts(raised(lambda call=call: call(tables, "spark_catalog.db", "parquet")))
        mine = facts(raised(lambda call=call: call(tables, "lake.db", "iceberg")))
        if mine != sparks:
            differing[name] = (mine, sparks)
    assert differing == {}


@pytest.mark.parametrize(
    ("statement", "at"),
    [
        ("SELECT id FROM lake.db.t ORDR BY id", "BY id"),
        ("SELECT\n  id\nFROM lake.db.t\nWHERE id = = 1", "= 1"),
        ("DELETE FROM lake.db.t WHERE id = = 1", "= 1"),
        ("INSERT INTO lake.db.t SELECT id, s FROM lake.db.t WHERE id > > 1", "> 1"),
        ("UPDATE lake.db.t SET id = 1 WHERE id > > 1", "> 1"),
        ("ALTER TABLE lake.db.t ADD COLUM x INT", "COLUM x"),
        ("CREATE TABLE lake.db.b (id INT, x ARRAY<NOTYPE>)", "NOTYPE"),
    ],
)
def test_a_parse_error_shows_the_statement_as_it_was_written_and_where(tables: Any, statement: str, at: str) -> None:
    error = raised(lambda: tables.sql(statement))
    assert isinstance(error, ParseException)
    place = statement.index(at)
    line, column = statement[:place].count("\n"), place - statement.rfind("\n", 0, place) - 1
    shown = statement.split("\n")
    shown.insert(line + 1, "-" * column + "^^^")
    assert "\n".join(shown) in str(error)


@pytest.mark.parametrize(
    ("statement", "fragment"),
    [
        ("SELECT id FROM lake.db.t WHERE nope = 1", "nope"),
        ("SELECT id AS nope FROM lake.db.t WHERE 1 = nope", "nope"),
        ("DELETE FROM lake.db.t WHERE id = 1 AND nope = 1", "nope"),
        ("UPDATE lake.db.t SET s = 'nope', id = nope", "nope"),
        ("SELECT _pos, nope FROM lake.db.t", "nope"),
    ],
)
def test_a_missing_column_is_found_in_the_statement_as_it_was_written(
    tables: Any, statement: str, fragment: str
) -> None:
    error = raised(lambda: tables.sql(statement))
    (context,) = error.getQueryContext()
    assert context.fragment() == fragment
    assert statement[context.startIndex() : context.stopIndex() + 1] == fragment
    assert context.startIndex() == statement.rindex(fragment)
    assert "Did you mean" in str(error)
    assert not [name for name in ("__floeberg", "_file", "Relation", "SubqueryAlias") if name in str(error)]


def test_parameters_are_shown_as_they_were_written(tables: Any) -> None:
    error = raised(lambda: tables.sql("SELECT id FROM lake.db.t WHERE id = ? AND nope = ?", [1, 2]))
    assert error.getCondition() == "UNRESOLVED_COLUMN.WITH_SUGGESTION"
    assert "floeberg" not in str(error)


def test_a_missing_table_is_caught_as_ours_and_as_sparks(tables: Any) -> None:
    for kind in (AnalysisException, errors.TableNotFound, errors.NotFound, errors.FloebergError):
        with pytest.raises(kind, match=r"table lake\.db\.nope does not exist"):
            tables.sql("SELECT * FROM lake.db.nope")


@pytest.mark.parametrize("kind", sorted(_BY_CLASS, key=lambda one: one.__name__), ids=lambda kind: kind.__name__)
def test_errors_are_pickled_with_all_that_they_say(kind: type[errors.FloebergError]) -> None:
    error = to_spark_error(kind("what, and what to do", table="lake.db.t"))
    again = pickle.loads(pickle.dumps(error))
    assert isinstance(again, kind)
    assert isinstance(again, PySparkException)
    assert type(again) is type(error)
    assert (str(again), facts(again)) == (str(error), facts(error))
    assert (again.message, again.context) == ("what, and what to do", {"table": "lake.db.t"})


def test_every_error_of_ours_has_a_condition_and_an_sqlstate() -> None:
    for kind in vars(errors).values():
        if isinstance(kind, type) and issubclass(kind, errors.FloebergError):
            error = to_spark_error(kind("message"))
            assert error.getCondition(), kind
            assert len(error.getSqlState() or "") == 5, kind


def test_an_error_is_translated_where_it_leaves_us_and_only_there() -> None:
    seen = []

    @raises_spark_errors
    def inner(_: object) -> None:
        raise errors.TableNotFound("missing")

    @raises_spark_errors
    def outer(_: object) -> None:
        try:
            inner(None)
        except errors.TableNotFound as error:
            seen.append(error)
            raise

    with pytest.raises(AnalysisException):
        outer(None)
    assert [type(error) for error in seen] == [errors.TableNotFound]


def test_what_is_not_there_yet_says_so(tables: Any, tmp_path: Path) -> None:
    stream = tables.readStream.format("rate").load()
    asked = {
        "readStream of /data/t": lambda: tables.readStream.format("iceberg").load("/data/t"),
        "writeStream to /data/t": lambda: stream.writeStream.format("iceberg").start("/data/t"),
    }
    for words, call in asked.items():
        error = raised(call)
        assert isinstance(error, errors.UnsupportedFeature), words
        assert error.getSqlState() == "0A000"
        assert words in str(error)


def test_a_session_that_is_not_attached_is_told_to(tables: Any, is_connect: bool) -> None:
    other = tables.newSession()
    for call in (lambda: other.sql("SELECT * FROM lake.db.t").collect(), lambda: other.table("lake.db.t").collect()):
        assert "call floeberg.attach" in str(raised(call)) or is_connect


def test_a_second_catalog_under_a_name_in_use_is_refused(tables: Any, tmp_path: Path) -> None:
    fb.attach(tables, fb.catalog("taken", warehouse=str(tmp_path / "a")))
    fb.attach(tables, fb.catalog("taken", warehouse=str(tmp_path / "a")))
    with pytest.raises(errors.InvalidInput, match="taken is attached to this session already"):
        fb.attach(tables, fb.catalog("taken", warehouse=str(tmp_path / "b")))
    with pytest.raises(errors.InvalidInput, match="Spark's own catalog"):
        fb.attach(tables, fb.catalog("spark_catalog", warehouse=str(tmp_path)))
    with pytest.raises(errors.InvalidInput, match="SparkSession, not str"):
        fb.attach("spark")  # type: ignore[arg-type]


def test_an_old_pyspark_is_named(monkeypatch: pytest.MonkeyPatch, tables: Any) -> None:
    monkeypatch.setattr("pyspark.__version__", "3.5.4")
    with pytest.raises(errors.UnsupportedFeature, match=r"PySpark 3\.5\.4 is too old"):
        fb.attach(tables)
