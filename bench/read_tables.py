"""Tables for the reading benchmark: the same rows plain, 5 % of them deleted by position, by key, by deletion vectors."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Final
from uuid import UUID

import numpy as np
import pyarrow as pa
from pyroaring import BitMap64

from floeberg.api.catalog import Catalog, catalog
from floeberg.api.table import Table
from floeberg.arrow.write.data_files import RollingWriter
from floeberg.arrow.write.delete_files import DeletedFile
from floeberg.arrow.write.table_writer import TableWriter
from floeberg.commit.isolation import ReadView
from floeberg.commit.row_delta import RowDelta
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.snapshots.manifest_entry import DataFile, FileContent

DDL: Final = (
    "id bigint, customer bigint, quantity int, price double, discount decimal(12, 2), flag string, comment string, "
    "day date"
)
KINDS: Final = ("plain", "positions", "vectors", "equality")
DELETED_SHARE: Final = 0.05
EQUALITY_FILES: Final = 10


def make_tables(folder: Path, *, rows: int, files: int) -> dict[str, Path]:
    """The metadata file of each kind of table; made once and kept."""
    root = folder / f"read-{rows}-{files}"
    made = {}
    for kind in KINDS:
        done = root / f"{kind}.done"
        if not done.exists():
            root.mkdir(parents=True, exist_ok=True)
            # As a URI: pyiceberg-core opens no other paths.
            lake = catalog("bench", warehouse=root.absolute().as_uri(), properties={"local.fsync": "false"})
            lake.create_namespace("db", if_not_exists=True)
            lake.drop_table(f"db.{kind}", purge=True, if_exists=True)
            done.write_text(str(_make(lake, kind, rows, files).metadata_location))
        made[kind] = Path(done.read_text().removeprefix("file://"))
    return made


def _make(lake: Catalog, kind: str, rows: int, files: int) -> Table:
    table = lake.create_table(f"db.{kind}", DDL, format_version=3 if kind == "vectors" else 2)
    each = rows // files
    writer = TableWriter(table.metadata, table._pointer.store_for, UUID(int=1))
    written: list[DataFile] = []
    for number in range(files):
        written += writer.write_data(_rows(number * each, each, seed=number))
    table._commit(RowDelta(added=written))
    if kind == "positions":
        _delete_positions(table, writer, written)
    elif kind == "vectors":
        vectors = {target(file): _some(file.record_count, seed) for seed, file in enumerate(written)}
        add_deletes(table, writer.write_vectors(vectors))
    elif kind == "equality":
        for number in range(EQUALITY_FILES):
            add_deletes(table, _equality_deletes(table, number, rows))
    return table


def _rows(first: int, count: int, *, seed: int) -> pa.Table:
    rng = np.random.default_rng(seed)
    words = pa.array([f"comment number {i} about something that was bought" for i in range(5000)])
    whole = pa.array(rng.integers(0, 10_000, count)).cast(pa.decimal128(21, 2))
    return pa.table(
        {
            "id": np.arange(first, first + count),
            "customer": rng.integers(0, 150_000, count),
            "quantity": rng.integers(1, 51, count, dtype=np.int32),
            "price": rng.random(count) * 1000,
            "discount": whole.cast(pa.decimal128(12, 2)),
            "flag": pa.array(["A", "N", "R"]).take(pa.array(rng.integers(0, 3, count))),
            "comment": words.take(pa.array(rng.integers(0, len(words), count))),
            "day": pa.array(rng.integers(8000, 10_500, count, dtype=np.int32)).cast(pa.date32()),
        }
    )


def _some(count: int, seed: int) -> BitMap64:
    return BitMap64(random.Random(seed).sample(range(count), int(count * DELETED_SHARE)))


def target(file: DataFile) -> DeletedFile:
    return DeletedFile(file_path=file.file_path, spec_id=file.spec_id, partition=file.partition)


def _delete_positions(table: Table, writer: TableWriter, written: list[DataFile]) -> None:
    deletes = [
        writer.write_position_deletes({target(f): _some(f.record_count, seed)}) for seed, f in enumerate(written)
    ]
    add_deletes(table, deletes)


def add_deletes(table: Table, deletes: list[DataFile]) -> None:
    current = table.current_snapshot
    assert current is not None
    table._commit(RowDelta(added=deletes, view=ReadView(starting_snapshot_id=current.snapshot_id)))


def _equality_deletes(table: Table, number: int, rows: int) -> list[DataFile]:
    keys = random.Random(1000 + number).sample(range(rows), int(rows * DELETED_SHARE / EQUALITY_FILES))
    return write_equality_deletes(table, f"equality-{number}", pa.table({"id": sorted(keys)}), equality_ids=[1])


def write_equality_deletes(table: Table, name: str, keys: pa.Table, *, equality_ids: list[int]) -> list[DataFile]:
    """One equality delete file of that name, of the keys alone, for the whole table."""
    writer = RollingWriter(
        table._pointer.store_for(table.location),
        Schema(*(table.schema.field(field_id) for field_id in equality_ids)),
        spec=table.spec,
        new_location=lambda _: f"{table.location}/data/{name}.parquet",
        content=FileContent.EQUALITY_DELETES,
        equality_ids=equality_ids,
    )
    writer.write(keys)
    return writer.close()
