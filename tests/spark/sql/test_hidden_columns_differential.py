"""Metadata columns in random queries and DataFrames give the rows of plain Spark over ordinary columns."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import functions as F

from strategies.hidden_column_queries import HIDDEN, Queries

TABLE, MIRROR = "lake.db.hidden", "hidden_mirror"
SEEDS = range(16)


@pytest.fixture(scope="module")
def tables(session: Any) -> Any:
    """A table with several files, specs, deletes and updated rows, and its mirror by the Arrow engine."""
    session.sql(
        f"CREATE TABLE {TABLE} (id INT, k STRING, v INT) PARTITIONED BY (k) TBLPROPERTIES ('format-version' = '3', "
        "'write.delete.mode' = 'merge-on-read', 'write.update.mode' = 'merge-on-read')"
    )
    table = session.lake.load_table("db.hidden")
    table.append(_rows([(1, "a", 10), (2, "a", 20), (3, "b", 30), (4, "b", 30), (4, "b", 30)]))
    table.append(_rows([(5, "a", 10), (6, "c", 20), (7, "c", None), (8, "c", 40)]))
    session.sql(f"ALTER TABLE {TABLE} DROP PARTITION FIELD k")
    table.refresh()
    table.append(_rows([(9, "a", 90), (9, "a", 90), (10, None, 1)]))
    table.delete(where="id in (2, 7)")
    session.sql(f"UPDATE {TABLE} SET v = 31 WHERE id = 3")
    rows = session.lake.load_table("db.hidden").scan(metadata_columns=list(HIDDEN)).to_arrow().to_pylist()
    kinds = {"_file": "string", "_spec_id": "int"}
    columns = ["id INT", "k STRING", "v INT", *(f"m{name} {kinds.get(name, 'bigint')}" for name in HIDDEN)]
    data = [tuple(row[name] for name in ("id", "k", "v", *HIDDEN)) for row in rows]
    session.createDataFrame(data, ", ".join(columns)).createOrReplaceTempView(MIRROR)
    return session


def _rows(rows: list[tuple[Any, ...]]) -> pa.Table:
    schema = pa.schema([("id", pa.int32()), ("k", pa.string()), ("v", pa.int32())])
    return pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows], schema)


def shown(frame: Any) -> tuple[list[str], Counter[str]]:
    return frame.columns, Counter(str(tuple(row)) for row in frame.collect())


@pytest.mark.connect
def test_queries_that_name_metadata_columns_give_the_rows_of_ordinary_columns(tables: Any, few: bool) -> None:
    for seed in SEEDS[::6] if few else SEEDS:
        pair = Queries(seed, TABLE, MIRROR).query()
        assert shown(tables.sql(pair.own)) == shown(tables.sql(pair.mirror)), f"seed {seed}: {pair.own}"


@pytest.mark.connect
def test_dataframes_that_name_metadata_columns_give_the_rows_of_ordinary_columns(tables: Any, few: bool) -> None:
    for seed in range(4 if few else 12):
        own, mirror = (_random_frame(tables, seed, own=own) for own in (True, False))
        assert own.columns == [name.replace("m_", "_") for name in mirror.columns], f"seed {seed}"
        assert shown(own)[1] == shown(mirror)[1], f"seed {seed}"


def _random_frame(session: Any, seed: int, *, own: bool) -> Any:
    """Steps that keep a table's columns, and a method that names metadata columns; the same for the mirror."""
    chance = random.Random(seed)

    def name(column: str) -> str:
        return column if own else f"m{column}"

    base = frame = session.table(TABLE if own else MIRROR)
    for _ in range(chance.randrange(4)):
        step = chance.randrange(5)
        if step == 0:
            frame = frame.where(frame.id > chance.randrange(5))
        elif step == 1:
            frame = frame.where(f"{name('_pos')} < {chance.randrange(1, 4)} OR v = 31")
        elif step == 2:
            frame = frame.orderBy(base.v.desc(), "id", name("_file"), name("_pos")).limit(chance.randrange(2, 9))
        elif step == 3:
            frame = frame.alias("x")
        else:
            frame = frame.filter(F.col(name("_row_id")) != chance.randrange(9))
    visible = ["id", "k", "v"]
    end = chance.randrange(5)
    if end == 0:
        return frame.select(base.id, frame.v, name("_pos"), name("_file"))
    if end == 1:
        return frame.selectExpr("*" if own else "id", *([] if own else ["k", "v"]), f"{name('_row_id')} + 1 AS p")
    if end == 2:
        found = frame.withColumn("p", F.col(name("_pos")) * 2)
        return found if own else found.select(*visible, "p")
    if end == 3:
        found = frame.where(F.col(name("_spec_id")) == 0)
        return found if own else found.select(*visible)
    left = frame.select("id", F.col(name("_pos")).alias("p")).alias("l")
    right = base.select("id", base.k, name("_pos")).alias("r")
    return left.join(right, F.col("l.p") == F.col(f"r.{name('_pos')}")).select("l.id", "r.k", "l.p")
