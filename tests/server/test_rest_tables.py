"""Tables: create, stage, load, register, rename, drop."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import floeberg as fb
from servers.rest_lake import SCHEMA, TABLES, RestLake

T = f"{TABLES}/t"
ROWS = pa.table({"id": [1, 2, 3], "s": ["a", "b", "c"]})


def error_of(answer) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["type"]


def test_a_created_table_has_fresh_ids_that_its_spec_and_order_follow(lake: RestLake) -> None:
    created = lake.create(
        **{
            "partition-spec": {"fields": [{"source-id": 9, "transform": "identity", "name": "s"}]},
            "write-order": {
                "order-id": 1,
                "fields": [{"source-id": 7, "transform": "identity", "direction": "asc", "null-order": "nulls-first"}],
            },
            "properties": {"format-version": "3", "owner": "me"},
        }
    )
    table = lake.catalog.load_table("db.t")
    assert created["metadata-location"] == table.metadata_location
    assert created["metadata"]["table-uuid"] == table.metadata.table_uuid
    assert [field.field_id for field in table.schema.fields] == [1, 2]
    assert [field.source_id for field in table.spec.fields] == [2]
    assert [field.source_id for field in table.sort_order.fields] == [1]
    assert table.format_version == 3
    assert dict(table.properties) == {"owner": "me"}
    assert error_of(lake.client.post(TABLES, json={"name": "t", "schema": SCHEMA})) == (409, "AlreadyExistsException")


@pytest.mark.parametrize("schema_last", [False, True])
def test_a_staged_table_is_not_there_until_it_is_committed(lake: RestLake, schema_last: bool) -> None:
    staged = lake.create(**{"stage-create": True})
    assert staged["metadata-location"] is None
    assert lake.client.head(T).status_code == 404
    metadata = staged["metadata"]
    updates = [
        {"action": "assign-uuid", "uuid": metadata["table-uuid"]},
        {"action": "upgrade-format-version", "format-version": metadata["format-version"]},
        {"action": "add-schema", "schema": metadata["schemas"][0]},
        {"action": "set-current-schema", "schema-id": -1},
        {"action": "add-spec", "spec": metadata["partition-specs"][0]},
        {"action": "set-default-spec", "spec-id": -1},
        {"action": "add-sort-order", "sort-order": metadata["sort-orders"][0]},
        {"action": "set-default-sort-order", "sort-order-id": -1},
        {"action": "set-location", "location": metadata["location"]},
    ]
    if schema_last:  # as DuckDB sends it
        updates.append(updates.pop(3))
    create = {"requirements": [{"type": "assert-create"}], "updates": updates}
    committed = lake.client.post(T, json=create)
    assert committed.status_code == 200, committed.text
    assert lake.catalog.load_table("db.t").metadata.table_uuid == metadata["table-uuid"]
    other = {"action": "assign-uuid", "uuid": "00000000-0000-4000-8000-000000000000"}
    late = lake.client.post(T, json={**create, "updates": [other, *updates[1:]]})
    assert error_of(late) == (409, "CommitFailedException")


def test_a_tag_says_whether_a_table_changed_and_which_snapshots_are_shown(lake: RestLake) -> None:
    lake.create()
    table = lake.catalog.load_table("db.t")
    for _ in range(3):
        table.append(ROWS)
    whole, heads = lake.client.get(T), lake.client.get(T, params={"snapshots": "refs"})
    assert len(whole.json()["metadata"]["snapshots"]) == 3
    assert [one["snapshot-id"] for one in heads.json()["metadata"]["snapshots"]] == [table.current_snapshot.snapshot_id]
    assert whole.headers["etag"] != heads.headers["etag"]
    unchanged = lake.client.get(T, headers={"If-None-Match": whole.headers["etag"]})
    assert (unchanged.status_code, unchanged.content) == (304, b"")
    table.append(ROWS)
    assert lake.client.get(T, headers={"If-None-Match": whole.headers["etag"]}).status_code == 200
    assert error_of(lake.client.get(T, params={"snapshots": "some"})) == (400, "BadRequestException")


def test_a_dropped_and_recreated_table_has_another_tag(lake: RestLake) -> None:
    lake.create()
    before = lake.client.get(T).headers["etag"]
    lake.client.delete(T)
    lake.create()
    assert lake.client.get(T, headers={"If-None-Match": before}).status_code == 200


def test_a_dropped_table_keeps_its_files_and_a_purged_one_does_not(lake: RestLake) -> None:
    for purge, kept in (("false", True), ("true", False)):
        name = f"t_{purge}"
        lake.create(name)
        table = lake.catalog.load_table(f"db.{name}")
        table.append(ROWS)
        file = table.inspect.files()["file_path"][0].as_py()
        gone = lake.client.delete(f"{TABLES}/{name}", params={"purgeRequested": purge})
        assert gone.status_code == 204, gone.text
        assert Path(file).exists() == kept
        assert error_of(lake.client.get(f"{TABLES}/{name}")) == (404, "NoSuchTableException")
        assert error_of(lake.client.delete(f"{TABLES}/{name}")) == (404, "NoSuchTableException")


def test_a_table_is_registered_and_renamed_where_the_catalog_can(lake: RestLake) -> None:
    lake.create()
    table = lake.catalog.load_table("db.t")
    table.append(ROWS)
    location = table.metadata_location
    register = lambda: lake.client.post(  # noqa: E731
        "/v1/lake/namespaces/db/register", json={"name": "r", "metadata-location": location}
    )
    rename = {"source": {"namespace": ["db"], "name": "t"}, "destination": {"namespace": ["db"], "name": "u"}}
    if not lake.catalog._backend.capabilities.register:
        assert error_of(register()) == (406, "UnsupportedOperationException")
        assert error_of(lake.client.post("/v1/lake/tables/rename", json=rename)) == (
            406,
            "UnsupportedOperationException",
        )
        return
    assert register().json()["metadata-location"] == location
    assert lake.catalog.load_table("db.r").scan().count() == 3
    assert error_of(register()) == (409, "AlreadyExistsException")
    assert lake.client.post("/v1/lake/tables/rename", json=rename).status_code == 204
    assert lake.catalog.load_table("db.u").scan().count() == 3
    assert error_of(lake.client.post("/v1/lake/tables/rename", json=rename)) == (404, "NoSuchTableException")


def test_metrics_are_taken_for_tables_that_are_there_or_being_created(lake: RestLake) -> None:
    lake.create()
    report = {"report-type": "scan-report", "table-name": "db.t", "metrics": {}}
    assert lake.client.post(f"{T}/metrics", json=report).status_code == 204
    assert lake.client.post(f"{TABLES}/staged/metrics", json=report).status_code == 204
    elsewhere = TABLES.replace("/db/", "/none/")
    assert error_of(lake.client.post(f"{elsewhere}/t/metrics", json=report)) == (404, "NoSuchTableException")


def test_a_table_whose_metadata_file_is_gone_says_so(sql_lake: RestLake) -> None:
    location = sql_lake.create()["metadata-location"]
    table = sql_lake.catalog.load_table("db.t")
    table._pointer.store_for(location).delete(location)
    answer = sql_lake.client.get(T)
    assert error_of(answer) == (404, "NotFoundException")
    assert "register another" in answer.json()["error"]["message"]
    assert sql_lake.client.delete(T).status_code == 204


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"name": "t"},
        {"name": "t", "schema": 3},
        {"name": 3, "schema": SCHEMA},
        {
            "name": "t",
            "schema": {"type": "struct", "fields": [{"id": 1, "name": "x", "type": "nope", "required": True}]},
        },
        {
            "name": "t",
            "schema": SCHEMA,
            "partition-spec": {"fields": [{"source-id": 5, "transform": "identity", "name": "s"}]},
        },
        {"name": "t", "schema": SCHEMA, "properties": {"a": 1}},
        {"name": "t", "schema": SCHEMA, "properties": {"format-version": "x"}},
        {"name": "", "schema": SCHEMA},
    ],
)
def test_a_wrong_request_is_the_clients_fault_and_creates_nothing(lake: RestLake, body: dict[str, object]) -> None:
    answer = lake.client.post(TABLES, json=body)
    assert answer.status_code == 400, answer.text
    assert lake.catalog.list_tables("db") == []


def test_views_are_created_replaced_renamed_and_dropped(sql_lake: RestLake) -> None:
    rest = sql_lake.client
    at = "/v1/lake/namespaces/db/views"
    version = {
        "version-id": 1,
        "schema-id": 0,
        "timestamp-ms": 1_700_000_000_000,
        "summary": {},
        "representations": [{"type": "sql", "sql": "SELECT 1", "dialect": "spark"}],
        "default-namespace": ["db"],
    }
    schema = {**SCHEMA, "schema-id": 0}
    created = rest.post(at, json={"name": "v", "schema": schema, "view-version": version, "properties": {}})
    assert created.status_code == 200, created.text
    assert rest.head(f"{at}/v").status_code == 204
    assert rest.get(at).json()["identifiers"] == [{"namespace": ["db"], "name": "v"}]
    uuid = created.json()["metadata"]["view-uuid"]
    newer = {**version, "version-id": 2, "representations": [{"type": "sql", "sql": "SELECT 2", "dialect": "spark"}]}
    change = {
        "requirements": [{"type": "assert-view-uuid", "uuid": uuid}],
        "updates": [
            {"action": "add-view-version", "view-version": newer},
            {"action": "set-current-view-version", "view-version-id": -1},
        ],
    }
    assert rest.post(f"{at}/v", json=change).json()["metadata"]["current-version-id"] == 2
    assert sql_lake.catalog.load_view("db.v").sql() == "SELECT 2"
    other = {**change, "requirements": [{"type": "assert-view-uuid", "uuid": "0" * 36}]}
    assert error_of(rest.post(f"{at}/v", json=other)) == (409, "CommitFailedException")
    rename = {"source": {"namespace": ["db"], "name": "v"}, "destination": {"namespace": ["db"], "name": "w"}}
    assert rest.post("/v1/lake/views/rename", json=rename).status_code == 204
    assert rest.delete(f"{at}/w").status_code == 204
    assert error_of(rest.get(f"{at}/w")) == (404, "NoSuchViewException")


def test_views_that_a_catalog_cannot_keep_are_refused_with_its_reason(tmp_path) -> None:
    from servers.rest_lake import open_lake

    with open_lake("filesystem", tmp_path) as lake:
        version = {"version-id": 1, "schema-id": 0, "timestamp-ms": 1, "summary": {}, "default-namespace": [],
                   "representations": [{"type": "sql", "sql": "SELECT 1", "dialect": "spark"}]}  # fmt: skip
        body = {"name": "v", "schema": {**SCHEMA, "schema-id": 0}, "view-version": version, "properties": {}}
        answer = lake.client.post("/v1/lake/namespaces/db/views", json=body)
        assert error_of(answer) == (406, "UnsupportedOperationException")
        assert "SQL catalog" in answer.json()["error"]["message"]
    assert isinstance(lake.catalog, fb.Catalog)
