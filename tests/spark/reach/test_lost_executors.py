"""Executors that are killed in the middle of a scan, an append and a MERGE, with speculation and task retries on: a statement
goes on or says clearly why not, its rows are those of one execution or none, and orphan removal finds what dead tasks wrote."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from floeberg.errors import ExecutorLost
from spark_runs.spark_session import CLUSTER

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(not CLUSTER, reason="needs the cluster of make test-cluster: local executors are the driver"),
]
ROWS = 120_000
KEYS = 2_000
FILES_OF_A_TASK = 4
SMALL_FILES = "'write.target-file-size-bytes' = '200000', 'write.parquet.row-group-size-bytes' = '100000'"


def _once(flag: Path, at: int, act: Callable[[], None]) -> Callable[[int], int]:
    """A function of a column that acts at one row, in the first task that comes there; `_passed` tells that another came."""
    first, other = str(flag), str(_passed(flag))

    def pass_on(value: int) -> int:
        if value == at:
            try:
                os.close(os.open(first, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                os.close(os.open(other, os.O_CREAT))
                return value
            act()
        return value

    return pass_on


def _killer_of_all(application: str) -> Callable[[], None]:
    """Kills every executor of an application."""

    def kill() -> None:
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                command = (entry / "cmdline").read_text()
            except OSError:  # it ended meanwhile
                continue
            if "CoarseGrainedExecutorBackend" in command and application in command:
                os.kill(int(entry.name), signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)

    return kill


def _killer(folder: str | None = None, files: int = 0) -> Callable[[], None]:
    """Kills the executor of the Python worker that calls it: the worker's parent is a daemon, whose parent is the executor. It
    first waits for so many files in a folder."""

    def kill() -> None:
        while folder is not None and len(list(Path(folder).rglob("*.parquet"))) < files:
            time.sleep(0.1)
        status = Path(f"/proc/{os.getppid()}/stat").read_text()
        os.kill(int(status.rpartition(")")[2].split()[1]), signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)

    return kill


def _passed(flag: Path) -> Path:
    return flag.with_name(f"{flag.name}-passed")


def _sleeper() -> Callable[[], None]:
    def sleep() -> None:
        time.sleep(600)

    return sleep


@pytest.fixture
def deadly(session: Any, tmp_path: Path) -> Callable[..., Path]:
    """Registers `deadly(id)`, which kills its executor once, at one id; both executors are there when a test begins."""
    _wait_for_executors(session, 2)

    def register(at: int, folder: str | None = None, files: int = 0) -> Path:
        flag = tmp_path / "killed"
        session.udf.register("deadly", _once(flag, at, _killer(folder, files)), "bigint")
        return flag

    return register


def _wait_for_executors(spark: Any, wanted: int) -> None:
    def there() -> int:
        return len(spark.sparkContext._jsc.sc().statusTracker().getExecutorInfos()) - 1  # the driver is one

    while there() < wanted:
        time.sleep(0.2)


@pytest.fixture(scope="module")
def target(session: Any) -> Iterator[str]:
    """A v3 table of KEYS rows in several files, some of them with deletion vectors."""
    session.sql(
        "CREATE TABLE lake.db.target (id BIGINT, v STRING) TBLPROPERTIES ('format-version' = '3', "
        "'write.delete.mode' = 'merge-on-read', 'write.merge.mode' = 'merge-on-read', 'write.update.mode' = 'merge-on-read')"
    )
    session.range(0, KEYS, 1, 4).selectExpr("id", "'old' AS v").writeTo("lake.db.target").append()
    session.sql("DELETE FROM lake.db.target WHERE id % 10 = 3")
    yield "lake.db.target"
    session.sql("DROP TABLE lake.db.target")


def _live() -> dict[int, str]:
    return {key: "old" for key in range(KEYS) if key % 10 != 3}


def _rows(session: Any, table: str) -> dict[int, str]:
    found = session.sql(f"SELECT id, v FROM {table}").collect()
    rows = {row.id: row.v for row in found}
    assert len(rows) == len(found)
    return rows


def _unreferenced(session: Any, name: str) -> set[str]:
    """The files in a table's data folder that no snapshot refers to, which is what orphan removal must find."""
    table = session.lake.load_table(name)
    folder = Path(table.metadata.location.removeprefix("file://")) / "data"
    there = {str(path) for path in folder.rglob("*") if path.is_file()}
    live = {path.removeprefix("file://") for path in table.inspect.all_files()["file_path"].to_pylist()}
    assert live <= there
    orphans = table.maintenance.remove_orphans(older_than=datetime.now(UTC) + timedelta(hours=1), force=True)
    assert {path.removeprefix("file://") for path in orphans.locations} >= there - live
    return there - live


def _made(session: Any) -> Any:
    return session.range(0, ROWS, 1, 2).selectExpr("deadly(id) AS id", "sha2(CAST(id AS STRING), 256) AS v")


def test_a_scan_goes_on_when_an_executor_is_killed_in_it(session: Any, target: str, deadly: Any) -> None:
    flag = deadly(KEYS - 100)
    found = session.sql(f"SELECT deadly(id) AS id, v FROM {target}").collect()
    assert flag.exists()
    assert sorted((row.id, row.v) for row in found) == sorted(_live().items())


