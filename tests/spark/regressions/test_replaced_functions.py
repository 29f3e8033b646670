"""Temporary functions named as those of Spark by which reads work: up to Spark 4.1 they replace them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

import floeberg as fb
from floeberg.spark.host.calls.own_functions import is_sparks_own, replaced
from floeberg.spark.read.joins import row_filter
from spark_runs.spark_session import CONNECT

pytestmark = pytest.mark.skipif(CONNECT, reason="a session of its own is made of a classic one")


@pytest.fixture
def other(session: Any) -> Iterator[Any]:
    """A session of its own, with a table of which rows are deleted by vectors and by position."""
    for name, version in (("vectors", 3), ("positions", 2)):
        table = session.lake.create_table(
            f"db.own_{name}", "k BIGINT", format_version=version, properties={"write.delete.mode": "merge-on-read"}
        )
        table.append(pa.table({"k": list(range(100))}))
        table.delete(where="k IN (0, 3, 6, 64, 99)")
    made = session.newSession()
    fb.attach(made, session.lake)
    yield made
    fb.detach(made)
    for name in ("vectors", "positions"):
        session.lake.drop_table(f"db.own_{name}", purge=True)


@pytest.mark.parametrize("name", ["get", "bit_get", "shiftright", "coalesce", "raise_error"])
def test_deleted_rows_stay_deleted(other: Any, name: str) -> None:
    other.udf.register(name, lambda *_: 1, "bigint")
    live = [key for key in range(100) if key not in (0, 3, 6, 64, 99)]
    for table in ("vectors", "positions"):
        assert sorted(row.k for row in other.table(f"lake.db.own_{table}").collect()) == live
        assert other.sql(f"SELECT sum(k) FROM lake.db.own_{table}").first()[0] == sum(live)
    mine = not is_sparks_own(other, name)
    assert replaced(other, [name]) == ([name] if mine else [])
    assert ("a temporary function named" in str(fb.explain(other.table("lake.db.own_vectors")))) is mine


def test_joins_leave_rows_to_spark(other: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"LEAST_ROWS": 0, "TIMES_LARGER": 1, "MOST_LEFT": 2.0, "_WRITTEN_OUT": 0}.items():
        monkeypatch.setattr(row_filter, name, value)
    for name in row_filter.FUNCTIONS:
        other.udf.register(name, lambda *_: 0, "bigint")
    sql = "SELECT a.k FROM lake.db.own_vectors a JOIN lake.db.own_positions b ON a.k = b.k WHERE b.k IN (5, 6, 7)"
    assert sorted(row.k for row in other.sql(sql).collect()) == [5, 7]
