"""What the engine writes, DuckDB and PyIceberg read, and agree with the model where they support the table."""

from __future__ import annotations

import random
import re
import uuid
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from floeberg.api.catalog import Catalog, catalog
from floeberg.api.table import Table
from floeberg.expr.nodes import PREFIX_OPS, predicates
from floeberg.spec.types import LONG
from models.engine_model import random_model
from models.engine_rows import assert_same_rows, matching, rows_of
from peers import duckdb_reader
from strategies.engine_filters import random_filter

pyiceberg_table = pytest.importorskip("pyiceberg.table")

MODES = ("copy-on-write", "merge-on-read")


@pytest.fixture
def lake(tmp_path: Path) -> Catalog:
    made = catalog("lake", warehouse=str(tmp_path))
    made.create_namespace("db")
    return made


@pytest.fixture(scope="module")
def connection() -> Any:
    return duckdb_reader.connect()


def filled(lake: Catalog, name: str, version: int, mode: str, seed: int) -> Table:
    rng = random.Random(seed)
    table = lake.create_table(
        name,
        "k bigint, v int, s string, d date, x double, p int",
        partition_by=rng.choice([[], ["p"], ["bucket(3, k)"], ["month(d)"]]),
        format_version=version,
        properties={f"write.{kind}.mode": mode for kind in ("delete", "update", "merge")},
    )
    next_key = 0
    for _ in range(3):
        keys = list(range(next_key, next_key + 20))
        next_key += 20
        table.append(
            pa.table(
                {
                    "k": keys,
                    "v": pa.array([rng.choice([None, rng.randrange(-9, 9)]) for _ in keys], pa.int32()),
                    "s": [rng.choice([None, "", "a", "ab", "é"]) for _ in keys],
                    "d": pa.array([rng.choice([None, rng.randrange(-400, 20000)]) for _ in keys], pa.int32()).cast(pa.date32()),
                    "x": [rng.choice([None, -1.5, 0.0, 2.5]) for _ in keys],
                    "p": pa.array([rng.choice([None, 0, 1]) for _ in keys], pa.int32()),
                }
            )
        )  # fmt: skip
        table.delete(f"k = {rng.randrange(next_key)} OR v > {rng.randrange(5, 9)}")
        table.update({"s": "set"}, where=f"k < {next_key} AND p = 1 AND v = {rng.randrange(-5, 5)}")
    table.upsert(pa.table({"k": [0, 1000], "s": ["up", "in"]}), on=["k"])
    with table.update_schema() as update:
        update.rename_column("s", "text")
        update.update_type("v", LONG)
    return table


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("version", [1, 2, 3])
def test_duckdb_reads_the_same_rows(lake: Catalog, connection: Any, version: int, mode: str) -> None:
    table = filled(lake, "db.t", version, mode, seed=version)
    own = rows_of(table.scan().to_arrow(), table.schema)
    query = f"SELECT * FROM iceberg_scan('{table.metadata_location}')"
    theirs = connection.sql(query).to_arrow_table()
    casted = theirs.cast(table.scan().to_batches().schema)
    assert_same_rows(rows_of(casted, table.schema), own)
    rng = random.Random(version)
    for _ in range(10):
        where = random_filter(rng, table.schema, own)
        if any(predicate.op in PREFIX_OPS for predicate in predicates(where)):
            continue
        text = re.sub(r"(\d)D\b", r"\1", str(where))  # DuckDB has no suffix for doubles
        found = connection.sql(f"{query} WHERE {text}").to_arrow_table().cast(casted.schema)
        assert_same_rows(rows_of(found, table.schema), matching(where, own, table.schema), where)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("version", [1, 2])
def test_pyiceberg_reads_the_same_rows(lake: Catalog, version: int, mode: str) -> None:
    table = filled(lake, "db.t", version, mode, seed=10 + version)
    own = rows_of(table.scan().to_arrow(), table.schema)
    static = pyiceberg_table.StaticTable.from_metadata(str(table.metadata_location))
    theirs = static.scan().to_arrow().cast(table.scan().to_batches().schema)
    assert_same_rows(rows_of(theirs, table.schema), own)


