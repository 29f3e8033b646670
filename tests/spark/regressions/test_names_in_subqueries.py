"""A name in a subquery is the subquery's own where it has a column of that name, whatever gave the column its name; and an `end`
in a CASE may be a column's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from spark_runs.spark_rows import spark_rows

ROWS = {
    "f": {"k": [0, 1, 2, 3, 4, 5], "v": [5, 4, 3, 2, 1, 0], "id": [0, 1, 2, 3, 4, 5], "end": [0, 1, 0, 1, 0, 1]},
    "d": {"dk": [1, 2, 9], "x": [1, 1, 2]},
    "e": {"ek": [1, 2], "y": [1, 2], "k": [1, 2], "st": [{"v": 1}, {"v": 2}]},
}


@pytest.fixture(scope="module")
def tables(session: Any) -> Iterator[Any]:
    """Each row has a file of its own, so that the row is left out where its file may be."""
    for name, columns in ROWS.items():
        rows = pa.table(columns)
        table = session.lake.create_table(f"db.{name}", rows.schema, partition_by=[next(iter(columns))])
        table.append(rows)
        session.createDataFrame(rows).createOrReplaceTempView(name)
    yield session
    for name in ROWS:
        session.catalog.dropTempView(name)
        session.lake.drop_table(f"db.{name}")


@pytest.mark.parametrize(
    "other",
    [
        "(SELECT y * 2 AS v FROM lake.db.e) q",
        "(SELECT CAST(v AS INT) FROM (SELECT y AS v FROM lake.db.e)) q",
        "(SELECT (v) FROM (SELECT y AS v FROM lake.db.e)) q",
        "(SELECT st.* FROM lake.db.e) q",
        "(SELECT explode(array(y)) AS (v) FROM lake.db.e) q",
        "(SELECT * FROM (SELECT y, ek FROM lake.db.e) PIVOT (max(y) FOR ek IN (1 AS v, 2 AS w))) q",
        "(SELECT size(array(r.*)) AS v FROM (SELECT y, ek FROM lake.db.e) r) q",
        "(SELECT * FROM lake.db.e LATERAL VIEW explode(array(y)) g AS v) q",
        "(SELECT g.* FROM lake.db.e LATERAL VIEW explode(array(y)) g AS v) q",
        "(SELECT * FROM lake.db.e LATERAL VIEW inline(array(struct(y AS w, y + 1 AS v))) g) q",
        "(SELECT * EXCEPT (st.v) FROM (SELECT y AS v, st FROM lake.db.e)) q",
        "(SELECT * EXCEPT (k) FROM (SELECT y AS v, k FROM lake.db.e)) q",
    ],
)
def test_an_expression_gives_a_column_its_name(tables: Any, other: str) -> None:
    sql = f"SELECT * FROM lake.db.f WHERE EXISTS (SELECT 1 FROM lake.db.d, {other} WHERE dk = v AND x = 1)"
    assert spark_rows(tables.sql(sql)) == spark_rows(tables.sql(sql.replace("lake.db.", "")))


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM lake.db.f WHERE EXISTS (SELECT 1 FROM lake.db.d, range(3) WHERE dk = id AND x = 1)",
        "SELECT * FROM lake.db.f a WHERE EXISTS (SELECT 1 FROM lake.db.d, (lake.db.e a JOIN lake.db.e b ON a.k = b.k) "
        "TABLESAMPLE (100 PERCENT) WHERE dk = a.k AND x = 1)",
        "SELECT * FROM lake.db.f WHERE CASE WHEN end = 1 AND k = 5 AND v = 2 THEN false ELSE true END",
        "SELECT * FROM lake.db.f JOIN lake.db.d ON f.k = d.dk AND CASE f.end WHEN end THEN x = 1 AND v = 4 AND k = 1 END",
        "SELECT * FROM lake.db.f WHERE EXISTS (SELECT 1 FROM lake.db.d LEFT JOIN "
        "(SELECT CASE WHEN y = 1 THEN ek END FROM lake.db.e) q ON x = 9 WHERE end = 1)",
        "SELECT * FROM lake.db.f WHERE EXISTS (SELECT 1 FROM lake.db.d LEFT JOIN "
        "(SELECT st.* FROM (SELECT st, y AS id FROM lake.db.e)) q ON x = 9 WHERE id = 1)",
    ],
)
def test_a_name_is_the_nearest_ones(tables: Any, sql: str) -> None:
    found = spark_rows(tables.sql(sql))
    assert found == spark_rows(tables.sql(sql.replace("lake.db.", "")))
    assert found


def test_a_merge_finds_its_keys_beside_a_column_named_end(tables: Any) -> None:
    tables.sql("CREATE TABLE lake.db.merged PARTITIONED BY (k) AS SELECT * FROM lake.db.f")
    try:
        condition = "CASE WHEN t.end = 1 AND t.k = s.dk AND t.v = 4 THEN true ELSE t.v = s.dk END"
        tables.sql(f"MERGE INTO lake.db.merged t USING lake.db.d s ON {condition} WHEN MATCHED THEN UPDATE SET id = 7")
        expected = spark_rows(tables.sql(f"SELECT t.k FROM f t LEFT SEMI JOIN d s ON {condition}"))
        assert spark_rows(tables.sql("SELECT k FROM lake.db.merged WHERE id = 7")) == expected
    finally:
        tables.sql("DROP TABLE lake.db.merged")


@pytest.mark.parametrize(
    "condition",
    [
        "CASE WHEN t.k = s.dk THEN true ELSE t.from END",
        "CASE WHEN struct(t.v AS end).end = 4 AND t.k = s.dk AND t.v = 4 THEN true ELSE t.v = s.dk END",
    ],
)
def test_a_merge_reads_its_condition_to_the_end(tables: Any, condition: str) -> None:
    tables.sql("CREATE TABLE lake.db.merged PARTITIONED BY (k) AS SELECT *, false AS from FROM lake.db.f")
    try:
        tables.sql(f"MERGE INTO lake.db.merged t USING lake.db.d s ON {condition} WHEN MATCHED THEN UPDATE SET id = 7")
        plain = f"SELECT t.k FROM (SELECT *, false AS from FROM f) t LEFT SEMI JOIN d s ON {condition}"
        assert spark_rows(tables.sql("SELECT k FROM lake.db.merged WHERE id = 7")) == spark_rows(tables.sql(plain))
    finally:
        tables.sql("DROP TABLE lake.db.merged")


@pytest.mark.parametrize("where", ["k = {}", "k >= {}", "k BETWEEN {} AND 200", "k IN ({})"])
def test_more_than_one_row_is_an_error_where_no_file_has_the_rows(tables: Any, where: str) -> None:
    sql = f"SELECT * FROM lake.db.f WHERE {where.format('(SELECT dk + 100 FROM lake.db.d WHERE x = 1)')}"
    for text in (sql.replace("lake.db.", ""), sql):
        with pytest.raises(Exception, match="SCALAR_SUBQUERY_TOO_MANY_ROWS"):  # classic PySpark has no class for it
            tables.sql(text).collect()
    assert not tables.sql(sql.replace("x = 1", "x = 2")).collect()
