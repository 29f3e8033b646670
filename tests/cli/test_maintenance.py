"""The commands that keep tables healthy; files are deleted only when told so."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pyarrow as pa
import pytest

import floeberg as fb


@pytest.fixture
def where(tmp_path: Path) -> tuple[str, ...]:
    lake = fb.catalog("lake", warehouse=str(tmp_path / "lake"))
    lake.create_namespace("db")
    properties = {"write.delete.mode": "merge-on-read"}
    table = lake.create_table("db.t", "id bigint, p int", partition_by=["p"], properties=properties)
    for number in range(6):
        table.append(pa.table({"id": [number, number + 10], "p": pa.array([0, 0], pa.int32())}))
    table.delete("id = 3")
    return ("-w", str(tmp_path / "lake"), "--json")


def test_files_deletes_and_manifests_are_rewritten(floeberg, where) -> None:  # type: ignore[no-untyped-def]
    deletes = json.loads(floeberg("rewrite-deletes", "db.t", "--option", "rewrite-all=true", *where).out)
    assert (deletes["rewritten_delete_files"], deletes["added_delete_files"]) == (1, 1)
    done = json.loads(floeberg("compact", "db.t", "--sort-order", "id desc", *where).out)
    assert (done["rewritten_data_files"], done["added_data_files"]) == (6, 1)
    assert json.loads(floeberg("rewrite-manifests", "db.t", *where).out)["rewritten_manifests"] >= 0
    assert floeberg("count", "db.t", *where[:2]).out == "11\n"
    refused = floeberg("compact", "db.t", "--option", "nope=1", *where)
    assert (refused.code, "unknown option 'nope'" in refused.err) == (2, True)


def test_nothing_is_deleted_without_yes(floeberg, where, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    refused = floeberg("expire-snapshots", "db.t", "--older-than", "2999-01-01", *where)
    assert (refused.code, "--yes" in refused.err) == (2, True)
    done = json.loads(floeberg("expire-snapshots", "db.t", "--older-than", "2999-01-01", "--yes", *where).out)
    assert done["expired_snapshots"] == 6
    orphan = tmp_path / "lake" / "db" / "t" / "data" / "p=0" / "x.parquet"
    orphan.write_bytes(b"x")
    os.utime(orphan, (0, 0))
    shown = floeberg("remove-orphans", "db.t", *where[:2]).out
    assert str(orphan) in shown
    assert "1 orphan files would be deleted" in shown
    assert orphan.exists()
    assert json.loads(floeberg("remove-orphans", "db.t", "--yes", *where).out)["locations"] == [str(orphan)]
    assert not orphan.exists()
    assert floeberg("count", "db.t", *where[:2]).out == "11\n"


def test_a_catalog_is_maintained_in_rounds(floeberg, where, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    lake = fb.catalog("lake", warehouse=str(tmp_path / "lake"))
    with lake.load_table("db.t").update_properties() as update:
        update.set({"maintain.min-small-files": "3", "history.expire.max-snapshot-age-ms": "0"})
    assert floeberg("maintain", "--all", *where[:2]).out.startswith("db.t: compact: ")
    assert lake.load_table("db.t").inspect.data_files().num_rows == 6
    done = floeberg("maintain", "--all", "--every", "1s", "--rounds", "2", "--yes", *where[:2])
    assert (done.code, "data_files: 6 before, 1 after" in done.out) == (0, True)
    assert "read of the first rows: " in done.out
    assert done.out.endswith("db.t: nothing to do\n")
    assert json.loads(floeberg("maintain", "db.t", *where).out)["actions"] == []
    for wrong in ((), ("db.t", "--all"), ("--all", "--every", "soon"), ("--all", "--rounds", "2")):
        assert floeberg("maintain", *wrong, *where).code == 2, wrong


def test_statistics_are_computed(floeberg, where) -> None:  # type: ignore[no-untyped-def]
    done = json.loads(floeberg("compute-stats", "db.t", "--column", "id", *where).out)
    assert done["distinct id"] == 11
    parts = json.loads(floeberg("compute-stats", "db.t", "--partitions", *where).out)
    assert parts["partition_statistics_file"].endswith(".parquet")
    assert floeberg("compute-stats", "db.t", "--partitions", "--column", "id", *where).code == 2
