"""MERGE through SQL: clauses in their order, the source evaluated once, few files looked at."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.errors import AnalysisException

from floeberg.errors import InvalidInput
from lakes.spark_dml_tables import VERSIONS_AND_MODES, ids, last_summary, make

SOURCE = "(SELECT id, name, named_struct('a', 7, 'b', 'src') AS s FROM VALUES (2L, 'two'), (4L, 'four'), (8L, 'eight'), (9L, 'nine') AS v(id, name))"


@pytest.mark.parametrize(("version", "mode"), VERSIONS_AND_MODES)
def test_each_row_goes_to_the_first_clause_that_takes_it(session: Any, version: int, mode: str) -> None:
    table = make(session, "clauses", version=version, mode=mode)
    session.sql(
        f"""MERGE INTO {table} t USING {SOURCE} s ON t.id = s.id
        WHEN MATCHED AND s.id = 4 THEN DELETE
        WHEN MATCHED THEN UPDATE SET name = s.name, s.a = 0
        WHEN NOT MATCHED AND id = 9 THEN INSERT (id, name) VALUES (id, upper(name))
        WHEN NOT MATCHED THEN INSERT *
        WHEN NOT MATCHED BY SOURCE AND id = 6 THEN UPDATE SET name = concat(name, '!')
        WHEN NOT MATCHED BY SOURCE AND id = 5 THEN DELETE"""
    )
    rows = session.sql(f"SELECT id, name, s.a FROM {table} ORDER BY id").collect()
    assert [tuple(row) for row in rows] == [
        (1, "n1", 1), (2, "two", 0), (3, None, 3), (6, "n6!", 6), (8, "eight", 7), (9, "NINE", None),
    ]  # fmt: skip
    summary = last_summary(session, "clauses")
    assert [summary[f"rows-{what}"] for what in ("deleted", "updated", "inserted")] == ["2", "2", "2"]
    if version == 3:
        found = session.sql(f"SELECT id, _row_id, _last_updated_sequence_number FROM {table} ORDER BY id").collect()
        assert [tuple(row) for row in found][:4] == [(1, 0, 1), (2, 1, 2), (3, 2, 1), (6, 5, 2)]
        assert len({row[1] for row in found}) == len(found)


def test_a_row_matched_twice_raises_and_changes_nothing(session: Any) -> None:
    """Hazard 27: which source row wins would be chance."""
    table = make(session, "twice")
    before = session.lake.load_table("db.twice").current_snapshot
    with pytest.raises(InvalidInput, match="more than one row of the source"):
        session.sql(
            f"MERGE INTO {table} t USING (SELECT 2L AS id, id AS n FROM range(2)) s ON t.id = s.id "
            "WHEN MATCHED THEN UPDATE SET name = CAST(s.n AS STRING)"
        )
    assert session.lake.load_table("db.twice").current_snapshot == before
    session.sql(f"MERGE INTO {table} t USING (SELECT 2L AS id FROM range(2)) s ON t.id = s.id WHEN MATCHED THEN DELETE")
    assert ids(session, table) == [1, 3, 4, 5, 6]
    assert last_summary(session, "twice")["rows-deleted"] == "1"


def test_a_source_that_chance_decides_is_evaluated_once(session: Any) -> None:
    """Hazard 27: every source row is either matched or inserted, never both or neither."""
    table = make(session, "chance")
    session.sql(
        f"MERGE INTO {table} t USING (SELECT CAST(1 + floor(rand() * 1000000) AS BIGINT) AS id, uuid() AS u FROM range(20)) s "
        "ON t.id = s.id WHEN MATCHED THEN UPDATE SET name = s.u WHEN NOT MATCHED THEN INSERT (id, name) VALUES (s.id, s.u)"
    )
    rows = session.sql(f"SELECT count(*), count(DISTINCT name) FROM {table} WHERE length(name) = 36").collect()[0]
    assert tuple(rows) == (20, 20)


def test_a_merge_of_few_keys_looks_at_few_files(session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from floeberg.spark.dml.target import ChangedTable

    table = make(session, "pruned", partitioning="PARTITIONED BY (id)")
    planned: list[int] = []
    rows = ChangedTable.rows

    def counted(self: ChangedTable, tasks: Any) -> Any:
        planned.append(len(tasks))
        return rows(self, tasks)

    monkeypatch.setattr(ChangedTable, "rows", counted)
    session.sql(
        f"MERGE INTO {table} t USING (SELECT 2L AS id) s ON t.id = s.id AND t.name LIKE 'n%' WHEN MATCHED THEN DELETE"
    )
    assert ids(session, table) == [1, 3, 4, 5, 6]
    assert max(planned) == 1


def test_inserts_alone_append(session: Any) -> None:
    table = make(session, "inserts")
    session.sql(f"MERGE INTO {table} t USING {SOURCE} s ON t.id = s.id WHEN NOT MATCHED THEN INSERT *")
    assert ids(session, table) == [1, 2, 3, 4, 5, 6, 8, 9]
    assert session.lake.load_table("db.inserts").current_snapshot.operation == "append"


def test_a_merge_may_bring_new_columns(session: Any) -> None:
    table = make(session, "evolves", version=3)
    session.sql(
        f"MERGE WITH SCHEMA EVOLUTION INTO {table} t USING (SELECT 2L AS id, 'two' AS name, 5 AS extra) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )
    rows = session.sql(f"SELECT id, name, extra FROM {table} WHERE id < 3 ORDER BY id").collect()
    assert [tuple(row) for row in rows] == [(1, "n1", None), (2, "two", 5)]
    assert len(session.lake.load_table("db.evolves").snapshots) == 2


@pytest.mark.parametrize(
    ("clause", "message"),
    [
        ("WHEN MATCHED THEN UPDATE SET missing = 1", "missing"),
        ("WHEN MATCHED THEN UPDATE SET id = s.name", "string cannot be stored as bigint"),
        ("WHEN NOT MATCHED THEN INSERT (name) VALUES (s.name)", "'id' is required"),
        ("WHEN NOT MATCHED THEN INSERT (id) VALUES (t.id)", r"`t`\.`id` cannot be resolved"),
        (
            "WHEN NOT MATCHED BY SOURCE THEN UPDATE SET name = s.name",
            "No such struct field `name`|`s`.`name` cannot be resolved",
        ),
    ],
)
def test_clauses_that_cannot_be_done_are_refused(session: Any, clause: str, message: str) -> None:
    table = make(session, "wrong")
    before = session.lake.load_table("db.wrong").current_snapshot
    rows = sorted(session.table(table).select("id", "name").collect())
    with pytest.raises((InvalidInput, AnalysisException), match=message):
        session.sql(f"MERGE INTO {table} t USING {SOURCE} s ON t.id = s.id {clause}")
    assert session.lake.load_table("db.wrong").current_snapshot == before
    assert sorted(session.table(table).select("id", "name").collect()) == rows
