"""`floeberg.cdc` on batches of events in plain columns."""

import random
from collections import Counter
from typing import Any

import pytest

import floeberg as fb
from floeberg.errors import InvalidInput
from models.cdc_model import LastState

EVENTS = "op string, ord bigint, id bigint, name string"


def _cdc(spark: Any, table: str, rows: list[tuple[Any, ...]], **options: Any) -> Any:
    given = {"keys": "id", "op": "op", "order_by": "ord", **options}
    return fb.cdc(spark.createDataFrame(rows, EVENTS), table, **given)


def _rows(spark: Any, table: str) -> set[tuple[Any, ...]]:
    rows = [tuple(row) for row in spark.table(table).collect()]
    assert len(rows) == len(set(rows))
    return set(rows)


def _deletes(spark: Any, table: str) -> list[tuple[int, str]]:
    """(content, format) of the live delete files."""
    found = spark.sql(f"SELECT content, file_format FROM {table}.delete_files").collect()
    return sorted((row.content, row.file_format.lower()) for row in found)


@pytest.mark.parametrize("version", [2, 3])
def test_the_example_of_three_batches_leaves_equality_deletes_and_deletes_of_rows_of_the_same_batch(
    session: Any, version: int
) -> None:
    table = f"lake.db.example_v{version}"
    session.sql(f"CREATE TABLE {table} (id bigint, name string) TBLPROPERTIES ('format-version' = '{version}')")
    positions = (1, "puffin" if version == 3 else "parquet")
    _cdc(session, table, [("I", 1, 1, "X"), ("I", 2, 2, "A")])
    assert _rows(session, table) == {(1, "X"), (2, "A")}
    assert _deletes(session, table) == []
    second = _cdc(session, table, [("I", 3, 3, "Q"), ("-U", 4, 2, "A"), ("+U", 4, 2, "B")])
    assert _rows(session, table) == {(1, "X"), (3, "Q"), (2, "B")}
    assert _deletes(session, table) == [(2, "parquet")]
    assert (second.events, second.rows_written, second.keys_deleted) == (3, 2, 1)
    third = _cdc(session, table, [("D", 5, 3, "Q"), ("I", 6, 5, "Z"), ("D", 7, 5, "Z"), ("I", 8, 4, "Y")])
    assert _rows(session, table) == {(1, "X"), (2, "B"), (4, "Y")}
    assert _deletes(session, table)[0] == positions
    assert {content for content, _ in _deletes(session, table)[1:]} == {2}
    assert third.rows_deleted_in_batch == 1
    session.sql(f"DROP TABLE {table}")


SEQUENCES_PER_TABLE = 4


@pytest.mark.parametrize("seed", range(5))
def test_random_batches_leave_the_last_state_of_every_key(session: Any, seed: int) -> None:
    chance = random.Random(seed)
    version, upsert, collapse = chance.choice([2, 3]), chance.random() < 0.5, chance.random() < 0.5
    table = f"lake.db.random_{seed}"
    partitioned = chance.choice(["", "PARTITIONED BY (p)", "PARTITIONED BY (bucket(3, id))"])
    session.sql(
        f"CREATE TABLE {table} (id bigint, p int, v string) {partitioned} "
        f"TBLPROPERTIES ('format-version' = '{version}')"
    )
    sources = [LastState(chance, first_key=100 * number, keys=20) for number in range(SEQUENCES_PER_TABLE)]
    for number in range(3):
        if number and chance.random() < 0.5:
            session.sql(f"ALTER TABLE {table} ADD PARTITION FIELD truncate({number + 1}, v)")
        events = [event for source in sources for event in source.batch(chance.randrange(30), upsert=upsert)]
        rows = [(code, order[0], str(row[0]), row[1], row[2]) for code, row, order in events]
        frame = session.createDataFrame(rows, "op string, ord bigint, id string, p int, v string")
        frame = frame.withColumn("id", frame.id.cast("int"))  # the table's type is wider
        fb.cdc(frame, table, keys=["id"], op="op", order_by=["ord"], upsert=upsert, collapse=collapse)
    assert _rows(session, table) == {row for source in sources for row in source.rows.values()}, seed
    assert _replayed(session, table) == Counter(_rows(session, table)), seed
    session.sql(f"DROP TABLE {table}")


def _replayed(spark: Any, table: str) -> Counter[tuple[Any, ...]]:
    """The rows that the changelog makes of nothing."""
    view = spark.sql(f"CALL lake.system.create_changelog_view('{table}')").collect()[0][0]
    rows: Counter[tuple[Any, ...]] = Counter()
    for change in sorted(spark.table(view).collect(), key=lambda row: (row._change_ordinal, row._change_type)):
        rows[tuple(change)[:-3]] += 1 if change._change_type == "INSERT" else -1
        assert rows[tuple(change)[:-3]] >= 0
    return +rows


