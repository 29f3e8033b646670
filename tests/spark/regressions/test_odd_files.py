"""Data files in odd places, of odd names, recorded twice or with a wrong size: the rows that the Arrow engine finds, whether
Spark lists the files or takes them from a log."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from floeberg.commit.append import Append
from floeberg.spark.dml import delete_job
from floeberg.spark.read.parquet import file_log
from floeberg.testing.table_builder import TableBuilder

SIGNS = "_-.!~'()*,;$&+=@% "
NAMES = (
    *(f"a{sign}b.parquet" for sign in SIGNS),
    *(f"d{sign}d/x.parquet" for sign in f":{SIGNS}"),
    *(f"end.parquet{sign}" for sign in "-'*;$&+=@% ."),
    *(
        "%41.parquet",
        "%zz.parquet",
        "id=77/v=7/x.parquet",
        "id=78/v=7/x.parquet",
        "_x=1.parquet",
        "_h/x.parquet",
        ".h/x.parquet",
    ),
    *("A.parquet", "a.parquet", "no ending"),
)
BY_ARROW = ("10:30.parquet", ":x.parquet", "_spark_metadata/x.parquet", "_x.parquet")
MODES = {f"write.{verb}.mode": "merge-on-read" for verb in ("delete", "update")}
QUERY = "SELECT id, p, v, _file, _pos, _row_id FROM {t}"


def odd_table(session: Any, folder: Path, name: str, names: tuple[str, ...]) -> TableBuilder:
    """A table with a file of three or four rows in each place, whose paths are written in the three ways."""
    builder = TableBuilder(format_version=3, properties=MODES, in_catalog=session.lake, name=f"db.{name}")
    files = []
    for number, place in enumerate(names):
        rows = [(number * 10 + row, number, "v") for row in range(3 + number % 2)]
        file = builder.data_file(*rows)
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file.file_path.removeprefix("file://"), folder / place)
        files.append(structs.replace(file, file_path=f"{('', 'file://', 'file:')[number % 3]}{folder / place}"))
    builder.table._commit(Append(files=files))
    return builder


def arrow_rows(builder: TableBuilder) -> list[str]:
    found = builder.table.refresh().scan(metadata_columns=["_file", "_pos", "_row_id"]).to_arrow()
    return sorted(str(tuple(row.values())) for row in found.to_pylist())


def spark_rows(session: Any, name: str) -> list[str]:
    return sorted(str(tuple(row)) for row in session.sql(QUERY.format(t=f"lake.db.{name}")).collect())


def test_files_of_odd_names_are_read_changed_and_pruned(
    session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = (*NAMES, *BY_ARROW)
    builder = odd_table(session, tmp_path, "odd_files", names)
    assert spark_rows(session, "odd_files") == arrow_rows(builder)
    monkeypatch.setattr(file_log, "MIN_LOCAL_FILES", 1)
    session.sql("DELETE FROM lake.db.odd_files WHERE id % 10 = 1")
    session.sql("UPDATE lake.db.odd_files SET v = 'new' WHERE id % 10 = 2 AND p % 2 = 0")
    expected = arrow_rows(builder)
    assert len(expected) == sum(2 + number % 2 for number in range(len(names)))
    assert spark_rows(session, "odd_files") == expected
    frame = session.table("lake.db.odd_files")
    for number in range(0, len(names), 7):
        kept = [number * 10 + row for row in (0, 2, 3)[: 2 + number % 2]]
        assert sorted(row.id for row in frame.where(f"p = {number}").collect()) == kept, names[number]


@pytest.mark.parametrize("by_log", [False, True])
def test_a_file_that_the_table_has_twice_is_read_twice(session: Any, monkeypatch: Any, by_log: bool) -> None:
    name = f"twice_{by_log}".lower()
    if by_log:
        monkeypatch.setattr(file_log, "MIN_LOCAL_FILES", 1)
        monkeypatch.setattr(delete_job, "MAX_DRIVER_BYTES", -1)
    builder = TableBuilder("id bigint", format_version=2, properties=MODES, in_catalog=session.lake, name=f"db.{name}")
    file, other = builder.data_file((1,), (2,)), builder.data_file((3,))
    builder.table._commit(Append(files=[file, other]))
    builder.table._commit(Append(files=[file]))

    def ids() -> list[int]:
        found = sorted(row.id for row in session.table(f"lake.db.{name}").collect())
        assert sorted(builder.table.refresh().scan().to_arrow().column("id").to_pylist()) == found
        return found

    assert ids() == [1, 1, 2, 2, 3]
    session.sql(f"DELETE FROM lake.db.{name} WHERE id = 1")
    assert ids() == [2, 2, 3]
    session.sql(f"UPDATE lake.db.{name} SET id = 20 WHERE id = 2")
    assert ids() == [3, 20, 20]


@pytest.mark.parametrize("recorded", [0, 4])
def test_a_recorded_size_that_cannot_be_right_hides_no_row(session: Any, monkeypatch: Any, recorded: int) -> None:
    monkeypatch.setattr(file_log, "MIN_LOCAL_FILES", 1)
    builder = TableBuilder("id bigint", in_catalog=session.lake, name=f"db.sized_{recorded}")
    files = [builder.data_file((1,), (2,)), builder.data_file((3,))]
    builder.table._commit(Append(files=[structs.replace(files[0], file_size_in_bytes=recorded), files[1]]))
    assert sorted(row.id for row in session.table(f"lake.db.sized_{recorded}").collect()) == [1, 2, 3]
