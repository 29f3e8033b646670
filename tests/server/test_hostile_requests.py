"""Requests that are wrong on purpose: each is refused with the protocol's error, and nothing of it takes effect."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from floeberg.catalogs.sql_database import Database
from floeberg.errors import Unavailable
from floeberg.server.rest.planning import _encode
from floeberg.server.settings import ServerSettings
from floeberg.server.tokens import Tokens
from servers.rest_lake import SCHEMA, TABLES, RestLake, open_lake

T = f"{TABLES}/t"
NAMESPACES = "/v1/lake/namespaces"
SET = {"action": "set-properties", "updates": {"a": "1"}}
ROWS = pa.table({"id": [1], "s": ["a"]})


def error_of(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["type"]


@pytest.mark.parametrize("origin", ["http://[", "http://]", "//", "http://[::1", "file://"])
def test_an_origin_that_is_no_address_is_refused(sql_lake: RestLake, origin: str) -> None:
    assert error_of(sql_lake.client.get("/v1/config", headers={"Origin": origin})) == (403, "ForbiddenException")


def test_a_token_file_that_is_gone_lets_nobody_in_and_says_try_later(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_text("a-token-of-this-server")
    headers = {"Authorization": "Bearer a-token-of-this-server"}
    with open_lake("sql", tmp_path, settings=ServerSettings(tokens=Tokens(file=file))) as lake:
        assert lake.client.get("/v1/config", headers=headers).status_code == 200
        file.unlink()
        answer = lake.client.get("/v1/config", headers=headers)
        assert error_of(answer) == (503, "ServiceUnavailableException")
        assert str(file) not in answer.text


def test_a_token_file_that_is_replaced_counts_even_if_its_time_and_size_stay(tmp_path: Path) -> None:
    file, other = tmp_path / "tokens", tmp_path / "other"
    file.write_text("the-first-token-here")
    other.write_text("the-other-token-here")
    os.utime(other, ns=(file.stat().st_atime_ns, file.stat().st_mtime_ns))
    tokens = Tokens(file=file)
    other.replace(file)
    assert not tokens.accepts("the-first-token-here")


@pytest.mark.parametrize("name", ["x\x1fy", "\x1f"])
def test_a_name_with_the_separator_of_levels_is_refused_wherever_it_stands(sql_lake: RestLake, name: str) -> None:
    rest = sql_lake.client
    sql_lake.create()
    there = {"namespace": ["db"], "name": "t"}
    for answer in (
        rest.post(NAMESPACES, json={"namespace": [name]}),
        rest.post(TABLES, json={"name": name, "schema": SCHEMA}),
        rest.post("/v1/lake/tables/rename", json={"source": there, "destination": {"namespace": ["db"], "name": name}}),
        rest.post("/v1/lake/tables/rename", json={"source": there, "destination": {"namespace": [name], "name": "u"}}),
    ):
        assert error_of(answer) == (400, "BadRequestException")
    assert [str(one) for one in sql_lake.catalog.list_tables("db")] == ["db.t"]


@pytest.mark.parametrize("path", ["/v1/%FF/namespaces", f"{NAMESPACES}/%FF", f"{TABLES}/%F0%9F", "/ui/lake/ns/%FF"])
def test_a_path_that_is_no_utf8_is_refused(sql_lake: RestLake, path: str) -> None:
    assert sql_lake.client.get(path).status_code == 400


@pytest.mark.parametrize(
    "body",
    [
        {"updates": [SET]},
        {"requirments": [{"type": "assert-create"}], "updates": [SET]},
        {"requirements": None, "updates": [SET]},
        {"requirements": []},
        {"identifier": {"namespace": ["db"], "name": "other"}, "requirements": [], "updates": [SET]},
    ],
)
def test_a_commit_states_its_requirements_and_updates_and_the_table_of_its_path(
    lake: RestLake, body: dict[str, object]
) -> None:
    before = lake.create()["metadata-location"]
    assert error_of(lake.client.post(T, json=body)) == (400, "BadRequestException")
    assert lake.catalog.load_table("db.t").metadata_location == before


def test_a_flag_is_true_or_false(lake: RestLake) -> None:
    rest = lake.client
    assert rest.post(TABLES, json={"name": "t", "schema": SCHEMA, "stage-create": "true"}).status_code == 400
    assert lake.catalog.list_tables("db") == []
    lake.create()
    for field in ("case-sensitive", "use-snapshot-schema"):
        assert rest.post(f"{T}/plan", json={field: "no"}).status_code == 400
    assert rest.delete(f"{T}?purgeRequested=yes").status_code == 400
    assert rest.head(T).status_code == 204
    registered = {"name": "u", "metadata-location": f"{lake.warehouse}/x", "overwrite": 1}
    assert rest.post(f"{NAMESPACES}/db/register", json=registered).status_code == 400


def test_a_staged_table_that_is_committed_twice_is_created_once_and_told_so(lake: RestLake) -> None:
    staged = lake.client.post(TABLES, json={"name": "t", "schema": SCHEMA, "stage-create": True}).json()["metadata"]
    updates: list[dict[str, object]] = [
        {"action": "assign-uuid", "uuid": staged["table-uuid"]},
        {"action": "upgrade-format-version", "format-version": 2},
        {"action": "add-schema", "schema": staged["schemas"][0]},
        {"action": "set-current-schema", "schema-id": -1},
        {"action": "add-spec", "spec": staged["partition-specs"][0]},
        {"action": "set-default-spec", "spec-id": -1},
        {"action": "add-sort-order", "sort-order": staged["sort-orders"][0]},
        {"action": "set-default-sort-order", "sort-order-id": -1},
        {"action": "set-location", "location": staged["location"]},
    ]
    request = {"requirements": [{"type": "assert-create"}], "updates": updates}
    first, again = lake.client.post(T, json=request), lake.client.post(T, json=request)
    assert (first.status_code, again.status_code) == (200, 200), again.text
    assert again.json()["metadata-location"] == first.json()["metadata-location"]
    updates[0] = {"action": "assign-uuid", "uuid": "00000000-0000-4000-8000-000000000000"}
    assert error_of(lake.client.post(T, json=request)) == (409, "CommitFailedException")


def test_a_location_that_is_itself_a_link_out_of_the_roots_is_refused(sql_lake: RestLake, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    Path(sql_lake.warehouse).mkdir(exist_ok=True)
    os.symlink(tmp_path / "out", f"{sql_lake.warehouse}/link")
    link = f"{sql_lake.warehouse}/link"
    sql_lake.create()
    for answer in (
        sql_lake.client.post(TABLES, json={"name": "u", "schema": SCHEMA, "location": link}),
        sql_lake.client.post(TABLES, json={"name": "u", "schema": SCHEMA, "properties": {"write.data.path": link}}),
        sql_lake.client.post(NAMESPACES, json={"namespace": ["x"], "properties": {"location": link}}),
        sql_lake.client.post(
            T, json={"requirements": [], "updates": [{"action": "set-location", "location": f"file://{link}"}]}
        ),
    ):
        assert error_of(answer) == (403, "ForbiddenException")
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize("content", ["{}", "[]", "no JSON", '{"format-version": 9}'])
def test_a_file_that_is_no_tables_metadata_is_the_clients_fault(sql_lake: RestLake, content: str) -> None:
    Path(sql_lake.warehouse).mkdir(exist_ok=True)
    file = Path(sql_lake.warehouse) / "x.metadata.json"
    file.write_text(content)
    answer = sql_lake.client.post(f"{NAMESPACES}/db/register", json={"name": "r", "metadata-location": str(file)})
    assert answer.status_code == 400, answer.text


@pytest.fixture
def secret(sql_lake: RestLake, tmp_path: Path) -> RestLake:
    """A table with a data file outside the roots, as a client that writes manifests itself could commit it."""
    table = sql_lake.catalog.create_table(
        "db.t", "id bigint, s string", properties={"write.data.path": str(tmp_path / "private")}
    )
    table.append(pa.table({"id": [41], "s": ["sentinel-private"]}))
    with table.update_properties() as update:
        update.remove("write.data.path")
    return sql_lake


@pytest.mark.parametrize("view", ["query?run=1", "row?where=id%20%3D%2041", "diff?rows=1", "health?check=1"])
def test_the_page_reads_no_file_outside_the_roots(secret: RestLake, view: str) -> None:
    answer = secret.client.get(f"/ui/lake/t/db/t/{view}")
    assert "sentinel-private" not in answer.text
    assert "outside the roots" in answer.text


def test_a_file_outside_is_read_where_its_folder_is_a_root_or_nobody_can_commit(
    secret: RestLake, tmp_path: Path
) -> None:
    for given in ({"roots": [str(tmp_path)]}, {"read_only": True}):
        with open_lake("sql", tmp_path, **given) as lake:
            assert "sentinel-private" in lake.client.get("/ui/lake/t/db/t/query?run=1").text


def test_a_manifest_list_outside_the_roots_is_not_read_for_a_plan_or_a_purge(
    sql_lake: RestLake, tmp_path: Path
) -> None:
    table = sql_lake.catalog.create_table("db.t", "id bigint, s string")
    table.append(ROWS)
    held = Path(table.current_snapshot.manifest_list)
    moved = tmp_path / "elsewhere.avro"
    moved.write_bytes(held.read_bytes())
    held.unlink()
    os.symlink(moved, held)
    assert error_of(sql_lake.client.post(f"{T}/plan", json={})) == (403, "ForbiddenException")
    purged = sql_lake.client.delete(T, params={"purgeRequested": "true"})
    assert error_of(purged) == (403, "ForbiddenException")
    assert sql_lake.catalog.table_exists("db.t")


@pytest.mark.parametrize("task", [{"from": -1}, {"from": 2**63 - 1, "filter": {"type": "zap"}}])
def test_a_plan_task_that_was_made_up_is_refused(sql_lake: RestLake, task: dict[str, object]) -> None:
    sql_lake.create()
    assert sql_lake.client.post(f"{T}/tasks", json={"plan-task": _encode(task)}).status_code == 400


def test_a_report_writes_one_line_to_the_log(sql_lake: RestLake, caplog: pytest.LogCaptureFixture) -> None:
    sql_lake.create()
    with caplog.at_level(logging.INFO, logger="floeberg.server.metrics"):
        body = {"report-type": "scan\nERROR forged", "table": "x\nERROR forged"}
        assert sql_lake.client.post(f"{T}/metrics", json=body).status_code == 204
    assert [record.getMessage().count("\n") for record in caplog.records] == [0]


def test_a_change_whose_outcome_is_lost_does_not_ask_to_be_sent_again(
    sql_lake: RestLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Clients send again by themselves what is answered by 503."""
    sql_lake.create()
    sql_lake.catalog.create_namespace("empty")
    sql_lake.catalog.create_view("db.v", "SELECT 1", "id bigint")
    location = sql_lake.catalog.load_table("db.t").metadata_location

    def lost(self: Database, work: object) -> object:
        raise Unavailable("the answer to COMMIT was lost")

    monkeypatch.setattr(Database, "change", lost)
    rest, there = sql_lake.client, {"namespace": ["db"], "name": "t"}
    for answer in (
        rest.post(NAMESPACES, json={"namespace": ["new"]}),
        rest.delete(f"{NAMESPACES}/empty"),
        rest.post(f"{NAMESPACES}/db/properties", json={"updates": {"a": "1"}}),
        rest.post("/v1/lake/tables/rename", json={"source": there, "destination": {"namespace": ["db"], "name": "u"}}),
        rest.post(f"{NAMESPACES}/db/register", json={"name": "r", "metadata-location": location}),
        rest.delete(T),
        rest.delete(f"{T}?purgeRequested=true"),
        rest.delete(f"{NAMESPACES}/db/views/v"),
        rest.post(TABLES, json={"name": "w", "schema": SCHEMA}),
        rest.post(T, json={"requirements": [], "updates": [SET]}),
    ):
        assert answer.status_code == 500, answer.text
        assert "retry-after" not in answer.headers


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("files?at=" + "9" * 5000, 400),
        ("files?page=" + "0" * 30, 400),
        ("query?run=1&limit=000000000001999999999", 400),
        ("query?run=1&limit=" + "9" * 5000, 400),
        ("query?run=1&where=" + "(" * 3000, 400),
    ],
)
def test_a_number_in_an_address_of_the_page_keeps_its_limit(sql_lake: RestLake, query: str, status: int) -> None:
    sql_lake.create()
    assert sql_lake.client.get(f"/ui/lake/t/db/t/{query}").status_code == status


