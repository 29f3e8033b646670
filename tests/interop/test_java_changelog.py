"""create_changelog_view beside the Java runtime's, over copy-on-write tables that either engine changed."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from peers.java_peer import JavaRuntime, lake_of_both

pytestmark = pytest.mark.java

CREATE = (
    "CREATE TABLE log.db.t (id BIGINT, p INT, name STRING) USING iceberg PARTITIONED BY (p) "
    "TBLPROPERTIES ('format-version' = '{version}')"
)
CHANGES = (
    "INSERT INTO log.db.t SELECT id, CAST(id % 2 AS INT), 'a' FROM range(6)",
    "UPDATE log.db.t SET name = 'b' WHERE id IN (1, 2)",
    "UPDATE log.db.t SET p = 1 - p WHERE id = 3",
    "DELETE FROM log.db.t WHERE id = 4",
    "INSERT INTO log.db.t VALUES (4, 0, 'a'), (9, NULL, NULL)",
    "MERGE INTO log.db.t t USING (SELECT id, 0 AS p, 'm' AS name FROM range(8, 11)) s ON t.id = s.id "
    "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
    "CALL log.system.rewrite_data_files(table => 'db.t', options => map('rewrite-all', 'true'))",
    "DELETE FROM log.db.t WHERE id = 9",
)
FORMS = ("", ", identifier_columns => array('id')")
COLUMNS = "id, p, name, _change_type, _change_ordinal, _commit_snapshot_id"


def test_both_tell_the_same_changes(spark: Any, runtime: JavaRuntime, tmp_path: Path) -> None:
    with lake_of_both(spark, runtime, tmp_path / "lake", "log", "db") as lake:
        spark.sql(CREATE.format(version=2))
        for number, statement in enumerate(CHANGES):
            if number % 2:
                runtime.run(statement)
            else:
                spark.sql(statement)
        ids = [snapshot.snapshot_id for snapshot in lake.load_table("db.t").snapshots]
        ranges = ("", f", options => map('start-snapshot-id', '{ids[1]}', 'end-snapshot-id', '{ids[5]}')")
        for form in FORMS:
            for limits in ranges:
                call = f"CALL log.system.create_changelog_view(table => 'db.t'{limits}{form})"
                ((named,), found) = runtime.run(call, f"SELECT {COLUMNS} FROM t_changes")
                assert spark.sql(call).collect()[0][0] == named["changelog_view"]
                ours = [row.asDict() for row in spark.sql(f"SELECT {COLUMNS} FROM t_changes").collect()]
                assert _rows(ours) == _rows(found), (form, limits)
                assert found


def _rows(rows: list[dict[str, Any]]) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row[name] for name in COLUMNS.split(", ")) for row in rows)
