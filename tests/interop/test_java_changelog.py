"""create_changelog_view beside the Java runtime's, over copy-on-write tables that either engine changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

import floeberg as fb
from peers.java_peer import JavaRuntime, lake_of_both

pytestmark = pytest.mark.java

CREATE = (
    "CREATE TABLE log.db.v{version} (id BIGINT, p INT, name STRING) USING iceberg PARTITIONED BY (p) "
    "TBLPROPERTIES ('format-version' = '{version}')"
)
CHANGES = (
    "INSERT INTO log.db.v{version} SELECT id, CAST(id % 2 AS INT), 'a' FROM range(6)",
    "UPDATE log.db.v{version} SET name = 'b' WHERE id IN (1, 2)",
    "UPDATE log.db.v{version} SET p = 1 - p WHERE id = 3",
    "DELETE FROM log.db.v{version} WHERE id = 4",
    "INSERT INTO log.db.v{version} VALUES (4, 0, 'a'), (9, NULL, NULL)",
    "MERGE INTO log.db.v{version} t USING (SELECT id, 0 AS p, 'm' AS name FROM range(8, 11)) s ON t.id = s.id "
    "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
    "CALL log.system.rewrite_data_files(table => 'db.v{version}', options => map('rewrite-all', 'true'))",
    "DELETE FROM log.db.v{version} WHERE id = 9",
)
FORMS = ("", ", identifier_columns => array('id')", ", identifier_columns => array('id'), compute_updates => false")
NET = ", net_changes => true"
COLUMNS = "id, p, name, _change_type, _change_ordinal, _commit_snapshot_id"
Change = dict[str, Any]


@pytest.fixture(scope="module")
def lake(spark: Any, runtime: JavaRuntime, tmp_path_factory: pytest.TempPathFactory) -> Iterator[fb.Catalog]:
    with lake_of_both(spark, runtime, tmp_path_factory.mktemp("changes"), "log", "db") as made:
        yield made


@pytest.mark.parametrize("version", [2, 3])
def test_both_tell_the_same_changes(spark: Any, runtime: JavaRuntime, lake: fb.Catalog, version: int) -> None:
    for number, text in enumerate((CREATE, *CHANGES)):
        statement = text.format(version=version)
        if number % 2:
            spark.sql(statement)
        else:
            runtime.run(statement)
    told = partial(_told, spark, runtime, f"v{version}")
    ids = [snapshot.snapshot_id for snapshot in lake.load_table(f"db.v{version}").snapshots]
    for limits in ("", _between(ids[1], ids[5])):
        for form in FORMS:
            ours, java = told(limits + form)
            assert _rows(ours) == _rows(java), (form, limits)
            assert java
        net, java_net = told(limits + NET)
        _check_net_changes(net, java_net, *told(limits))
        assert limits or _rows(net) != _rows(java_net)
    query = f"SELECT {COLUMNS} FROM log.db.v{version}.changes"
    (java,) = runtime.run(query)
    ours = [row.asDict() for row in spark.sql(query).collect()]
    assert _rows(ours) == _rows(java)
    assert len(java) > len(told("")[1])  # with the rows that rewrites carried over


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


def _told(spark: Any, runtime: JavaRuntime, table: str, arguments: str) -> tuple[list[Change], list[Change]]:
    """The changes as we and as the Java runtime tell them, in views of the same name."""
    call = f"CALL log.system.create_changelog_view(table => 'db.{table}'{arguments})"
    ((named,), java) = runtime.run(call, f"SELECT {COLUMNS} FROM {table}_changes")
    assert spark.sql(call).collect()[0][0] == named["changelog_view"]
    return [row.asDict() for row in spark.sql(f"SELECT {COLUMNS} FROM {table}_changes").collect()], java


def _rows(rows: list[Change], columns: str = COLUMNS) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row[name] for name in columns.split(", ")) for row in rows)
