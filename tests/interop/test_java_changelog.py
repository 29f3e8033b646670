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
FORMS = ("", ", identifier_columns => array('id')", ", identifier_columns => array('id'), compute_updates => false")
NET = ", net_changes => true"
COLUMNS = "id, p, name, _change_type, _change_ordinal, _commit_snapshot_id"
Change = dict[str, Any]


@pytest.mark.parametrize("version", [2, 3])
def test_both_tell_the_same_changes(spark: Any, runtime: JavaRuntime, tmp_path: Path, version: int) -> None:
    with lake_of_both(spark, runtime, tmp_path / "lake", "log", "db") as lake:
        spark.sql(CREATE.format(version=version))
        for number, statement in enumerate(CHANGES):
            if number % 2:
                runtime.run(statement)
            else:
                spark.sql(statement)
        ids = [snapshot.snapshot_id for snapshot in lake.load_table("db.t").snapshots]
        ranges = [(0, len(ids) - 1), (1, 5), (2, 3), (0, 4)]
        limits = ["", *(_between(ids[first], ids[last]) for first, last in ranges)]
        for one in limits:
            for form in FORMS:
                ours, java = _told(spark, runtime, one + form)
                assert _rows(ours) == _rows(java), (form, one)
                assert java
            _check_net_changes(*_told(spark, runtime, one + NET), *_told(spark, runtime, one))
        query = f"SELECT {COLUMNS} FROM log.db.t.changes"
        (java,) = runtime.run(query)
        ours = [row.asDict() for row in spark.sql(query).collect()]
        assert _rows(ours) == _rows(java)
        assert len(java) > len(_told(spark, runtime, "")[1])  # with the rows that rewrites carried over


def _check_net_changes(net: list[Change], java_net: list[Change], ours: list[Change], java: list[Change]) -> None:
    """The same rows come and go. An INSERT has the ordinal of the snapshot that made the row; in the Java runtime's changelog
    it has that of the last rewrite that carried the row over, in which it is no change."""
    assert _rows(net, "id, p, name, _change_type") == _rows(java_net, "id, p, name, _change_type")
    assert _rows(net) <= _rows(ours)
    for change in (_rows(java_net) - _rows(net)).elements():
        *row, kind, ordinal, _ = change
        assert kind == "INSERT"
        (made,) = (one for one in net if [one["id"], one["p"], one["name"]] == row and one["_change_type"] == kind)
        assert made["_change_ordinal"] < ordinal
        assert change not in _rows(java)


def _between(first: int, last: int) -> str:
    return f", options => map('start-snapshot-id', '{first}', 'end-snapshot-id', '{last}')"


def _told(spark: Any, runtime: JavaRuntime, arguments: str) -> tuple[list[Change], list[Change]]:
    """The changes as we and as the Java runtime tell them, in views of the same name."""
    call = f"CALL log.system.create_changelog_view(table => 'db.t'{arguments})"
    ((named,), java) = runtime.run(call, f"SELECT {COLUMNS} FROM t_changes")
    assert spark.sql(call).collect()[0][0] == named["changelog_view"]
    return [row.asDict() for row in spark.sql(f"SELECT {COLUMNS} FROM t_changes").collect()], java


def _rows(rows: list[Change], columns: str = COLUMNS) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row[name] for name in columns.split(", ")) for row in rows)