def test_a_bad_event_fails_the_batch_and_names_the_event(session: Any) -> None:
    session.sql("CREATE TABLE lake.db.strict (id bigint, name string NOT NULL)")
    _cdc(session, "lake.db.strict", [("I", 1, 1, "a")])
    before = session.lake.load_table("db.strict").metadata.current_snapshot_id
    for row, reason in [
        (("X", 2, 7, "b"), "the code 'X' is not known.*7"),
        (("t", 2, 7, "b"), r"code 't' \(truncate or message\).*skip it"),
        (("U", 2, 7, None), "column 'name' is required and null"),
    ]:
        with pytest.raises(fb.errors.InvalidInput, match=f"table lake.db.strict: an event cannot be applied, {reason}"):
            _cdc(session, "lake.db.strict", [("I", 1, 5, "fine"), row])
    assert session.lake.load_table("db.strict").metadata.current_snapshot_id == before
    assert _cdc(session, "lake.db.strict", [("m", 2, 7, None), ("D", 2, 1, None)], skip="m").keys_deleted == 1
    assert _rows(session, "lake.db.strict") == set()


def test_dead_letters_take_bad_events_with_the_reason_once_for_each_batch(session: Any) -> None:
    session.sql("CREATE TABLE lake.db.lenient (id bigint, name string)")
    rows = [("I", 1, 1, "a"), ("?", 2, 2, "b"), ("U", 3, 3, "c"), ("U", 3, 3, "d")]
    options = {"dead_letters": "lake.db.letters", "txn": ("job", 0)}
    result = _cdc(session, "lake.db.lenient", rows, **options)
    assert (result.bad, result.rows_written) == (3, 1)
    assert _cdc(session, "lake.db.lenient", rows, **options).skipped
    letters = session.table("lake.db.letters").where("target = 'lake.db.lenient'").collect()
    assert sorted((row.target, row.reason, row.batch) for row in letters) == [
        ("lake.db.lenient", "another event of its key has the same order", "job:0"),
        ("lake.db.lenient", "another event of its key has the same order", "job:0"),
        ("lake.db.lenient", "the code '?' is not known", "job:0"),
    ]
    assert any('"id": 2' in row.event for row in letters)
    assert _rows(session, "lake.db.lenient") == {(1, "a")}


def test_new_columns_of_events_come_into_the_table_by_merge_schema(session: Any) -> None:
    session.sql("CREATE TABLE lake.db.grows (id bigint, name string)")
    _cdc(session, "lake.db.grows", [("I", 1, 1, "a")])
    frame = session.createDataFrame([("U", 2, 1, "b", 7)], "op string, ord bigint, id bigint, name string, extra int")
    with pytest.raises(fb.errors.InvalidInput, match="has no column 'extra'"):
        fb.cdc(frame, "lake.db.grows", keys="id", op="op", order_by="ord")
    fb.cdc(frame, "lake.db.grows", keys="id", op="op", order_by="ord", merge_schema=True)
    assert [tuple(row) for row in session.table("lake.db.grows").collect()] == [(1, "b", 7)]


def test_the_order_defaults_to_kafkas_and_a_key_comes_from_one_partition(session: Any) -> None:
    session.sql("CREATE TABLE lake.db.kafka (id bigint, name string)")
    schema = "topic string, partition int, offset bigint, value binary, op string, id bigint, name string"
    rows = [("t", 0, 2, None, "U", 1, "late"), ("t", 0, 1, None, "I", 1, "early"), ("t", 1, 1, None, "I", 2, "x")]
    fb.cdc(session.createDataFrame(rows, schema), "lake.db.kafka", keys="id", op="op")
    assert _rows(session, "lake.db.kafka") == {(1, "late"), (2, "x")}
    with pytest.raises(fb.errors.InvalidInput, match="several Kafka partitions"):
        fb.cdc(
            session.createDataFrame([*rows, ("t", 1, 9, None, "D", 1, None)], schema),
            "lake.db.kafka",
            keys="id",
            op="op",
        )


