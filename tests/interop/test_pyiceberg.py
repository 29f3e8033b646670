"""PyIceberg opens what we commit, and we open what it commits, in one database and on one table."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import StaticTable
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import LongType, NestedField, StringType

import floeberg as fb
from lakes.interop_tables import KINDS, Shared, shown
from lakes.table_data import append_rows


@pytest.fixture(params=["filesystem", "sql"])
def cat(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[fb.Catalog]:
    more = {"type": "sql", "uri": f"sqlite:///{tmp_path}/c.db"} if request.param == "sql" else {}
    with fb.catalog("lake", warehouse=str(tmp_path / "w"), **more) as catalog:
        catalog.create_namespace("db")
        yield catalog


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_pyiceberg_opens_tables_that_we_committed(tmp_path: Path, kind: str, version: int) -> None:
    with fb.catalog("lake", warehouse=str(tmp_path / "w")) as cat:
        cat.create_namespace("db")
        shared = KINDS[kind](cat, "db.t", version)
    theirs = StaticTable.from_metadata(f"file://{shared.metadata_location}")
    assert theirs.metadata.format_version == version
    assert len(theirs.metadata.snapshots) == len(shared.table.snapshots)
    for branch, rows in shared.branches.items():
        assert shown(theirs.scan().use_ref(branch).to_arrow().to_pylist()) == shown(rows), branch
    for snapshot_id, rows in shared.snapshots.items():
        assert shown(theirs.scan(snapshot_id=snapshot_id).to_arrow().to_pylist()) == shown(rows)
    assert theirs.inspect.files().num_rows == len(theirs.inspect.entries())


def pyiceberg_catalog(folder: Path) -> SqlCatalog:
    return SqlCatalog("lake", uri=f"sqlite:///{folder}/c.db", warehouse=f"file://{folder}/w")


def ours(folder: Path) -> fb.Catalog:
    return fb.catalog("lake", type="sql", uri=f"sqlite:///{folder}/c.db", warehouse=str(folder / "w"))


def close(catalog: SqlCatalog) -> None:
    catalog.engine.dispose()


SCHEMA = Schema(NestedField(1, "id", LongType()), NestedField(2, "s", StringType()))
SPEC = PartitionSpec(PartitionField(source_id=2, field_id=1000, transform=IdentityTransform(), name="s"))
"""PyIceberg writes other transforms only with its native core."""


@pytest.mark.parametrize("version", ["1", "2"])
def test_we_open_tables_that_pyiceberg_committed(tmp_path: Path, version: str) -> None:
    theirs = pyiceberg_catalog(tmp_path)
    theirs.create_namespace("db", {"owner": "py"})
    table = theirs.create_table("db.t", SCHEMA, partition_spec=SPEC, properties={"format-version": version})
    table.append(pa.table({"id": [1, 2], "s": ["a", "b/c d"]}))
    with table.update_schema() as update:
        update.add_column("n", LongType())
    table.append(pa.table({"id": [3], "s": ["a"], "n": [7]}))
    table.manage_snapshots().create_tag(table.metadata.current_snapshot_id, "t1").commit()
    with ours(tmp_path) as cat:
        assert cat.list_namespaces() == [("db",)]
        assert cat.namespace_properties("db") == {"owner": "py"}
        opened = cat.load_table("db.t")
        assert opened.format_version == int(version)
        assert shown(opened.scan().to_arrow().to_pylist()) == shown(table.scan().to_arrow().to_pylist())
        assert opened.scan(ref="t1").to_arrow().num_rows == 3
        assert shown(fb.open_table(table.metadata_location).scan(where="id = 3").to_arrow().to_pylist()) == shown(
            [{"id": 3, "s": "a", "n": 7}]
        )
    close(theirs)


def test_both_commit_to_one_table_in_turn(tmp_path: Path) -> None:
    theirs = pyiceberg_catalog(tmp_path)
    with ours(tmp_path) as cat:
        cat.create_namespace("db", {"owner": "us"})
        assert theirs.load_namespace_properties("db") == {"exists": "true", "owner": "us"}
        made = cat.create_table("db.t", "id bigint, s string", partition_by=["s"])
        append_rows(made, [{"id": 1, "s": "a"}])
        other = theirs.load_table("db.t")
        other.append(pa.table({"id": [2], "s": ["b"]}))
        append_rows(made, [{"id": 3, "s": "c"}])
        other.refresh()
        other.append(pa.table({"id": [4], "s": ["d"]}))
        with made.update_schema() as update:
            update.add_column("n", "int").rename_column("s", "text")
        other.refresh()
        rows = [{"id": n, "text": "abcd"[n - 1], "n": None} for n in range(1, 5)]
        assert shown(other.scan().to_arrow().to_pylist()) == shown(rows)
        assert shown(made.refresh().scan().to_arrow().to_pylist()) == shown(rows)
        assert [one.operation for one in made.snapshots] == ["append"] * 4
        assert made.metadata.last_sequence_number == 4
        theirs.rename_table("db.t", "db.u")
        assert [str(one) for one in cat.list_tables("db")] == ["db.u"]
        cat.create_view("db.v", "SELECT 1 AS a", "a int")
        assert theirs.list_tables("db") == [("db", "u")]
        theirs.drop_table("db.u")
        assert cat.list_tables("db") == []
    close(theirs)


def test_a_v0_database_of_pyiceberg_stays_readable_for_it(tmp_path: Path) -> None:
    with fb.catalog(
        "lake",
        type="sql",
        uri=f"sqlite:///{tmp_path}/c.db",
        warehouse=str(tmp_path / "w"),
        properties={"jdbc.schema-version": "V0"},
    ) as cat:
        cat.create_namespace("db")
        append_rows(cat.create_table("db.t", "id int"), [{"id": 1}])
    theirs = pyiceberg_catalog(tmp_path)
    assert theirs.load_table("db.t").scan().to_arrow().to_pylist() == [{"id": 1}]
    close(theirs)


def test_the_tables_are_what_the_tests_think(cat: fb.Catalog) -> None:
    for number, kind in enumerate(KINDS):
        shared: Shared = KINDS[kind](cat, f"db.t{number}", 2)
        for branch, rows in shared.branches.items():
            assert shown(shared.table.scan(ref=branch).to_arrow().to_pylist()) == shown(rows)
