"""`df.mergeInto`: the clauses of MERGE as Columns, on classic sessions and over Connect."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.errors import AnalysisException

from floeberg.errors import InvalidInput
from lakes.spark_dml_tables import MODES, ids, last_summary, make


def source(session: Any) -> Any:
    return session.createDataFrame(
        [(2, "two", 20), (4, "four", 40), (8, "eight", 80), (9, "nine", 90)], "id BIGINT, name STRING, a INT"
    )


@pytest.mark.parametrize("mode", [MODES[0], pytest.param(MODES[1], marks=pytest.mark.connect)])
def test_each_row_goes_to_the_first_clause_that_takes_it(session: Any, mode: str) -> None:
    from pyspark.sql import functions as F

    table = make(session, "into_clauses", version=3, mode=mode)
    frame = source(session)
    (
        frame.mergeInto(table, frame.id == F.col("into_clauses.id"))
        .whenMatched(frame.id == 4)
        .delete()
        .whenMatched()
        .update({"name": frame.name, "s.a": F.col("into_clauses.s.a") + F.col("a")})
        .whenNotMatched(F.col("id") == 9)
        .insert({"id": frame.id, "name": F.upper(frame["name"])})
        .whenNotMatched()
        .insert({"id": F.col("id"), "name": frame.name, "s": F.struct(frame.a.alias("a"), F.lit("new").alias("b"))})
        .whenNotMatchedBySource(F.col("id") == 6)
        .update({f"{table}.name": F.concat(F.col("name"), F.lit("!"))})
        .whenNotMatchedBySource(F.col(f"{table}.id") == 5)
        .delete()
        .merge()
    )
    rows = session.sql(f"SELECT id, name, s.a, s.b FROM {table} ORDER BY id").collect()
    assert [tuple(row) for row in rows] == [
        (1, "n1", 1, "x"), (2, "two", 22, "x"), (3, None, 3, "x"), (6, "n6!", 6, "x"),
        (8, "eight", 80, "new"), (9, "NINE", None, None),
    ]  # fmt: skip
    summary = last_summary(session, "into_clauses")
    assert [summary[f"rows-{what}"] for what in ("deleted", "updated", "inserted")] == ["2", "2", "2"]
    found = session.sql(f"SELECT id, _row_id, _last_updated_sequence_number FROM {table} ORDER BY id").collect()
    assert [tuple(row) for row in found][:4] == [(1, 0, 1), (2, 1, 2), (3, 2, 1), (6, 5, 2)]


@pytest.mark.connect
def test_all_columns_by_name_with_aliases_and_text(session: Any) -> None:
    from pyspark.sql import functions as F

    table = make(session, "into_all", partitioning="PARTITIONED BY (id)")
    frame = source(session).select("id", "name", F.struct(F.col("a"), F.lit("src").alias("b")).alias("s")).alias("src")
    frame.mergeInto(
        table, F.expr("into_all.id = src.id")
    ).whenMatched().updateAll().whenNotMatched().insertAll().merge()
    rows = session.sql(f"SELECT id, name, s.a FROM {table} WHERE s.b = 'src' ORDER BY id").collect()
    assert [tuple(row) for row in rows] == [(2, "two", 20), (4, "four", 40), (8, "eight", 80), (9, "nine", 90)]
    assert ids(session, table) == [1, 2, 3, 4, 5, 6, 8, 9]
    assert last_summary(session, "into_all")["deleted-data-files"] == "2"


def test_columns_that_only_the_source_has_are_added(session: Any) -> None:
    from pyspark.sql import functions as F

    table = make(session, "into_evolves")
    frame = source(session).withColumnRenamed("a", "extra")
    merging = frame.mergeInto(table, frame.id == F.col(f"{table}.id")).withSchemaEvolution()
    merging.whenMatched().updateAll().whenNotMatched().insertAll().merge()
    rows = session.sql(f"SELECT id, name, s.a, extra FROM {table} WHERE id IN (1, 2, 9) ORDER BY id").collect()
    assert [tuple(row) for row in rows] == [(1, "n1", 1, None), (2, "two", 2, 20), (9, "nine", None, 90)]


def test_a_source_that_chance_decides_is_evaluated_once(session: Any) -> None:
    """Hazard 27, with Columns bound to the source."""
    from pyspark.sql import functions as F

    table = make(session, "into_chance")
    frame = session.range(20).select((1 + F.floor(F.rand() * 30)).cast("bigint").alias("key"), F.expr("uuid() AS u"))
    frame = frame.dropDuplicates(["key"])
    target = F.col("into_chance.id")
    (
        frame.mergeInto(table, frame.key == target)
        .whenMatched()
        .update({"name": frame.u})
        .whenNotMatched()
        .insert({"id": frame.key, "name": frame.u})
        .merge()
    )
    rows = session.sql(
        f"SELECT count(*), count(DISTINCT id), count(DISTINCT name) FROM {table} WHERE length(name) = 36"
    )
    counted, *distinct = rows.collect()[0]
    assert counted > 0
    assert distinct == [counted, counted]
    assert len(set(ids(session, table))) == len(ids(session, table))


@pytest.mark.connect
@pytest.mark.parametrize("narrow", [False, True])
def test_few_files_are_looked_at(session: Any, monkeypatch: pytest.MonkeyPatch, narrow: bool) -> None:
    from pyspark.sql import functions as F

    from floeberg.spark.dml.target import ChangedTable

    table = make(session, "into_few", partitioning="PARTITIONED BY (id)")
    frame = source(session).where("id < 8").alias("src")
    planned: list[int] = []
    rows = ChangedTable.rows

    def counted(self: ChangedTable, tasks: Any, *rest: Any, **named: Any) -> Any:
        planned.append(len(tasks))
        return rows(self, tasks, *rest, **named)

    monkeypatch.setattr(ChangedTable, "rows", counted)
    on = F.col("into_few.id") == frame.id
    if narrow:
        on = on & (F.col("src.id") > 2) & (F.col("into_few.id") < 4)
    frame.mergeInto(table, on).whenMatched().delete().merge()
    assert ids(session, table) == ([1, 2, 3, 4, 5, 6] if narrow else [1, 3, 5, 6])
    assert max(planned) == (1 if narrow else 2)


def test_what_cannot_be_done_is_refused_and_changes_nothing(session: Any) -> None:
    from pyspark.sql import functions as F

    table = make(session, "into_wrong")
    before = session.lake.load_table("db.into_wrong").current_snapshot
    frame = source(session)
    on = frame.id == F.col("into_wrong.id")
    with pytest.raises(InvalidInput, match=r"before merge\(\)"):
        frame.mergeInto(table, on).merge()
    with pytest.raises(InvalidInput, match="no column 'missing'"):
        frame.mergeInto(table, on).whenMatched().update({"missing": F.lit(1)}).merge()
    with pytest.raises(InvalidInput, match="cannot be stored"):
        frame.mergeInto(table, on).whenMatched().update({"id": frame.name}).merge()
    with pytest.raises(InvalidInput, match="set twice"):
        frame.mergeInto(table, on).whenMatched().update({"name": frame.name, "into_wrong.name": frame.name}).merge()
    with pytest.raises(InvalidInput, match="needs a source column for 's'"):
        frame.mergeInto(table, on).whenNotMatched().insertAll().merge()
    with pytest.raises(InvalidInput, match="no source row"):
        frame.mergeInto(table, on).whenNotMatchedBySource().updateAll()
    with pytest.raises(InvalidInput, match=r"col\('into_wrong\.id'\)"):
        frame.mergeInto(table, frame.id == session.table(table).id).whenMatched().delete().merge()
    with pytest.raises(AnalysisException):
        frame.mergeInto(table, F.col("id") == frame.id).whenMatched().delete().merge()
    with pytest.raises(AnalysisException):
        frame.mergeInto(table, frame.id + 1).whenMatched().delete().merge()
    twice = frame.union(frame)
    with pytest.raises(InvalidInput, match="more than one row"):
        twice.mergeInto(table, twice.id == F.col("into_wrong.id")).whenMatched().update({"name": twice.name}).merge()
    assert session.lake.load_table("db.into_wrong").current_snapshot == before


def test_tables_that_are_not_ours_are_sparks(session: Any) -> None:
    from pyspark.sql import functions as F

    with pytest.raises(AnalysisException):
        source(session).mergeInto("spark_catalog.default.nothing", F.lit(True)).whenMatched().delete().merge()
