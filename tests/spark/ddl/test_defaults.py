"""Column defaults: for the rows that were there before the column, and for those that leave it out."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest

from floeberg.errors import FloebergError, InvalidInput

VALUES = {
    "b BOOLEAN DEFAULT true": True,
    "i INT DEFAULT -7": -7,
    "l BIGINT DEFAULT 5000000000": 5_000_000_000,
    "f FLOAT DEFAULT 1.5": 1.5,
    "d DOUBLE DEFAULT 2.25": 2.25,
    "n DECIMAL(9, 2) DEFAULT 12.34": Decimal("12.34"),
    "s STRING DEFAULT 'it''s'": "it's",
    "day DATE DEFAULT DATE '2024-02-29'": dt.date(2024, 2, 29),
    "t TIMESTAMP_NTZ DEFAULT TIMESTAMP_NTZ '2024-02-29 01:02:03.000004'": dt.datetime(2024, 2, 29, 1, 2, 3, 4),
    "bin BINARY DEFAULT X'00ff'": b"\x00\xff",
    "c STRING DEFAULT concat('a', 'b')": "ab",
}


def rows(session: Any, query: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in session.sql(query).collect()]


def plain(row: tuple[Any, ...]) -> list[Any]:
    return [bytes(value) if isinstance(value, bytearray) else value for value in row]


@pytest.mark.connect
def test_defaults_of_every_type_stand_in_for_old_rows_and_for_values_left_out(session: Any) -> None:
    v3 = "TBLPROPERTIES ('format-version' = '3')"
    expected = list(VALUES.values())
    session.sql(f"CREATE TABLE lake.db.added (id INT) {v3}")
    session.sql("INSERT INTO lake.db.added VALUES (1)")
    session.sql(f"ALTER TABLE lake.db.added ADD COLUMNS ({', '.join(VALUES)})")
    session.sql("INSERT INTO lake.db.added (id) VALUES (2)")
    session.sql(f"INSERT INTO lake.db.added VALUES (3, {', '.join(['DEFAULT'] * len(VALUES))})")
    for row in rows(session, "SELECT * FROM lake.db.added ORDER BY id"):
        assert plain(row)[1:] == expected, row
    assert len(rows(session, "SELECT id FROM lake.db.added WHERE i = -7 AND s = 'it''s'")) == 3
    session.sql(f"CREATE TABLE lake.db.born (id INT, {', '.join(VALUES)}) {v3}")
    session.sql("INSERT INTO lake.db.born (s, id) VALUES (DEFAULT, 1)")
    assert plain(rows(session, "SELECT * FROM lake.db.born")[0])[1:] == expected


def test_a_changed_default_is_for_new_rows_only(session: Any) -> None:
    session.sql("CREATE TABLE lake.db.changed (id INT) TBLPROPERTIES ('format-version' = '3')")
    session.sql("INSERT INTO lake.db.changed VALUES (1)")
    session.sql("ALTER TABLE lake.db.changed ADD COLUMN n INT DEFAULT 1")
    session.sql("ALTER TABLE lake.db.changed ALTER COLUMN n SET DEFAULT 2")
    session.sql("INSERT INTO lake.db.changed (id) VALUES (2)")
    session.sql("ALTER TABLE lake.db.changed ALTER COLUMN n DROP DEFAULT")
    session.sql("INSERT INTO lake.db.changed (id) VALUES (3)")
    session.sql("INSERT INTO lake.db.changed BY NAME SELECT 4 AS id")
    session.sql("SELECT 5 AS id").writeTo("lake.db.changed").append()
    assert rows(session, "SELECT id, n FROM lake.db.changed ORDER BY id") == [
        (1, 1), (2, 2), (3, None), (4, None), (5, None)
    ]  # fmt: skip


def test_a_required_column_with_a_default_may_be_left_out(session: Any) -> None:
    session.sql(
        "CREATE TABLE lake.db.needed (id INT, n INT NOT NULL DEFAULT 9, m INT NOT NULL) TBLPROPERTIES ('format-version' = '3')"
    )
    session.sql("INSERT INTO lake.db.needed (m, id) VALUES (1, 2)")
    assert rows(session, "SELECT id, n, m FROM lake.db.needed") == [(2, 9, 1)]
    with pytest.raises(InvalidInput, match="'m' is required and has no default"):
        session.sql("INSERT INTO lake.db.needed (id) VALUES (3)")
    with pytest.raises(InvalidInput, match="place 4"):
        session.sql("INSERT INTO lake.db.needed VALUES (1, 2, 3, DEFAULT)")


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE lake.db.old (id INT, n INT DEFAULT 1) TBLPROPERTIES ('format-version' = '2')",
        "CREATE TABLE lake.db.wrong (id INT, n INT DEFAULT 'text') TBLPROPERTIES ('format-version' = '3')",
        "CREATE TABLE lake.db.wrong (id INT, n INT DEFAULT id + 1) TBLPROPERTIES ('format-version' = '3')",
        "CREATE TABLE lake.db.wrong (id INT, n TINYINT DEFAULT 5000000000) TBLPROPERTIES ('format-version' = '3')",
    ],
)
def test_defaults_that_cannot_be_are_refused(session: Any, statement: str) -> None:
    with pytest.raises(FloebergError):
        session.sql(statement)
    assert not session.catalog.tableExists("lake.db.wrong")
