"""DELETE and UPDATE through SQL: what they change, what they leave, and what they refuse before anything is written."""

from __future__ import annotations

import os
from typing import Any

import pytest
from pyspark.errors import PySparkException

from floeberg.errors import InvalidInput, ValidationConflict
from floeberg.spark.dml import carry_out
from lakes.spark_dml_tables import MODES, VERSIONS_AND_MODES, ids, last_summary, make
from peers import duckdb_reader


@pytest.mark.parametrize(("version", "mode"), VERSIONS_AND_MODES)
def test_a_delete_removes_only_rows_for_which_the_condition_is_true(session: Any, version: int, mode: str) -> None:
    """Hazard 16: where the condition is null, the row stays."""
    table = make(session, "kept", version=version, mode=mode)
    session.sql(f"DELETE FROM {table} WHERE name <> 'n1'")
    assert ids(session, table) == [1, 3]
    assert last_summary(session, "kept")["rows-deleted"] == "4"


def test_a_rewrite_reads_through_the_deletes_that_are_there(session: Any) -> None:
    """Hazard 9: rows that were deleted beside their file do not come back when the file is written anew."""
    table = make(session, "through", version=2, mode=MODES[1])
    session.sql(f"DELETE FROM {table} WHERE id = 2")
    session.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('write.update.mode' = 'copy-on-write')")
    session.sql(f"UPDATE {table} SET name = 'new' WHERE id = 5")
    assert ids(session, table) == [1, 3, 4, 5, 6]
    assert last_summary(session, "through")["rows-copied"] == "4"


def test_vectors_take_in_older_deletes_of_their_file(session: Any) -> None:
    table = make(session, "vectors", version=3, mode=MODES[1])
    session.sql(f"DELETE FROM {table} WHERE id = 2")
    session.sql(f"DELETE FROM {table} WHERE id = 4")
    assert ids(session, table) == [1, 3, 5, 6]
    deletes = session.lake.load_table("db.vectors").inspect.delete_files()
    assert deletes.num_rows == 1


def test_a_delete_of_whole_partitions_runs_no_job_and_writes_no_file(session: Any) -> None:
    table = make(session, "whole", partitioning="PARTITIONED BY (id)")
    session.sql(f"DELETE FROM {table} WHERE id >= 5")
    summary = last_summary(session, "whole")
    assert ids(session, table) == [1, 2, 3, 4]
    assert (summary["deleted-data-files"], summary.get("added-data-files")) == ("2", None)


def test_rows_that_are_deleted_already_are_not_counted_when_their_file_goes(session: Any) -> None:
    table = make(session, "counted_once", version=3, mode=MODES[1])
    session.sql(f"DELETE FROM {table} WHERE id = 2")
    session.sql(f"DELETE FROM {table} WHERE id > 0")
    summary = last_summary(session, "counted_once")
    assert (summary["deleted-data-files"], summary["rows-deleted"]) == ("1", "5")


def test_a_part_of_the_condition_that_cannot_be_read_never_widens_a_delete(session: Any) -> None:
    table = make(session, "narrow", partitioning="PARTITIONED BY (id)")
    session.sql(f"DELETE FROM {table} WHERE id >= 5 AND length(name) > 99")
    assert ids(session, table) == [1, 2, 3, 4, 5, 6]


def test_conditions_may_hold_subqueries_parameters_and_full_names(session: Any) -> None:
    table = make(session, "subqueries")
    session.sql(f"DELETE FROM {table} WHERE id IN (SELECT max(id) FROM {table}) OR {table}.id = ?", args=[1])
    assert ids(session, table) == [2, 3, 4, 5]
    session.sql(f"UPDATE {table} AS u SET name = (SELECT max(name) FROM {table}) WHERE u.id = :id", args={"id": 2})
    assert session.sql(f"SELECT name FROM {table} WHERE id = 2").collect()[0][0] == "n5"


