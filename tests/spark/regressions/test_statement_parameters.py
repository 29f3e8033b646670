"""Parameters keep their values wherever a statement leaves out, moves or copies part of its text."""

from __future__ import annotations

from typing import Any

import pytest

from floeberg.errors import InvalidInput, UnsupportedFeature


def _rows(frame: Any) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in frame.collect())


@pytest.fixture(scope="module")
def letters(session: Any) -> str:
    session.sql("CREATE TABLE lake.db.letters (id INT, s STRING, p STRING) PARTITIONED BY (p)")
    session.sql("INSERT INTO lake.db.letters VALUES (1, 'a', 'x'), (2, 'b', 'y')")
    return "lake.db.letters"


def test_a_name_and_time_travel_by_position_leave_the_other_values_where_they_are(session: Any, letters: str) -> None:
    found = session.sql("SELECT ? AS k, id FROM IDENTIFIER(?) WHERE s=?AND id < ?", ["k", letters, "a", 5])
    assert _rows(found) == [("k", 1)]
    first = session.sql(f"SELECT snapshot_id FROM {letters}.snapshots").collect()[0][0]
    text = f"WITH c AS (SELECT * FROM {letters} VERSION AS OF ?) SELECT ?, c.id FROM c JOIN {letters} u USING (id) WHERE u.s = ?"
    assert _rows(session.sql(text, [first, "k", "b"])) == [("k", 2)]
    assert _rows(session.sql(f"SELECT id FROM {letters} WITH ('snapshot-id' = ?) WHERE s = ?", [str(first), "b"])) == [
        (2,)
    ]
    with pytest.raises(InvalidInput, match="has no value"):
        session.sql(f"SELECT ? FROM {letters} WHERE id = ?", ["a"])


def test_statements_that_change_rows_take_them_in_every_part(session: Any) -> None:
    session.sql("CREATE TABLE lake.db.taken (id INT, s STRING, p STRING) PARTITIONED BY (p)")
    session.sql(
        "WITH c AS (SELECT ? AS id) INSERT INTO IDENTIFIER(?) SELECT id, ?, ? FROM c", [1, "lake.db.taken", "a", "x"]
    )
    session.sql("INSERT INTO lake.db.taken PARTITION (p = ?) SELECT ?, ?", ["y", 2, "b"])
    session.sql(
        "MERGE INTO lake.db.taken t USING (SELECT ? AS id, ? AS s) n ON t.id = n.id AND t.p = ? "
        "WHEN MATCHED AND n.s = ? THEN UPDATE SET s = ? WHEN NOT MATCHED THEN INSERT (id, s, p) VALUES (n.id, ?, ?)",
        [1, "n", "x", "n", "merged", "inserted", "z"],
    )
    assert _rows(session.table("lake.db.taken")) == [(1, "merged", "x"), (2, "b", "y")]
    session.sql("INSERT INTO lake.db.taken REPLACE WHERE p = :p SELECT :id, :s, :p", {"p": "y", "id": 3, "s": "c"})
    session.sql("UPDATE lake.db.taken SET s = ? WHERE id = ?", ["set", 3])
    session.sql("DELETE FROM lake.db.taken WHERE p = ? AND id = ?", ["x", 1])
    assert _rows(session.table("lake.db.taken")) == [(3, "set", "y")]
    session.sql(
        "CREATE TABLE lake.db.copy COMMENT ? AS SELECT id, ? AS k FROM lake.db.taken WHERE s = ?", ["c", "k", "set"]
    )
    assert _rows(session.table("lake.db.copy")) == [(3, "k")]


def test_a_view_keeps_the_values_as_literals_and_not_the_query_that_reads_it(session: Any, letters: str) -> None:
    session.sql("CREATE TEMP VIEW kept AS SELECT id, ? AS k FROM IDENTIFIER(?) WHERE s = ?", ["K", letters, "b"])
    assert _rows(session.sql("SELECT ?, * FROM kept WHERE id = ?", ["q", 2])) == [("q", 2, "K")]
    session.catalog.dropTempView("kept")
    with pytest.raises(UnsupportedFeature, match="literal"):
        session.sql(f"CREATE TEMP VIEW kept AS SELECT :m AS m FROM {letters}", {"m": [1, 2]})


def test_default_is_a_column_where_one_has_that_name(session: Any) -> None:
    session.sql("CREATE TABLE lake.db.named (id INT, `default` INT)")
    session.sql("INSERT INTO lake.db.named VALUES (1, 5)")
    session.sql("CREATE TABLE lake.db.filled (a INT, b INT DEFAULT 7) TBLPROPERTIES ('format-version' = '3')")
    session.sql("INSERT INTO lake.db.filled SELECT id, default FROM lake.db.named")
    session.sql("INSERT INTO lake.db.filled SELECT 2, default FROM range(1)")
    session.sql("INSERT INTO lake.db.filled SELECT 3, (DEFAULT)")
    session.sql("INSERT INTO lake.db.filled VALUES (4, DEFAULT)")
    assert _rows(session.table("lake.db.filled")) == [(1, 5), (2, 7), (3, 7), (4, 7)]
    session.sql(
        "MERGE INTO lake.db.filled USING lake.db.named n ON a = n.id + 1 WHEN MATCHED THEN UPDATE SET b = default"
    )
    session.sql("UPDATE lake.db.named SET id = default + 1")
    session.sql("UPDATE lake.db.filled SET b = DEFAULT WHERE a = 1")
    assert _rows(session.table("lake.db.filled")) == [(1, 7), (2, 5), (3, 7), (4, 7)]
    assert _rows(session.table("lake.db.named")) == [(6, 5)]
