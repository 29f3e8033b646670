"""Rows like TPC-H's lineitem, 16 columns, and the tables of them that the Spark benchmarks read: plain, 2 % deleted by deletion
vectors, deleted by equality delete files, and in 1,000 partitions. Every engine reads the same files."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Final
from uuid import UUID

import numpy as np
import pyarrow as pa
from bench.read_tables import add_deletes, target, write_equality_deletes
from pyroaring import BitMap64

from floeberg.api.catalog import Catalog, catalog
from floeberg.api.table import Table
from floeberg.arrow.write.table_writer import TableWriter
from floeberg.commit.row_delta import RowDelta
from floeberg.spec.snapshots.manifest_entry import DataFile

DDL: Final = (
    "l_orderkey bigint, l_partkey bigint, l_suppkey bigint, l_linenumber int, l_quantity decimal(12,2), "
    "l_extendedprice decimal(12,2), l_discount decimal(12,2), l_tax decimal(12,2), l_returnflag string, l_linestatus string, "
    "l_shipdate date, l_commitdate date, l_receiptdate date, l_shipinstruct string, l_shipmode string, l_comment string"
)
FILES: Final = 8
PARTITIONS: Final = 1000
EQUALITY_FILES: Final = 20
EQUALITY_KEYS: Final = 50_000
DELETED_SHARE: Final = 0.02
FIRST_DAY: Final = 8036
"""1992-01-02, as days since 1970."""


def rows_of(first: int, count: int, *, seed: int) -> pa.Table:
    """So many rows, with order keys that grow from `first` // 4 on."""
    rng = np.random.default_rng(seed)
    shipped = rng.integers(FIRST_DAY, FIRST_DAY + 2500, count, dtype=np.int32)
    words = pa.array([" ".join(rng.choice(_WORDS, 5)) + f" {number}" for number in range(100_000)])
    return pa.table(
        {
            "l_orderkey": np.arange(first, first + count) // 4,
            "l_partkey": rng.integers(1, 200_000, count),
            "l_suppkey": rng.integers(1, 10_000, count),
            "l_linenumber": (np.arange(first, first + count) % 4 + 1).astype(np.int32),
            "l_quantity": _decimals(rng.integers(1, 51, count) * 100),
            "l_extendedprice": _decimals(rng.integers(90_000, 10_500_000, count)),
            "l_discount": _decimals(rng.integers(0, 11, count)),
            "l_tax": _decimals(rng.integers(0, 9, count)),
            "l_returnflag": _picked(rng, ["A", "N", "R"], count),
            "l_linestatus": _picked(rng, ["F", "O"], count),
            "l_shipdate": pa.array(shipped).cast(pa.date32()),
            "l_commitdate": pa.array(shipped + rng.integers(-30, 60, count, dtype=np.int32)).cast(pa.date32()),
            "l_receiptdate": pa.array(shipped + rng.integers(1, 30, count, dtype=np.int32)).cast(pa.date32()),
            "l_shipinstruct": _picked(rng, ["DELIVER IN PERSON", "COLLECT COD", "NONE", "TAKE BACK RETURN"], count),
            "l_shipmode": _picked(rng, ["AIR", "FOB", "MAIL", "RAIL", "REG AIR", "SHIP", "TRUCK"], count),
            "l_comment": words.take(pa.array(rng.integers(0, len(words), count))),
        }
    )


def make_tables(warehouse: Path, *, rows: int) -> None:
    """The tables `db.plain`, `db.vectors`, `db.equality` and `db.parts` of a filesystem catalog; made once and kept."""
    lake = catalog("bench", warehouse=str(warehouse), properties={"local.fsync": "false"})
    lake.create_namespace("db", if_not_exists=True)
    for kind, make in {"plain": _plain, "vectors": _vectors, "equality": _equality, "parts": _parts}.items():
        done = warehouse / f"{kind}.{rows}.done"
        if not done.exists():
            lake.drop_table(f"db.{kind}", purge=True, if_exists=True)
            make(lake, f"db.{kind}", rows)
            done.touch()


def write_rows(table: Table, rows: int) -> list[DataFile]:
    """The rows as FILES data files, committed."""
    each = rows // FILES
    writer = TableWriter(table.metadata, table._pointer.store_for, UUID(int=1))
    written: list[DataFile] = []
    for number in range(FILES):
        written += writer.write_data(rows_of(number * each, each, seed=number))
    table._commit(RowDelta(added=written))
    return written


def _plain(lake: Catalog, name: str, rows: int) -> None:
    write_rows(lake.create_table(name, DDL, format_version=2), rows)


def _vectors(lake: Catalog, name: str, rows: int) -> None:
    table = lake.create_table(name, DDL, format_version=3)
    written = write_rows(table, rows)
    deleted = {
        target(file): BitMap64(
            random.Random(seed).sample(range(file.record_count), int(file.record_count * DELETED_SHARE))
        )
        for seed, file in enumerate(written)
    }
    add_deletes(table, TableWriter(table.metadata, table._pointer.store_for, UUID(int=2)).write_vectors(deleted))


def _equality(lake: Catalog, name: str, rows: int) -> None:
    table = lake.create_table(name, DDL, format_version=2)
    write_rows(table, rows)
    for number in range(EQUALITY_FILES):
        keys = sorted(random.Random(1000 + number).sample(range(rows // 4), min(EQUALITY_KEYS, rows // 8)))
        add_deletes(
            table, write_equality_deletes(table, f"equality-{number}", pa.table({"l_orderkey": keys}), equality_ids=[1])
        )


def _parts(lake: Catalog, name: str, rows: int) -> None:
    table = lake.create_table(name, f"{DDL}, part int", partition_by=["part"], format_version=2)
    made = rows_of(0, rows, seed=99)
    part = pa.array((np.arange(rows) * PARTITIONS // rows).astype(np.int32))
    table.append(made.append_column("part", part))


def _decimals(cents: np.ndarray) -> pa.Array:
    return pa.array(cents).cast(pa.decimal128(21, 0)).view(pa.decimal128(21, 2)).cast(pa.decimal128(12, 2))


def _picked(rng: np.random.Generator, values: list[str], count: int) -> pa.Array:
    return pa.array(values).take(pa.array(rng.integers(0, len(values), count)))


_WORDS: Final = (
    "carefully",
    "quickly",
    "slyly",
    "final",
    "ironic",
    "regular",
    "express",
    "pending",
    "deposits",
    "requests",
)
