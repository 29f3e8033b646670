"""Plans that a server makes in its own time, and reports of what was scanned and committed."""

from __future__ import annotations

import json

import httpx
import pytest

from catalogs.rest.conftest import rows
from catalogs.rest.scripted import ScriptedServer, error
from floeberg.api.catalog import Catalog
from floeberg.catalogs.rest import endpoints as e
from floeberg.errors import CatalogError

PLAN = "POST /v1/namespaces/db/tables/t/plan"
TASKS = "POST /v1/namespaces/db/tables/t/tasks"
EVERY = [e.LOAD_TABLE, e.COMMIT_TABLE, e.PLAN_TABLE_SCAN, e.CANCEL_PLANNING, e.REPORT_METRICS]


def answer(**body: object):
    return lambda request: httpx.Response(200, json=body)


def files(server: ScriptedServer) -> list[dict]:
    """The data files of db.t as a server tells them."""
    table = Catalog(server.open()).load_table("db.t")
    return [
        {
            "content": "data", "file-path": task.data_file.file_path, "file-format": "PARQUET", "spec-id": 0, "partition": [],
            "record-count": task.data_file.record_count, "file-size-in-bytes": task.data_file.file_size_in_bytes,
        }
        for task in table.scan().plan()
    ]  # fmt: skip


def test_a_plan_is_waited_for_and_its_tasks_are_fetched(server: ScriptedServer) -> None:
    first, second = files(server)
    server.config["endpoints"] = EVERY
    server.script[PLAN] = [answer(**{"status": "submitted", "plan-id": "p1"})]
    server.script["GET /v1/namespaces/db/tables/t/plan/p1"] = [
        answer(status="submitted"),
        answer(**{"status": "completed", "file-scan-tasks": [{"data-file": first}], "plan-tasks": ["a"]}),
    ]
    server.script[TASKS] = [
        answer(**{"plan-tasks": ["b"]}),
        lambda request: error(503),
        answer(**{"file-scan-tasks": [{"data-file": second}]}),
    ]
    table = Catalog(server.open(rest_scan_planning_enabled="true")).load_table("db.t")
    assert sorted(table.scan(where="id > 1").to_arrow()["id"].to_pylist()) == [2], "the filter is asked of every row"
    sent = next(json.loads(one.content) for one in server.requests if one.url.path.endswith("/plan"))
    assert sent["snapshot-id"] == table.current_snapshot.snapshot_id  # type: ignore[union-attr]
    assert sent["filter"] == {"type": "gt", "term": "id", "value": 1}


@pytest.mark.parametrize(
    "planned",
    [
        answer(status="failed", error={"message": "too much"}),
        answer(status="cancelled"),
        answer(**{"status": "completed", "file-scan-tasks": [{"data-file": {"content": "data"}}]}),
        answer(**{"status": "completed", "plan-id": "p1", "plan-tasks": ["a"]}),
    ],
)
def test_a_plan_that_failed_is_an_error_and_is_cancelled(server: ScriptedServer, planned) -> None:
    server.config["endpoints"] = EVERY
    server.script[PLAN] = [planned]
    server.script[TASKS] = ["400"]
    table = Catalog(server.open(rest_scan_planning_enabled="true")).load_table("db.t")
    with pytest.raises((CatalogError, Exception), match=r"db\.t|spec-id"):
        table.scan().to_arrow()
    cancelled = [one for one in server.requests if one.method == "DELETE"]
    assert len(cancelled) == (1 if server.script[TASKS] == [] else 0)


def test_a_table_may_ask_for_it_itself(server: ScriptedServer) -> None:
    server.config["endpoints"] = EVERY
    server.table_config = {"scan-planning-mode": "server"}
    server.script[PLAN] = [answer(status="completed")]
    assert Catalog(server.open()).load_table("db.t").scan().count() == 0


def test_a_commit_and_a_scan_are_reported(server: ScriptedServer) -> None:
    with Catalog(server.open()) as cat:
        table = cat.load_table("db.t")
        server.script["POST .*/metrics"] = ["500"]  # nobody minds
        table.append(rows(3))
        table.scan(where="id = 3").to_arrow()
    bodies = [json.loads(one.content) for one in server.requests if one.url.path.endswith("/metrics")]
    assert [one["report-type"] for one in bodies] == ["commit-report", "scan-report"]
    assert bodies[0]["metrics"]["added-records"] == {"unit": "count", "value": 1}
    assert (bodies[0]["operation"], bodies[0]["table-name"]) == ("append", "lake.db.t")
    assert bodies[1]["filter"] == {"type": "eq", "term": "id", "value": 3}
    assert bodies[1]["metrics"]["result-data-files"]["value"] == 1
