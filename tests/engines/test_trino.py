"""Trino as a client of our server: what it commits is read by us and by others, and what we commit by it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
import pytest
from pyiceberg.catalog.rest import RestCatalog

import floeberg as fb
from floeberg.server.served_catalog import ServedCatalog
from floeberg.server.settings import ServerSettings
from floeberg.server.tokens import Tokens
from peers.duckdb_reader import connect
from servers.floeberg_server import server_in_thread
from servers.trino_server import Trino, running_trino

pytestmark = pytest.mark.servers
TOKEN = "sentinel-token-0123456789"
VERSIONS = pytest.mark.parametrize("version", [2, 3])


@dataclass(frozen=True, slots=True)
class Both:
    """A catalog of ours, Trino on its server, and the server's address."""

    ours: fb.Catalog
    trino: Trino
    url: str

    def ids(self, table: str, **given: object) -> list[int]:
        """What we read."""
        found = self.ours.load_table(f"db.{table}").scan(select=["id"], **given).to_arrow()
        return sorted(found["id"].to_pylist())

    def trino_ids(self, table: str) -> list[int]:
        return [row[0] for row in self.trino.run(f"SELECT id FROM lake.db.{table} ORDER BY id")]

    def duckdb_ids(self, table: str) -> list[int]:
        where = self.ours.load_table(f"db.{table}").metadata_location
        with connect() as duck:
            return [row[0] for row in duck.execute(f"SELECT id FROM iceberg_scan('{where}') ORDER BY id").fetchall()]


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    folder = tmp_path_factory.mktemp("trino")
    warehouse = str(folder / "lake")
    with fb.catalog("lake", type="sql", uri=f"sqlite:///{folder}/lake.db", warehouse=warehouse) as catalog:
        settings = ServerSettings(tokens=Tokens([TOKEN]))
        with server_in_thread([ServedCatalog.of(catalog, warehouse=warehouse)], settings) as url:
            rest = {
                "iceberg.catalog.type": "rest",
                "iceberg.rest-catalog.uri": url,
                "iceberg.rest-catalog.security": "OAUTH2",
                "iceberg.rest-catalog.oauth2.token": TOKEN,
                "fs.hadoop.enabled": "true",
            }
            with running_trino(folder, "lake", rest) as trino:
                trino.run("CREATE SCHEMA lake.db")
                yield Both(catalog, trino, url)


@VERSIONS
def test_trino_creates_appends_evolves_changes_and_travels(both: Both, version: int) -> None:
    t = f"made{version}"
    both.trino.run(
        f"CREATE TABLE lake.db.{t} (id BIGINT, s VARCHAR, p INTEGER) "
        f"WITH (format_version = {version}, partitioning = ARRAY['bucket(id, 2)'])",
        f"INSERT INTO lake.db.{t} VALUES (1, 'a', 1), (2, 'b', 2), (3, 'c', 1)",
    )
    first = both.ours.load_table(f"db.{t}").current_snapshot
    assert first is not None
    both.trino.run(
        f"ALTER TABLE lake.db.{t} ADD COLUMN x ROW(y DOUBLE)",
        f"ALTER TABLE lake.db.{t} RENAME COLUMN s TO text",
        f"ALTER TABLE lake.db.{t} SET PROPERTIES partitioning = ARRAY['p']",
        f"INSERT INTO lake.db.{t} VALUES (4, 'd', 2, ROW(1.5)), (5, 'e', 1, NULL)",
        f"DELETE FROM lake.db.{t} WHERE id = 2",
        f"UPDATE lake.db.{t} SET text = 'z' WHERE id = 4",
        f"MERGE INTO lake.db.{t} t USING (VALUES (5, 'm'), (6, 'n')) u(id, text) ON t.id = u.id "
        "WHEN MATCHED THEN UPDATE SET text = u.text WHEN NOT MATCHED THEN INSERT (id, text) VALUES (u.id, u.text)",
    )
    mine = both.ours.load_table(f"db.{t}")
    assert mine.format_version == version
    found = {row["id"]: (row["text"], row["x"]) for row in mine.scan().to_arrow().to_pylist()}
    expected = {1: ("a", None), 3: ("c", None), 4: ("z", {"y": 1.5}), 5: ("m", None), 6: ("n", None)}
    assert found == expected
    assert both.duckdb_ids(t) == sorted(expected)
    # PyArrow's dictionary read, by which PyIceberg reads position deletes, refuses the encoding that Trino writes them in.
    theirs = RestCatalog("lake", uri=both.url, token=TOKEN).load_table(f"db.{t}").scan(snapshot_id=first.snapshot_id)
    assert sorted(theirs.to_arrow()["id"].to_pylist()) == [1, 2, 3]
    travel = f"SELECT id FROM lake.db.{t} FOR VERSION AS OF {first.snapshot_id} ORDER BY id"
    assert [row[0] for row in both.trino.run(travel)] == both.ids(t, snapshot_id=first.snapshot_id) == [1, 2, 3]


