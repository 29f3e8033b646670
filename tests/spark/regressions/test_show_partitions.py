"""SHOW PARTITIONS shows values as their paths have them."""

from __future__ import annotations

from typing import Any


def test_partitions_are_shown_in_the_form_of_their_paths(session: Any) -> None:
    session.sql(
        "CREATE TABLE lake.db.shown (id INT, ts TIMESTAMP, d DATE, s STRING, b BINARY, x DECIMAL(5,2)) "
        "PARTITIONED BY (hours(ts), months(d), s, b, x, truncate(id, 10))"
    )
    session.sql(
        "INSERT INTO lake.db.shown VALUES (17, TIMESTAMP '2024-02-03 04:05:06Z', DATE '2024-02-03', 'a b/c', X'01FF', 1.50), "
        "(NULL, NULL, NULL, NULL, NULL, NULL)"
    )
    shown = [row[0] for row in session.sql("SHOW PARTITIONS lake.db.shown").collect()]
    folders = set()
    for file in session.lake.load_table("db.shown").inspect.files().column("file_path").to_pylist():
        folders.add(file.partition("/data/")[2].rpartition("/")[0])
    assert shown == sorted(folders)
    assert any(one.startswith("ts_hour=2024-02-03-04/d_month=2024-02/s=a+b%2Fc/") for one in shown)
    session.sql("ALTER TABLE lake.db.shown DROP PARTITION FIELD s")
    assert len(session.sql("SHOW PARTITIONS lake.db.shown").collect()) == 2


def test_a_partition_field_that_was_dropped_from_a_table_of_version_1_shows_its_values(session: Any) -> None:
    session.sql(
        "CREATE TABLE lake.db.shown_v1 (id INT, s STRING) PARTITIONED BY (s, truncate(id, 10)) "
        "TBLPROPERTIES ('format-version'='1')"
    )
    session.sql("INSERT INTO lake.db.shown_v1 VALUES (17, 'a'), (3, NULL)")
    session.sql("ALTER TABLE lake.db.shown_v1 DROP PARTITION FIELD s")
    session.sql("INSERT INTO lake.db.shown_v1 VALUES (25, 'b')")
    shown = [row[0] for row in session.sql("SHOW PARTITIONS lake.db.shown_v1").collect()]
    assert shown == ["s=a/id_trunc=10", "s=null/id_trunc=0", "s=null/id_trunc=20"]
