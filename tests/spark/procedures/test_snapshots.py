"""Procedures that move branches, publish what was staged, list history and register tables."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from floeberg.errors import InvalidInput, SnapshotNotFound, UnsupportedFeature
from lakes.spark_dml_tables import MODES


def rows(frame: Any) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in frame.collect()]


def ids(session: Any, table: str) -> list[int]:
    return sorted(row.id for row in session.sql(f"SELECT id FROM {table}").collect())


def made(session: Any, name: str, *, inserts: int = 3, properties: str = "'x' = 'y'") -> list[int]:
    """`lake.db.<name>` with a snapshot for each row 1, 2, …; their ids."""
    session.sql(f"CREATE TABLE lake.db.{name} (id BIGINT) TBLPROPERTIES ({properties})")
    for number in range(1, inserts + 1):
        session.sql(f"INSERT INTO lake.db.{name} VALUES ({number}L)")
    return [one.snapshot_id for one in session.lake.load_table(f"db.{name}").snapshots]


@contextmanager
def setting(session: Any, key: str, value: str) -> Iterator[None]:
    session.conf.set(key, value)
    try:
        yield
    finally:
        session.conf.unset(key)


@pytest.mark.connect
def test_a_branch_moves_back_and_forth_by_position_and_by_name(session: Any) -> None:
    first, second, third = made(session, "moved")
    times = {one.snapshot_id: one.timestamp_ms for one in session.lake.load_table("db.moved").snapshots}
    call = session.sql
    assert rows(call(f"CALL lake.system.rollback_to_snapshot('db.moved', {second})")) == [(third, second)]
    assert ids(session, "lake.db.moved") == [1, 2]
    assert rows(call(f"CALL lake.system.set_current_snapshot(snapshot_id => {third}L, table => 'lake.db.moved')")) == [
        (second, third)
    ]
    moment = f"timestamp_millis({times[third]}L)"
    assert rows(call(f"CALL lake.system.rollback_to_timestamp(timestamp => {moment}, table => 'db.moved')")) == [
        (third, second)
    ]
    assert rows(call("CALL lake.system.ancestors_of('db.moved')")) == [(second, times[second]), (first, times[first])]
    assert rows(call(f"CALL lake.system.ancestors_of('db.moved', {third})"))[0] == (third, times[third])
    call(f"ALTER TABLE lake.db.moved CREATE TAG kept AS OF VERSION {first}")
    assert rows(call("CALL lake.system.set_current_snapshot(table => 'db.moved', ref => 'kept')")) == [(second, first)]
    assert ids(session, "lake.db.moved") == [1]
    with pytest.raises(SnapshotNotFound):
        call("CALL lake.system.rollback_to_snapshot('db.moved', 5)")


def test_a_branch_is_fast_forwarded(session: Any) -> None:
    (first,) = made(session, "ahead", inserts=1)
    session.sql("ALTER TABLE lake.db.ahead CREATE BRANCH audit")
    session.sql("INSERT INTO lake.db.ahead.branch_audit VALUES (2L)")
    head = session.lake.load_table("db.ahead").refs["audit"].snapshot_id
    assert rows(session.sql("CALL lake.system.fast_forward('db.ahead', 'main', 'audit')")) == [("main", first, head)]
    assert ids(session, "lake.db.ahead") == [1, 2]


def test_staged_rows_are_picked_and_published(session: Any) -> None:
    made(session, "staged", inserts=1, properties="'write.wap.enabled' = 'true'")
    for number, wap_id in ((2, "w2"), (3, "w3")):
        with setting(session, "spark.wap.id", wap_id):
            session.sql(f"INSERT INTO lake.db.staged VALUES ({number}L)")
    table = session.lake.load_table("db.staged")
    staged = {one.summary["wap.id"]: one.snapshot_id for one in table.snapshots if "wap.id" in one.summary}
    assert ids(session, "lake.db.staged") == [1]
    picked = rows(session.sql(f"CALL lake.system.cherrypick_snapshot('db.staged', {staged['w3']})"))
    assert picked[0][0] == staged["w3"]
    published = rows(session.sql("CALL lake.system.publish_changes(table => 'db.staged', wap_id => 'w2')"))
    assert published[0][0] == staged["w2"]
    assert published[0][1] == session.lake.load_table("db.staged").current_snapshot.snapshot_id
    assert ids(session, "lake.db.staged") == [1, 2, 3]


@pytest.mark.parametrize("mode", MODES)
def test_changes_of_rows_are_staged_under_an_id_and_published_while_main_stands_still(session: Any, mode: str) -> None:
    name = f"staged_{mode.replace('-', '_')}"
    modes = ", ".join(f"'write.{verb}.mode' = '{mode}'" for verb in ("delete", "update", "merge"))
    made(session, name, inserts=2, properties=f"'write.wap.enabled' = 'true', {modes}")
    changes = {
        f"UPDATE lake.db.{name} SET id = 20 WHERE id = 2": [1, 20],
        f"DELETE FROM lake.db.{name} WHERE id = 1": [20],
        f"MERGE INTO lake.db.{name} t USING (SELECT 20L AS id UNION SELECT 30L) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET id = 21 WHEN NOT MATCHED THEN INSERT *": [21, 30],
    }
    before = [1, 2]
    for number, (statement, after) in enumerate(changes.items()):
        with setting(session, "spark.wap.id", f"change{number}"):
            session.sql(statement)
        assert ids(session, f"lake.db.{name}") == before
        session.sql(f"CALL lake.system.publish_changes('db.{name}', 'change{number}')")
        assert ids(session, f"lake.db.{name}") == after
        before = after


def test_a_table_is_registered_by_its_metadata_file(session: Any) -> None:
    session.sql("CREATE TABLE books.db.one (id BIGINT)")
    session.sql("INSERT INTO books.db.one SELECT /*+ COALESCE(1) */ id FROM range(4)")
    table = session.books.load_table("db.one")
    location = table.metadata_location
    found = rows(session.sql(f"CALL books.system.register_table(metadata_file => '{location}', table => 'db.again')"))
    assert found == [(table.current_snapshot.snapshot_id, 4, 1)]
    assert ids(session, "books.db.again") == [0, 1, 2, 3]
    with pytest.raises(UnsupportedFeature, match="register"):
        session.sql(f"CALL lake.system.register_table('db.again', '{location}')")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            "",
            r"'table' is missing; the procedure is rollback_to_snapshot\(table string required, snapshot_id bigint required",
        ),
        ("'db.t'", "'snapshot_id' is missing"),
        ("'db.t', 1, 2", "too many arguments"),
        ("'db.t', snapshot => 1", "unknown argument 'snapshot'"),
        ("'db.t', 1, table => 'db.u'", "'table' is given twice"),
        ("'db.t', 'x'", "'snapshot_id' must be bigint"),
        ("table => 'db.t', 1", "line 1, column 58.*name them all"),
    ],
)
def test_arguments_that_do_not_fit_say_what_the_procedure_takes(session: Any, arguments: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        session.sql(f"CALL lake.system.rollback_to_snapshot({arguments})")


def test_numbers_and_flags_may_be_texts_as_spark_casts_the_literals_of_a_call(session: Any) -> None:
    session.sql("CREATE TABLE lake.db.texts (id BIGINT)")
    for number in range(2):
        session.sql(f"INSERT INTO lake.db.texts VALUES ({number})")
    first = session.lake.load_table("db.texts").snapshots[0].snapshot_id
    session.sql(f"CALL lake.system.rollback_to_snapshot('db.texts', '{first}')")
    assert ids(session, "lake.db.texts") == [0]
    session.sql("CALL lake.system.remove_orphan_files(table => 'db.texts', dry_run => 'true')")
    with pytest.raises(InvalidInput, match="'retain_last' must be int"):
        session.sql("CALL lake.system.expire_snapshots(table => 'db.texts', retain_last => 'two')")


def test_procedures_and_their_namespace_have_no_case(session: Any) -> None:
    session.sql("CREATE TABLE lake.db.cases AS SELECT 1 AS id")
    assert len(session.sql("CALL lake.SYSTEM.Ancestors_Of(TABLE => 'db.cases')").collect()) == 1


def test_procedures_are_found_in_their_catalog_only(session: Any) -> None:
    for statement, message in (
        ("CALL lake.system.roll_back('db.t')", "is no procedure; there are"),
        ("CALL lake.db.rollback_to_snapshot('db.t', 1)", r"procedures are in lake\.system"),
        ("CALL lake.system.ancestors_of('books.db.one')", r"CALL books\.system"),
    ):
        with pytest.raises(InvalidInput, match=message):
            session.sql(statement)