@pytest.mark.parametrize("mode", [MODES[0], pytest.param(MODES[1], marks=pytest.mark.connect)])
def test_an_update_sets_nested_fields_partition_columns_and_defaults(session: Any, mode: str) -> None:
    table = make(session, "nested", version=3, mode=mode, partitioning="PARTITIONED BY (truncate(1, name))")
    ids_before = dict(session.sql(f"SELECT id, _row_id FROM {table}").collect())
    session.sql(f"UPDATE {table} SET s.a = s.a + 100, name = 'z' WHERE id = 2")
    session.sql(f"UPDATE {table} SET name = DEFAULT WHERE id = 1")
    rows = session.sql(f"SELECT id, name, s.a, s.b, _row_id FROM {table} WHERE id < 3 ORDER BY id").collect()
    assert [tuple(row) for row in rows] == [(1, None, 1, "x", ids_before[1]), (2, "z", 102, "x", ids_before[2])]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE {t} SET nothing = 1",
        "UPDATE {t} SET id = 'text'",
        "UPDATE {t} SET id = NULL",
        "UPDATE {t} SET name = 'a', name = 'b'",
        "UPDATE {t} SET s = named_struct('a', 1, 'b', 'x'), s.a = 3",
        "DELETE FROM {t} WHERE id + 1",
        "DELETE FROM {t} WHERE nothing = 3",
    ],
)
def test_what_cannot_be_done_is_refused_before_anything_is_written(session: Any, statement: str) -> None:
    table = make(session, "refused")
    loaded = session.lake.load_table("db.refused")
    files = count_files(loaded.metadata.location)
    with pytest.raises((InvalidInput, PySparkException)):
        session.sql(statement.format(t=table))
    assert count_files(loaded.metadata.location) == files
    assert session.lake.load_table("db.refused").current_snapshot == loaded.current_snapshot


def count_files(location: str) -> int:
    folder = os.path.join(location.removeprefix("file://"), "data")
    return sum(len(files) for _, _, files in os.walk(folder))


def test_a_branch_is_changed_alone(session: Any) -> None:
    table = make(session, "branches")
    session.sql(f"ALTER TABLE {table} CREATE BRANCH audit")
    session.sql(f"DELETE FROM {table}.branch_audit WHERE id < 4")
    assert ids(session, table) == [1, 2, 3, 4, 5, 6]
    assert ids(session, f"{table}.branch_audit") == [4, 5, 6]


def change_before_commit(monkeypatch: pytest.MonkeyPatch, session: Any, name: str) -> None:
    """Lets another writer update row 2 just before the next row-level commit."""
    commit = carry_out.commit_operations

    def late(*args: Any, **kwargs: Any) -> Any:
        monkeypatch.setattr(carry_out, "commit_operations", commit)
        session.lake.load_table(f"db.{name}").update({"name": "other"}, where="id = 2")
        return commit(*args, **kwargs)

    monkeypatch.setattr(carry_out, "commit_operations", late)


def test_a_concurrent_change_of_matching_rows_is_a_conflict_and_leaves_no_files(
    session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = make(session, "conflicts")
    loaded = session.lake.load_table("db.conflicts")
    change_before_commit(monkeypatch, session, "conflicts")
    with pytest.raises(ValidationConflict):
        session.sql(f"UPDATE {table} SET name = 'late' WHERE id = 2")
    loaded.refresh()
    known = {file["file_path"] for file in loaded.inspect.all_files().to_pylist()}
    assert count_files(loaded.metadata.location) == len(known)


def test_a_conflict_is_settled_by_another_run_where_the_session_asks_for_it(
    session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = make(session, "settled")
    change_before_commit(monkeypatch, session, "settled")
    session.conf.set("spark.floeberg.rerun-on-conflict", "true")
    try:
        session.sql(f"UPDATE {table} SET name = concat(name, ' and late') WHERE id = 2")
    finally:
        session.conf.unset("spark.floeberg.rerun-on-conflict")
    assert session.sql(f"SELECT name FROM {table} WHERE id = 2").collect()[0][0] == "other and late"


@pytest.mark.parametrize(("version", "mode"), [(2, MODES[1]), (3, MODES[1]), (3, MODES[0])])
def test_other_engines_read_what_changed(session: Any, version: int, mode: str) -> None:
    connection = duckdb_reader.connect()
    table = make(session, "others", version=version, mode=mode)
    session.sql(f"DELETE FROM {table} WHERE id = 2")
    session.sql(f"UPDATE {table} SET name = 'new' WHERE id = 5")
    location = session.lake.load_table("db.others").metadata_location.removeprefix("file://")
    rows = connection.execute(f"SELECT id, name FROM iceberg_scan('{location}') ORDER BY id").fetchall()
    assert rows == [(1, "n1"), (3, None), (4, "n4"), (5, "new"), (6, "n6")]
