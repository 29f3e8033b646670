"""Clients that nobody here wrote, each reading what another wrote through the server."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.exceptions import (
    CommitFailedException,
    NamespaceNotEmptyError,
    NoSuchTableError,
    TableAlreadyExistsError,
    UnauthorizedError,
)
from pyiceberg.expressions import EqualTo
from pyiceberg.types import IntegerType, LongType

import floeberg as fb
from floeberg.server.served_catalog import ServedCatalog
from floeberg.server.settings import ServerSettings
from floeberg.server.tokens import Tokens
from peers.duckdb_reader import connect, load_extension
from servers.floeberg_server import server_in_thread

TOKEN = "sentinel-token-0123456789"
ON_SQL = pytest.mark.parametrize("served", ["sql"], indirect=True)
ROWS = pa.table({"id": pa.array([1, 2, 3], pa.int64()), "s": ["a", "b", "c"]})


@pytest.fixture(params=["sql", "filesystem"])
def served(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[fb.Catalog, str]]:
    """A catalog and the address of a server over it that asks for a token."""
    warehouse = str(tmp_path / "lake")
    given = {"type": "sql", "uri": f"sqlite:///{tmp_path}/lake.db"} if request.param == "sql" else {}
    with fb.catalog("lake", warehouse=warehouse, **given) as catalog:
        settings = ServerSettings(tokens=Tokens([TOKEN]))
        with server_in_thread([ServedCatalog.of(catalog, warehouse=warehouse)], settings) as url:
            yield catalog, url


def rows(table: pa.Table) -> list[dict[str, object]]:
    return sorted(table.to_pylist(), key=lambda row: (row["id"], str(row)))


def test_pyiceberg_creates_appends_evolves_branches_deletes_and_travels(served: tuple[fb.Catalog, str]) -> None:
    ours, url = served
    theirs = RestCatalog("lake", uri=url, token=TOKEN)
    theirs.create_namespace("db")
    table = theirs.create_table("db.t", schema=ROWS.schema)
    table.append(ROWS)
    first = table.current_snapshot().snapshot_id
    table.manage_snapshots().create_branch(snapshot_id=first, branch_name="b").create_tag(first, "v1").commit()
    with table.update_schema() as update:
        update.add_column("x", IntegerType())
        update.rename_column("s", "text")
    with table.update_spec() as spec:
        spec.add_identity("x")
    table.append(pa.table({"id": pa.array([4], pa.int64()), "text": ["d"], "x": pa.array([7], pa.int32())}))
    table.delete(EqualTo("id", 2))
    expected = [
        {"id": 1, "text": "a", "x": None},
        {"id": 3, "text": "c", "x": None},
        {"id": 4, "text": "d", "x": 7},
    ]
    mine = ours.load_table("db.t")
    assert rows(mine.scan().to_arrow()) == rows(theirs.load_table("db.t").scan().to_arrow()) == expected
    assert rows(mine.scan(ref="v1").to_arrow()) == rows(ROWS)
    assert mine.scan(select=["id"], ref="b").count() == 3
    mine.update({"text": "z"}, where="id = 4")
    mine.append(pa.table({"id": [5], "text": ["e"]}))
    again = theirs.load_table("db.t")
    assert rows(again.scan().to_arrow())[2:] == [{"id": 4, "text": "z", "x": 7}, {"id": 5, "text": "e", "x": None}]
    assert rows(again.scan(snapshot_id=first).to_arrow()) == rows(ROWS)


def test_pyiceberg_knows_each_of_our_errors(served: tuple[fb.Catalog, str]) -> None:
    ours, url = served
    with pytest.raises(UnauthorizedError):
        RestCatalog("lake", uri=url, token="wrong-token-0123456789")
    theirs = RestCatalog("lake", uri=url, token=TOKEN)
    theirs.create_namespace("db")
    table = theirs.create_table("db.t", schema=ROWS.schema)
    with pytest.raises(NoSuchTableError):
        theirs.load_table("db.none")
    with pytest.raises(TableAlreadyExistsError):
        theirs.create_table("db.t", schema=ROWS.schema)
    with pytest.raises(NamespaceNotEmptyError):
        theirs.drop_namespace("db")
    with ours.load_table("db.t").update_schema() as update:
        update.add_column("y", "bigint")
    with pytest.raises(CommitFailedException), table.update_schema() as late:
        late.add_column("z", LongType())
    theirs.purge_table("db.t")
    theirs.drop_namespace("db")
    assert ours.list_namespaces() == []


def test_pyiceberg_publishes_a_table_with_its_first_rows(served: tuple[fb.Catalog, str]) -> None:
    ours, url = served
    theirs = RestCatalog("lake", uri=url, token=TOKEN)
    theirs.create_namespace("db")
    with theirs.create_table_transaction("db.t", schema=ROWS.schema) as transaction:
        transaction.append(ROWS)
        assert not ours.table_exists("db.t")
    assert rows(ours.load_table("db.t").scan().to_arrow()) == rows(ROWS)
    assert len(ours.load_table("db.t").snapshots) == 1


@ON_SQL
def test_pyiceberg_renames_registers_views_and_lists_by_pages(served: tuple[fb.Catalog, str]) -> None:
    ours, url = served
    theirs = RestCatalog("lake", uri=url, token=TOKEN, **{"rest-page-size": "2"})
    theirs.create_namespace("db", {"owner": "me"})
    theirs.update_namespace_properties("db", removals={"owner"}, updates={"team": "us"})
    assert ours.namespace_properties("db")["team"] == "us"
    for number in range(5):
        theirs.create_table(f"db.t{number}", schema=ROWS.schema)
    assert sorted(theirs.list_tables("db")) == [("db", f"t{number}") for number in range(5)]
    theirs.load_table("db.t0").append(ROWS)
    assert theirs.rename_table("db.t0", "db.moved").scan().to_arrow().num_rows == 3
    where = theirs.load_table("db.moved").metadata_location
    theirs.drop_table("db.moved")
    assert not ours.table_exists("db.moved")
    assert rows(theirs.register_table("db.again", where).scan().to_arrow()) == rows(ROWS)
    assert rows(ours.load_table("db.again").scan().to_arrow()) == rows(ROWS)
    ours.create_view("db.v", "SELECT id FROM db.again", "id bigint")
    assert theirs.list_views("db") == [("db", "v")]
    assert theirs.view_exists("db.v")
    theirs.drop_view("db.v")
    assert ours.list_views("db") == []


@contextmanager
def attached(url: str) -> Iterator[Any]:
    """DuckDB with the server's catalog under the name `lake`."""
    if importlib.util.find_spec("duckdb_extension_httpfs") is None:
        pytest.skip("DuckDB speaks HTTP by its extension httpfs: pip install duckdb-extension-httpfs==1.5.5")
    with connect() as duck:
        load_extension(duck, "httpfs")
        duck.execute(f"CREATE SECRET (TYPE iceberg, TOKEN '{TOKEN}')")
        duck.execute(f"ATTACH 'lake' AS lake (TYPE iceberg, ENDPOINT '{url}')")
        yield duck