def test_an_append_has_each_row_once_when_an_executor_is_killed_in_it(session: Any, deadly: Any) -> None:
    session.sql(f"CREATE TABLE lake.db.appended (id BIGINT, v STRING) TBLPROPERTIES ({SMALL_FILES})")
    folder = session.lake.load_table("db.appended").location.removeprefix("file://")
    flag = deadly(ROWS - 10, folder, files=FILES_OF_A_TASK + 1)
    _made(session).writeTo("lake.db.appended").append()
    assert _passed(flag).exists()
    (row,) = session.sql(
        "SELECT count(*) AS n, count(DISTINCT id) AS ids, sum(id) AS total FROM lake.db.appended"
    ).collect()
    assert tuple(row) == (ROWS, ROWS, ROWS * (ROWS - 1) // 2)
    assert _unreferenced(session, "db.appended")  # what the killed attempt wrote, with the write's id in its names


def test_a_slow_task_and_its_copy_write_each_row_once(session: Any, tmp_path: Path) -> None:
    _wait_for_executors(session, 2)
    flag = tmp_path / "slept"
    session.udf.register("deadly", _once(flag, ROWS - 10, _sleeper()), "bigint")
    session.sql(f"CREATE TABLE lake.db.copied (id BIGINT, v STRING) TBLPROPERTIES ({SMALL_FILES})")
    _made(session).writeTo("lake.db.copied").append()
    assert _passed(flag).exists()
    (row,) = session.sql("SELECT count(*) AS n, count(DISTINCT id) AS ids FROM lake.db.copied").collect()
    assert tuple(row) == (ROWS, ROWS)
    _unreferenced(session, "db.copied")


def _changed(before: dict[int, str]) -> set[int]:
    """The keys of a MERGE: every second one of the first KEYS, and as many new ones."""
    first = max(before) + 1
    return {*range(0, KEYS, 2), *range(first, first + KEYS, 2)}


def _merge(session: Any, target: str, before: dict[int, str], *, source: str = "id", matched: str = "t.id") -> None:
    """Updates and inserts the changed keys, from a source in 8 partitions."""
    keys = session.createDataFrame([(key,) for key in sorted(_changed(before))], "id BIGINT").repartition(8)
    frame = keys.selectExpr(f"{source} AS id", "uuid() AS v")
    frame.createOrReplaceTempView("changes")
    session.sql(
        f"MERGE INTO {target} t USING changes s ON t.id = s.id WHEN MATCHED AND {matched} >= 0 THEN UPDATE SET v = s.v "
        "WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, s.v)"
    )


def _assert_merged(before: dict[int, str], after: dict[int, str]) -> None:
    changed = _changed(before)
    assert after.keys() == before.keys() | changed
    assert len({after[key] for key in changed}) == len(changed)  # each source row was used once
    assert not any(after[key] == before.get(key) for key in changed)
    assert all(after[key] == before[key] for key in before.keys() - changed)


@contextmanager
def _checkpoint_folder(session: Any, folder: Path) -> Iterator[None]:
    session.sparkContext.setCheckpointDir(str(folder))
    try:
        yield
    finally:
        session.sparkContext._jsc.sc().setCheckpointDir(None)


def test_a_merge_is_done_once_or_not_at_all_when_an_executor_is_killed_while_its_source_is_evaluated(
    session: Any, target: str, deadly: Any, tmp_path: Path
) -> None:
    before = _rows(session, target)
    flag = deadly(KEYS - 2)
    try:
        _merge(session, target, before, source="deadly(id)")
    except ExecutorLost:
        assert _rows(session, target) == before
        flag.unlink()  # an executor is killed once more
        _wait_for_executors(session, 2)
        with _checkpoint_folder(session, tmp_path / "checkpoints"):
            _merge(session, target, before, source="deadly(id)")
    assert _passed(flag).exists()
    _assert_merged(before, _rows(session, target))


def test_a_merge_whose_source_is_lost_with_its_executors_changes_nothing_and_says_the_way_out(
    session: Any, target: str, tmp_path: Path
) -> None:
    before, snapshots = _rows(session, target), len(session.lake.load_table("db.target").snapshots)
    flag = tmp_path / "killed"
    kill = _killer_of_all(session.sparkContext.applicationId)
    session.udf.register("deadly", _once(flag, KEYS // 2, kill), "bigint")
    with pytest.raises(ExecutorLost, match=r"nothing was committed.*spark\.checkpoint\.dir") as raised:
        _merge(session, target, before, matched="deadly(t.id)")
    assert flag.exists()
    assert raised.value.getCondition() == "FLOEBERG_EXECUTOR_LOST"
    assert len(session.lake.load_table("db.target").snapshots) == snapshots
    assert _rows(session, target) == before
    _unreferenced(session, "db.target")


def test_a_merge_whose_source_is_in_a_checkpoint_folder_outlives_an_executor(
    session: Any, target: str, deadly: Any, tmp_path: Path
) -> None:
    before = _rows(session, target)
    flag = deadly(KEYS // 2)
    with _checkpoint_folder(session, tmp_path / "checkpoints"):
        _merge(session, target, before, matched="deadly(t.id)")
    assert flag.exists()
    _assert_merged(before, _rows(session, target))
