"""Hazards 7 to 11, 16, 21 and 27 of `shared/reference/hazards.md` for row-level statements on Spark: each is played with its
protection, and once without it, to see that the test would notice."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from msgspec import structs

from floeberg.api.table import Table
from floeberg.arrow.scan.execute import table_reader
from floeberg.arrow.write.table_writer import TableWriter
from floeberg.commit import overwrite, rewrite_files, row_delta
from floeberg.commit.history import ConcurrentChanges
from floeberg.commit.rewrite_files import RewriteFiles
from floeberg.errors import InvalidInput, ValidationConflict
from floeberg.expr.nodes import TRUE
from floeberg.spark.dml import carry_out, delete, target_scan
from floeberg.spark.dml.merge import run as merge_run
from floeberg.spark.dml.target import ChangedTable
from lakes.spark_dml_tables import MODES
from models.engine_model import Model

NAME = "lake.db.hazard"
ROWS = [(1, "old"), (2, "old"), (3, "old")]


def make(session: Any, *, version: int = 2, mode: str = MODES[1], isolation: str = "serializable") -> Table:
    """Rows 1 to 3 in one file."""
    verbs = ("delete", "update", "merge")
    properties = {f"write.{verb}.mode": mode for verb in verbs}
    properties |= {f"write.{verb}.isolation-level": isolation for verb in verbs}
    if session.lake.table_exists("db.hazard"):
        session.lake.drop_table("db.hazard", purge=True)
    table: Table = session.lake.create_table(
        "db.hazard", "id bigint, name string", format_version=version, properties=properties
    )
    table.append(pa.table({"id": [row[0] for row in ROWS], "name": [row[1] for row in ROWS]}))
    return table


def rows(session: Any) -> list[tuple[int, str]]:
    found = session.lake.load_table("db.hazard").scan(["id", "name"]).to_arrow().to_pylist()
    return sorted((row["id"], row["name"]) for row in found)


def compaction(table: Table) -> RewriteFiles:
    """A rewrite of all files, planned and written now, to be committed later."""
    tasks = list(table.scan().plan())
    writer = TableWriter(table.metadata, table._pointer.store_for, table._pointer.effects.ids.uuid())
    reader = table_reader(table.metadata, table.schema, store_for=table._pointer.store_for)
    out = writer.data_writer(with_lineage=writer.has_lineage)
    for task in tasks:
        for batch in reader.rows(task, writer.rewritten_schema, residual=TRUE):
            out.write(batch)
    assert table.current_snapshot is not None
    return RewriteFiles(
        removed=[task.data_file for task in tasks],
        added=writer.finish(out),
        starting_snapshot_id=table.current_snapshot.snapshot_id,
    )


def meanwhile(monkeypatch: pytest.MonkeyPatch, other: Callable[[], object]) -> None:
    """Lets another writer commit when the next statement has written its files and is about to commit."""
    commit = carry_out.commit_operations

    def late(*args: Any, **kwargs: Any) -> Any:
        monkeypatch.setattr(carry_out, "commit_operations", commit)
        other()
        return commit(*args, **kwargs)

    monkeypatch.setattr(carry_out, "commit_operations", late)


def attempt(change: Callable[[], object]) -> str:
    """What a change collided with; nothing when it went through."""
    try:
        change()
    except ValidationConflict as conflict:
        return str(conflict)
    return ""


def nothing(*given: Any, **named: Any) -> None:
    """In the place of a validation."""


def test_07_a_compaction_does_not_bring_back_what_a_statement_deleted(
    session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def play(version: int) -> list[tuple[int, str]]:
        table = make(session, version=version)
        planned = compaction(table)
        session.sql(f"DELETE FROM {NAME} WHERE id = 2")
        table.refresh()
        attempt(lambda: table._commit(planned))
        return rows(session)

    assert play(2) == play(3) == [ROWS[0], ROWS[2]]
    monkeypatch.setattr(
        rewrite_files,
        "concurrent_changes",
        lambda metadata, workspace, **named: ConcurrentChanges(metadata, (), workspace),
    )
    assert play(2) == ROWS


def test_08_an_equality_delete_is_not_lost_to_a_statement_that_rewrites_its_file(
    session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def play() -> list[tuple[int, str]]:
        make(session, mode=MODES[0])
        other = Model(session.lake.load_table("db.hazard"), random.Random(1))
        meanwhile(monkeypatch, lambda: other.commit_equality_deletes([{1: 2, 2: None}], (1,)))
        said.append(attempt(lambda: session.sql(f"UPDATE {NAME} SET name = 'new' WHERE id = 3")))
        return rows(session)

    said: list[str] = []
    assert play() == [ROWS[0], ROWS[2]]
    assert "deleted rows of data files that this operation replaces" in said[0]
    monkeypatch.setattr(overwrite, "no_new_deletes_for", nothing)
    monkeypatch.setattr(overwrite, "no_rows_deleted", nothing)
    assert play() == [*ROWS[:2], (3, "new")], "the new file is younger than the delete"


def test_09_a_rewrite_reads_through_the_deletes_of_its_file(session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def play(version: int) -> list[tuple[int, str]]:
        make(session, version=version)
        session.sql(f"DELETE FROM {NAME} WHERE id = 2")
        session.sql(f"ALTER TABLE {NAME} SET TBLPROPERTIES ('write.update.mode' = 'copy-on-write')")
        session.sql(f"UPDATE {NAME} SET name = 'new' WHERE id = 3")
        return rows(session)

    assert play(2) == play(3) == [ROWS[0], (3, "new")]
    lean = target_scan.lean_task
    reader = target_scan.kept_rows_reader

    def raw(*given: Any, **named: Any) -> Any:
        with pytest.MonkeyPatch.context() as within:
            within.setattr(target_scan, "lean_task", lambda task: structs.replace(lean(task), deletes=()))
            return reader(*given, **named)

    monkeypatch.setattr("floeberg.spark.dml.copying.kept_rows_reader", raw)
    monkeypatch.setattr(target_scan, "kept_rows_reader", raw)
    assert (2, "old") in play(2)


@pytest.mark.parametrize("isolation", ["serializable", "snapshot"])
def test_10_a_statement_does_not_delete_in_files_that_a_compaction_removed(
    session: Any, monkeypatch: pytest.MonkeyPatch, isolation: str
) -> None:
    def play(version: int) -> list[tuple[int, str]]:
        table = make(session, version=version, isolation=isolation)
        planned = compaction(table)
        meanwhile(monkeypatch, lambda: table._commit(planned))
        said.append(attempt(lambda: session.sql(f"UPDATE {NAME} SET name = 'new' WHERE id = 2")))
        return rows(session)

    said: list[str] = []
    assert play(2 if isolation == "snapshot" else 3) == ROWS
    assert "removed data files that this operation deletes rows of" in said[0]
    monkeypatch.setattr(row_delta, "data_files_exist", nothing)
    assert play(2) == sorted([*ROWS, (2, "new")])


def test_11_an_update_and_a_delete_of_one_row_do_not_both_go_through(
    session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def play(first: str, second: str, version: int) -> list[tuple[int, str]]:
        make(session, version=version, isolation="snapshot")
        meanwhile(monkeypatch, lambda: session.sql(first))
        attempt(lambda: session.sql(second))
        return rows(session)

    update, gone = f"UPDATE {NAME} SET name = 'new' WHERE id = 2", f"DELETE FROM {NAME} WHERE id = 2"
    assert play(update, gone, 2) == [ROWS[0], (2, "new"), ROWS[2]]
    assert play(gone, update, 3) == [ROWS[0], ROWS[2]]
    monkeypatch.setattr(row_delta, "no_concurrent_deletes_on", nothing)
    assert play(gone, update, 2) == [ROWS[0], (2, "new"), ROWS[2]], "the deleted row is back"


def test_16_rows_for_which_the_condition_is_null_stay(session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also NaN, which Spark holds greater than every number; also where whole files go by metadata alone."""
    values = [(1, 5.0), (2, None), (3, float("nan")), (4, 1.0)]

    def play(condition: str, mode: str) -> list[int]:
        if session.lake.table_exists("db.hazard"):
            session.lake.drop_table("db.hazard", purge=True)
        table = session.lake.create_table(
            "db.hazard", "id bigint, x double", format_version=2, properties={"write.delete.mode": mode}
        )
        for part in (values[:2], values[2:]):
            table.append(
                pa.table({"id": [one[0] for one in part], "x": pa.array([one[1] for one in part], pa.float64())})
            )
        session.sql(f"DELETE FROM {NAME} WHERE {condition}")
        return [row.id for row in session.sql(f"SELECT id FROM {NAME} ORDER BY id").collect()]

    assert play("x >= 1", MODES[0]) == [2]
    assert play("NOT (x > 2)", MODES[1]) == [1, 2, 3]
    assert play("x <> 1 AND x <> 7", MODES[0]) == [2, 4]
    monkeypatch.setattr(delete, "must_all_match", lambda residual, file: True)
    assert 2 not in play("x >= 1", MODES[0]), "a file that may match was taken for one that does"


