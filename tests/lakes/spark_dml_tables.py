"""Small tables for tests of row-level statements."""

from __future__ import annotations

from typing import Any

import pytest

MODES = ("copy-on-write", "merge-on-read")
VERSIONS_AND_MODES = [
    (1, MODES[0]),
    pytest.param(2, MODES[1], marks=pytest.mark.connect),
    pytest.param(3, MODES[0], marks=pytest.mark.connect),
    (3, MODES[1]),
]
"""The two that are marked run over Connect and on a cluster too."""


def make(session: Any, name: str, *, version: int = 2, mode: str = "copy-on-write", partitioning: str = "") -> str:
    table = f"lake.db.{name}"
    session.sql(f"DROP TABLE IF EXISTS {table}")
    session.sql(
        f"CREATE TABLE {table} (id BIGINT NOT NULL, name STRING, s STRUCT<a: INT, b: STRING>) USING iceberg {partitioning} "
        f"TBLPROPERTIES ('format-version' = '{version}', 'write.delete.mode' = '{mode}', 'write.update.mode' = '{mode}', "
        f"'write.merge.mode' = '{mode}')"
    )
    session.sql(
        f"INSERT INTO {table} SELECT /*+ COALESCE(1) */ id, IF(id = 3, NULL, concat('n', id)), "
        "named_struct('a', CAST(id AS INT), 'b', 'x') FROM range(1, 7)"
    )
    return table


def ids(session: Any, table: str) -> list[int]:
    return [row.id for row in session.sql(f"SELECT id FROM {table} ORDER BY id").collect()]


def last_summary(session: Any, name: str) -> dict[str, str]:
    return dict(session.lake.load_table(f"db.{name}").current_snapshot.summary)
