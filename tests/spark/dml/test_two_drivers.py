"""Two Spark drivers, each a process of its own, change the rows of one table at the same time."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import floeberg as fb
from spark_runs import spark_driver

KINDS = {"t": (2, "copy-on-write"), "u": (3, "merge-on-read")}
START = {1: 0, 2: 0, 3: 0, 4: 5}
"""The values of v by id."""
Rows = dict[int, int]
Change = tuple[str, Callable[[Rows], Rows]]
COUNT: Change = ("UPDATE {t} SET v = v + 1 WHERE id = 1", lambda rows: {**rows, 1: rows[1] + 1})
UPSERT: Change = (
    "MERGE INTO {t} t USING (SELECT 9L AS id, 10L AS v) s ON t.id = s.id "
    "WHEN MATCHED THEN UPDATE SET v = t.v + s.v WHEN NOT MATCHED THEN INSERT *",
    lambda rows: {**rows, 9: rows.get(9, 0) + 10},
)
ADD: Change = (
    "UPDATE {t} SET v = v + 100 WHERE id BETWEEN 2 AND 4",
    lambda rows: {id: v + 100 if 2 <= id <= 4 else v for id, v in rows.items()},
)
DOUBLE: Change = ("UPDATE {t} SET v = v * 2 WHERE v < 1000", lambda rows: {id: v * 2 for id, v in rows.items()})
HERE = [COUNT, UPSERT, ("DELETE FROM {t} WHERE id = 2", lambda rows: without(rows, 2)), ADD, COUNT]
THERE = [COUNT, ADD, UPSERT, DOUBLE, ("DELETE FROM {t} WHERE id = 3", lambda rows: without(rows, 3))]
"""What each driver does, in its order."""


def without(rows: Rows, id: int) -> Rows:
    return {other: v for other, v in rows.items() if other != id}


def serial_results() -> list[Rows]:
    """What every serial order of the two drivers' changes leaves."""
    results = []
    for places in combinations(range(len(HERE) + len(THERE)), len(HERE)):
        here, there, rows = iter(HERE), iter(THERE), START
        for place in range(len(HERE) + len(THERE)):
            rows = next(here if place in places else there)[1](rows)
        results.append(rows)
    return results


@pytest.fixture
def session(spark: Any, tmp_path: Path) -> Iterator[Any]:
    """The run's session on a catalog in a database, which another process can have too."""
    database, warehouse = f"jdbc:sqlite:{tmp_path}/catalog.db", str(tmp_path / "warehouse")
    with fb.catalog("lake", type="jdbc", uri=database, warehouse=warehouse) as lake:
        lake.create_namespace("db")
        fb.attach(spark, lake)
        spark.conf.set("spark.floeberg.rerun-on-conflict", "true")
        spark.lake, spark.database, spark.warehouse = lake, database, warehouse
        yield spark
        spark.conf.unset("spark.floeberg.rerun-on-conflict")
        fb.detach(spark)


@pytest.fixture
def other_driver(session: Any) -> Iterator[subprocess.Popen[str]]:
    """Another driver, which waits for statements."""
    for name, (version, mode) in KINDS.items():
        properties = {f"write.{verb}.mode": mode for verb in ("delete", "update", "merge")}
        properties |= {"commit.retry.num-retries": "100", "commit.retry.min-wait-ms": "10"}
        table = session.lake.create_table(
            f"db.{name}", "id bigint, v bigint", format_version=version, properties=properties
        )
        table.append(pa.table({"id": [*START], "v": [*START.values()]}))
    command = [sys.executable, spark_driver.__file__, session.database, session.warehouse]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process


def test_what_two_drivers_leave_is_that_of_some_serial_order(session: Any, other_driver: subprocess.Popen[str]) -> None:
    for name, (version, _) in KINDS.items():
        table = session.lake.load_table(f"db.{name}")
        with ThreadPoolExecutor(1) as pool:
            there = pool.submit(asked, other_driver, [text.format(t=f"lake.db.{name}") for text, _ in THERE])
            for text, _ in HERE:
                session.sql(text.format(t=f"lake.db.{name}"))
            assert there.result() == ["done"] * len(THERE)
        rows = table.refresh().scan().to_arrow().to_pylist()
        found = {row["id"]: row["v"] for row in rows}
        assert len(rows) == len(found), "no row is there twice"
        assert found in serial_results(), (name, found)
        if version == 3:
            ids = session.sql(f"SELECT id, _row_id FROM lake.db.{name} WHERE id < 9").collect()
            assert all(row._row_id == row.id - 1 for row in ids), "rows keep their ids whoever changes them"
    assert other_driver.stdin is not None
    other_driver.stdin.close()
    assert other_driver.wait() == 0


def asked(driver: subprocess.Popen[str], statements: list[str]) -> list[str]:
    """What a driver says to statements."""
    assert driver.stdin is not None
    assert driver.stdout is not None
    driver.stdin.writelines(f"{statement}\n" for statement in statements)
    driver.stdin.flush()
    return [driver.stdout.readline().strip() for _ in statements]
