"""Scans that the server plans: the same files as ours, whoever asks, and the same rows for others who read them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog.rest import RestCatalog

import floeberg as fb
from floeberg.api.scan import to_expression as parse_where
from floeberg.expr.bind import bind
from floeberg.expr.json import to_json
from floeberg.server.rest import planning
from floeberg.server.served_catalog import ServedCatalog
from servers.floeberg_server import server_in_thread
from servers.rest_lake import TABLES, RestLake

T = f"{TABLES}/t"
CONDITIONS = [
    "id >= 0",
    "id < 12",
    "p = 'x' AND id > 5",
    "s IS NULL",
    "NOT (id = 3 OR p = 'y')",
    "d > DATE '2024-01-05'",
]


@pytest.fixture(params=[2, 3])
def table(request: pytest.FixtureRequest, sql_lake: RestLake) -> fb.Table:
    """A table with several files, partitions of two types, and deletes."""
    made = sql_lake.catalog.create_table(
        "db.t", "id bigint, s string, p string, d date", partition_by=["p", "day(d)"], format_version=request.param,
        properties={"write.delete.mode": "merge-on-read"},
    )  # fmt: skip
    for number in range(4):
        ids = list(range(number * 5, number * 5 + 5))
        days = pa.array([19722 + one for one in ids], pa.int32()).cast(pa.date32())
        strings = [None if one % 4 == 0 else str(one) for one in ids]
        made.append(pa.table({"id": ids, "s": strings, "p": ["x" if one % 2 else "y" for one in ids], "d": days}))
    made.delete(where="id = 3 OR id = 8")
    return made


def plan(lake: RestLake, **given: Any) -> dict[str, Any]:
    answer = lake.client.post(f"{T}/plan", json=given)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    assert found["status"] == "completed"
    return found


def tasks(found: dict[str, Any]) -> set[tuple[str, tuple[str, ...]]]:
    """Each data file with the delete files that apply to it."""
    deletes = [one["file-path"] for one in found.get("delete-files", [])]
    return {
        (one["data-file"]["file-path"], tuple(sorted(deletes[at] for at in one.get("delete-file-references", []))))
        for one in found["file-scan-tasks"]
    }


def ours(scan: Any) -> set[tuple[str, tuple[str, ...]]]:
    return {(one.data_file.file_path, tuple(sorted(d.file.file_path for d in one.deletes))) for one in scan.plan()}


@pytest.mark.parametrize("condition", CONDITIONS)
def test_the_servers_plan_is_ours(sql_lake: RestLake, table: fb.Table, condition: str) -> None:
    expression = parse_where(condition)
    found = plan(sql_lake, filter=to_json(expression))
    assert tasks(found) == ours(table.scan(where=expression))
    assert tasks(plan(sql_lake)) == ours(table.scan())


@pytest.mark.parametrize("condition", ["b >= X'80'", "f = X'0102'", "d > DATE '2024-01-05'", "u > '8'"])
def test_literals_of_a_filter_are_read_as_their_columns_type_says(sql_lake: RestLake, condition: str) -> None:
    made = sql_lake.catalog.create_table("db.t", "b binary, f fixed(2), d date, u string", partition_by=["d"])
    for number in range(3):
        day = pa.array([19726 + number], pa.int32()).cast(pa.date32())
        value = bytes([0x7F + number])
        made.append(pa.table({"b": [value], "f": [value * 2], "d": day, "u": [str(7 + number)]}))
    expected = ours(made.scan(where=condition))
    assert tasks(plan(sql_lake, filter=to_json(bind(parse_where(condition), made.schema)))) == expected
    by_number = {"type": "gt", "term": "d", "value": 19727}
    assert tasks(plan(sql_lake, filter=by_number)) == ours(made.scan(where="d > DATE '2024-01-05'"))


def test_a_plan_of_many_files_comes_in_parts_of_one_snapshot(
    sql_lake: RestLake, table: fb.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = ours(table.scan())
    monkeypatch.setattr(planning, "TASKS_A_PART", 3)
    first = plan(sql_lake)
    assert len(first["file-scan-tasks"]) == 3
    table.append(pa.table({"id": [99], "s": ["new"], "p": ["x"], "d": pa.array([1], pa.int32()).cast(pa.date32())}))
    found = tasks(first)
    for one in first["plan-tasks"]:
        answer = sql_lake.client.post(f"{T}/tasks", json={"plan-task": one})
        assert answer.status_code == 200, answer.text
        part = tasks(answer.json())
        assert not part & found
        found |= part
    assert found == expected


def test_a_past_snapshot_and_a_range_are_planned(sql_lake: RestLake, table: fb.Table) -> None:
    first, second = (snapshot.snapshot_id for snapshot in table.snapshots[:2])
    assert tasks(plan(sql_lake, **{"snapshot-id": first})) == ours(table.scan(snapshot_id=first))
    between = plan(sql_lake, **{"start-snapshot-id": first, "end-snapshot-id": second})
    assert tasks(between) == ours(table.scan_appends(first, second))


@pytest.mark.parametrize(
    "body",
    [
        {"filter": {"type": "eq", "term": "none", "value": 1}},
        {"filter": {"type": "burn"}},
        {"snapshot-id": 5},
        {"snapshot-id": 5, "start-snapshot-id": 4, "end-snapshot-id": 5},
        {"start-snapshot-id": 4},
        {"snapshot-id": "x"},
    ],
)
def test_a_scan_that_does_not_fit_is_refused(sql_lake: RestLake, table: fb.Table, body: dict[str, object]) -> None:
    assert sql_lake.client.post(f"{T}/plan", json=body).status_code == 400
    assert sql_lake.client.post(f"{T}/tasks", json={"plan-task": "x"}).status_code == 400


def test_pyiceberg_reads_the_same_rows_by_our_plan_as_by_its_own(sql_lake: RestLake, table: fb.Table) -> None:
    catalog = sql_lake.catalog
    with server_in_thread([ServedCatalog.of(catalog, warehouse=sql_lake.warehouse)]) as url:
        by_server = RestCatalog("lake", uri=url, **{"scan-planning-mode": "server"}).load_table("db.t")
        by_client = RestCatalog("lake", uri=url).load_table("db.t")
        for condition in ("id >= 0", "p = 'x' and id > 5", "s is null"):
            rows = [
                sorted(one.scan(row_filter=condition).to_arrow()["id"].to_pylist()) for one in (by_server, by_client)
            ]
            assert rows[0] == rows[1]
            assert rows[0] == sorted(table.scan(where=condition).to_arrow()["id"].to_pylist())


def test_our_client_reads_by_the_servers_plan_and_in_parts(
    sql_lake: RestLake, table: fb.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []
    real = planning.ScanRequest.plan

    def plan_and_note(self: planning.ScanRequest, loaded: fb.Table) -> object:
        asked.append(self.filter)
        return real(self, loaded)

    monkeypatch.setattr(planning.ScanRequest, "plan", plan_and_note)
    monkeypatch.setattr(planning, "TASKS_A_PART", 3)
    options = {"rest-scan-planning-enabled": "true"}
    with (
        server_in_thread([ServedCatalog.of(sql_lake.catalog, warehouse=sql_lake.warehouse)]) as url,
        fb.catalog("lake", type="rest", uri=url, properties=options) as client,
    ):
        planned = client.load_table("db.t")
        for condition in CONDITIONS:
            expected = sorted(table.scan(where=condition).to_arrow().to_pylist(), key=str)
            before = len(asked)
            assert sorted(planned.scan(where=condition).to_arrow().to_pylist(), key=str) == expected
            assert len(asked) > before
        old = table.snapshots[1].snapshot_id
        assert planned.scan(snapshot_id=old).count() == table.scan(snapshot_id=old).count()
