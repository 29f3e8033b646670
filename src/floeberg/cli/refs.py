"""`floeberg refs`: branches and tags."""

from __future__ import annotations

from floeberg.cli.options import TableArgument, with_shared_options
from floeberg.cli.output import Printer
from floeberg.cli.rows import row_dicts
from floeberg.cli.target import Target


@with_shared_options
def refs(target: Target, printer: Printer, table: TableArgument) -> None:
    """List the branches and tags of a table, and how long each keeps what it keeps.

    floeberg refs db.orders
    """
    rows = list(row_dicts(iter(target.table(table).inspect.refs().to_batches())))
    if printer.as_json:
        printer.json(rows)
        return
    numbers = ("max age ms", "min snapshots", "max snapshot age ms")
    printer.table(("name", "type", "snapshot", *numbers), [tuple(row.values()) for row in rows], numbers=numbers)
