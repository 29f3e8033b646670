"""Every location that a client can name lies in the roots."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import floeberg as fb
from floeberg.server.http.app import make_app
from floeberg.server.served_catalog import ServedCatalog
from floeberg.server.settings import ServerSettings
from servers.rest_lake import SCHEMA, TABLES, AppClient, RestLake, open_lake

T = f"{TABLES}/t"
ROWS = pa.table({"id": [1], "s": ["a"]})


def outside(lake: RestLake) -> list[str]:
    """Locations that are not in the warehouse, though some look as if they were."""
    return [
        "/etc/x",
        f"{lake.warehouse}/../x",
        f"{lake.warehouse}x/t",
        "file:///etc/x",
        "s3://bucket/x",
        lake.warehouse,
        f"{lake.warehouse}/link/x",
    ]


@pytest.fixture
def lake(tmp_path: Path):
    with open_lake("sql", tmp_path) as opened:
        Path(opened.warehouse).mkdir(exist_ok=True)
        os.symlink("/etc", f"{opened.warehouse}/link")
        yield opened


def refused(answer: Any) -> None:
    assert (answer.status_code, answer.json()["error"]["type"]) == (403, "ForbiddenException"), answer.text


@pytest.mark.parametrize("position", range(7))
def test_a_new_table_view_or_namespace_lies_in_the_roots(lake: RestLake, position: int) -> None:
    location = outside(lake)[position]
    refused(lake.client.post(TABLES, json={"name": "t", "schema": SCHEMA, "location": location}))
    refused(lake.client.post(TABLES, json={"name": "t", "schema": SCHEMA, "location": location, "stage-create": True}))
    for name in ("write.data.path", "write.metadata.path", "write.object-storage.path", "write.folder-storage.path"):
        refused(lake.client.post(TABLES, json={"name": "t", "schema": SCHEMA, "properties": {name: location}}))
    refused(lake.client.post("/v1/lake/namespaces", json={"namespace": ["x"], "properties": {"location": location}}))
    refused(
        lake.client.post("/v1/lake/namespaces/db/properties", json={"updates": {"location": location}, "removals": []})
    )
    refused(lake.client.post("/v1/lake/namespaces/db/register", json={"name": "r", "metadata-location": location}))
    assert lake.catalog.list_tables("db") == []
    assert lake.catalog.namespace_properties("db") == {}


@pytest.mark.parametrize("position", range(7))
def test_no_commit_leads_out_of_the_roots(lake: RestLake, position: int) -> None:
    location = outside(lake)[position]
    before = lake.create()["metadata-location"]
    snapshot = {
        "snapshot-id": 1, "timestamp-ms": 1_700_000_000_000, "sequence-number": 1, "manifest-list": location,
        "summary": {"operation": "append"}, "schema-id": 0,
    }  # fmt: skip
    statistics = {
        "snapshot-id": 1, "statistics-path": location, "file-size-in-bytes": 1, "file-footer-size-in-bytes": 1,
        "blob-metadata": [],
    }  # fmt: skip
    partitions = {"snapshot-id": 1, "statistics-path": location, "file-size-in-bytes": 1}
    for update in (
        {"action": "set-location", "location": location},
        {"action": "set-properties", "updates": {"write.data.path": location}},
        {"action": "add-snapshot", "snapshot": snapshot},
        {"action": "set-statistics", "snapshot-id": 1, "statistics": statistics},
        {"action": "set-partition-statistics", "partition-statistics": partitions},
    ):
        refused(lake.client.post(T, json={"requirements": [], "updates": [update]}))
    assert lake.catalog.load_table("db.t").metadata_location == before


def test_a_table_that_lies_elsewhere_is_neither_changed_nor_purged_nor_taken_over(
    lake: RestLake, tmp_path: Path
) -> None:
    table = lake.catalog.create_table("db.t", "id bigint, s string", location=str(tmp_path / "elsewhere"))
    table.append(ROWS)
    update = {"action": "set-properties", "updates": {"a": "1"}}
    refused(lake.client.post(T, json={"requirements": [], "updates": [update]}))
    refused(lake.client.delete(T, params={"purgeRequested": "true"}))
    assert lake.client.get(T).status_code == 200
    assert lake.catalog.load_table("db.t").scan().count() == 1
    copied = Path(lake.warehouse) / "copied.metadata.json"
    copied.write_bytes(Path(table.metadata_location).read_bytes())
    refused(lake.client.post("/v1/lake/namespaces/db/register", json={"name": "r", "metadata-location": str(copied)}))


def test_a_further_root_is_allowed_and_a_column_named_path_is_no_location(tmp_path: Path) -> None:
    with open_lake("sql", tmp_path, roots=[str(tmp_path / "more")]) as lake:
        lake.create(location=str(tmp_path / "more" / "t"))
        lake.create("u", properties={"write.metadata.metrics.column.path": "counts"})
        assert lake.catalog.load_table("db.t").location == str(tmp_path / "more" / "t")
    assert isinstance(lake.catalog, fb.Catalog)


def test_no_answer_shows_the_servers_own_credentials(tmp_path: Path) -> None:
    warehouse = str(tmp_path / "lake")
    options = {"s3.secret-access-key": "sentinel-s3-key", "s3.access-key-id": "me"}
    with fb.catalog(
        "lake", type="sql", uri=f"sqlite:///{tmp_path}/x.db", warehouse=warehouse, properties=options
    ) as catalog:
        catalog.create_namespace("db")
        catalog.create_table("db.t", "id bigint")
        app = make_app([ServedCatalog.of(catalog, warehouse=warehouse)], ServerSettings())
        client = AppClient(app, base_url="http://localhost")
        for path in ("/v1/config", "/v1/lake/namespaces", T, f"{TABLES}/none", "/v1/none"):
            answer = client.get(path, headers={"X-Iceberg-Access-Delegation": "vended-credentials"})
            assert "sentinel" not in answer.text + str(answer.headers)
        assert client.get(T).json()["config"] == {}
