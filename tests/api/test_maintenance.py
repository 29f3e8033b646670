"""Maintenance from a table object, and what is not there yet saying so."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import floeberg as fb
from floeberg.errors import UnsupportedFeature


@pytest.fixture
def table() -> fb.Table:
    lake = fb.catalog("lake", type="memory")
    lake.create_namespace("db")
    made = lake.create_table("db.t", "id bigint")
    for number in range(3):
        made.append(pa.table({"id": [number]}))
    return made


def test_snapshots_expire_on_the_current_state_and_the_object_shows_it(table: fb.Table) -> None:
    expired = table.maintenance.expire_snapshots(older_than="2999-01-01", retain_last=1)
    assert len(expired.snapshot_ids) == 2
    assert len(table.snapshots) == 1
    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == [0, 1, 2]
    assert table.maintenance.check(read_rows=True).ok


def test_a_table_without_a_catalog_is_not_maintained(tmp_path: Path) -> None:
    lake = fb.catalog("lake", warehouse=str(tmp_path))
    lake.create_namespace("db")
    opened = fb.open_table(str(lake.create_table("db.t", "id bigint").metadata_location))
    for name in ("compact", "rewrite_deletes", "rewrite_manifests", "remove_orphans", "expire_snapshots"):
        with pytest.raises(UnsupportedFeature, match="opened without a catalog"):
            getattr(opened.maintenance, name)()
    assert opened.maintenance.check().ok


def test_names_that_are_not_there_say_so() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nope'"):
        fb.nope  # noqa: B018
