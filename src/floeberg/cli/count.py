"""`floeberg count`: how many rows a table has."""

from __future__ import annotations

from floeberg.cli.options import (
    AsOfOption,
    RefOption,
    SnapshotOption,
    TableArgument,
    WhereOption,
    parse_time,
    with_shared_options,
)
from floeberg.cli.output import Printer
from floeberg.cli.rows import single
from floeberg.cli.target import Target


@with_shared_options
def count(
    target: Target,
    printer: Printer,
    table: TableArgument,
    where: WhereOption = None,
    snapshot: SnapshotOption = None,
    ref: RefOption = None,
    as_of: AsOfOption = None,
) -> None:
    """Count the live rows of a table.

    From metadata where that is exact; deletes, and columns of a condition, are read where it is not.

    floeberg count db.orders

    floeberg count db.orders --where "price > 3" --as-of 2024-05-01
    """
    single(snapshot, ref, as_of)
    scan = target.table(table).scan(where=where, snapshot_id=snapshot, ref=ref, as_of=parse_time(as_of))
    rows = scan.count()
    if printer.as_json:
        printer.json({"rows": rows})
    else:
        printer.line(str(rows))
