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


@pytest.mark.parametrize("clause", ["(pp)", "(a)", "(a = 1)", "(day)", "(ts_day = '2024-01-01')", "(p = 1, a)"])
@pytest.mark.parametrize("verb", ["INTO", "OVERWRITE"])
def test_a_name_that_is_no_partition_column_is_refused_and_nothing_is_overwritten(
    session: Any, verb: str, clause: str
) -> None:
    session.sql("DROP TABLE IF EXISTS lake.db.statics")
    session.sql("CREATE TABLE lake.db.statics (a INT, day TIMESTAMP, p INT) PARTITIONED BY (p, days(day))")
    session.sql("INSERT INTO lake.db.statics VALUES (1, NULL, 1), (2, NULL, 2)")
    with pytest.raises(InvalidInput, match="no partition column of the table; those are: p") as raised:
        session.sql(f"INSERT {verb} lake.db.statics PARTITION {clause} SELECT 3, NULL, 3")
    assert raised.value.getCondition() == "NON_PARTITION_COLUMN"  # type: ignore[attr-defined]
    assert session.sql("SELECT a FROM lake.db.statics ORDER BY a").collect() == [(1,), (2,)]
