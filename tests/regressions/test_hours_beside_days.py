"""A table by days can go over to hours beside its days, as other engines do it; both specs prune."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa

import floeberg as fb


def test_hours_are_added_to_a_table_by_days(tmp_path: Path) -> None:
    with fb.catalog("lake", warehouse=str(tmp_path)) as lake:
        lake.create_namespace("db")
        table = lake.create_table("db.t", "id bigint, ts timestamp", partition_by=["day(ts)"])
        stamps = [datetime(2024, 1, 1, hour, tzinfo=UTC) for hour in (1, 5)]
        rows = pa.table({"id": [1, 2], "ts": pa.array(stamps, pa.timestamp("us", "UTC"))})
        table.append(rows)
        with table.update_spec() as update:
            update.add_field("hour(ts)")
        table.append(rows)
        assert [str(field.transform) for field in table.spec.fields] == ["day", "hour"]
        found = table.scan(where="ts < TIMESTAMP '2024-01-01 02:00:00+00:00'")
        assert found.to_arrow()["id"].to_pylist() == [1, 1]
        assert len(list(found.plan())) == 2
