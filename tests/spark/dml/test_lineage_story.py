"""The story of seed 004: three drinks, two groceries, and one price that changes."""

from __future__ import annotations

from typing import Any

import pytest

COLUMNS = "_row_id, _last_updated_sequence_number, product_name, CAST(price AS STRING) AS price"


@pytest.mark.connect
def test_copy_on_write_keeps_every_rows_id_and_ages_only_the_row_that_changed(session: Any) -> None:
    sql = session.sql
    sql(
        "CREATE TABLE lake.db.sales (product_name STRING, price DECIMAL(10, 2), customer_id BIGINT, order_id STRING, "
        "datetime TIMESTAMP, category STRING) USING iceberg TBLPROPERTIES ('format-version' = '3')"
    )
    sql(
        "INSERT INTO lake.db.sales SELECT /*+ COALESCE(1) */ * FROM VALUES "
        "('tomato juice', 2.00, 1698L, 'DRE8', TIMESTAMP '2023-07-18T02:20:58Z', 'drink'), "
        "('cocoa', 2.00, 1652L, 'DR1U', TIMESTAMP '2024-08-26T11:36:48Z', 'drink'), "
        "('espresso', 2.00, 1037L, 'DRBF', TIMESTAMP '2024-04-19T12:17:22Z', 'drink')"
    )
    assert next_row_id(session) == 3
    sql(
        "INSERT INTO lake.db.sales SELECT /*+ COALESCE(1) */ * FROM VALUES "
        "('broccoli', 1.00, 3092L, 'GRK0', TIMESTAMP '2023-03-22T18:48:04Z', 'grocery'), "
        "('nutmeg', 1.00, 3512L, 'GR15', TIMESTAMP '2024-02-27T15:13:31Z', 'grocery')"
    )
    assert next_row_id(session) == 5
    sql("UPDATE lake.db.sales SET price = 4.00 WHERE product_name = 'cocoa'")
    assert next_row_id(session) == 8
    rows = sql(f"SELECT {COLUMNS} FROM lake.db.sales ORDER BY _row_id").collect()
    assert [tuple(row) for row in rows] == [
        (0, 1, "tomato juice", "2.00"),
        (1, 3, "cocoa", "4.00"),
        (2, 1, "espresso", "2.00"),
        (3, 2, "broccoli", "1.00"),
        (4, 2, "nutmeg", "1.00"),
    ]
    snapshot = session.lake.load_table("db.sales").current_snapshot
    assert (snapshot.first_row_id, snapshot.added_rows) == (5, 3)
    assert (snapshot.summary["rows-updated"], snapshot.summary["rows-copied"]) == ("1", "2")


def next_row_id(session: Any) -> int | None:
    table = session.lake.load_table("db.sales")
    number: int | None = table.metadata.next_row_id
    return number
