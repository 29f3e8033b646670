"""Names that could be taken for something else: patterns, aliases that differ by case, braces, names of columns inside a scan."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import functions as F

from floeberg.errors import InvalidInput, UnsupportedFeature
from floeberg.spark.host.settings.held_settings import held_setting
from floeberg.spark.read.frame_explanation import explain
from floeberg.spec.schemas import rules

PATTERNS = "spark.sql.parser.quotedRegexColumnNames"
RESERVED = "spark.sql.ansi.enforceReservedKeywords"


def _rows(frame: Any) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in frame.collect()), key=str)


def test_names_between_backquotes_that_are_patterns_never_mix_columns_up(session: Any) -> None:
    session.sql("CREATE TABLE lake.db.patterns (id INT, `a.b` INT, axb INT)")
    session.sql("INSERT INTO lake.db.patterns VALUES (1, NULL, 100)")
    session.sql("CREATE TABLE lake.db.plain_names (id INT, ab INT)")
    session.sql("INSERT INTO lake.db.plain_names VALUES (1, 10)")
    with held_setting(session, PATTERNS, "true"):
        assert _rows(session.sql("SELECT `(id)?+.+` FROM lake.db.plain_names")) == [(10,)]
        session.sql("UPDATE lake.db.plain_names SET `ab` = 11 WHERE `id` = 1")
        with pytest.raises(UnsupportedFeature, match="pattern"):
            session.sql("SELECT * FROM lake.db.patterns").collect()
        with pytest.raises(UnsupportedFeature, match="metadata columns"):
            session.sql("SELECT _pos, `.*` FROM lake.db.plain_names")
    assert _rows(session.sql("SELECT * FROM lake.db.patterns")) == [(1, None, 100)]
    assert _rows(session.sql("SELECT * FROM lake.db.plain_names")) == [(1, 11)]


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT id FROM {t} WHERE user <> 'a'",
        "SELECT count(user) FROM {t}",
        "DELETE FROM {t} WHERE user = 'a'",
        "UPDATE {t} SET id = 9 WHERE user = 'a'",
        "MERGE INTO {t} t USING (SELECT 1 AS k) s ON t.id = s.k AND user = 'a' WHEN MATCHED THEN DELETE",
        "INSERT INTO {t} REPLACE WHERE user = 'a' SELECT 3, 'a'",
    ],
)
def test_a_bare_word_that_is_a_function_and_a_column_is_refused(session: Any, statement: str) -> None:
    _reserved(session)
    refused = pytest.raises(UnsupportedFeature, match="'user' is a function")
    with held_setting(session, RESERVED, "true"), refused:
        session.sql(statement.format(t="lake.db.reserved_words")).collect()
    assert _rows(session.sql("SELECT id FROM lake.db.reserved_words WHERE user = 'a'")) == [(1,)]
    assert _rows(session.sql("SELECT * FROM lake.db.reserved_words")) == [(1, "a"), (2, "b")]


def test_a_column_between_backquotes_is_no_function(session: Any) -> None:
    _reserved(session)
    table = "lake.db.reserved_words"
    with held_setting(session, RESERVED, "true"):
        assert _rows(session.sql(f"SELECT id FROM {table} WHERE `user` <> 'a'")) == [(2,)]
        assert _rows(session.sql(f"SELECT count(`user`), count(*) FROM {table} WHERE id < 9")) == [(2, 2)]
        assert _rows(session.table(table).where("`user` = 'b'")) == [(2, "b")]
        # To Spark this is the user's name, which no row has.
        assert session.table(table).where("user = 'b'").count() == 0
        assert session.table(table).where("user <> 'b'").count() == 2
        assert _rows(session.sql(f"SELECT id FROM {table} t WHERE t.`user` = 'a'")) == [(1,)]
        session.sql(f"DELETE FROM {table} WHERE `user` = 'a'")
        assert _rows(session.sql(f"SELECT * FROM {table}")) == [(2, "b")]


def _reserved(session: Any) -> None:
    session.sql("CREATE OR REPLACE TABLE lake.db.reserved_words (id INT, user STRING) PARTITIONED BY (user)")
    session.sql("INSERT INTO lake.db.reserved_words VALUES (1, 'a'), (2, 'b')")


def test_aliases_of_a_merge_may_differ_by_case_alone(session: Any) -> None:
    with held_setting(session, "spark.sql.caseSensitive", "true"):
        session.sql("CREATE TABLE lake.db.cased (id INT, v INT)")
        session.sql("INSERT INTO lake.db.cased VALUES (1, 100)")
        session.sql(
            "MERGE INTO lake.db.cased AS a USING (SELECT 1 AS id, 5 AS v, 5 AS w) AS A ON a.id = A.id AND A.v = A.w "
            "WHEN MATCHED THEN UPDATE SET v = A.w WHEN NOT MATCHED THEN INSERT (id, v) VALUES (A.id, -1)"
        )
        assert _rows(session.table("lake.db.cased")) == [(1, 5)]
        source = session.range(1).selectExpr("1 AS id", "6 AS v", "6 AS w").alias("CASED")
        source.mergeInto("lake.db.cased", F.expr("cased.id = CASED.id AND CASED.v = w")).whenMatched().update(
            {"v": F.col("w")}
        ).whenNotMatched().insert({"id": F.lit(9)}).merge()
        assert _rows(session.table("lake.db.cased")) == [(1, 6)]


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT id FROM (SELECT id, NULL AS k FROM {t}) WHERE k IS NULL", [(1,), (2,)]),
        ("SELECT id FROM (SELECT id, true AS k FROM {t}) WHERE k", [(1,), (2,)]),
        ("SELECT id FROM (SELECT id, false k FROM {t}) WHERE NOT k", [(1,), (2,)]),
        ("SELECT id FROM (SELECT id, `true` AS k FROM {t}) WHERE k", [(2,)]),
        ("SELECT id FROM (SELECT id, t.null AS k FROM {t} t) WHERE k = 8", [(2,)]),
        ("SELECT count(NULL), count(*) FROM {t}", [(0, 2)]),
        ("SELECT count(`null`), max(`null`) FROM {t}", [(2, 8)]),
    ],
)
def test_a_constant_is_no_column_of_its_name(session: Any, sql: str, expected: list[tuple[Any, ...]]) -> None:
    table = "lake.db.constants"
    if not session.catalog.tableExists(table):
        session.sql(f"CREATE TABLE {table} (id INT, `null` INT, `true` BOOLEAN, `false` BOOLEAN)")
        session.sql(f"INSERT INTO {table} VALUES (1, 7, false, true)")
        session.sql(f"INSERT INTO {table} VALUES (2, 8, true, true)")
    assert _rows(session.sql(sql.format(t=table))) == expected


def test_names_of_columns_inside_a_scan_and_of_metadata_columns_are_reserved(session: Any, monkeypatch: Any) -> None:
    for name in ("_FILE", "_Row_Id", "__floeberg_file_name", "__FLOEBERG_x"):
        with pytest.raises(InvalidInput, match="reserved"):
            session.sql(f"CREATE TABLE lake.db.reserved (id INT, {name} STRING)")
    monkeypatch.setattr(rules, "ENGINE_PREFIX", "no such name")
    session.sql("CREATE TABLE lake.db.taken (__floeberg_file_name STRING, __floeberg_row_index INT, id INT)")
    session.sql("INSERT INTO lake.db.taken VALUES ('a', 7, 1), ('b', 8, 2)")
    assert _rows(session.sql("SELECT *, _pos < 9 FROM lake.db.taken WHERE id > 1")) == [("b", 8, 2, True)]
    assert _rows(session.table("lake.db.taken").where("id = 1")) == [("a", 7, 1)]
    with pytest.raises(UnsupportedFeature, match="rename"):
        session.sql("UPDATE lake.db.taken SET id = 3")


def test_an_insert_into_several_tables_says_what_to_do(session: Any) -> None:
    session.sql("CREATE TABLE lake.db.several (id INT)")
    with pytest.raises(UnsupportedFeature, match="INSERT INTO … SELECT for each"):
        session.sql("FROM range(3) INSERT INTO lake.db.several SELECT id INSERT INTO lake.db.several SELECT id + 1")


def test_a_column_of_an_odd_name_costs_no_pruning_of_others(session: Any) -> None:
    session.sql("CREATE TABLE lake.db.odd (id INT, `a, 5)` INT, `3` INT)")
    for number in (1, 5):
        session.sql(f"INSERT INTO lake.db.odd VALUES ({number}, {number + 10}, 3)")
    table = session.table("lake.db.odd")
    found = table.where(F.col("id") == 5)
    assert explain(found).planned_files == 1
    assert _rows(found) == [(5, 15, 3)]
    assert _rows(table.where(F.col("`a, 5)`") == 11)) == [(1, 11, 3)]
    assert _rows(table.where(F.col("id") > F.col("`3`"))) == [(5, 15, 3)]


def test_columns_with_the_names_of_operators_stand_before_a_clause(session: Any) -> None:
    session.sql("CREATE TABLE lake.db.operators (by INT, like INT, interval INT)")
    session.sql("INSERT INTO lake.db.operators VALUES (1, 2, 3), (4, 5, 6)")
    session.sql("UPDATE lake.db.operators SET like = by WHERE interval = 3")
    session.sql(
        "MERGE INTO lake.db.operators t USING (SELECT by, 7 AS seven FROM lake.db.operators) s ON t.by = s.by "
        "WHEN MATCHED AND interval = 6 THEN UPDATE SET interval = like WHEN NOT MATCHED BY SOURCE THEN DELETE"
    )
    found = session.sql("SELECT like, by, interval FROM lake.db.operators ORDER BY by").collect()
    assert [tuple(row) for row in found] == [(1, 1, 3), (5, 4, 5)]
