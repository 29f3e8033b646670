"""A name of a WITH clause hides a table of the same name, and under `spark.sql.caseSensitive` no other. Each statement is compared
with plain Spark over the same rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from floeberg.spark.host.settings.held_settings import held_setting
from spark_runs.spark_rows import spark_rows

QUERIES = [
    "WITH {T} AS (SELECT 1 AS one) SELECT * FROM {t}",
    "WITH {T} AS (SELECT 1 AS one) SELECT * FROM {T}",
    "WITH {t} AS (SELECT 7 AS k) SELECT * FROM {t}",
    "WITH {T} AS (SELECT 5 AS k, 5 AS v) SELECT * FROM {T} UNION ALL SELECT * FROM {t}",
    "SELECT * FROM {t} WHERE k IN (WITH {T} AS (SELECT 2 AS k) SELECT k FROM {t})",
    "WITH {T} AS (SELECT k, v + 1 AS v FROM (WITH {t} AS (SELECT 2 AS k, 9 AS v) SELECT * FROM {t})) SELECT * FROM {t}",
]


@pytest.fixture(scope="module")
def named(session: Any) -> Iterator[Any]:
    """The table `lake.db.cased`, in a session that stands in `lake.db`, and the same rows as Spark's view `plain`."""
    session.sql("CREATE TABLE lake.db.cased AS SELECT * FROM VALUES (1, 1), (2, 4) AS r(k, v)")
    session.createDataFrame([(1, 1), (2, 4)], "k int, v int").createOrReplaceTempView("plain")
    session.sql("USE lake.db")
    yield session
    session.sql("USE spark_catalog.default")
    session.catalog.dropTempView("plain")
    session.sql("DROP TABLE lake.db.cased")


@pytest.mark.connect
@pytest.mark.parametrize("case", ["true", "false"])
@pytest.mark.parametrize("query", QUERIES)
def test_a_with_clause_hides_the_tables_that_it_hides_on_plain_spark(named: Any, query: str, case: str) -> None:
    with held_setting(named, "spark.sql.caseSensitive", case):
        found = spark_rows(named.sql(query.format(t="cased", T="CASED")))
        assert found == spark_rows(named.sql(query.format(t="plain", T="PLAIN")))
    assert found


def test_a_view_goes_by_the_case_that_told_its_names_apart(named: Any) -> None:
    with held_setting(named, "spark.sql.caseSensitive", "true"):
        named.sql("CREATE TEMPORARY VIEW cased_view AS WITH CASED AS (SELECT 1 AS one) SELECT * FROM cased")
    try:
        assert spark_rows(named.table("cased_view")) == ["1|1", "2|4"]
    finally:
        named.catalog.dropTempView("cased_view")
