"""The metadata tables on Spark have the rows of `t.inspect`, in the types that the table's own columns have on Spark."""

from __future__ import annotations

import random
from typing import Any
from uuid import UUID

import pyarrow as pa
import pytest

from floeberg.api.attach import attach
from floeberg.api.catalog import catalog
from floeberg.api.inspect import TABLES
from floeberg.api.table import Table
from floeberg.inspect.by_name import AT_A_SNAPSHOT
from floeberg.spark.host.types.spark_types import frame_schema
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.types import (
    INT,
    LONG,
    STRING,
    TIME,
    TIMESTAMP,
    TIMESTAMP_NS,
    TIMESTAMPTZ,
    NestedField,
    StructType,
    UnknownType,
    UuidType,
    VariantType,
)
from models.engine_model import random_model
from spark_runs.metadata_rows import inspected_rows, shown_rows

ZONE = "spark.sql.session.timeZone"
ZONES = ("UTC", "America/New_York", "Asia/Kathmandu", "Pacific/Apia")


def assert_same(session: Any, table: Table, name: str) -> None:
    for one in TABLES:
        assert shown_rows(session.table(f"lake.{name}.{one}")) == inspected_rows(table, one), one


@pytest.mark.parametrize("seed", range(4))
def test_every_metadata_table_equals_inspect_over_random_histories(session: Any, seed: int) -> None:
    rng = random.Random(f"metadata {seed}")
    model = random_model(session.lake, f"db.random{seed}", rng, steps=9)
    session.conf.set(ZONE, rng.choice(ZONES))
    try:
        assert_same(session, model.table, f"db.random{seed}")
        snapshot = rng.choice(list(model.table.snapshots))
        for one in AT_A_SNAPSHOT:
            expected = inspected_rows(model.table, one, snapshot_id=snapshot.snapshot_id)
            read = session.read.format("iceberg").option("versionAsOf", str(snapshot.snapshot_id))
            assert shown_rows(read.load(f"lake.db.random{seed}.{one}")) == expected, one
    finally:
        session.conf.set(ZONE, "UTC")


def test_a_table_without_snapshots_has_empty_metadata_tables(session: Any) -> None:
    columns = [NestedField(1, "s", StructType((NestedField(2, "x", INT),))), NestedField(3, "g", INT)]
    table = session.lake.create_table("db.nothing", Schema(*columns), partition_by=["g"], format_version=3)
    assert_same(session, table, "db.nothing")
    counts = {name: session.table(f"lake.db.nothing.{name}").count() for name in (*TABLES, "changes")}
    assert {name: count for name, count in counts.items() if count} == {"metadata_log_entries": 1}


@pytest.mark.connect
def test_manifests_without_live_entries_hide_nothing_that_follows(session: Any) -> None:
    session.sql(
        "CREATE TABLE lake.db.moved (id INT, g INT) PARTITIONED BY (g) TBLPROPERTIES ('format-version'='3', "
        "'write.delete.mode'='merge-on-read', 'write.update.mode'='merge-on-read')"
    )
    session.sql("INSERT INTO lake.db.moved SELECT CAST(id AS INT), CAST(id % 3 AS INT) FROM range(90)")
    session.sql("DELETE FROM lake.db.moved WHERE id BETWEEN 30 AND 40")
    session.sql("DELETE FROM lake.db.moved WHERE id BETWEEN 38 AND 45")
    session.sql("UPDATE lake.db.moved SET g = 1 WHERE id IN (0, 3, 6)")
    session.sql("DELETE FROM lake.db.moved WHERE g = 2")
    assert_same(session, session.lake.load_table("db.moved"), "db.moved")


def test_tables_kept_in_this_process_show_every_row_and_change(session: Any) -> None:
    """Rows that only this process can read go to Spark as they are, some of them in batches without rows."""
    memory = catalog("memory", type="memory")
    memory.create_namespace("db")
    table = memory.create_table("db.t", pa.schema([("id", pa.int64())]), format_version=2)
    attach(session, memory)
    for number in range(3):
        table.append(pa.table({"id": [number]}))
        table.delete(f"id = {number}" if number == 1 else "id = 99")
    assert sorted(row.id for row in session.table("memory.db.t").collect()) == [0, 2]
    changes = session.table("memory.db.t.changes")
    assert sorted((row._change_type, row.id) for row in changes.collect()) == [
        ("DELETE", 1), ("INSERT", 0), ("INSERT", 1), ("INSERT", 2),
    ]  # fmt: skip


