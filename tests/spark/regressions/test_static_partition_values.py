"""INSERT OVERWRITE … PARTITION (p = value) replaces the rows that have the value the new rows get."""

from __future__ import annotations

from typing import Any

import pytest


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