@pytest.mark.parametrize("mode", MODES)
def test_21_row_ids_are_unique_and_stay(session: Any, monkeypatch: pytest.MonkeyPatch, mode: str) -> None:
    """Over updates, merges, a compaction and an upgrade from v2."""

    def ids() -> dict[int, int]:
        found = session.sql(f"SELECT id, _row_id FROM {NAME}").collect()
        assert len({row[1] for row in found}) == len(found)
        return {row[0]: row[1] for row in found}

    table = make(session, version=2, mode=mode)
    session.sql(f"UPDATE {NAME} SET name = 'before' WHERE id = 1")
    session.sql(f"ALTER TABLE {NAME} SET TBLPROPERTIES ('format-version' = '3')")
    session.sql(f"INSERT INTO {NAME} VALUES (4, 'new')")
    first = ids()
    session.sql(f"UPDATE {NAME} SET name = 'after' WHERE id IN (1, 4)")
    table.refresh()
    table._commit(compaction(table))
    session.sql(
        f"MERGE INTO {NAME} t USING (SELECT explode(array(2L, 5L)) AS id) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET name = 'merged' WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id)"
    )
    last = ids()
    assert {key: last[key] for key in first} == first
    assert last[5] not in first.values()
    monkeypatch.setattr(ChangedTable, "has_lineage", property(lambda self: False))
    session.sql(f"UPDATE {NAME} SET name = 'again' WHERE id = 2")
    assert ids()[2] != first[2], "an updated row without its id gets another one"


