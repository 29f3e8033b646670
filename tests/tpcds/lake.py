"""TPC-DS twice: as tables of ours with deletes of every kind, and as Parquet that DuckDB wrote without the deleted rows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import duckdb
import pyarrow as pa

from floeberg.api.catalog import Catalog, catalog
from floeberg.api.table import Table
from floeberg.arrow.write.data_files import RollingWriter
from floeberg.commit.row_delta import RowDelta
from floeberg.spec.partitions.specs import PartitionSpec
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.snapshots.manifest_entry import FileContent
from peers.duckdb_reader import load_extension

FACTS: Final = {
    "store_sales": ("ss_sold_date_sk", 180),
    "catalog_sales": ("cs_sold_date_sk", 180),
    "web_sales": ("ws_sold_date_sk", 180),
    "store_returns": ("sr_returned_date_sk", 360),
    "catalog_returns": ("cr_returned_date_sk", 360),
    "web_returns": ("wr_returned_date_sk", 360),
    "inventory": ("inv_date_sk", 360),
}
"""Facts with the column that partitions them, and the width of a partition in days."""

BY_POSITION: Final = {
    "store_sales": "ss_item_sk % 17 = 3",
    "catalog_sales": "cs_quantity % 13 = 5",
    "web_returns": "wr_item_sk % 11 = 4",
}
"""Rows deleted by position: deletion vectors of v3 tables, position delete files of v2 tables."""

BY_KEY: Final = {
    "store_sales": ("ss_ticket_number", "ss_ticket_number % 23 = 7"),
    "web_sales": ("ws_order_number", "ws_order_number % 19 = 2"),
    "catalog_sales": ("cs_order_number", "cs_order_number % 29 = 1"),
}
"""Rows deleted by equality deletes under an unpartitioned spec, with the key column."""

V2: Final = frozenset({"catalog_sales", "web_sales"})


class TpcDs:
    """The generated data, both forms of it, and the 99 queries."""

    def __init__(self, folder: Path, *, scale: float) -> None:
        self.lake: Catalog = catalog("tpcds", warehouse=str(folder / "lake"))
        self._folder = folder
        self._source = duckdb.connect(config={"allow_unsigned_extensions": "true"})
        load_extension(self._source, "tpcds")
        self._source.execute(f"CALL dsdgen(sf={scale})")
        self.names = [
            row[0] for row in self._source.execute("SELECT table_name FROM duckdb_tables() ORDER BY 1").fetchall()
        ]

    def queries(self) -> Iterator[tuple[int, str]]:
        """The texts in Spark's quotes, without the LIMIT at their end: rows that tie there are left to chance."""
        for number, text in self._source.execute("SELECT query_nr, query FROM tpcds_queries()").fetchall():
            spark_text = re.sub(r'"([^"]+)"', r"`\1`", text.strip().rstrip(";"))
            yield number, re.sub(r"\bLIMIT\s+\d+\s*$", "", spark_text, flags=re.IGNORECASE)

    def build_tables(self) -> None:
        """Makes the tables in `tpcds.ds`."""
        self.lake.create_namespace("ds")
        for name in self.names:
            self._write_table(name)

    def build_plain(self, spark: Any) -> None:
        """Makes plain Parquet tables of the same names in `spark_catalog.plain`."""
        spark.sql("CREATE DATABASE IF NOT EXISTS spark_catalog.plain")
        for name in self.names:
            self._write_plain(name)
            spark.sql(f"CREATE TABLE spark_catalog.plain.{name} USING parquet LOCATION '{self._plain(name)}'")

    def drop_plain(self, spark: Any) -> None:
        spark.sql("DROP DATABASE spark_catalog.plain CASCADE")

    def _plain(self, name: str) -> Path:
        return self._folder / "plain" / name

    def _write_plain(self, name: str) -> None:
        deleted = [condition for condition in (BY_POSITION.get(name), BY_KEY.get(name, ("", None))[1]) if condition]
        keep = " AND ".join(f"NOT coalesce({condition}, false)" for condition in deleted) or "true"
        folder = self._plain(name)
        folder.mkdir(parents=True)
        self._source.execute(f"COPY (SELECT * FROM {name} WHERE {keep}) TO '{folder}/rows.parquet' (FORMAT parquet)")

    def _rows(self, query: str) -> pa.Table:
        found: Any = self._source.execute(query).arrow()
        return found.read_all() if isinstance(found, pa.RecordBatchReader) else found

    def _write_table(self, name: str) -> None:
        rows = self._rows(f"SELECT * FROM {name}")
        column, width = FACTS.get(name, (None, None))
        table = self.lake.create_table(
            f"ds.{name}",
            rows.schema,
            format_version=2 if name in V2 else 3,
            properties={"write.delete.mode": "merge-on-read"},
        )
        unpartitioned = table.spec
        if column is not None:
            with table.update_spec() as change:
                change.add_field(f"truncate({width}, {column})")
        table.append(rows)
        if name in BY_KEY:
            self._delete_by_key(table, name, unpartitioned)
        if name in BY_POSITION:
            table.delete(where=_as_list(self._source, name, BY_POSITION[name]))

    def _delete_by_key(self, table: Table, name: str, unpartitioned: PartitionSpec) -> None:
        """Equality deletes under an unpartitioned spec reach every partition."""
        key, condition = BY_KEY[name]
        field = table.schema.field(key)
        writer = RollingWriter(
            table._pointer.store_for(table.location),
            Schema(field),
            spec=unpartitioned,
            new_location=lambda path: f"{table.location}/data/{name}-deletes.parquet",
            properties={},
            content=FileContent.EQUALITY_DELETES,
            equality_ids=(field.field_id,),
        )
        writer.write(self._rows(f"SELECT DISTINCT {key} FROM {name} WHERE {condition}"))
        table._commit(RowDelta(added=list(writer.close())))


def _as_list(source: Any, name: str, condition: str) -> str:
    """A condition that only computes, as the list of the values for which it holds: filters of ours do not compute."""
    column = condition.split()[0]
    values = [row[0] for row in source.execute(f"SELECT DISTINCT {column} FROM {name} WHERE {condition}").fetchall()]
    return f"{column} IN ({', '.join(map(str, values))})"
