"""Scans that the Java reference server plans give the rows that ours give; what is scanned and committed is reported."""

from __future__ import annotations

import pyarrow as pa
import pytest

import floeberg as fb
from floeberg.errors import UnsupportedFeature
from servers.dropping_proxy import dropping_proxy
from servers.rest_servers import RestServer

FILTERS = [
    None, "id = 3", "id > 2 AND s <> 'x'", "s IS NULL", "NOT (id < 4)", "id IN (1, 5)", "s LIKE 'v%'", "ts > '2024-01-02'",
    "f > 1.5", "s IN ('v1', 'v4') OR id = 2", "id = 100",
]  # fmt: skip


@pytest.mark.parametrize("version", [2, 3])
def test_a_plan_of_the_server_gives_the_same_rows(server: RestServer, version: int) -> None:
    if server.kind != "java":
        with fb.catalog("lake", type="rest", uri=server.uri, properties=_planned(server)) as cat:
            cat.create_namespace("db")
            table = cat.create_table("db.t", "id int")
            table.append(pa.table({"id": pa.array([1], pa.int32())}))
            with pytest.raises(UnsupportedFeature, match="plan scans"):
                table.scan().to_arrow()
        return
    with (
        fb.catalog("lake", type="rest", uri=server.uri) as ours,
        fb.catalog("lake", type="rest", uri=server.uri, properties=_planned(server)) as theirs,
    ):
        ours.create_namespace("db")
        table = ours.create_table(
            "db.t", "id bigint, s string, f double, ts timestamp", format_version=version,
            partition_by=["bucket(2, id)", "truncate(1, s)", "day(ts)"], properties={"write.delete.mode": "merge-on-read"},
        )  # fmt: skip
        for start in (0, 4):
            table.append(_rows(start))
        table.delete("id = 1 OR s = 'v6'")
        with table.update_schema() as update:
            update.rename_column("f", "g").add_column("new", "int")
        with table.update_schema() as update:
            update.rename_column("g", "f")
        planned = theirs.load_table("db.t")
        for where in FILTERS:
            expected = sorted(table.scan(where=where).to_arrow().to_pylist(), key=str)
            assert sorted(planned.scan(where=where).to_arrow().to_pylist(), key=str) == expected, where
            assert planned.scan(where=where).count() == len(expected)
        old = table.snapshots[0].snapshot_id
        assert (
            planned.scan(snapshot_id=old, where="f > 1.5").count()
            == table.scan(snapshot_id=old, where="f > 1.5").count()
        )
        assert planned.scan(metadata_columns=["_file", "_pos"]).count() == table.scan().count()


def _planned(server: RestServer) -> dict[str, str]:
    return {**server.options, "rest-scan-planning-enabled": "true"}


def _rows(start: int) -> pa.Table:
    ids = list(range(start, start + 4))
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "s": [None if one % 4 == 3 else f"v{one}" for one in ids],
            "f": [one / 2 for one in ids],
            "ts": pa.array([1_704_067_200_000_000 + one * 86_400_000_000 for one in ids], pa.timestamp("us", "UTC")),
        }
    )


@pytest.mark.parametrize("enabled", [True, False])
def test_reports_are_sent_in_the_background_unless_switched_off(server: RestServer, enabled: bool) -> None:
    if server.kind != "java":
        pytest.skip("Nessie takes reports and shows nothing of them")
    with dropping_proxy(server.uri) as (uri, faults):
        options = {**server.options, "rest-metrics-reporting-enabled": str(enabled).lower()}
        with fb.catalog("lake", type="rest", uri=uri, properties=options) as cat:
            cat.create_namespace("db")
            table = cat.create_table("db.t", "id bigint, s string, f double, ts timestamp")
            table.append(_rows(0))
            assert table.scan(where="id > 1").count() == 2
        sent = [step for step in faults.seen if step.endswith("/metrics")]
        assert len(sent) == (2 if enabled else 0)
