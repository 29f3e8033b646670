"""v1 snapshots that name their manifests without a manifest list."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

import floeberg as fb


@pytest.fixture
def metadata_file(tmp_path: Path) -> Path:
    """The metadata file of a partitioned v1 table whose last snapshot has `manifests` instead of `manifest-list`."""
    lake = fb.catalog("lake", warehouse=str(tmp_path))
    lake.create_namespace("db")
    table = lake.create_table("db.t", "id bigint, p int", partition_by=["p"], format_version=1)
    for number in (1, 2):
        table.append(pa.table({"id": [number, number + 10], "p": pa.array([number, 0], pa.int32())}))
    with table.update_spec() as update:
        update.add_field("bucket(2, id)")
    path = Path(table.metadata_location.removeprefix("file://"))
    document = json.loads(path.read_text())
    paths = [row["path"] for row in table.inspect.manifests().to_pylist()]
    assert len(paths) == 2
    document["snapshots"][-1]["manifests"] = paths
    del document["snapshots"][-1]["manifest-list"]
    path.write_text(json.dumps(document))
    return path


def test_a_scan_reads_them(metadata_file: Path) -> None:
    table = fb.open_table(str(metadata_file))
    assert table.current_snapshot.manifest_list is None
    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == [1, 2, 11, 12]
    found = table.scan(where="p = 2")
    assert found.to_arrow()["id"].to_pylist() == [2]
    assert len(found.plan()) == 1


def test_a_commit_lists_them(metadata_file: Path) -> None:
    table = fb.catalog("lake", warehouse=str(metadata_file.parents[3])).load_table("db.t")
    table.append(pa.table({"id": [3], "p": pa.array([3], pa.int32())}))
    assert table.current_snapshot.manifest_list is not None
    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == [1, 2, 3, 11, 12]
    counts = [
        row["added_data_files_count"] + row["existing_data_files_count"]
        for row in table.inspect.manifests().to_pylist()
    ]
    assert sum(counts) == 5
