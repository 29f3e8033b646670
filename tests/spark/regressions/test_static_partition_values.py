"""INSERT OVERWRITE … PARTITION (p = value) replaces the rows that have the value the new rows get."""

from __future__ import annotations

from typing import Any

import pytest

from floeberg.errors import InvalidInput


@pytest.mark.parametrize(
    ("kind", "given", "value"),
    [
        ("decimal(5,2)", "1.505", "1.51BD"),
        ("decimal(5,2)", "'-1.5'", "-1.50BD"),
        ("float", "0.1", "float(0.1)"),
        ("double", "'0.1'", "0.1D"),
        ("boolean", "'true'", "true"),
        ("timestamp", "'2020-07-01 12:00:00.5'", "timestamp'2020-07-01 12:00:00.5'"),
        ("timestamp_ntz", "'1969-12-31 23:59:59.000001'", "timestamp_ntz'1969-12-31 23:59:59.000001'"),
        ("bigint", "'7'", "7L"),
    ],
)
def test_rows_are_replaced_whatever_literal_the_partition_is_given_as(
    session: Any, kind: str, given: str, value: str
) -> None:
    session.sql("DROP TABLE IF EXISTS lake.db.statics")
    session.sql(f"CREATE TABLE lake.db.statics (a INT, p {kind}) PARTITIONED BY (p)")
    session.sql(f"INSERT INTO lake.db.statics VALUES (1, CAST({value} AS {kind})), (9, NULL)")
    session.sql(f"INSERT OVERWRITE lake.db.statics PARTITION (p = {given}) SELECT 2")
    rows = session.sql(f"SELECT a, p <=> CAST({value} AS {kind}) FROM lake.db.statics ORDER BY a").collect()
    assert [tuple(row) for row in rows] == [(2, True), (9, False)]


@pytest.mark.parametrize(
    ("statement", "condition"),
    [
        ("INSERT INTO lake.db.named PARTITION (v = 9) SELECT 4, 1, DATE '2024-01-01'", "NON_PARTITION_COLUMN"),
        ("INSERT OVERWRITE lake.db.named PARTITION (v = 1) SELECT 4, 1, DATE '2024-01-01'", "NON_PARTITION_COLUMN"),
        ("INSERT OVERWRITE lake.db.named PARTITION (day = '2024-01-01') SELECT 4, 1, 1", "NON_PARTITION_COLUMN"),
        ("INSERT OVERWRITE lake.db.named PARTITION (p = 1, v) SELECT 4, 1, DATE '2024-01-01'", "NON_PARTITION_COLUMN"),
        ("INSERT INTO lake.db.named PARTITION (p = 1, P = 2) SELECT 4, 1, DATE '2024-01-01'", "DUPLICATE_KEY"),
        ("TRUNCATE TABLE lake.db.named PARTITION (v = 1)", "NON_PARTITION_COLUMN"),
        ("TRUNCATE TABLE lake.db.named PARTITION (p)", "FLOEBERG_INVALID_INPUT"),
    ],
)
def test_a_partition_clause_that_names_no_partition_is_refused_and_replaces_no_rows(
    session: Any, statement: str, condition: str
) -> None:
    session.sql("DROP TABLE IF EXISTS lake.db.named")
    session.sql("CREATE TABLE lake.db.named (id INT, v INT, p INT, day DATE) PARTITIONED BY (p, days(day))")
    session.sql("INSERT INTO lake.db.named VALUES (1, 1, 1, DATE '2024-01-01')")
    with pytest.raises(InvalidInput) as refused:
        session.sql(statement)
    assert refused.value.getCondition() == condition  # type: ignore[attr-defined]
    assert [row.id for row in session.table("lake.db.named").collect()] == [1]
