"""What a statement does not assign keeps its value exactly, also where Spark's own types are narrower than the table's."""

from __future__ import annotations

import random
import uuid
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa
import pytest
from pyspark.sql import functions as F

from floeberg.api.table import Table
from floeberg.arrow.columns.physical import array_of
from floeberg.arrow.columns.types import arrow_schema
from floeberg.errors import InvalidInput
from floeberg.spark.read.frame_explanation import explain
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.types import (
    DecimalType,
    DoubleType,
    FixedType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampNsType,
    TimestamptzNsType,
    TimeType,
    UuidType,
)

NS, NS_ZONED, TIME = TimestampNsType(), TimestamptzNsType(), TimeType()
INNER: Final = StructType((NestedField(30, "q", NS_ZONED), NestedField(31, "w", TIME)))
SCHEMA: Final = Schema(
    NestedField(1, "id", LongType()),
    NestedField(2, "x", DoubleType()),
    NestedField(3, "c", NS),
    NestedField(4, "z", NS_ZONED),
    NestedField(5, "u", UuidType()),
    NestedField(6, "f", FixedType(4)),
    NestedField(7, "t", TIME),
    NestedField(8, "d", DecimalType(38, 10)),
    NestedField(9, "s", StructType((
        NestedField(20, "a", NS), NestedField(21, "t", TIME), NestedField(22, "n", IntegerType()),
        NestedField(23, "u", UuidType()),
    ))),
    NestedField(10, "l", ListType(24, NS_ZONED)),
    NestedField(11, "lt", ListType(25, TIME)),
    NestedField(12, "m", MapType(26, StringType(), 27, NS)),
    NestedField(13, "mt", MapType(28, TIME, 29, ListType(32, INNER))),
)  # fmt: skip


def value(rng: random.Random, kind: IcebergType) -> Any:
    if rng.random() < 0.2:
        return None
    match kind:
        case TimestampNsType() | TimestamptzNsType():
            return rng.randrange(-(2**62), 2**62)
        case TimeType():
            return rng.randrange(86_400_000_000)
        case UuidType():
            return uuid.UUID(bytes=rng.randbytes(16))
        case FixedType():
            return rng.randbytes(4)
        case DecimalType():
            return Decimal(rng.randrange(10**30)).scaleb(-10)
        case StructType():
            return {member.name: value(rng, member.type) for member in kind.members}
        case ListType():
            return [value(rng, kind.element_type) for _ in range(rng.randrange(3))]
        case MapType():
            keys = [
                number if isinstance(kind.key_type, TimeType) else str(number) for number in range(rng.randrange(3))
            ]
            return [(key, value(rng, kind.value_type)) for key in keys]
    return rng.randrange(5)


def made_table(session: Any, name: str, **definition: Any) -> Table:
    """A table of 20 rows with values of every type that Spark has in another form."""
    rng = random.Random(name)
    table: Table = session.lake.create_table(f"db.{name}", SCHEMA, format_version=3, **definition)
    columns = [array_of([value(rng, field.type) for _ in range(20)], field.type) for field in SCHEMA.fields[2:]]
    numbers = [pa.array(range(20), pa.int64()), pa.array([-0.0] * 20, pa.float64())]
    table.append(pa.Table.from_arrays([*numbers, *columns], schema=arrow_schema(SCHEMA)))
    return table


def rows(session: Any, name: str, *without: str) -> pa.Table:
    """The table's rows but some of its columns, with their ids."""
    table = session.lake.load_table(f"db.{name}")
    found = table.scan(metadata_columns=["_row_id"]).to_arrow()
    return found.sort_by("id").drop_columns(list(without))


DEFINITIONS: Final = {
    "copied": {"properties": {"write.update.mode": "copy-on-write", "write.merge.mode": "copy-on-write"}},
    "sorted_copied": {"sort_by": ["c desc"], "partition_by": ["bucket(2, z)"]},
    "in_place": {
        "partition_by": ["bucket(2, c)"],
        "properties": {f"write.{verb}.mode": "merge-on-read" for verb in ("update", "merge", "delete")},
    },
}


@pytest.mark.parametrize("name", [pytest.param("copied", marks=pytest.mark.connect), "sorted_copied", "in_place"])
def test_what_a_statement_does_not_assign_keeps_its_value(session: Any, name: str) -> None:
    made_table(session, name, **DEFINITIONS[name])
    table = f"lake.db.{name}"
    before = rows(session, name, "x")
    session.sql(f"UPDATE {table} SET x = 2.5 WHERE id % 3 = 0")
    assert rows(session, name, "x").equals(before)
    session.sql(
        f"MERGE INTO {table} AS t USING (SELECT id AS k FROM range(1, 3)) AS s ON t.id = s.k "
        "WHEN MATCHED AND id = 1 THEN UPDATE SET x = 3 WHEN MATCHED THEN UPDATE SET x = 4 "
        "WHEN NOT MATCHED BY SOURCE AND id = 5 THEN UPDATE SET x = 9"
    )
    assert rows(session, name, "x").equals(before)
    source = session.createDataFrame([(7,)], "k bigint")
    source.mergeInto(table, F.col(f"{name}.id") == F.col("k")).whenMatched().update({"x": F.lit(5.0)}).merge()
    assert rows(session, name, "x").equals(before)
    assert rows(session, name)["x"].to_pylist()[:8] == [2.5, 3.0, 4.0, 2.5, -0.0, 9.0, 2.5, 5.0]
    session.sql(f"UPDATE {table} SET s.n = 77 WHERE s IS NOT NULL")
    assert rows(session, name, "x", "s").equals(before.drop_columns(["s"]))
    structs, earlier = (found["s"].combine_chunks() for found in (rows(session, name), before))
    assert all(structs.field(part).equals(earlier.field(part)) for part in ("a", "t", "u"))
    session.sql(f"DELETE FROM {table} WHERE id = 11")
    kept = [number for number in range(20) if number != 11]
    assert rows(session, name, "x", "s").equals(before.drop_columns(["s"]).take(kept))


