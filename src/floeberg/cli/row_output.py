"""Rows as commands write them: a table for people, JSON, CSV or Parquet."""

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

from floeberg.cli.output import Printer, to_json
from floeberg.cli.rows import row_dicts
from floeberg.errors import InvalidInput

SHOWN_ROWS = 20
"""How many rows a table for people has when no limit is given."""


class Format(StrEnum):
    """How rows are written."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    PARQUET = "parquet"


OutputOption = Annotated[
    Format, typer.Option("--output", "-o", help="A table for people, JSON (an object a line), CSV or Parquet.")
]
ToOption = Annotated[Path | None, typer.Option("--to", metavar="FILE", help="Write to this file, which must be new.")]


def chosen_format(printer: Printer, output: Format, to: Path | None) -> Format:
    """The format that the options mean. Raises InvalidInput for those that do not fit together."""
    wanted = Format.JSON if printer.as_json else output
    if wanted is Format.TABLE and to is not None:
        raise InvalidInput("--to writes json, csv or parquet; choose one with -o")
    if wanted is Format.PARQUET and to is None and sys.stdout.isatty():
        raise InvalidInput("Parquet is not for a terminal; give --to FILE or pipe it somewhere")
    return wanted


def show_rows(
    printer: Printer, batches: pa.RecordBatchReader, *, output: Format, to: Path | None, limit: int | None
) -> None:
    """Writes rows to standard output or to a new file. A table for people has 20 of them unless a limit is given."""
    wanted = chosen_format(printer, output, to)
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
