"""The Java runtime on Spark as a client of our server; PyIceberg and we read what it commits, and it what we commit."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog.rest import RestCatalog

import floeberg as fb
from floeberg.server.rest import planning
from floeberg.server.served_catalog import ServedCatalog
from floeberg.server.settings import ServerSettings
from floeberg.server.tokens import Tokens
from peers.java_peer import JavaRuntime
from servers.floeberg_server import server_in_thread

pytestmark = pytest.mark.java
NUMBERS = itertools.count()
TOKEN = "sentinel-token-0123456789"


@pytest.fixture
def served(runtime: JavaRuntime, tmp_path: Path) -> Iterator[tuple[fb.Catalog, str, str]]:
    """A SQL catalog of ours, its server's address, and the name under which the Java runtime has it by REST."""
    warehouse = str(tmp_path / "lake")
    with fb.catalog("lake", type="sql", uri=f"sqlite:///{tmp_path}/lake.db", warehouse=warehouse) as catalog:
        settings = ServerSettings(tokens=Tokens([TOKEN]))
        with server_in_thread([ServedCatalog.of(catalog, warehouse=warehouse)], settings) as url:
            name = f"rested{next(NUMBERS)}"  # a session keeps a catalog that it has opened
            runtime.open_rest(name, url, TOKEN)
            yield catalog, url, name


def ids(table: fb.Table, **given: object) -> list[int]:
    return sorted(table.scan(select=["id"], **given).to_arrow()["id"].to_pylist())


@pytest.mark.parametrize("version", [2, 3])
def test_the_java_runtime_creates_writes_evolves_branches_deletes_and_travels(
    runtime: JavaRuntime, served: tuple[fb.Catalog, str, str], version: int
) -> None:
    ours, url, lake = served
    runtime.run(
        f"CREATE NAMESPACE {lake}.db",
        f"CREATE TABLE {lake}.db.t (id BIGINT, s STRING) USING iceberg PARTITIONED BY (bucket(2, id)) "
        f"TBLPROPERTIES ('format-version'='{version}', 'write.delete.mode'='merge-on-read')",
        f"INSERT INTO {lake}.db.t VALUES (1, 'a'), (2, 'b'), (3, 'c')",
        f"ALTER TABLE {lake}.db.t CREATE TAG first",
        f"ALTER TABLE {lake}.db.t ADD COLUMN x INT",
        f"ALTER TABLE {lake}.db.t CREATE BRANCH work",
        f"INSERT INTO {lake}.db.t.branch_work VALUES (9, 'z', 9)",
        f"INSERT INTO {lake}.db.t VALUES (4, 'd', 7)",
        f"DELETE FROM {lake}.db.t WHERE id = 2",
        f"CREATE TABLE {lake}.db.copied USING iceberg AS SELECT * FROM {lake}.db.t",
        f"ALTER TABLE {lake}.db.copied RENAME TO db.moved",
        f"CREATE VIEW {lake}.db.v AS SELECT id FROM {lake}.db.t WHERE id > 1",
    )
    mine = ours.load_table("db.t")
    assert mine.format_version == version
    assert ids(mine) == [1, 3, 4]
    assert ids(mine, ref="first") == [1, 2, 3]
    assert ids(mine, ref="work") == [1, 2, 3, 9]
    assert ids(ours.load_table("db.moved")) == [1, 3, 4]
    assert ours.list_views("db") == [ours.identifier("db.v")]
    if version == 2:
        theirs = RestCatalog("lake", uri=url, token=TOKEN).load_table("db.t")
        assert sorted(theirs.scan().to_arrow()["id"].to_pylist()) == [1, 3, 4]
    mine.append(pa.table({"id": [5], "s": ["e"], "x": pa.array([1], pa.int32())}))
    mine.delete(where="id = 1")
    (found,) = runtime.run(f"SELECT id FROM {lake}.db.t ORDER BY id")
    assert [row["id"] for row in found] == [3, 4, 5]
    (travelled,) = runtime.run(f"SELECT id FROM {lake}.db.t VERSION AS OF 'first' ORDER BY id")
    assert [row["id"] for row in travelled] == [1, 2, 3]
    (through_view,) = runtime.run(f"SELECT id FROM {lake}.db.v ORDER BY id")
    assert [row["id"] for row in through_view] == [3, 4, 5]
    runtime.run(
        f"CALL {lake}.system.expire_snapshots(table => 'db.t', older_than => TIMESTAMP '2100-01-01 00:00:00')",
        f"CALL {lake}.system.rewrite_data_files('db.t')",
        f"MERGE INTO {lake}.db.t t USING (SELECT 3L AS id, 'm' AS s) u ON t.id = u.id WHEN MATCHED THEN UPDATE SET t.s = u.s",
    )
    rows = {row["id"]: row["s"] for row in ours.load_table("db.t").scan().to_arrow().to_pylist()}
    assert rows == {3: "m", 4: "d", 5: "e"}
    runtime.run(
        f"DROP VIEW {lake}.db.v",
        f"DROP TABLE {lake}.db.moved PURGE",
        f"DROP TABLE {lake}.db.t",
        f"DROP NAMESPACE {lake}.db",
    )
    assert ours.list_namespaces() == []


