"""`floeberg add-files`: adds the data files of a folder to a table, where they lie."""

from __future__ import annotations

from typing import Annotated

import typer

from floeberg.cli.options import TableArgument, with_shared_options
from floeberg.cli.output import Printer
from floeberg.cli.target import Target, pairs
from floeberg.maintenance.imports.add_files import file_format_of

SourceArgument = Annotated[str, typer.Argument(metavar="FOLDER", help="The folder of data files, or one file.")]
FormatOption = Annotated[str, typer.Option("--format", metavar="FORMAT", help="parquet (the default), orc or avro.")]
PartitionOption = Annotated[
    list[str] | None,
    typer.Option("--partition", metavar="COLUMN=VALUE", help="Only partitions with this value. May be repeated."),
]
DuplicatesOption = Annotated[
    bool, typer.Option("--allow-duplicates", help="Add files that the table holds already; their rows are there twice.")
]


@with_shared_options
def add_files(
    target: Target,
    printer: Printer,
    table: TableArgument,
    source: SourceArgument,
    format: FormatOption = "parquet",
    partition: PartitionOption = None,
    allow_duplicates: DuplicatesOption = False,
) -> None:
    """Add the data files of a folder to a table, where they lie. They are Parquet, ORC or Avro, and no row is copied.

    floeberg add-files db.orders s3://bucket/old/orders --partition day=2026-05-01
    """
    done = target.table(table).maintenance.add_files(
        source,
        format=file_format_of(format).value,
        partition_filter=pairs(partition or [], "--partition"),
        check_duplicate_files=not allow_duplicates,
    )
    printer.result({"added_files": done.added_files, "changed_partitions": done.changed_partitions})
