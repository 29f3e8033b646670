"""CALL create_changelog_view: a temporary view of what changed, in the forms of the reference."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from floeberg.arrow.scan import changelog as arrow_changelog
from floeberg.errors import InvalidInput
from floeberg.spark.read import changelog

MODES = ("copy-on-write", "merge-on-read")


@pytest.fixture(scope="module", params=MODES)
def table(request: Any, session: Any) -> Any:
    """A table of four changes: three rows, an update, a row that comes and goes, a compaction."""
    mode = request.param
    properties = ", ".join(f"'write.{kind}.mode' = '{mode}'" for kind in ("delete", "update", "merge"))
    name = f"lake.db.log_{mode[:4]}"
    session.sql(f"CREATE TABLE {name} (id BIGINT, name STRING) USING iceberg TBLPROPERTIES ({properties})")
    session.sql(f"INSERT INTO {name} SELECT /*+ COALESCE(1) */ id, 'a' FROM range(3)")
    session.sql(f"UPDATE {name} SET name = 'b' WHERE id = 1")
    session.sql(f"INSERT INTO {name} VALUES (9, 'z')")
    session.sql(f"DELETE FROM {name} WHERE id = 9")
    session.sql(f"CALL lake.system.rewrite_data_files(table => '{name}', options => map('rewrite-all', 'true'))")
    yield name
    session.sql(f"DROP TABLE {name}")


def ids(session: Any, table: str) -> list[int]:
    found = session.sql(f"SELECT snapshot_id FROM {table}.snapshots ORDER BY committed_at").collect()
    return [row[0] for row in found]


def rows(session: Any, view: str, columns: str = "id, name, _change_type, _change_ordinal") -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row) for row in session.sql(f"SELECT {columns} FROM {view}").collect())


FIRST = [(0, "a", "INSERT", 0), (1, "a", "INSERT", 0), (2, "a", "INSERT", 0)]
LATER = [(9, "z", "INSERT", 2), (9, "z", "DELETE", 3)]


@pytest.mark.connect
def test_the_view_has_true_changes_of_all_snapshots_by_default(session: Any, table: str) -> None:
    called = session.sql(f"CALL lake.system.create_changelog_view('{table}')")
    short = table.rpartition(".")[2]
    assert called.columns == ["changelog_view"]
    view = called.collect()[0][0]
    assert view == f"`{short}_changes`"
    updated = [(1, "a", "DELETE", 1), (1, "b", "INSERT", 1)]
    assert rows(session, view) == Counter([*FIRST, *updated, *LATER])
    assert session.table(view).columns == ["id", "name", "_change_type", "_change_ordinal", "_commit_snapshot_id"]
    first, second, *_ = ids(session, table)
    by_snapshot = rows(session, view, "_change_ordinal, _commit_snapshot_id")
    assert by_snapshot[0, first] == 3
    assert by_snapshot[1, second] == 2
    joined = f"SELECT count(*) FROM {view} c JOIN {table} t ON c.id = t.id"
    assert session.sql(joined).collect()[0][0] == 5


@pytest.mark.connect
def test_updates_and_net_changes(session: Any, table: str) -> None:
    call = f"CALL lake.system.create_changelog_view(table => '{table}', changelog_view => 'seen', "
    session.sql(f"{call} identifier_columns => array('ID'))")
    updated = [(1, "a", "UPDATE_BEFORE", 1), (1, "b", "UPDATE_AFTER", 1)]
    assert rows(session, "seen") == Counter([*FIRST, *updated, *LATER])
    session.sql(f"{call} net_changes => true)")
    assert rows(session, "seen") == Counter([(0, "a", "INSERT", 0), (2, "a", "INSERT", 0), (1, "b", "INSERT", 1)])
    session.sql(f"{call} identifier_columns => array('id'), compute_updates => false, net_changes => true)")
    assert rows(session, "seen", "id, name") == Counter([(0, "a"), (1, "b"), (2, "a")])


def test_the_range_is_of_ids_or_times(session: Any, table: str) -> None:
    first, second, third, *_ = ids(session, table)
    times = [
        row[0]
        for row in session.sql(
            f"SELECT unix_millis(committed_at) FROM {table}.snapshots ORDER BY committed_at"
        ).collect()
    ]
    ranges = [
        (f"'start-snapshot-id', '{first}', 'end-snapshot-id', '{third}'", {second: 2, third: 1}),
        (f"'end-snapshot-id', '{second}'", {first: 3, second: 2}),
        (f"'start-timestamp', '{times[0]}', 'end-timestamp', '{times[2]}'", {second: 2, third: 1}),
        (f"'end-timestamp', '{times[0] - 1}'", {}),
        (f"'start-timestamp', '{times[-1]}'", {}),
    ]
    for options, expected in ranges:
        session.sql(f"CALL lake.system.create_changelog_view('{table}', 'seen', map({options}))")
        assert {key[0]: count for key, count in rows(session, "seen", "_commit_snapshot_id").items()} == expected


def test_large_rewrites_are_compared_by_many_tasks(session: Any, table: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def all_forms() -> list[Counter[tuple[Any, ...]]]:
        found = []
        for form in ("", ", identifier_columns => array('id')", ", net_changes => true"):
            session.sql(f"CALL lake.system.create_changelog_view(table => '{table}', changelog_view => 'seen'{form})")
            found.append(rows(session, "seen"))
        return found

    small = all_forms()
    monkeypatch.setattr(changelog, "_MOST_IN_ONE_TASK_BYTES", 0)
    assert all_forms() == small


REFUSED = [
    ("compute_updates => true", "identifier"),
    ("identifier_columns => array('id'), net_changes => true", "exclude each other"),
    ("identifier_columns => array('nope')", "'nope'"),
    ("changelog_view => 'a.b'", "one part"),
    ("options => map('snapshot-id', '1')", "range of snapshots"),
    ("options => map('start-timestamp', '2', 'end-timestamp', '1')", "after"),
    ("options => map('no-such', '1')", "no-such"),
]


@pytest.mark.parametrize(("arguments", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_what_cannot_be_is_refused(session: Any, table: str, arguments: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        session.sql(f"CALL lake.system.create_changelog_view(table => '{table}', {arguments})")


def test_identifier_fields_of_the_table_count_and_must_be_unique(session: Any) -> None:
    session.sql("CREATE TABLE lake.db.keyed (id BIGINT NOT NULL, p BIGINT, m MAP<STRING, INT>, s STRUCT<x: DOUBLE>)")
    session.sql("ALTER TABLE lake.db.keyed ADD PARTITION FIELD p")
    session.sql("ALTER TABLE lake.db.keyed SET IDENTIFIER FIELDS id")
    session.sql("INSERT INTO lake.db.keyed VALUES (1, 1, map('a', 1), struct(1.5)), (2, 1, NULL, NULL)")
    session.sql("UPDATE lake.db.keyed SET p = 2 WHERE id = 1")
    session.sql("CALL lake.system.create_changelog_view(table => 'db.keyed', compute_updates => true)")
    found = rows(session, "keyed_changes", "id, p, _change_type")
    assert found == Counter([(1, 1, "INSERT"), (2, 1, "INSERT"), (1, 1, "UPDATE_BEFORE"), (1, 2, "UPDATE_AFTER")])
    session.sql("CALL lake.system.create_changelog_view(table => 'db.keyed', net_changes => true)")
    assert rows(session, "keyed_changes", "id, p, m['a'], s.x") == Counter([(1, 2, 1, 1.5), (2, 1, None, None)])
    session.sql("INSERT INTO lake.db.keyed VALUES (1, 1, NULL, NULL)")
    session.sql("DELETE FROM lake.db.keyed WHERE id = 1")
    session.sql("CALL lake.system.create_changelog_view(table => 'db.keyed', compute_updates => true)")
    with pytest.raises(Exception, match="tell all rows apart"):
        session.table("keyed_changes").collect()
    session.sql("DROP TABLE lake.db.keyed")


def test_rows_of_a_rewrite_with_lineage_are_not_compared_whole(session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """On the driver: the same reader as in the workers."""
    session.sql("CREATE TABLE lake.db.v3 (id BIGINT, name STRING) TBLPROPERTIES ('format-version' = '3')")
    session.sql("INSERT INTO lake.db.v3 SELECT /*+ COALESCE(1) */ id, 'a' FROM range(100)")
    session.sql("UPDATE lake.db.v3 SET name = 'b' WHERE id = 7")
    compared: list[int] = []
    settled = arrow_changelog.settled

    def counted(changes: Any, form: Any) -> Any:
        compared.append(changes.num_rows)
        return settled(changes, form)

    monkeypatch.setattr(arrow_changelog, "settled", counted)
    changes = session.lake.load_table("db.v3").scan_changes().to_arrow().to_pylist()
    assert compared == [2]
    assert [(row["id"], row["_change_type"]) for row in changes[100:]] == [(7, "DELETE"), (7, "INSERT")]
    session.sql("DROP TABLE lake.db.v3")
