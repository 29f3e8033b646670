"""UPDATE and MERGE write new rows in the job that finds which rows they replace; a MERGE inserts what is left of its source."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from floeberg.errors import InvalidInput
from floeberg.spark.dml.change_job import PARALLELISM_FIRST
from floeberg.spark.dml.merge import source_keys as merge_source_keys
from floeberg.spark.dml.merge import source_rows as merge_source_rows
from floeberg.spark.dml.target import ChangedTable
from floeberg.spark.host.settings.held_settings import held_setting
from lakes.spark_dml_tables import MODES, ids, last_summary, make


@pytest.mark.parametrize("listed", [0, 1_000])
def test_source_rows_of_every_partition_that_matched_are_not_inserted(
    session: Any, monkeypatch: pytest.MonkeyPatch, listed: int
) -> None:
    """They are left out by a list of their numbers, or by a bitmap for each partition."""
    monkeypatch.setattr(merge_source_rows, "MAX_LISTED_ROWS", listed)
    table = make(session, "left_over", version=3, mode="merge-on-read")
    session.range(1, 200, 2, 4).createOrReplaceTempView("odd")
    session.sql(
        f"MERGE INTO {table} t USING odd s ON t.id = s.id WHEN MATCHED THEN UPDATE SET name = 'was there' "
        "WHEN NOT MATCHED THEN INSERT (id, name) VALUES (s.id, 'is new')"
    )
    rows = session.sql(f"SELECT id, name FROM {table} ORDER BY id").collect()
    assert [row.id for row in rows] == sorted({*range(1, 7), *range(1, 200, 2)})
    assert [row.id for row in rows if row.name == "was there"] == [1, 3, 5]
    assert [row.id for row in rows if row.name == "is new"] == list(range(7, 200, 2))
    summary = last_summary(session, "left_over")
    assert [summary[f"rows-{what}"] for what in ("updated", "inserted")] == ["3", "97"]


def test_a_large_source_with_few_keys_prunes_by_their_list(session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between 1 and 6 lie all files; in the list are two."""
    monkeypatch.setattr(merge_source_keys, "MAX_LISTED_KEYS", 20)
    table = make(session, "listed", partitioning="PARTITIONED BY (id)")
    planned: list[int] = []
    plan = ChangedTable.plan

    def noted(self: ChangedTable, condition: Any) -> Any:
        tasks = plan(self, condition)
        planned.append(len(tasks))
        return tasks

    monkeypatch.setattr(ChangedTable, "plan", noted)
    session.sql(
        f"MERGE INTO {table} t USING (SELECT IF(id % 2 = 0, 1L, 6L) AS key FROM range(100)) s ON t.id = s.key "
        "WHEN MATCHED THEN DELETE"
    )
    assert planned == [2]
    assert ids(session, table) == [2, 3, 4, 5]


@pytest.mark.parametrize("mode", MODES)
def test_updated_rows_of_several_files_come_in_one(session: Any, mode: str) -> None:
    table = make(session, "few_files", version=3, mode=mode)
    for _ in range(3):
        session.sql(f"INSERT INTO {table} SELECT id + 10, 'more', NULL FROM range(3)")
    before = {row.id for row in session.sql(f"SELECT id FROM {table}").collect()}
    session.sql(f"UPDATE {table} SET name = 'changed' WHERE id IN (1, 10, 11)")
    summary = last_summary(session, "few_files")
    copied = 0 if mode == "merge-on-read" else 1
    assert int(summary["added-data-files"]) <= 1 + copied
    assert summary["rows-updated"] == "7"
    assert {row.id for row in session.sql(f"SELECT id FROM {table}").collect()} == before


@pytest.mark.parametrize("mode", MODES)
def test_a_row_matched_twice_leaves_no_files_behind(session: Any, mode: str) -> None:
    table = make(session, "twice_files", version=3, mode=mode)
    folder = Path(session.lake.load_table("db.twice_files").metadata.location.removeprefix("file:"))
    before = sorted(folder.rglob("*.parquet"))
    with pytest.raises(InvalidInput, match="more than one row of the source"):
        session.sql(
            f"MERGE INTO {table} t USING (SELECT id % 4 AS id FROM range(8)) s ON t.id = s.id "
            "WHEN MATCHED THEN UPDATE SET name = 'x' WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id)"
        )
    assert sorted(folder.rglob("*.parquet")) == before
    assert ids(session, table) == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("own", [None, "true"])
def test_the_session_s_setting_comes_back_after_statements_at_one_time(session: Any, own: str | None) -> None:
    key = PARALLELISM_FIRST
    session.conf.unset(key) if own is None else session.conf.set(key, own)
    one, other = held_setting(session, key, "false"), held_setting(session, key, "false")
    one.__enter__()
    other.__enter__()
    one.__exit__(None, None, None)
    assert session.conf.get(key) == "false"
    other.__exit__(None, None, None)
    assert session.conf.get(key, None) == own
    session.conf.unset(key)