@pytest.mark.parametrize("count", ["--5", "9" * 5000, "9" * 400, "many", ""])
def test_a_summary_that_counts_in_nonsense_is_shown_as_text(lake: RestLake, count: str) -> None:
    lake.create()
    names = ("total-records", "total-data-files", "total-files-size", "added-data-files")
    snapshot = {
        "snapshot-id": 5, "timestamp-ms": 1_700_000_000_000, "sequence-number": 1, "schema-id": 0,
        "manifest-list": f"{lake.catalog.load_table('db.t').location}/metadata/snap.avro",
        "summary": {"operation": "append", **dict.fromkeys(names, count)},
    }  # fmt: skip
    ref = {"action": "set-snapshot-ref", "ref-name": "main", "type": "branch", "snapshot-id": 5}
    body = {"requirements": [], "updates": [{"action": "add-snapshot", "snapshot": snapshot}, ref]}
    assert lake.client.post(T, json=body).status_code == 200
    for view in ("overview", "snapshots"):
        assert lake.client.get(f"/ui/lake/t/db/t/{view}").status_code == 200


@pytest.mark.parametrize("path", ["/ui/lake/t/db", "/ui/none/x", "/ui/lake/t/db/t/overview/x"])
def test_an_address_below_the_page_that_is_not_there_is_a_page(sql_lake: RestLake, path: str) -> None:
    answer = sql_lake.client.get(path)
    assert answer.status_code == 404
    assert answer.headers["content-type"].startswith("text/html")
    assert "there is no page" in answer.text
