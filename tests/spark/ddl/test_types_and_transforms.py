"""Tables of every type and transform, and columns that change, made and read through SQL alone."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest

pytestmark = pytest.mark.connect
NTZ = dt.datetime(1969, 12, 31, 23, 59, 59, 999_999)


def rows(session: Any, query: str) -> list[tuple[Any, ...]]:
    return [
        tuple(bytes(one) if isinstance(one, bytearray) else one for one in row) for row in session.sql(query).collect()
    ]


def test_values_of_every_type_come_back(session: Any) -> None:
    session.sql(
        "CREATE TABLE lake.db.types (b BOOLEAN, i INT, l BIGINT, f FLOAT, d DOUBLE, n DECIMAL(38, 9), day DATE, ntz TIMESTAMP_NTZ, "
        "s STRING, bin BINARY, st STRUCT<x: INT, y: STRUCT<z: STRING>>, a ARRAY<INT>, m MAP<STRING, ARRAY<BIGINT>>)"
    )
    session.sql(
        "INSERT INTO lake.db.types SELECT true, -2147483648, 9223372036854775807L, float('-Infinity'), -0.0D, "
        "12345678901234567890123456789.123456789, DATE '0001-01-01', TIMESTAMP_NTZ '1969-12-31 23:59:59.999999', 'é😀', X'00FF', "
        "named_struct('x', 1, 'y', named_struct('z', NULL)), array(1, NULL), map('k', array(1L))"
    )
    session.sql(
        "INSERT INTO lake.db.types VALUES (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)"
    )
    (row,) = rows(session, "SELECT * FROM lake.db.types WHERE b")
    assert row[:10] == (
        True, -(2**31), 2**63 - 1, float("-inf"), 0.0, Decimal("12345678901234567890123456789.123456789"), dt.date(1, 1, 1), NTZ,
        "é😀", b"\x00\xff",
    )  # fmt: skip
    assert (row[10].x, row[10].y.z, row[11], row[12]) == (1, None, [1, None], {"k": [1]})
    assert rows(session, "SELECT count(*) FROM lake.db.types WHERE b IS NULL AND l IS NULL AND st IS NULL") == [(1,)]
    for condition in (
        "i = -2147483648",
        "d = 0.0",
        "ntz < TIMESTAMP_NTZ '1970-01-01 00:00:00'",
        "s = 'é😀'",
        "bin = X'00FF'",
    ):
        assert rows(session, f"SELECT l FROM lake.db.types WHERE {condition}") == [(2**63 - 1,)], condition


def test_every_transform_partitions_and_prunes(session: Any) -> None:
    session.sql(
        "CREATE TABLE lake.db.transforms (id BIGINT, s STRING, ts TIMESTAMP, d DATE, c INT) "
        "PARTITIONED BY (bucket(16, id), truncate(3, s), hours(ts), months(d), c)"
    )
    session.sql(
        "INSERT INTO lake.db.transforms VALUES (34L, 'iceberg', TIMESTAMP '2017-11-16 22:31:08', DATE '2017-11-16', 7), "
        "(35L, 'other', TIMESTAMP '1969-12-31 23:59:59', DATE '1969-12-31', NULL)"
    )
    found = rows(session, "SELECT partition.* FROM lake.db.transforms.files ORDER BY 3 DESC")
    # The bucket of 34 and the hour are the specification's own examples.
    assert found[0] == (3, "ice", 419_686, 574, 7)
    assert found[1][1:] == ("oth", -1, -1, None)
    for condition, expected in (
        ("id = 34", 34), ("s LIKE 'ice%'", 34), ("ts >= TIMESTAMP '2017-11-16 22:00:00'", 34), ("d < DATE '1970-01-01'", 35),
        ("c IS NULL", 35),
    ):  # fmt: skip
        assert rows(session, f"SELECT id FROM lake.db.transforms WHERE {condition}") == [(expected,)], condition
    session.sql("ALTER TABLE lake.db.transforms REPLACE PARTITION FIELD hours(ts) WITH years(ts)")
    session.sql(
        "INSERT INTO lake.db.transforms VALUES (36L, 'ice', TIMESTAMP '2018-01-01 00:00:00', DATE '2018-01-01', 8)"
    )
    assert rows(session, "SELECT id FROM lake.db.transforms WHERE year(ts) >= 2017 ORDER BY id") == [(34,), (36,)]
    assert rows(session, "SELECT partition.ts_year FROM lake.db.transforms.files WHERE spec_id = 1") == [(48,)]


def test_columns_that_changed_are_read_right_in_old_and_new_files(session: Any) -> None:
    sql = session.sql
    sql("CREATE TABLE lake.db.evolved (id INT, a INT, b FLOAT, s STRUCT<x: INT, y: INT>, l ARRAY<STRUCT<k: INT>>)")
    sql(
        "INSERT INTO lake.db.evolved VALUES (1, 10, 1.5, named_struct('x', 100, 'y', 200), array(named_struct('k', 1)))"
    )
    for change in (
        "ALTER COLUMN id TYPE BIGINT", "ALTER COLUMN b TYPE DOUBLE", "RENAME COLUMN a TO old_a", "ADD COLUMN a STRING FIRST",
        "DROP COLUMN s.x", "RENAME COLUMN s.y TO x", "ADD COLUMN s.y STRING", "ADD COLUMN l.element.v STRING AFTER k",
        "ALTER COLUMN old_a AFTER b",
    ):  # fmt: skip
        sql(f"ALTER TABLE lake.db.evolved {change}")
    sql(
        "INSERT INTO lake.db.evolved VALUES ('new', 3000000000L, 2.5D, 20, named_struct('x', 300, 'y', 't'), "
        "array(named_struct('k', 2, 'v', 'w')))"
    )
    assert session.table("lake.db.evolved").columns == ["a", "id", "b", "old_a", "s", "l"]
    query = "SELECT a, id, b, old_a, s.x, s.y, l[0].k, l[0].v FROM lake.db.evolved"
    old = (None, 1, 1.5, 10, 200, None, 1, None)
    new = ("new", 3_000_000_000, 2.5, 20, 300, "t", 2, "w")
    assert rows(session, f"{query} ORDER BY id") == [old, new]
    for condition, expected in (
        ("old_a = 10", old), ("a = 'new'", new), ("a IS NULL", old), ("s.x = 200", old), ("s.y IS NULL", old),
        ("id > 2147483647", new), ("s.x > 250", new),
    ):  # fmt: skip
        assert rows(session, f"{query} WHERE {condition}") == [expected], condition
