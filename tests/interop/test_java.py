"""The Java library's catalogs and ours on the same tables, in turn: HadoopCatalog and JdbcCatalog, both directions.

Run by `make interop-java`.
"""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest

import floeberg as fb
from lakes.interop_tables import KINDS, Shared
from lakes.table_data import append_rows
from peers.java_peer import JavaRuntime

pytestmark = pytest.mark.java


NUMBERS = count(1)


@pytest.fixture(params=["hadoop", "jdbc"])
def cat(request: pytest.FixtureRequest, runtime: JavaRuntime, tmp_path: Path) -> fb.Catalog:
    return hadoop_catalog(runtime, tmp_path) if request.param == "hadoop" else jdbc_catalog(runtime, tmp_path)


def hadoop_catalog(runtime: JavaRuntime, folder: Path) -> fb.Catalog:
    """A catalog for both, under a name that no other test has."""
    name = f"h{next(NUMBERS)}"
    runtime.open_hadoop(name, folder)
    return fb.catalog(name, type="hadoop", warehouse=str(folder))


def jdbc_catalog(runtime: JavaRuntime, folder: Path) -> fb.Catalog:
    name, warehouse = f"j{next(NUMBERS)}", folder / "warehouse"
    warehouse.mkdir()
    runtime.open_jdbc(name, folder / "catalog.db", warehouse)
    return fb.catalog(name, type="jdbc", uri=f"jdbc:sqlite:{folder}/catalog.db", warehouse=str(warehouse))


def ids(rows: list[dict[str, object]]) -> list[str]:
    return sorted(str(row["id"]) for row in rows)


def test_java_reads_and_writes_tables_that_we_committed(cat: fb.Catalog, runtime: JavaRuntime) -> None:
    name = cat.name
    cat.create_namespace("db")
    tables: dict[str, Shared] = {}
    for version in (1, 2, 3):
        for kind, make in KINDS.items():
            tables[f"{kind}{version}"] = make(cat, f"db.{kind}{version}", version)
    read = [f"SELECT * FROM {name}.db.{one}" for one in tables]
    branched = f"{name}.db.branched3"
    found = runtime.run(
        *read,
        f"SHOW TABLES IN {name}.db",
        f"SELECT * FROM {branched} VERSION AS OF 'audit'",
        f"SELECT * FROM {branched} VERSION AS OF 'v1'",
        f"INSERT INTO {name}.db.plain2 (id) VALUES (1000)",
        f"INSERT INTO {name}.db.partitioned3 VALUES (1000, 'java', TIMESTAMP '2024-05-06 07:08:09')",
        f"ALTER TABLE {name}.db.evolved1 ADD COLUMN java int",
        f"DELETE FROM {name}.db.evolved2 WHERE id = 1",
    )
    for (one, shared), rows in zip(tables.items(), found, strict=False):
        assert ids(rows) == ids(shared.branches["main"]), one
        assert [*rows[0]] == [*shared.branches["main"][0]], one
    listed, audit, tagged = found[len(tables) : len(tables) + 3]
    assert {row["tableName"] for row in listed} == set(tables)
    assert (ids(audit), ids(tagged)) == (["1", "3"], ["1"])

    plain = tables["plain2"].table.refresh()
    assert "1000" in ids(plain.scan(select=["id"]).to_arrow().to_pylist())
    assert "1000" in ids(tables["partitioned3"].table.refresh().scan(where="id = 1000").to_arrow().to_pylist())
    assert tables["evolved1"].table.refresh().schema.find("java") is not None
    assert ids(tables["evolved2"].table.refresh().scan().to_arrow().to_pylist()) == [str(2**40)]

    append_rows(plain, [dict.fromkeys(plain.scan().to_arrow().column_names) | {"id": 1001}])
    with tables["evolved1"].table.update_properties() as update:
        update.set({"after": "java"})
    cat.drop_table("db.plain1", purge=True)
    (again, properties, left) = runtime.run(
        f"SELECT id FROM {name}.db.plain2",
        f"SHOW TBLPROPERTIES {name}.db.evolved1",
        f"SHOW TABLES IN {name}.db",
    )
    assert {"1000", "1001"} <= set(ids(again))
    assert {"key": "after", "value": "java"} in properties
    assert {row["tableName"] for row in left} == set(tables) - {"plain1"}


