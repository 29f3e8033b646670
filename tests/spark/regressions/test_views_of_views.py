"""A temporary view over a temporary view shows the newest rows, whichever way either of them was made. What stays the same when the
view beneath is replaced is what plain Spark keeps: a view of a DataFrame has the definition of that time, a text finds its names
again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import functions as F

from floeberg.spark.query.frame_views import MAX_DEPTH

pytestmark = pytest.mark.connect
TABLE = "lake.db.viewed_twice"
BENEATH: dict[str, Callable[[Any, str], Any]] = {
    "a text": lambda spark, name: spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW {name} AS SELECT * FROM {TABLE}"),
    "a frame": lambda spark, name: spark.table(TABLE).createOrReplaceTempView(name),
    "a derived frame": lambda spark, name: spark.table(TABLE).where("id > 0").createOrReplaceTempView(name),
}
ABOVE: dict[str, Callable[[Any, str, str], Any]] = {
    "a text": lambda spark, of, name: spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW {name} AS SELECT id, v FROM {of}"),
    "a frame": lambda spark, of, name: spark.table(of).createOrReplaceTempView(name),
    "a frame of the reader": lambda spark, of, name: spark.read.table(of).createOrReplaceTempView(name),
    "a condition": lambda spark, of, name: spark.table(of).where("id < 100").createOrReplaceTempView(name),
    "a column": lambda spark, of, name: spark.table(of).where(F.col("v") > 0).createOrReplaceTempView(name),
    "bound columns": lambda spark, of, name: _bound(spark.table(of)).createOrReplaceTempView(name),
}


def _bound(frame: Any) -> Any:
    return frame.filter(frame.id > 0).select(frame.id, frame.v)


@pytest.fixture
def table(session: Any) -> Iterator[Any]:
    session.sql(f"CREATE TABLE {TABLE} (id INT, v INT)")
    session.sql(f"INSERT INTO {TABLE} VALUES (1, 10)")
    yield session
    for name in ("above", "beneath"):
        session.catalog.dropTempView(name)
    session.sql(f"DROP TABLE {TABLE}")


def rows(frame: Any) -> list[tuple[Any, ...]]:
    return sorted(map(tuple, frame.collect()))


def test_views_of_views_show_later_commits(table: Any) -> None:
    """All of them at once: each commit takes longer than to read them."""
    made = {}
    for low, (beneath, make_beneath) in enumerate(BENEATH.items()):
        make_beneath(table, f"beneath_{low}")
        for high, (above, make_above) in enumerate(ABOVE.items()):
            make_above(table, f"beneath_{low}", f"above_{low}_{high}")
            made[f"above_{low}_{high}"] = f"{above} over {beneath}"
    table.sql(f"INSERT INTO {TABLE} VALUES (2, 20)")
    table.sql(f"ALTER TABLE {TABLE} ADD COLUMN w INT")
    table.sql(f"INSERT INTO {TABLE} VALUES (3, 30, 300)")
    wanted = rows(table.sql(f"SELECT id, v FROM {TABLE}"))
    assert len(wanted) == 3
    for name, shown in made.items():
        assert rows(table.sql(f"SELECT * FROM {name}")) == rows(table.table(name)) == wanted, shown
        assert rows(table.sql(f"SELECT v FROM {name} WHERE id = 2")) == [(20,)], shown
    for name in [*made, *(f"beneath_{low}" for low in range(len(BENEATH)))]:
        table.catalog.dropTempView(name)


@pytest.mark.parametrize("above", ABOVE)
def test_a_view_keeps_the_view_beneath_that_plain_spark_keeps(table: Any, tmp_path: Path, above: str) -> None:
    plain = tmp_path / "plain"
    table.createDataFrame([(1, 10)], "id INT, v INT").write.parquet(str(plain))

    def replaced(make: Callable[[], Any]) -> list[tuple[Any, ...]]:
        make()
        ABOVE[above](table, "beneath", "above")
        table.range(1).selectExpr("7 AS id", "70 AS v").createOrReplaceTempView("beneath")
        return rows(table.sql("SELECT * FROM above"))

    expected = replaced(lambda: table.read.parquet(str(plain)).createOrReplaceTempView("beneath"))
    assert replaced(lambda: BENEATH["a text"](table, "beneath")) == expected
    assert replaced(lambda: BENEATH["a frame"](table, "beneath")) == expected


@pytest.mark.parametrize("above", ABOVE)
@pytest.mark.parametrize(
    "text",
    ["SELECT * FROM beneath", "SELECT t.* FROM lake.db.viewed_twice t JOIN beneath USING (id)"],
    ids=["alone", "joined"],
)
def test_a_view_keeps_the_views_two_beneath_that_plain_spark_keeps(
    table: Any, tmp_path: Path, text: str, above: str
) -> None:
    plain = tmp_path / "plain"
    table.createDataFrame([(1, 10)], "id INT, v INT").write.parquet(str(plain))

    def replaced(view: str, beneath: Callable[[], Any]) -> list[tuple[Any, ...]]:
        beneath()
        table.sql(f"CREATE OR REPLACE TEMPORARY VIEW middle AS {view}")
        ABOVE[above](table, "middle", "above")
        table.range(1).selectExpr("7 AS id", "70 AS v").createOrReplaceTempView("beneath")
        return rows(table.sql("SELECT * FROM above"))

    def of_files() -> None:
        table.read.parquet(str(plain)).createOrReplaceTempView("beneath")

    expected = replaced(text.replace("lake.db.viewed_twice", f"parquet.`{plain}`"), of_files)
    assert replaced(text, of_files) == expected
    assert replaced(text, lambda: BENEATH["a frame"](table, "beneath")) == expected
    table.catalog.dropTempView("middle")


def test_a_view_that_replaces_itself_again_and_again_keeps_its_rows(table: Any) -> None:
    BENEATH["a text"](table, "above")
    for number in range(MAX_DEPTH + 2):
        frame = table.table("above")
        frame.filter(frame.id > -number).createOrReplaceTempView("above")
        if number == 1:
            table.sql(f"INSERT INTO {TABLE} VALUES (2, 20)")
        assert rows(table.sql("SELECT * FROM above")) == rows(table.table(TABLE))


@pytest.mark.parametrize("derive", [lambda frame: frame, lambda frame: frame.where("id > 0")])
def test_a_view_that_would_read_itself_stays_as_it_is(table: Any, derive: Callable[[Any], Any]) -> None:
    """In plain Spark it can be made too."""
    table.table(TABLE).createOrReplaceTempView("beneath")
    table.sql("CREATE OR REPLACE TEMPORARY VIEW above AS SELECT * FROM beneath")
    derive(table.table("above")).createOrReplaceTempView("beneath")
    assert rows(table.sql("SELECT * FROM above")) == rows(table.table("beneath")) == [(1, 10)]