TABLES = 30
FILTERS = 6
DUCKDB_CANNOT = {
    "nanoseconds with a zone": "Unrecognized primitive type: timestamptz_ns",
    "equality deletes whose key is null": "Comparison on NULL values",
    "equality deletes by several columns": "Expected unified vector format of type",
}
PYICEBERG_CANNOT = {
    "nanoseconds": "timestamp-nanos",
}


def as_ours(theirs: pa.Table, schema: pa.Schema) -> pa.Table:
    """A reader's table under our schema; readers have uuids as text or as objects, and fixed as binary."""
    columns = []
    for field, column in zip(schema, theirs.columns, strict=True):
        if pa.types.is_fixed_size_binary(field.type):
            column = pa.chunked_array([pa.array([_bytes(value) for value in column.to_pylist()], field.type)])
        columns.append(column.cast(field.type))
    return pa.Table.from_arrays(columns, schema=schema)


def _bytes(value: Any) -> Any:
    if isinstance(value, str):
        return uuid.UUID(value).bytes
    return value.bytes if isinstance(value, uuid.UUID) else value


def in_duckdbs_words(where: object) -> str:
    """A filter's text in DuckDB's dialect."""
    text = re.sub(r"X'([0-9A-F]*)'", lambda hexed: f"unhex('{hexed[1]}')", str(where))
    text = re.sub(r"double\(('-?\w+')\)", r"CAST(\1 AS DOUBLE)", text)
    text = re.sub(r"\bTIMESTAMP ('[^']*')", r"TIMESTAMPTZ \1", text).replace("TIMESTAMP_NTZ '", "TIMESTAMP '")
    text = re.sub(r"isnan\((\w+)\)", r"coalesce(isnan(\1), FALSE)", text)  # Spark's is false for null
    text = text.replace(r"\\", "\0").replace(r"\'", "''").replace("\0", "\\")
    return re.sub(r"(\d)D\b", r"\1", text)


def known(error: Exception, reasons: dict[str, str]) -> str:
    """Why a reader refuses a table; raises what is not known."""
    for reason, said in reasons.items():
        if said in str(error):
            return reason
    raise error


def test_duckdb_agrees_on_random_tables_and_filters(lake: Catalog) -> None:
    connection = duckdb_reader.connect()
    refused: Counter[str] = Counter()
    for seed in range(TABLES):
        rng = random.Random(seed)
        model = random_model(lake, f"db.t{seed}", rng, formats=("parquet",))
        table, expected = model.table, model.expected()
        schema = table.scan().to_batches().schema
        query = f"SELECT * FROM iceberg_scan('{table.metadata_location}')"
        try:
            found = connection.sql(query).to_arrow_table()
        except Exception as error:
            refused[known(error, DUCKDB_CANNOT)] += 1
            connection = duckdb_reader.connect()  # an internal error invalidates the old one
            continue
        assert_same_rows(rows_of(as_ours(found, schema), table.schema), expected, model.done)
        for _ in range(FILTERS):
            where = random_filter(rng, table.schema, expected)
            if any(predicate.op in PREFIX_OPS for predicate in predicates(where)):
                continue
            found = connection.sql(f"{query} WHERE {in_duckdbs_words(where)}").to_arrow_table()
            kept = matching(where, expected, table.schema)
            assert_same_rows(rows_of(as_ours(found, schema), table.schema), kept, (where, model.done))
    assert refused.total() <= TABLES // 2, refused


def test_pyiceberg_agrees_on_random_tables(lake: Catalog) -> None:
    """It has no equality deletes, and no rows of other formats."""
    refused: Counter[str] = Counter()
    for seed in range(TABLES):
        model = random_model(lake, f"db.t{seed}", random.Random(seed), formats=("parquet",), by_key=False)
        table = model.table
        try:
            found = pyiceberg_table.StaticTable.from_metadata(str(table.metadata_location)).scan().to_arrow()
        except Exception as error:
            refused[known(error, PYICEBERG_CANNOT)] += 1
            continue
        rows = rows_of(as_ours(found, table.scan().to_batches().schema), table.schema)
        assert_same_rows(rows, model.expected(), model.done)
    assert refused.total() <= TABLES // 2, refused
