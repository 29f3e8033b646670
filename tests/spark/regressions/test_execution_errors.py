"""Errors that come when a query runs quote the statement that the user wrote, or none."""

from __future__ import annotations

import re
from typing import Any

import pytest
from pyspark.errors import ArithmeticException, NumberFormatException, PySparkException

pytestmark = pytest.mark.connect
INTERNAL = re.compile("floeberg|_pyspark_")


@pytest.fixture(scope="module")
def failing(session: Any) -> Any:
    session.sql("CREATE TABLE lake.db.failing (id INT, v INT, s STRING)")
    session.sql("INSERT INTO lake.db.failing VALUES (1, 0, 'x')")
    session.sql("CREATE OR REPLACE TEMPORARY VIEW failing_view AS SELECT id / v AS q FROM lake.db.failing")
    return session


def _check(error: PySparkException, part: str | None) -> None:
    texts = [str(error), error.getMessage(), *(one.summary() for one in error.getQueryContext() or [])]
    for text in texts:
        assert INTERNAL.search(text.partition("JVM stacktrace")[0]) is None, text
    if part is not None:
        assert [one.fragment() for one in error.getQueryContext()] == [part]
        assert "line 1 pos " in str(error)


def test_an_error_of_a_query_quotes_the_users_statement(failing: Any) -> None:
    queries = {
        "SELECT id / v FROM lake.db.failing": "id / v",
        "WITH c AS (SELECT * FROM lake.db.failing) SELECT a.id, b.id / a.v FROM c a JOIN lake.db.failing b ON a.id = b.id": (
            "b.id / a.v"
        ),
        "SELECT id FROM lake.db.failing WHERE id / v > 1": "id / v",
    }
    for query, part in queries.items():
        for run in (lambda frame: frame.collect(), lambda frame: frame.show(), lambda frame: frame.first()):
            with pytest.raises(ArithmeticException) as caught:
                run(failing.sql(query))
            assert caught.value.getCondition() == "DIVIDE_BY_ZERO"
            _check(caught.value, part)
            context = caught.value.getQueryContext()[0]
            assert query[context.startIndex() : context.stopIndex() + 1] == part
    with pytest.raises(NumberFormatException) as failed:
        failing.sql("SELECT CAST(s AS INT) FROM lake.db.failing").toArrow()
    _check(failed.value, "CAST(s AS INT)")


def test_an_error_of_what_was_made_of_a_query_shows_nothing_of_ours(failing: Any) -> None:
    frames = [
        failing.sql("SELECT id / v AS q, s FROM lake.db.failing").where("q IS NOT NULL").orderBy("s"),
        failing.sql("SELECT q FROM failing_view"),
        failing.table("lake.db.failing").selectExpr("id / v"),
    ]
    for frame in frames:
        with pytest.raises(ArithmeticException) as caught:
            frame.collect()
        _check(caught.value, None)
    for statement in (
        "UPDATE lake.db.failing SET id = id / v",
        "DELETE FROM lake.db.failing WHERE id / v > 1",
        "INSERT INTO lake.db.failing SELECT id / v, 1, 'x' FROM lake.db.failing",
        "MERGE INTO lake.db.failing t USING lake.db.failing s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = s.id / s.v",
    ):
        with pytest.raises(ArithmeticException) as changed:
            failing.sql(statement)
        _check(changed.value, None)
