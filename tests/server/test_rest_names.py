"""Configuration, namespaces and names."""

from __future__ import annotations

from urllib.parse import quote

import pytest

import floeberg as fb
from servers.rest_lake import TABLES, AppClient, RestLake

NAMESPACES = "/v1/lake/namespaces"


def error_of(answer) -> tuple[int, str]:
    body = answer.json()["error"]
    assert body["code"] == answer.status_code
    assert body["message"]
    return answer.status_code, body["type"]


def test_the_configuration_names_the_prefix_and_only_what_the_catalog_can_do(lake: RestLake) -> None:
    found = lake.client.get("/v1/config").json()
    assert found["overrides"] == {"prefix": "lake"}
    assert found["defaults"] == {}
    offered = set(found["endpoints"])
    assert "GET /v1/{prefix}/namespaces/{namespace}/tables/{table}" in offered
    can_rename = lake.catalog._backend.capabilities.rename
    assert ("POST /v1/{prefix}/tables/rename" in offered) == can_rename
    assert ("GET /v1/{prefix}/namespaces/{namespace}/views" in offered) == can_rename


def test_a_warehouse_is_named_by_the_catalog_or_its_location(lake: RestLake) -> None:
    for warehouse in ("lake", lake.warehouse):
        assert lake.client.get("/v1/config", params={"warehouse": warehouse}).status_code == 200
    assert error_of(lake.client.get("/v1/config", params={"warehouse": "other"})) == (404, "NoSuchWarehouseException")
    assert error_of(lake.client.get("/v1/other/namespaces")) == (404, "NoSuchWarehouseException")


def test_namespaces_nest_and_are_told_by_level(rest: AppClient, catalog: fb.Catalog) -> None:
    for levels in (["a"], ["a", "b"], ["a", "c"]):
        assert rest.post(NAMESPACES, json={"namespace": levels}).json()["namespace"] == levels
    assert rest.get(NAMESPACES).json() == {"namespaces": [["a"], ["db"]]}
    assert rest.get(NAMESPACES, params={"parent": "a"}).json() == {"namespaces": [["a", "b"], ["a", "c"]]}
    assert rest.head(f"{NAMESPACES}/a%1Fb").status_code == 204
    assert catalog.namespace_exists(("a", "b"))
    assert error_of(rest.post(NAMESPACES, json={"namespace": ["a", "b"]})) == (409, "AlreadyExistsException")
    assert error_of(rest.delete(f"{NAMESPACES}/a")) == (409, "NamespaceNotEmptyException")
    assert rest.delete(f"{NAMESPACES}/a%1Fb").status_code == 204
    assert rest.head(f"{NAMESPACES}/a%1Fb").status_code == 404
    assert error_of(rest.get(f"{NAMESPACES}/nope")) == (404, "NoSuchNamespaceException")
    assert error_of(rest.get(NAMESPACES, params={"parent": "nope"})) == (404, "NoSuchNamespaceException")


def test_pages_follow_each_other_and_hold_every_name_once(rest: AppClient, catalog: fb.Catalog) -> None:
    for number in range(7):
        catalog.create_namespace(f"n{number}")
    found, token = [], ""
    while token is not None:
        page = rest.get(NAMESPACES, params={"pageToken": token, "pageSize": 3}).json()
        assert len(page["namespaces"]) <= 3
        found += page["namespaces"]
        token = page["next-page-token"]
    assert found == [["db"], *([f"n{number}"] for number in range(7))]
    for wrong in ({"pageToken": "x"}, {"pageToken": "", "pageSize": "0"}, {"pageToken": "", "pageSize": "many"}):
        assert error_of(rest.get(NAMESPACES, params=wrong)) == (400, "BadRequestException")


def test_a_page_goes_on_behind_a_name_that_was_dropped_meanwhile(lake: RestLake) -> None:
    for name in "abcd":
        lake.create(name)
    first = lake.client.get(TABLES, params={"pageToken": "", "pageSize": 2}).json()
    lake.catalog.drop_table("db.b")
    second = lake.client.get(TABLES, params={"pageToken": first["next-page-token"], "pageSize": 2}).json()
    assert [one["name"] for one in second["identifiers"]] == ["c", "d"]
    assert second["next-page-token"] is None


def test_properties_are_set_removed_and_missed(sql_lake: RestLake) -> None:
    rest = sql_lake.client
    rest.post(NAMESPACES, json={"namespace": ["p"], "properties": {"a": "1", "b": "2"}})
    done = rest.post(f"{NAMESPACES}/p/properties", json={"updates": {"c": "3"}, "removals": ["a", "z"]}).json()
    assert done == {"updated": ["c"], "removed": ["a"], "missing": ["z"]}
    assert rest.get(f"{NAMESPACES}/p").json()["properties"] == {"b": "2", "c": "3"}
    both = rest.post(f"{NAMESPACES}/p/properties", json={"updates": {"b": "3"}, "removals": ["b"]})
    assert error_of(both) == (422, "UnprocessableEntityException")


@pytest.mark.parametrize("name", ["a b", "a+b", "a/b", "a%2Fb", "ä", "a?b", "a#b", "%", "a\x1eb", "<script>", "'; --"])
def test_every_name_survives_the_path(sql_lake: RestLake, name: str) -> None:
    rest = sql_lake.client
    rest.post(NAMESPACES, json={"namespace": [name]})
    at = f"{NAMESPACES}/{quote(name, safe='')}"
    assert rest.get(at).json()["namespace"] == [name]
    created = rest.post(f"{at}/tables", json={"name": name, "schema": {"type": "struct", "fields": []}})
    assert created.status_code == 200, created.text
    assert rest.get(f"{at}/tables").json()["identifiers"] == [{"namespace": [name], "name": name}]
    assert rest.get(f"{at}/tables/{quote(name, safe='')}").status_code == 200
    assert rest.delete(f"{at}/tables/{quote(name, safe='')}").status_code == 204


def test_the_reference_client_writes_a_space_as_a_plus(sql_lake: RestLake) -> None:
    sql_lake.client.post(NAMESPACES, json={"namespace": ["a b"]})
    assert sql_lake.client.get(f"{NAMESPACES}/a+b").json()["namespace"] == ["a b"]