def typed_table(session: Any, name: str) -> Table:
    fields = [
        NestedField(1, "id", LONG), NestedField(2, "u", UuidType()), NestedField(3, "tm", TIME),
        NestedField(4, "n", TIMESTAMP), NestedField(5, "z", TIMESTAMPTZ), NestedField(6, "ns", TIMESTAMP_NS),
        NestedField(7, "nothing", UnknownType()), NestedField(8, "s", STRING),
    ]  # fmt: skip
    table: Table = session.lake.create_table(
        name, Schema(*fields), partition_by=["u", "tm", "n", "z", "ns"], format_version=3
    )
    rows = pa.table(
        {
            "id": pa.array([1, 2], pa.int64()),
            "u": pa.array([UUID(int=1 << 127).bytes, UUID(int=7).bytes], pa.binary(16)),
            "tm": pa.array([1, 86_399_999_999], pa.time64("us")),
            # 02:30 on 8 March 2026 does not exist in New York.
            "n": pa.array([1772937000000000, 0], pa.timestamp("us")),
            "z": pa.array([1772937000000000, 0], pa.timestamp("us", tz="UTC")),
            "ns": pa.array([1772937000000000999, -1], pa.timestamp("ns")),
            "nothing": pa.nulls(2),
            "s": pa.array(["a", "b"]),
        }
    )
    table.append(rows)
    return table


def test_partition_values_and_bounds_have_the_types_of_the_columns(session: Any) -> None:
    table = typed_table(session, "db.typed")
    rows = frame_schema(table.schema)
    files = session.table("lake.db.typed.files").schema
    for name in ("u", "tm", "n", "z", "ns"):
        assert files["partition"].dataType[name].dataType == rows[name].dataType, name
        assert files["readable_metrics"].dataType[name].dataType["lower_bound"].dataType == rows[name].dataType, name
    assert session.table("lake.db.typed.position_deletes").schema["row"].dataType["u"].dataType == rows["u"].dataType


def test_a_table_joins_its_own_partitions_in_a_zone_that_lacks_some_of_their_times(session: Any) -> None:
    typed_table(session, "db.joined")
    columns = ("u", "tm", "n", "z", "ns")
    session.conf.set(ZONE, "America/New_York")
    try:
        on = " AND ".join(f"t.{column} = p.partition.{column}" for column in columns)
        found = session.sql(f"SELECT t.id FROM lake.db.joined t JOIN lake.db.joined.partitions p ON {on}")
        assert sorted(row.id for row in found.collect()) == [1, 2]
        where = " AND ".join(f"_partition.{column} = {column}" for column in columns)
        assert sorted(row.id for row in session.sql(f"SELECT id FROM lake.db.joined WHERE {where}").collect()) == [1, 2]
    finally:
        session.conf.set(ZONE, "UTC")


def test_a_table_of_variants_only_has_files_without_readable_metrics(session: Any) -> None:
    session.lake.create_table("db.variants", Schema(NestedField(1, "v", VariantType())), format_version=3)
    found = session.table("lake.db.variants.files")
    assert (found.count(), found.schema["readable_metrics"].dataType.simpleString()) == (0, "struct<>")
    assert session.table("lake.db.variants.position_deletes").count() == 0


def test_describe_shows_the_partition_struct_and_metadata_tables(session: Any) -> None:
    typed_table(session, "db.described")
    lines = {row.col_name: row.data_type for row in session.sql("DESCRIBE EXTENDED lake.db.described").collect()}
    assert lines["_partition"] == "struct<u:string,tm:bigint,n:timestamp_ntz,z:timestamp,ns:timestamp_ntz>"
    assert (lines["_row_id"], lines["_last_updated_sequence_number"]) == ("bigint", "bigint")
    for name in ("files", "partitions", "history", "changes"):
        shown = session.sql(f"DESCRIBE lake.db.described.{name}").collect()
        frame = session.table(f"lake.db.described.{name}")
        assert [(row.col_name, row.data_type) for row in shown] == [
            (field.name, field.dataType.simpleString()) for field in frame.schema.fields
        ]