@VERSIONS
def test_trino_reads_what_we_write(both: Both, version: int) -> None:
    t = f"ours{version}"
    table = both.ours.create_table(
        f"db.{t}", "id bigint, s string, d decimal(9, 2), ts timestamp, l array<int>", partition_by=["truncate(1, s)"],
        format_version=version, properties={"write.delete.mode": "merge-on-read", "write.update.mode": "merge-on-read"},
    )  # fmt: skip
    stamps = pa.array([1_704_067_200_000_000 + one for one in range(4)], pa.timestamp("us", "UTC"))
    decimals = pa.array(["1.50", None, "3.25", "4.00"]).cast(pa.decimal128(9, 2))
    lists = pa.array([[1], None, [], [1, 2]], pa.list_(pa.int32()))
    table.append(pa.table({"id": [1, 2, 3, 4], "s": ["a", "b", None, "ad"], "d": decimals, "ts": stamps, "l": lists}))
    with table.manage_refs() as refs:
        refs.create_tag("first").create_branch("work")
    table.delete("id = 1")
    table.update({"s": "z"}, where="id = 4")
    with table.update_schema() as update:
        update.rename_column("s", "text").add_column("new", "int")
    table.append(pa.table({"id": [9], "text": ["q"], "new": pa.array([7], pa.int32())}))
    table.append(pa.table({"id": [5], "text": ["w"]}), branch="work")
    columns = "id, text, CAST(d AS VARCHAR), CAST(l AS JSON), new"
    assert both.trino.run(f"SELECT {columns} FROM lake.db.{t} ORDER BY id") == [
        [2, "b", None, None, None],
        [3, None, "3.25", "[]", None],
        [4, "z", "4.00", "[1,2]", None],
        [9, "q", None, None, 7],
    ]
    assert both.trino.run(f"SELECT sum(id) FROM lake.db.{t} FOR VERSION AS OF 'first'") == [[10]]
    assert both.trino.run(f"SELECT sum(id) FROM lake.db.{t} FOR VERSION AS OF 'work'") == [[15]]
    assert both.trino.run(f"SELECT id FROM lake.db.{t} WHERE text = 'z'") == [[4]]
    both.trino.run(f"DELETE FROM lake.db.{t} WHERE id = 3", f"INSERT INTO lake.db.{t} (id) VALUES (10)")
    assert both.ids(t) == both.duckdb_ids(t) == [2, 4, 9, 10]
    both.trino.run(f"ALTER TABLE lake.db.{t} EXECUTE optimize")
    assert both.ids(t) == both.trino_ids(t) == [2, 4, 9, 10]
    assert both.ids(t, ref="work") == [1, 2, 3, 4, 5]


@VERSIONS
def test_both_change_one_table_in_turns(both: Both, version: int) -> None:
    t = f"turns{version}"
    both.trino.run(f"CREATE TABLE lake.db.{t} (id BIGINT, s VARCHAR) WITH (format_version = {version})")
    expected: set[int] = set()
    for turn in range(3):
        mine, theirs = 10 * turn + 1, 10 * turn + 2
        table = both.ours.load_table(f"db.{t}")
        table.append(pa.table({"id": [mine, mine + 5], "s": ["mine", "mine"]}))
        both.trino.run(f"INSERT INTO lake.db.{t} VALUES ({theirs}, 'theirs'), ({theirs + 5}, 'theirs')")
        both.trino.run(f"DELETE FROM lake.db.{t} WHERE id = {mine + 5}")
        table.refresh().delete(f"id = {theirs + 5}")
        expected |= {mine, theirs}
        assert both.ids(t) == both.trino_ids(t) == both.duckdb_ids(t) == sorted(expected)


def test_names_views_and_errors(both: Both) -> None:
    both.trino.run(
        "CREATE SCHEMA lake.other",
        "CREATE TABLE lake.other.t AS SELECT * FROM (VALUES (1, 'a'), (2, 'b')) v(id, s)",
        "ALTER TABLE lake.other.t RENAME TO lake.other.u",
        "CREATE VIEW lake.other.v AS SELECT id FROM lake.other.u WHERE id > 1",
        "COMMENT ON TABLE lake.other.u IS 'two rows'",
    )
    assert both.trino.run("SELECT * FROM lake.other.v") == [[2]]
    assert both.trino.run("SHOW TABLES FROM lake.other") == [["u"], ["v"]]
    assert both.ours.load_table("other.u").properties["comment"] == "two rows"
    assert [str(one.name) for one in both.ours.list_views("other")] == ["v"]
    assert "already exists" in both.trino.error("CREATE TABLE lake.other.u (id BIGINT)")
    assert "non-empty schema" in both.trino.error("DROP SCHEMA lake.other")
    outside = "CREATE TABLE lake.other.w (id BIGINT) WITH (location = '/elsewhere/w')"
    assert "Failed to create transaction" in both.trino.error(outside)  # Trino keeps our reason to its log
    assert not both.ours.table_exists("other.w")
    both.trino.run("DROP VIEW lake.other.v", "DROP TABLE lake.other.u", "DROP SCHEMA lake.other")
    assert both.ours.list_namespaces() == [("db",)]