def test_we_read_and_write_tables_that_java_committed(cat: fb.Catalog, runtime: JavaRuntime) -> None:
    name = cat.name
    gzip = "'write.metadata.compression-codec' = 'gzip'"
    runtime.run(
        f"CREATE NAMESPACE {name}.made",
        f"CREATE NAMESPACE {name}.empty",
        f"CREATE TABLE {name}.made.t (id bigint, s string, ts timestamp) USING iceberg PARTITIONED BY (bucket(4, id), day(ts)) "
        f"TBLPROPERTIES ('format-version' = '3', {gzip})",
        f"INSERT INTO {name}.made.t VALUES (1, 'a', TIMESTAMP '2024-01-01 00:00:00'), (2, 'b', null)",
        f"ALTER TABLE {name}.made.t CREATE TAG first",
        f"ALTER TABLE {name}.made.t WRITE ORDERED BY id DESC",
        f"ALTER TABLE {name}.made.t RENAME COLUMN s TO text",
        f"DELETE FROM {name}.made.t WHERE id = 2",
        f"INSERT INTO {name}.made.t VALUES (3, 'c', null)",
    )
    assert cat.list_namespaces() == [("empty",), ("made",)]
    table = cat.load_table("made.t")
    assert (ids(table.scan().to_arrow().to_pylist()), table.format_version) == (["1", "3"], 3)
    assert [field.name for field in table.schema.fields] == ["id", "text", "ts"]
    assert ids(table.scan(ref="first").to_arrow().to_pylist()) == ["1", "2"]
    assert str(table.metadata_location).endswith(".gz.metadata.json")
    checksum = Path(table.location.removeprefix("file:")) / "metadata/.version-hint.text.crc"
    assert checksum.exists() == name.startswith("h")
    append_rows(table, [{"id": 4, "text": "d", "ts": None}])
    assert not checksum.exists()
    cat.drop_namespace("empty")
    (rows, listed, history) = runtime.run(
        f"SELECT * FROM {name}.made.t",
        f"SHOW NAMESPACES IN {name}",
        f"SELECT * FROM {name}.made.t.metadata_log_entries",
    )
    assert ids(rows) == ["1", "3", "4"]
    assert [row["namespace"] for row in listed] == ["made"]
    assert len(history) == len(table.metadata.metadata_log) + 1


def test_views_go_both_ways_through_one_database(runtime: JavaRuntime, tmp_path: Path) -> None:
    cat = jdbc_catalog(runtime, tmp_path)
    name = cat.name
    cat.create_namespace("db", {"owner": "us"})
    append_rows(cat.create_table("db.t", "id bigint"), [{"id": 1}, {"id": 2}])
    cat.create_view("db.ours", "SELECT id FROM t WHERE id > 1", "id bigint", default_catalog=name)
    found = runtime.run(
        f"SELECT * FROM {name}.db.ours",
        f"CREATE VIEW {name}.db.theirs (n COMMENT 'c') AS SELECT id + 1 FROM {name}.db.t",
        f"SHOW VIEWS IN {name}.db",
        f"SHOW TABLES IN {name}.db",
    )
    assert found[0] == [{"id": 2}]
    assert {row["viewName"] for row in found[2]} == {"ours", "theirs"}
    theirs = cat.load_view("db.theirs")
    assert theirs.sql() == f"SELECT id + 1 FROM {name}.db.t"
    assert [field.name for field in theirs.schema.fields] == ["n"]
    cat.rename_view("db.theirs", "db.renamed")
    (rows, left) = runtime.run(f"SELECT * FROM {name}.db.renamed", f"SHOW VIEWS IN {name}.db")
    assert sorted(row["n"] for row in rows) == [2, 3]
    assert {row["viewName"] for row in left} == {"ours", "renamed"}
    cat.close()
