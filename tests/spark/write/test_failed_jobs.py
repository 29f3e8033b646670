"""A write whose job fails leaves no change and no file."""

from __future__ import annotations

import os
from typing import Any

import pytest
from pyspark.errors import PySparkException

SLEEP = "java_method('java.lang.Thread', 'sleep', 1500L)"


def files_of(session: Any, name: str) -> list[str]:
    folder = session.lake.load_table(f"db.{name}").metadata.location.removeprefix("file://")
    return [file for _, _, files in os.walk(os.path.join(folder, "data")) for file in files]


@pytest.mark.parametrize("spread", [False, True])
def test_files_of_tasks_that_succeeded_are_removed_when_another_fails(session: Any, spread: bool) -> None:
    name = f"failed_{spread}".lower()
    properties = f"TBLPROPERTIES ('write.object-storage.enabled' = '{str(spread).lower()}')"
    session.sql(f"CREATE TABLE lake.db.{name} (id BIGINT, p INT) PARTITIONED BY (p) {properties}")
    session.sql(f"INSERT INTO lake.db.{name} VALUES (1L, 1)")
    before = session.lake.load_table(f"db.{name}").current_snapshot
    kept = sorted(files_of(session, name))
    # The first task ends at once; the second fails when the first has long written its files.
    rows = session.sql(
        f"SELECT IF(id = 3, IF({SLEEP} = 'slept', id, raise_error('stop')), id) AS id, CAST(id AS INT) AS p "
        "FROM range(0, 4, 1, 2)"
    )
    with pytest.raises(PySparkException, match="stop"):
        rows.writeTo(f"lake.db.{name}").option("distribution-mode", "none").option("fanout-enabled", "true").append()
    assert sorted(files_of(session, name)) == kept
    assert session.lake.load_table(f"db.{name}").current_snapshot == before
