"""`floeberg scan`: the rows of a table."""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
import typer

from floeberg.cli.options import (
    AsOfOption,
    LimitOption,
    RefOption,
    SnapshotOption,
    TableArgument,
    WhereOption,
    parse_time,
    with_shared_options,
)
from floeberg.cli.output import Printer, to_json
from floeberg.cli.rows import row_dicts, single
from floeberg.cli.target import Target
from floeberg.errors import InvalidInput

SHOWN_ROWS = 20
"""How many rows a table for people has when no limit is given."""


class Format(StrEnum):
    """How rows are written."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    PARQUET = "parquet"


SelectOption = Annotated[
    str | None,
    typer.Option("--select", metavar="COLUMNS", help="Columns with commas between them; nested ones as a.b."),
]
OutputOption = Annotated[
    Format, typer.Option("--output", "-o", help="A table for people, JSON (an object a line), CSV or Parquet.")
]
ToOption = Annotated[Path | None, typer.Option("--to", metavar="FILE", help="Write to this file, which must be new.")]
MetadataOption = Annotated[bool, typer.Option("--metadata-columns", help="With _file, _pos and the other ones.")]


@with_shared_options
def scan(
    target: Target,
    printer: Printer,
    table: TableArgument,
    where: WhereOption = None,
    select: SelectOption = None,
    limit: LimitOption = None,
    snapshot: SnapshotOption = None,
    ref: RefOption = None,
    as_of: AsOfOption = None,
    output: OutputOption = Format.TABLE,
    to: ToOption = None,
    metadata_columns: MetadataOption = False,
) -> None:
    """Print the rows of a table. A table for people has 20 rows unless --limit says otherwise; other formats have all.

    floeberg scan db.orders --where "price > 3 AND name IS NOT NULL" --select id,price --limit 5

    floeberg scan db.orders --as-of 2024-05-01 -o parquet --to orders.parquet

    floeberg scan db.orders -o json | jq .id
    """
    single(snapshot, ref, as_of)
    wanted = Format.JSON if printer.as_json else output
    if wanted is Format.TABLE and to is not None:
        raise InvalidInput("--to writes json, csv or parquet; choose one with -o")
    if wanted is Format.PARQUET and to is None and sys.stdout.isatty():
        raise InvalidInput("Parquet is not for a terminal; give --to FILE or pipe it somewhere")
    at_most = limit if limit is not None or wanted is not Format.TABLE else SHOWN_ROWS + 1
    batches = (
        target.table(table)
        .scan(
            select=None if select is None else [name.strip() for name in select.split(",")],
            where=where,
            limit=at_most,
            snapshot_id=snapshot,
            ref=ref,
            as_of=parse_time(as_of),
            metadata_columns=metadata_columns,
        )
        .to_batches()
    )
    if wanted is Format.TABLE:
        _print(printer, batches, limit)
    elif to is None:
        _write(batches, wanted, sys.stdout.buffer)
    else:
        try:
            with to.open("xb") as file:
                _write(batches, wanted, file)
        except FileExistsError:
            raise InvalidInput(f"{to} is there already; name a new file") from None


def _print(printer: Printer, batches: pa.RecordBatchReader, limit: int | None) -> None:
    rows = list(row_dicts(batches))
    more = limit is None and len(rows) > SHOWN_ROWS
    shown = rows[:SHOWN_ROWS] if more else rows
    printer.table(batches.schema.names, [tuple(row.values()) for row in shown])
    if more:
        printer.line("… more rows; --limit N shows more, -o json, csv or parquet all of them", style="dim")


def _write(batches: pa.RecordBatchReader, wanted: Format, sink: BinaryIO) -> None:
    match wanted:
        case Format.JSON:
            for row in row_dicts(batches):
                sink.write(json.dumps(to_json(row), ensure_ascii=False).encode() + b"\n")
        case Format.CSV:
            schema = pa.schema([(field.name, _csv_type(field.type)) for field in batches.schema])
            with csv.CSVWriter(sink, schema) as writer:
                for batch in batches:
                    writer.write_batch(_csv_batch(batch, schema))
        case _:
            with pq.ParquetWriter(sink, batches.schema) as writer:
                for batch in batches:
                    writer.write_batch(batch)


def _csv_type(data_type: pa.DataType) -> pa.DataType:
    plain = not pa.types.is_nested(data_type) and not pa.types.is_fixed_size_binary(data_type)
    return data_type if plain and not pa.types.is_binary(data_type) else pa.string()


def _csv_batch(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Nested values as JSON, binary ones in base64."""
    arrays: list[Any] = []
    for at, field in enumerate(schema):
        column = batch.column(at)
        if column.type == field.type:
            arrays.append(column)
            continue
        one = pa.RecordBatch.from_arrays([column], names=["value"])
        arrays.append(pa.array([_csv_text(row["value"]) for row in row_dicts(iter([one]))], pa.string()))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _csv_text(value: object) -> str | None:
    if value is None:
        return None
    shown = to_json(value)
    return shown if isinstance(shown, str) else json.dumps(shown, ensure_ascii=False)
