"""Clients that nobody here wrote, each reading what another wrote through the server."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path

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


def test_duckdb_attaches_creates_writes_and_reads(served: tuple[fb.Catalog, str]) -> None:
    ours, url = served
    ours.create_namespace("db")
    ours.create_table("db.t", "id bigint, s string").append(ROWS)
    if importlib.util.find_spec("duckdb_extension_httpfs") is None:
        pytest.skip("DuckDB speaks HTTP by its extension httpfs: pip install duckdb-extension-httpfs==1.5.5")
    with connect() as duck:
        load_extension(duck, "httpfs")
        duck.execute(f"CREATE SECRET (TYPE iceberg, TOKEN '{TOKEN}')")
        duck.execute(f"ATTACH 'lake' AS lake (TYPE iceberg, ENDPOINT '{url}')")
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
