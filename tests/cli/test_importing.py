"""The commands that import files and move tables."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import floeberg as fb


@pytest.fixture
def where(tmp_path: Path) -> tuple[str, ...]:
    with fb.catalog("lake", warehouse=str(tmp_path / "lake")) as lake:
        lake.create_namespace("db")
        lake.create_table("db.t", "id bigint, p int", partition_by=["p"])
    for p in (1, 2):
        (tmp_path / f"in/p={p}").mkdir(parents=True)
        pq.write_table(pa.table({"id": [p]}), tmp_path / f"in/p={p}/a.parquet")
    return ("-w", str(tmp_path / "lake"), "--json")


def test_files_are_added_and_not_twice(floeberg, where, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    source = str(tmp_path / "in")
    done = json.loads(floeberg("add-files", "db.t", source, "--partition", "p=1", *where).out)
    assert done == {"added_files": 1, "changed_partitions": 1}
    refused = floeberg("add-files", "db.t", source, *where)
    assert (refused.code, "holds these files already" in refused.err) == (2, True)
    assert json.loads(floeberg("add-files", "db.t", source, "--allow-duplicates", *where).out)["added_files"] == 2
    assert floeberg("count", "db.t", *where[:2]).out == "3\n"
    assert floeberg("add-files", "db.t", source, "--format", "csv", *where).code == 2


def test_a_folder_becomes_a_table(floeberg, where, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    done = json.loads(
        floeberg("snapshot-folder", "db.tried", str(tmp_path / "in"), "--table-property", "a=b", *where).out
    )
    assert (done["table"].endswith(".db.tried"), done["data_files"]) == (True, 2)
    assert floeberg("count", "db.tried", *where[:2]).out == "2\n"
    assert floeberg("snapshot-folder", "db.tried", str(tmp_path / "in"), *where).code == 2
    assert floeberg("snapshot-folder", "db.none", str(tmp_path / "nothing"), *where).code == 3


def test_a_copy_is_prepared(floeberg, where, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    table = str(tmp_path / "lake/db/t")
    floeberg("add-files", "db.t", str(tmp_path / "in"), *where)
    refused = floeberg("rewrite-table-path", "db.t", table, str(tmp_path / "copy"), *where)
    assert (refused.code, "is not below the source prefix" in refused.err) == (2, True)
    done = json.loads(floeberg("rewrite-table-path", "db.t", str(tmp_path), str(tmp_path / "copy"), *where).out)
    assert done["rewritten_manifests"] == 1
    assert len(Path(done["file_list_location"]).read_text().splitlines()) > 4
