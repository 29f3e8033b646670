"""The deletes of large changes are written by Spark's workers: the same rows and the same kind of files as the driver writes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from floeberg.errors import ValidationConflict
from floeberg.row_changes import deletes as row_deletes
from floeberg.spark.dml import delete_job

pytestmark = pytest.mark.cluster
STATEMENTS = (
    "DELETE FROM {t} WHERE id % 7 = 3",
    "UPDATE {t} SET v = concat(v, '+') WHERE id % 5 = 1",
    "MERGE INTO {t} t USING (SELECT id * 3 AS id, 'new' AS v FROM range(400)) s ON t.id = s.id "
    "WHEN MATCHED AND t.id % 2 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT (id, p, v) "
    "VALUES (s.id, 9, s.v)",
    "DELETE FROM {t} WHERE id % 11 = 0",
)


@pytest.fixture
def by_workers(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Makes every change a large one, and the driver unable to write deletes."""

    def switch() -> None:
        monkeypatch.setattr(delete_job, "MAX_DRIVER_BYTES", -1)

        def refuse(*_: Any, **__: Any) -> None:
            raise AssertionError("the driver wrote deletes")

        monkeypatch.setattr(row_deletes, "_write_vectors", refuse)
        monkeypatch.setattr(row_deletes, "_write_by_file", refuse)

    return switch


def _made(session: Any, name: str, version: int) -> str:
    modes = ", ".join(f"'write.{verb}.mode' = 'merge-on-read'" for verb in ("delete", "update", "merge"))
    session.sql(
        f"CREATE TABLE lake.db.{name} (id BIGINT, p INT, v STRING) PARTITIONED BY (p) "
        f"TBLPROPERTIES ('format-version' = '{version}', {modes})"
    )
    rows = session.range(0, 1000, 1, 2).selectExpr("id", "CAST(id % 3 AS INT) AS p", "CAST(id AS STRING) AS v")
    rows.writeTo(f"lake.db.{name}").append()
    return f"lake.db.{name}"


def _rows(session: Any, name: str) -> list[tuple[Any, ...]]:
    table = session.lake.load_table(name.removeprefix("lake."))
    by_arrow = sorted(tuple(row.values()) for row in table.scan().to_arrow().to_pylist())
    assert sorted(tuple(row) for row in session.sql(f"SELECT * FROM {name}").collect()) == by_arrow
    return by_arrow


def _delete_files(session: Any, name: str) -> list[tuple[Any, ...]]:
    """What is deleted of each data file of a partition, by its sizes: paths differ."""
    files = session.lake.load_table(name.removeprefix("lake.")).inspect.delete_files().to_pylist()
    referenced = [file["referenced_data_file"] for file in files]
    assert len(set(referenced)) == len(referenced)
    return sorted(
        (file["file_format"], file["spec_id"], str(file["partition"]), file["record_count"]) for file in files
    )


@pytest.mark.parametrize("version", [2, 3])
def test_workers_write_the_deletes_that_the_driver_would(session: Any, by_workers: Any, version: int) -> None:
    driver, workers = _made(session, f"driver{version}", version), _made(session, f"workers{version}", version)
    for statement in STATEMENTS:
        session.sql(statement.format(t=driver))
    expected, files = _rows(session, driver), _delete_files(session, driver)
    by_workers()
    for statement in STATEMENTS:
        session.sql(statement.format(t=workers))
    assert _rows(session, workers) == expected
    assert _delete_files(session, workers) == files
    assert session.lake.load_table(f"db.workers{version}").maintenance.check().ok


def test_what_workers_wrote_is_removed_when_the_commit_is_refused(
    session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = _made(session, "refused", 3)
    monkeypatch.setattr(delete_job, "MAX_DRIVER_BYTES", -1)
    written = delete_job.write_deletes_in_workers

    def then_another_commit(target: Any, *given: Any) -> Any:
        found = written(target, *given)
        session.lake.load_table("db.refused").delete(where="id = 3")
        return found

    monkeypatch.setattr("floeberg.spark.dml.carry_out.write_deletes_in_workers", then_another_commit)
    with pytest.raises(ValidationConflict):
        session.sql(f"DELETE FROM {name} WHERE id % 7 = 3")
    orphans = session.lake.load_table("db.refused").maintenance.remove_orphans(
        older_than="2100-01-01 00:00:00", force=True
    )
    assert not [location for location in orphans.locations if location.endswith(".puffin")]