def test_duckdb_attaches_creates_writes_and_reads(served: tuple[fb.Catalog, str]) -> None:
    ours, url = served
    ours.create_namespace("db")
    ours.create_table("db.t", "id bigint, s string").append(ROWS)
    with attached(url) as duck:
        assert duck.execute("SELECT * FROM lake.db.t ORDER BY id").fetchall() == [(1, "a"), (2, "b"), (3, "c")]
        duck.execute("CREATE TABLE lake.db.u (id BIGINT, s VARCHAR)")
        duck.execute("INSERT INTO lake.db.u SELECT * FROM lake.db.t WHERE id > 1")
        duck.execute("INSERT INTO lake.db.t VALUES (4, 'd')")
        duck.execute("DELETE FROM lake.db.t WHERE id = 1")
        assert duck.execute("SELECT count(*) FROM lake.db.t").fetchall() == [(3,)]
    assert rows(ours.load_table("db.u").scan().to_arrow()) == [{"id": 2, "s": "b"}, {"id": 3, "s": "c"}]
    theirs = RestCatalog("lake", uri=url, token=TOKEN)
    assert [row["id"] for row in rows(theirs.load_table("db.t").scan().to_arrow())] == [2, 3, 4]
    assert [row["id"] for row in rows(ours.load_table("db.t").scan().to_arrow())] == [2, 3, 4]


@ON_SQL
@pytest.mark.parametrize("version", [2, 3])
def test_duckdb_evolves_updates_renames_and_travels(served: tuple[fb.Catalog, str], version: int) -> None:
    ours, url = served
    ours.create_namespace("db")
    with attached(url) as duck:
        duck.execute(f"CREATE TABLE lake.db.t (id BIGINT, s VARCHAR) WITH ('format-version'='{version}')")
        duck.execute("INSERT INTO lake.db.t VALUES (1, 'a'), (2, 'b')")
        first = ours.load_table("db.t").current_snapshot
        assert first is not None
        duck.execute("ALTER TABLE lake.db.t ADD COLUMN x INTEGER")
        duck.execute("ALTER TABLE lake.db.t RENAME COLUMN s TO text")
        duck.execute("INSERT INTO lake.db.t VALUES (3, 'c', 7)")
        duck.execute("UPDATE lake.db.t SET text = 'z' WHERE id = 2")
        duck.execute("DELETE FROM lake.db.t WHERE id = 1")
        mine = ours.load_table("db.t")
        expected = [{"id": 2, "text": "z", "x": None}, {"id": 3, "text": "c", "x": 7}]
        assert (mine.format_version, rows(mine.scan().to_arrow())) == (version, expected)
        travel = duck.execute(f"SELECT id FROM lake.db.t AT (VERSION => {first.snapshot_id}) ORDER BY id").fetchall()
        assert travel == [(1,), (2,)]
        mine.update({"x": 5}, where="id = 2")
    with attached(url) as duck:
        assert duck.execute("SELECT * FROM lake.db.t ORDER BY id").fetchall() == [(2, "z", 5), (3, "c", 7)]
        duck.execute("ALTER TABLE lake.db.t RENAME TO u")
        assert ours.table_exists("db.u")
        duck.execute("DROP TABLE lake.db.u")
    assert ours.list_tables("db") == []


@ON_SQL
def test_duckdb_commits_two_tables_together_or_neither(served: tuple[fb.Catalog, str]) -> None:
    ours, url = served
    ours.create_namespace("db")
    for name in ("a", "b"):
        ours.create_table(f"db.{name}", "id bigint")
    for somebody_else in (False, True):
        with attached(url) as duck:
            duck.execute("BEGIN")
            duck.execute("INSERT INTO lake.db.a VALUES (1)")
            duck.execute("INSERT INTO lake.db.b VALUES (1)")
            if not somebody_else:
                duck.execute("COMMIT")
                continue
            ours.load_table("db.b").append(pa.table({"id": [7]}))
            with pytest.raises(Exception, match="Conflict_409"):
                duck.execute("COMMIT")
    found = [sorted(ours.load_table(f"db.{name}").scan().to_arrow()["id"].to_pylist()) for name in ("a", "b")]
    assert found == [[1], [1, 7]]
