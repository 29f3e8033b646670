"""`floeberg snapshot-folder`: makes a table over the data files of a folder, where they lie."""

from __future__ import annotations

from typing import Annotated

import typer

from floeberg.cli.add_files import FormatOption, SourceArgument
from floeberg.cli.options import with_shared_options
from floeberg.cli.output import Printer
from floeberg.cli.target import Target, pairs

NewTableArgument = Annotated[str, typer.Argument(metavar="TABLE", help="The new table, db.table.", show_default=False)]
SchemaOption = Annotated[
    str | None, typer.Option("--schema", metavar="COLUMNS", help="The columns, such as 'id bigint, at timestamp'.")
]
LocationOption = Annotated[str | None, typer.Option("--location", metavar="FOLDER", help="Where the new table lies.")]
PropertyOption = Annotated[
    list[str] | None, typer.Option("--table-property", metavar="KEY=VALUE", help="A table property. May be repeated.")
]


@with_shared_options
def snapshot_folder(
    target: Target,
    printer: Printer,
    table: NewTableArgument,
    source: SourceArgument,
    format: FormatOption = "parquet",
    schema: SchemaOption = None,
    location: LocationOption = None,
    table_property: PropertyOption = None,
) -> None:
    """Make a table over the data files of a folder, where they lie. The folder stays as it is, and no row is copied.

    floeberg snapshot-folder db.orders s3://bucket/old/orders
    """
    with target.open_catalog() as catalog:
        made = catalog.snapshot_folder(
            table,
            source,
            format=format,
            schema=schema,
            properties=pairs(table_property or [], "--table-property"),
            location=location,
        )
        printer.result({"table": made.name, "data_files": made.inspect.data_files().num_rows})
