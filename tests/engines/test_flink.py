"""Flink as a client of our server: its upserts become equality deletes that we and others apply, and it reads what we write."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
import pytest

import floeberg as fb
from floeberg.server.served_catalog import ServedCatalog
from floeberg.server.settings import ServerSettings
from floeberg.server.tokens import Tokens
from peers.duckdb_reader import connect
from servers.flink_peer import Flink, running_flink
from servers.floeberg_server import server_in_thread

pytestmark = pytest.mark.servers
TOKEN = "sentinel-token-0123456789"
VERSIONS = pytest.mark.parametrize("version", [2, 3])


@dataclass(frozen=True, slots=True)
class Both:
    """A catalog of ours, and Flink on its server."""

    ours: fb.Catalog
    flink: Flink

    def rows(self, table: str) -> list[tuple[object, ...]]:
        found = self.ours.load_table(f"db.{table}").scan().to_arrow().to_pylist()
        return sorted(tuple(row.values()) for row in found)

    def flink_rows(self, table: str) -> list[tuple[str, ...]]:
        return [tuple(row) for row in self.flink.run(f"SELECT * FROM lake.db.{table}")]

    def duckdb_rows(self, table: str) -> list[tuple[object, ...]]:
        where = self.ours.load_table(f"db.{table}").metadata_location
        with connect() as duck:
            return sorted(duck.execute(f"SELECT * FROM iceberg_scan('{where}')").fetchall())


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    folder = tmp_path_factory.mktemp("flink")
    warehouse = str(folder / "lake")
    with fb.catalog("lake", type="sql", uri=f"sqlite:///{folder}/lake.db", warehouse=warehouse) as catalog:
        settings = ServerSettings(tokens=Tokens([TOKEN]))
        with (
            server_in_thread([ServedCatalog.of(catalog, warehouse=warehouse)], settings) as url,
            running_flink(folder) as flink,
        ):
            flink.run(
                f"CREATE CATALOG lake WITH ('type'='iceberg', 'catalog-type'='rest', 'uri'='{url}', 'token'='{TOKEN}', "
                "'cache-enabled'='false')",
                "CREATE DATABASE lake.db",
            )
            yield Both(catalog, flink)


@VERSIONS
def test_flink_upserts_and_we_apply_its_deletes(both: Both, version: int) -> None:
    t = f"upserted{version}"
    both.flink.run(
        f"CREATE TABLE lake.db.{t} (id BIGINT NOT NULL, s STRING, PRIMARY KEY (id) NOT ENFORCED) "
        f"WITH ('format-version'='{version}', 'write.upsert.enabled'='true')",
        f"INSERT INTO lake.db.{t} VALUES (1, 'a'), (2, 'b'), (3, 'c')",
        # A key twice in one commit: its first row is deleted by position, on v3 by a deletion vector.
        f"INSERT INTO lake.db.{t} VALUES (2, 'z'), (4, 'first'), (4, 'd')",
    )
    expected = [(1, "a"), (2, "z"), (3, "c"), (4, "d")]
    table = both.ours.load_table(f"db.{t}")
    assert table.format_version == version
    summary = table.current_snapshot.summary  # type: ignore[union-attr]
    assert int(summary["total-equality-deletes"]) > 0
    assert int(summary["total-position-deletes"]) > 0
    assert int(summary.get("added-dvs", 0)) == (version == 3)
    assert both.rows(t) == both.duckdb_rows(t) == expected
    table.delete("id = 1")
    table.update({"s": "y"}, where="id = 3")
    both.flink.run(f"INSERT INTO lake.db.{t} VALUES (3, 'x'), (5, 'e')")
    expected = [(2, "z"), (3, "x"), (4, "d"), (5, "e")]
    assert both.rows(t) == expected
    assert both.flink_rows(t) == [(str(one), text) for one, text in expected]
    first = table.snapshots[0].snapshot_id
    travelled = both.flink.run(f"SELECT * FROM lake.db.{t} /*+ OPTIONS('snapshot-id'='{first}') */")
    assert travelled == [["1", "a"], ["2", "b"], ["3", "c"]]


@VERSIONS
def test_flink_evolves_renames_and_drops(both: Both, version: int) -> None:
    t = f"evolved{version}"
    both.flink.run(
        f"CREATE TABLE lake.db.{t} (id BIGINT, s STRING, n INT) PARTITIONED BY (s) WITH ('format-version'='{version}')",
        f"INSERT INTO lake.db.{t} VALUES (1, 'a', 7)",
        f"ALTER TABLE lake.db.{t} ADD x DOUBLE",
        f"ALTER TABLE lake.db.{t} MODIFY n BIGINT",
        f"ALTER TABLE lake.db.{t} RENAME n TO number",
        f"ALTER TABLE lake.db.{t} SET ('write.parquet.compression-codec'='gzip')",
        f"INSERT INTO lake.db.{t} VALUES (2, 'b', 5000000000, 1.5)",
    )
    assert both.rows(t) == both.duckdb_rows(t) == [(1, "a", 7, None), (2, "b", 5000000000, 1.5)]
    both.flink.run(f"ALTER TABLE lake.db.{t} DROP x", f"ALTER TABLE lake.db.{t} RENAME TO lake.db.{t}_renamed")
    table = both.ours.load_table(f"db.{t}_renamed")
    assert [field.name for field in table.schema.fields] == ["id", "s", "number"]
    assert table.properties["write.parquet.compression-codec"] == "gzip"
    assert both.rows(f"{t}_renamed") == both.duckdb_rows(f"{t}_renamed") == [(1, "a", 7), (2, "b", 5000000000)]
    both.flink.run(f"DROP TABLE lake.db.{t}_renamed")
    assert not both.ours.table_exists(f"db.{t}_renamed")


@VERSIONS
def test_flink_writes_to_a_branch_of_ours(both: Both, version: int) -> None:
    t = f"branched{version}"
    table = both.ours.create_table(f"db.{t}", "id bigint", format_version=version)
    table.append(pa.table({"id": [1]}))
    with table.manage_refs() as refs:
        refs.create_branch("audit")
    both.flink.run(f"INSERT INTO lake.db.{t} /*+ OPTIONS('branch'='audit') */ VALUES (2)")
    assert both.rows(t) == [(1,)]
    table = both.ours.load_table(f"db.{t}")
    assert sorted(table.scan(ref="audit").to_arrow()["id"].to_pylist()) == [1, 2]
    with table.manage_refs() as refs:
        refs.fast_forward("main", "audit")
    assert both.flink_rows(t) == [("1",), ("2",)]


@VERSIONS
def test_flink_reads_what_we_write_and_appends_to_it(both: Both, version: int) -> None:
    t = f"ours{version}"
    table = both.ours.create_table(
        f"db.{t}", "id bigint, s string", partition_by=["bucket(2, id)"], format_version=version,
        properties={"write.delete.mode": "merge-on-read"},
    )  # fmt: skip
    table.append(pa.table({"id": [1, 2, 3, 4], "s": ["a", "b", None, "d"]}))
    with table.manage_refs() as refs:
        refs.create_tag("first")
    table.delete("id = 2")
    with table.update_schema() as update:
        update.add_column("x", "int")
    assert both.flink_rows(t) == [("1", "a", "None"), ("3", "None", "None"), ("4", "d", "None")]
    both.flink.run(f"INSERT INTO lake.db.{t} VALUES (5, 'e', 7)")
    expected = [(1, "a", None), (3, None, None), (4, "d", None), (5, "e", 7)]
    assert sorted(both.rows(t), key=str) == sorted(both.duckdb_rows(t), key=str) == expected
    if version == 3:
        tagged = both.flink.run(f"SELECT id FROM lake.db.{t} /*+ OPTIONS('tag'='first') */")
        assert tagged == [["1"], ["2"], ["3"], ["4"]]
