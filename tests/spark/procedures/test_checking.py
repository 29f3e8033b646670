"""CALL check and repair: Spark's workers find what threads of one process find."""

from __future__ import annotations

import io
import os
import pickle
from functools import partial
from typing import Any

import pytest

from floeberg.errors import InvalidInput
from floeberg.spark.procedures import file_work
from lakes.damaged_tables import ALL, CASES, table_to_damage, wrong_metrics

CHOSEN = [(damage, version) for damage, version in CASES if version == 3 and damage.action != "restore"]


def rows(frame: Any) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in frame.collect()]


def test_spark_finds_the_damages_that_one_process_finds(session: Any, few: bool) -> None:
    for number, (damage, version) in enumerate(CHOSEN[:: 5 if few else 1]):
        builder = table_to_damage(session.lake, version, f"db.damaged_{number}")
        damage.make(builder)
        asks = damage.asks or {}
        own = builder.table.maintenance.check(**asks)
        assert builder.table.maintenance.check(spark=session, **asks) == own, damage
        assert own.findings, damage


def test_check_and_repair_are_procedures(session: Any) -> None:
    builder = table_to_damage(session.lake, 3, "db.called")
    wrong_metrics(builder)
    current = builder.table.metadata.current_snapshot_id
    found = session.sql(
        f"CALL lake.system.check(table => 'db.called', snapshot_ids => array({current}L), read_rows => true)"
    )
    assert found.columns == ["severity", "problem", "location", "message"]
    assert {"wrong-count", "wrong-bounds"} <= {row.problem for row in found.collect()}
    with pytest.raises(InvalidInput, match="'nope' is no repair"):
        session.sql("CALL lake.system.repair('db.called', array('nope'))")
    done = session.sql("CALL lake.system.repair('db.called', array('recompute-metrics'))")
    assert done.columns == ["action", "location", "reason", "snapshot_id_before"]
    assert {(row.action, row.snapshot_id_before) for row in done.collect()} == {("recompute-metrics", current)}
    after = builder.table.refresh().metadata.current_snapshot_id
    assert rows(session.sql(f"CALL lake.system.check('db.called', array({after}L))")) == []
    assert sorted(rows(session.sql("SELECT id, p FROM lake.db.called WHERE id >= 0"))) == ALL
    session.sql(f"CALL lake.system.rollback_to_snapshot('db.called', {current}L)")
    assert builder.table.refresh().metadata.current_snapshot_id == current


def test_a_result_of_workers_is_a_value_and_runs_no_code() -> None:
    for answered in (os.system, partial(print, 1), eval):
        with pytest.raises(pickle.UnpicklingError, match="no result of work on files"):
            file_work._ResultReader(io.BytesIO(pickle.dumps(answered))).load()
    assert file_work._ResultReader(io.BytesIO(pickle.dumps({"a": (1, b"b")}))).load() == {"a": (1, b"b")}
