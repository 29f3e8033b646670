"""`floeberg scan`: the rows of a table."""

from __future__ import annotations

from typing import Annotated

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
from floeberg.cli.output import Printer
from floeberg.cli.row_output import SHOWN_ROWS, Format, OutputOption, ToOption, chosen_format, show_rows
from floeberg.cli.rows import single
from floeberg.cli.target import Target

SelectOption = Annotated[
    str | None,
    typer.Option("--select", metavar="COLUMNS", help="Columns with commas between them; nested ones as a.b."),
]
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
    wanted = chosen_format(printer, output, to)
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
    show_rows(printer, batches, output=output, to=to, limit=limit)
