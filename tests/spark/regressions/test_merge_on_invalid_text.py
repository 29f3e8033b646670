"""Keys that are not valid UTF-8 reach Python as other characters, so no file is left out because of them."""

from __future__ import annotations

from typing import Any


def test_a_merge_matches_keys_that_are_not_utf8(session: Any) -> None:
    for name in ("bytes", "keys"):
        session.sql(f"CREATE OR REPLACE TABLE lake.db.{name} (k STRING, v INT)")
    session.sql("INSERT INTO lake.db.bytes SELECT CAST(X'61FF' AS STRING), 1 UNION ALL SELECT 'b', 2")
    # From a table: a constant of the statement is pushed to the Parquet reader as other characters, and matches no row.
    session.sql("INSERT INTO lake.db.keys SELECT CAST(X'61FF' AS STRING), 10")
    session.sql(
        "MERGE INTO lake.db.bytes t USING lake.db.keys s ON t.k = s.k "
        "WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT *"
    )
    found = session.sql("SELECT hex(k), v FROM lake.db.bytes").collect()
    assert sorted(tuple(row) for row in found) == [("61FF", 10), ("62", 2)]