def test_the_java_runtime_replaces_registers_and_lists_by_pages(
    runtime: JavaRuntime, served: tuple[fb.Catalog, str, str]
) -> None:
    ours, url, _ = served
    lake = f"paged{next(NUMBERS)}"
    runtime.open_rest(lake, url, TOKEN, {"rest-page-size": "2"})
    runtime.run(f"CREATE NAMESPACE {lake}.db", f"CREATE TABLE {lake}.db.t USING iceberg AS SELECT 1L AS id, 'a' AS s")
    first = ours.load_table("db.t")
    runtime.run(f"CREATE OR REPLACE TABLE {lake}.db.t USING iceberg AS SELECT 2L AS id, 3 AS x")
    again = ours.load_table("db.t")
    assert (again.metadata.table_uuid, len(again.snapshots), ids(again)) == (first.metadata.table_uuid, 2, [2])
    assert ids(again, snapshot_id=first.snapshots[0].snapshot_id) == [1]
    runtime.run(f"CALL {lake}.system.register_table('db.same', '{again.metadata_location}')")
    assert ids(ours.load_table("db.same")) == [2]
    for number in range(4):
        ours.create_table(f"db.t{number}", "id int")
    (shown,) = runtime.run(f"SHOW TABLES IN {lake}.db")
    assert sorted(row["tableName"] for row in shown) == ["same", "t", "t0", "t1", "t2", "t3"]
    files = Path(again.location)
    runtime.run(f"DROP TABLE {lake}.db.same", f"DROP TABLE {lake}.db.t PURGE")
    assert not list(files.rglob("*.parquet"))


def test_the_java_runtime_shows_our_reasons(
    runtime: JavaRuntime, served: tuple[fb.Catalog, str, str], tmp_path: Path
) -> None:
    _, _, lake = served
    answers = runtime.ask(
        [
            f"CREATE NAMESPACE {lake}.db",
            f"CREATE TABLE {lake}.db.t (id BIGINT) USING iceberg LOCATION '{tmp_path}/elsewhere'",
            f"SELECT * FROM {lake}.db.none",
            f"CREATE NAMESPACE {lake}.db",
            f"CREATE TABLE {lake}.db.u (id BIGINT) USING iceberg",
            f"DROP NAMESPACE {lake}.db",
        ]
    )
    errors = [answer.error for answer in answers]
    assert not errors[0]
    assert "outside the roots" in errors[1]
    assert "TABLE_OR_VIEW_NOT_FOUND" in errors[2]
    assert "already exists" in errors[3].lower() or "ALREADY_EXISTS" in errors[3]
    assert not errors[4]
    assert "not empty" in errors[5].lower() or "NON_EMPTY" in errors[5]


@pytest.mark.parametrize("version", [2, 3])
def test_the_java_runtime_reads_by_our_plan(
    runtime: JavaRuntime, served: tuple[fb.Catalog, str, str], version: int
) -> None:
    ours, url, _ = served
    lake = f"planned{next(NUMBERS)}"
    runtime.open_rest(lake, url, TOKEN, {"scan-planning-mode": "server", "rest-scan-planning-enabled": "true"})
    ours.create_namespace("db")
    table = ours.create_table(
        "db.t", "id bigint, p string", partition_by=["p"], format_version=version,
        properties={"write.delete.mode": "merge-on-read"},
    )  # fmt: skip
    for number in range(3):
        table.append(pa.table({"id": list(range(number * 4, number * 4 + 4)), "p": ["x", "y", "x", "y"]}))
    table.delete(where="id = 5")
    planned: list[object] = []
    real = planning.ScanRequest.plan

    def plan(self: planning.ScanRequest, loaded: fb.Table) -> object:
        planned.append(self.filter)
        return real(self, loaded)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(planning.ScanRequest, "plan", plan)
        for condition in ("true", "id > 3", "p = 'y' AND id < 9"):
            (found,) = runtime.run(f"SELECT id FROM {lake}.db.t WHERE {condition} ORDER BY id")
            assert [row["id"] for row in found] == ids(table, where=condition)
    assert len(planned) >= 3