@pytest.mark.connect
def test_assigned_timestamps_and_times_are_stored_at_any_depth(session: Any) -> None:
    made_table(session, "assigned")
    instant, local = "TIMESTAMP '1969-12-31 23:59:59.123456Z'", "TIMESTAMP_NTZ '2020-03-29 02:30:00.000001'"
    session.sql(
        f"UPDATE lake.db.assigned SET c = {local}, z = {instant}, l = array({instant}, NULL), lt = array(5), "
        f"m = map('k', {local}), mt = map(7, array(named_struct('q', {instant}, 'w', 9))), s.a = {local}, s.t = 3"
    )
    session.sql(
        f"MERGE INTO lake.db.assigned USING (SELECT 100 AS k) ON id = k WHEN NOT MATCHED THEN INSERT (id, c, l) "
        f"VALUES (k, {local}, array({instant}))"
    )
    found = rows(session, "assigned")
    c, z = 1_585_449_000_000_001_000, -876_544_000
    assert {column: found[column].cast(pa.int64()).to_pylist()[0] for column in ("c", "z")} == {"c": c, "z": z}
    assert found["c"].cast(pa.int64()).to_pylist()[20] == c
    lists = found["l"].combine_chunks()
    assert lists.values.view(pa.int64()).to_pylist() == [z, None] * 20 + [z]
    inner = found["mt"].combine_chunks().items.values
    assert set(inner.field("q").view(pa.int64()).to_pylist()) == {z}
    assert set(inner.field("w").cast(pa.int64()).to_pylist()) == {9}
    structs = found["s"].combine_chunks()
    assert set(structs.field("a").view(pa.int64()).to_pylist()[:20]) == {c}
    assert set(structs.field("t").cast(pa.int64()).to_pylist()[:20]) == {3}


CUTS: Final = (
    "INSERT INTO lake.db.cut SELECT * FROM lake.db.cut",
    "INSERT INTO lake.db.cut (id, l) SELECT id, l FROM lake.db.cut WHERE id > 3",
    "UPDATE lake.db.cut SET c = s.a, z = z",
    "MERGE INTO lake.db.cut AS t USING lake.db.cut AS o ON t.id = o.id WHEN MATCHED THEN UPDATE SET z = o.z",
    "MERGE INTO lake.db.cut AS t USING lake.db.cut AS o ON t.id = o.id + 100 WHEN NOT MATCHED THEN INSERT *",
)


@pytest.mark.connect
def test_values_that_spark_has_cut_are_refused_unless_they_are_cast(session: Any) -> None:
    made_table(session, "cut")
    for statement in CUTS:
        with pytest.raises(InvalidInput, match="cuts to microseconds"):
            session.sql(statement)
    with pytest.raises(InvalidInput, match="cuts to microseconds"):
        session.table("lake.db.cut").writeTo("lake.db.cut").append()
    with pytest.raises(InvalidInput, match="does not fit"):
        session.sql("UPDATE lake.db.cut SET z = TIMESTAMP '9000-01-01 00:00:00'")
    with pytest.raises(InvalidInput, match="microseconds after midnight"):
        session.sql("UPDATE lake.db.cut SET t = -1")
    assert rows(session, "cut").num_rows == 20
    before = rows(session, "cut")["z"].cast(pa.int64()).to_pylist()
    session.sql("INSERT INTO lake.db.cut (id, z) SELECT id + 100, CAST(z AS TIMESTAMP) FROM lake.db.cut")
    stored = rows(session, "cut")["z"].cast(pa.int64()).to_pylist()
    assert stored == [*before, *(None if each is None else each // 1000 * 1000 for each in before)]


@pytest.mark.parametrize("mode", ["copy-on-write", "merge-on-read"])
def test_rows_that_sparks_own_reader_reads_keep_their_nanoseconds(session: Any, mode: str) -> None:
    name = f"plain_{mode.replace('-', '_')}"
    schema = Schema(NestedField(1, "id", LongType()), NestedField(2, "c", NS), NestedField(3, "z", NS_ZONED))
    properties = {f"write.{verb}.mode": mode for verb in ("update", "merge")}
    table = session.lake.create_table(f"db.{name}", schema, format_version=3, properties=properties)
    values = [1_700_000_000_123_456_789, -1, None, 999]
    columns = [pa.array(range(4), pa.int64()), *(array_of(values, kind) for kind in (NS, NS_ZONED))]
    table.append(pa.Table.from_arrays(columns, schema=arrow_schema(schema)))
    assert explain(session.table(f"lake.db.{name}")).arrow_files == 0
    session.sql(f"UPDATE lake.db.{name} SET id = id + 10 WHERE id < 3")
    session.sql(
        f"MERGE INTO lake.db.{name} t USING (SELECT 10 AS k) s ON t.id = s.k WHEN MATCHED THEN UPDATE SET id = 20"
    )
    found = session.lake.load_table(f"db.{name}").scan().to_arrow().sort_by("id")
    assert found.column("id").to_pylist() == [3, 11, 12, 20]
    for column in ("c", "z"):
        numbers = [one.value for one in found.column(column)]
        assert numbers == [999, -1, None, 1_700_000_000_123_456_789]