def test_27_no_row_is_changed_twice(session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    statement = (
        f"MERGE INTO {NAME} t USING (SELECT 2L AS id, 'a' AS name UNION ALL SELECT 2L, 'b') s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET name = s.name"
    )
    make(session)
    with pytest.raises(InvalidInput, match="more than one row of the source"):
        session.sql(statement)
    assert rows(session) == ROWS
    monkeypatch.setattr(merge_run.Clauses, "checks_cardinality", property(lambda self: False))
    session.sql(statement)
    assert rows(session) != ROWS, "the row is there twice, or chance chose"


def test_27_a_source_is_evaluated_once(session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each source row is one of the table's or a new one, by chance: no key may come twice, and none be missing."""

    def play() -> list[Any]:
        table = make(session)
        table.append(pa.table({"id": list(range(10, 210)), "name": ["old"] * 200}))
        session.sql(
            f"MERGE INTO {NAME} t USING (SELECT IF(chance(), id, id + 1000) AS id FROM range(10, 210)) s ON t.id = s.id "
            "WHEN MATCHED THEN UPDATE SET name = 'new' WHEN NOT MATCHED THEN INSERT (id, name) VALUES (s.id, 'new')"
        )
        return rows(session)

    def is_right(found: list[Any]) -> bool:
        keys = [row[0] for row in found]
        new = [row[0] for row in found if row[1] == "new"]
        return len(keys) == len(set(keys)) and len(new) == len({key % 1000 for key in new}) == 200

    from pyspark.sql import functions as F

    # Spark fixes the seeds of its own rand() and uuid() when it reads a query: a function of Python has none.
    session.udf.register("chance", F.udf(lambda: random.random() < 0.5, "boolean").asNondeterministic())
    assert is_right(play())
    kinds = type(session.range(1))
    monkeypatch.setattr(kinds, "localCheckpoint", lambda self, eager=True: self)
    assert not is_right(play())