def test_keys_of_several_columns_branches_and_refused_tables(session: Any) -> None:
    session.sql("CREATE TABLE lake.db.pairs (a int, b string, v string, d double) PARTITIONED BY (v)")
    schema = "op string, ord bigint, a int, b string, v string, d double"
    first = session.createDataFrame([("I", 1, 1, "x", "p", 0.5), ("I", 1, 1, "y", "q", 0.5)], schema)
    fb.cdc(first, "lake.db.pairs", keys=["a", "b"], op="op", order_by="ord")
    session.sql("ALTER TABLE lake.db.pairs CREATE BRANCH side")
    second = session.createDataFrame([("D", 2, 1, "x", None, None)], schema)
    fb.cdc(second, "lake.db.pairs", keys=["a", "b"], op="op", order_by="ord", branch="side")
    assert _rows(session, "lake.db.pairs") == {(1, "x", "p", 0.5), (1, "y", "q", 0.5)}
    assert _rows(session, "lake.db.pairs.branch_side") == {(1, "y", "q", 0.5)}
    with pytest.raises(fb.errors.InvalidInput, match="floating-point values"):
        fb.cdc(second, "lake.db.pairs", keys=["d"], op="op", order_by="ord")
    session.sql("CREATE TABLE lake.db.old (a int, b string) TBLPROPERTIES ('format-version' = '1')")
    with pytest.raises(fb.errors.UnsupportedFeature, match="format version 1 has no delete files"):
        fb.cdc(second, "lake.db.old", keys=["a"], op="op", order_by="ord")


@pytest.mark.parametrize("lookup", [None, "position"])
def test_a_value_that_does_not_fit_its_column_is_a_dead_letter_and_uuids_of_any_case_are_one_key(
    session: Any, lookup: str | None
) -> None:
    table = f"db.narrow_{lookup}"
    schema = fb.Schema(fb.NestedField(1, "id", fb.types.UuidType()), fb.NestedField(2, "n", fb.types.IntegerType()))
    session.lake.create_table(table, schema, properties={"format-version": "2"})
    key = "0123abcd-0000-0000-0000-00000000000f"
    rows = [("I", 1, key, 1), ("U", 2, key.upper(), 2), ("I", 3, key.replace("f", "e"), 1 << 40)]
    frame = session.createDataFrame(rows, "op string, ord bigint, id string, n bigint")
    options: dict[str, Any] = {"keys": "id", "op": "op", "order_by": "ord", "lookup": lookup}
    result = fb.cdc(frame, f"lake.{table}", dead_letters="lake.db.letters", **options)
    assert (result.bad, _rows(session, f"lake.{table}")) == (1, {(key, 2)})
    letters = session.table("lake.db.letters").where(f"target = 'lake.{table}'").collect()
    assert [(row.reason, str(1 << 40) in row.event) for row in letters] == [("column 'n' does not fit type int", True)]


@pytest.mark.parametrize("lookup", [None, "position"])
@pytest.mark.parametrize(
    ("key", "given", "exact", "other"),
    [
        ("int", "double", "1.0D", "1.9D"),
        ("decimal(5,2)", "decimal(6,3)", "1.250", "1.254"),
        ("date", "timestamp", "TIMESTAMP'2024-01-02 00:00:00'", "TIMESTAMP'2024-01-02 10:00:00'"),
        ("int", "bigint", "1L", "4294967297L"),
    ],
)
def test_a_key_that_its_cast_would_change_is_bad_and_deletes_no_other_row(
    session: Any, lookup: str | None, key: str, given: str, exact: str, other: str
) -> None:
    session.sql("DROP TABLE IF EXISTS lake.db.cast_keys")
    session.sql(f"CREATE TABLE lake.db.cast_keys (id {key}, n int)")
    session.sql(f"INSERT INTO lake.db.cast_keys VALUES (CAST({exact} AS {key}), 1)")
    options: dict[str, Any] = {"keys": "id", "op": "op", "order_by": "ord", "lookup": lookup}
    wrong = session.sql(f"SELECT 'D' AS op, 1 AS ord, CAST({other} AS {given}) AS id, 2 AS n")
    with pytest.raises(InvalidInput, match=r"column 'id' does not fit type"):
        fb.cdc(wrong, "lake.db.cast_keys", **options)
    result = fb.cdc(wrong, "lake.db.cast_keys", dead_letters="lake.db.letters", **options)
    assert (result.bad, [row.n for row in session.table("lake.db.cast_keys").collect()]) == (1, [1])
    right = session.sql(f"SELECT 'U' AS op, 1 AS ord, CAST({exact} AS {given}) AS id, 2 AS n")
    fb.cdc(right, "lake.db.cast_keys", **options)
    assert [row.n for row in session.table("lake.db.cast_keys").collect()] == [2]


def test_events_for_a_view_are_refused(session: Any) -> None:
    shelf = fb.catalog("shelf", type="memory")
    shelf.create_namespace("db")
    fb.attach(session, shelf)
    session.sql("CREATE VIEW shelf.db.shown AS SELECT 1 AS id, 'a' AS name")
    with pytest.raises(InvalidInput, match="is a view"):
        _cdc(session, "shelf.db.shown", [("D", 1, 1, "a")])
