"""`floeberg.cdc(…, lookup="position")`: keys are looked up, and rows deleted by position."""

import random
from typing import Any

import pytest

import floeberg as fb
from lakes.cdc_tables import EVENTS, EXAMPLE, EXAMPLE_ROWS
from models.cdc_model import LastState

OPTIONS: dict[str, Any] = {"keys": "id", "op": "op", "order_by": "ord"}


def _rows(spark: Any, table: str) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in spark.table(table).collect()), key=repr)


@pytest.mark.parametrize("version", [2, 3])
def test_the_last_batch_of_the_example_deletes_by_position_and_leaves_no_equality_delete(
    session: Any, version: int
) -> None:
    table = f"lake.db.lookup_v{version}"
    session.sql(f"CREATE TABLE {table} (id bigint, name string) TBLPROPERTIES ('format-version' = '{version}')")
    for rows in EXAMPLE[:2]:
        fb.cdc(session.createDataFrame(rows, EVENTS), table, **OPTIONS)
    before = session.sql(f"SELECT file_path FROM {table}.delete_files").collect()
    fb.cdc(session.createDataFrame(EXAMPLE[2], EVENTS), table, lookup="position", **OPTIONS)
    assert set(_rows(session, table)) == EXAMPLE_ROWS
    deletes = session.sql(f"SELECT content, file_format, file_path FROM {table}.delete_files").collect()
    new = [(row.content, row.file_format.lower()) for row in deletes if (row.file_path,) not in map(tuple, before)]
    assert new == [(1, "puffin" if version == 3 else "parquet")]


@pytest.mark.parametrize("version", [2, 3])
def test_random_batches_leave_the_last_state_and_rows_keep_their_ids(session: Any, version: int) -> None:
    chance = random.Random(version)
    table = f"lake.db.lookups_v{version}"
    session.sql(
        f"CREATE TABLE {table} (id bigint, p int, v string) PARTITIONED BY (p) "
        f"TBLPROPERTIES ('format-version' = '{version}')"
    )
    source = LastState(chance, keys=30)
    ids: dict[int, int] = {}
    for number in range(4):
        held = dict(source.rows)
        events = source.batch(25, upsert=True)
        frame = session.createDataFrame(
            [(code, order[0], *row) for code, row, order in events], "op string, ord bigint, id bigint, p int, v string"
        )
        result = fb.cdc(frame, table, upsert=True, lookup="position" if number else None, **OPTIONS)
        assert result.snapshot_id is not None
        assert _rows(session, table) == sorted(source.rows.values(), key=repr)
        if version == 3:
            now = {row.id: row._row_id for row in session.sql(f"SELECT id, _row_id FROM {table}").collect()}
            if number:
                assert {key: now[key] for key in now if key in held} == {key: ids[key] for key in now if key in held}
            ids = now
    assert {row.content for row in session.sql(f"SELECT content FROM {table}.delete_files").collect()} <= {1, 2}


def test_an_event_older_than_the_order_in_the_table_changes_nothing(session: Any) -> None:
    table = "lake.db.stored_order"
    session.sql(f"CREATE TABLE {table} (id bigint, name string, ord bigint)")
    options = {**OPTIONS, "lookup": "position", "upsert": True}
    fb.cdc(session.createDataFrame([("I", 10, 1, "a"), ("I", 10, 2, "b")], EVENTS), table, **options)
    late = [("U", 9, 1, "older"), ("D", 9, 2, None), ("U", 11, 2, "newer"), ("I", 1, 3, "new")]
    result = fb.cdc(session.createDataFrame(late, EVENTS), table, **options)
    assert result.older == 1
    assert _rows(session, table) == [(1, "a", 10), (2, "newer", 11), (3, "new", 1)]


def test_a_concurrent_change_of_a_key_is_seen_and_the_batch_applied_again(session: Any, monkeypatch: Any) -> None:
    from floeberg.spark.cdc import position_lookup

    table = "lake.db.contended"
    session.sql(f"CREATE TABLE {table} (id bigint, name string)")
    fb.cdc(session.createDataFrame(EXAMPLE[0], EVENTS), table, **OPTIONS)
    commit, runs = position_lookup.carry_out, []

    def after_another(*args: Any) -> Any:
        if not runs:
            session.lake.load_table("db.contended").update({"name": "between"}, where="id = 1")
        runs.append(1)
        return commit(*args)

    monkeypatch.setattr(position_lookup, "carry_out", after_another)
    fb.cdc(session.createDataFrame([("U", 3, 1, "mine")], EVENTS), table, lookup="position", **OPTIONS)
    assert len(runs) == 2
    assert _rows(session, table) == [(1, "mine"), (2, "A")]
