"""`floeberg compute-stats`: statistics of a table's columns and partitions."""

from __future__ import annotations

from typing import Annotated

import typer

from floeberg.cli.options import TableArgument, with_shared_options
from floeberg.cli.output import Printer
from floeberg.cli.target import Target
from floeberg.errors import InvalidInput

ColumnOption = Annotated[
    list[str] | None, typer.Option("--column", metavar="NAME", help="Only this column, not all. May be repeated.")
]
SnapshotOption = Annotated[
    int | None, typer.Option("--snapshot", metavar="ID", help="The snapshot; the current one by default.")
]
PartitionsOption = Annotated[
    bool, typer.Option("--partitions", help="What each partition holds, from the manifests, instead of columns.")
]


@with_shared_options
def compute_stats(
    target: Target,
    printer: Printer,
    table: TableArgument,
    column: ColumnOption = None,
    snapshot: SnapshotOption = None,
    partitions: PartitionsOption = False,
) -> None:
    """Compute how many distinct values columns have, and what partitions hold, and register it.

    The columns are read. With --partitions, what each partition holds is computed instead, from the manifests alone.

    floeberg compute-stats db.orders --column city --column customer

    floeberg compute-stats db.orders --partitions
    """
    opened = target.table(table)
    if partitions:
        if column:
            raise InvalidInput("--partitions and --column exclude each other")
        parts = opened.maintenance.compute_partition_stats(snapshot_id=snapshot)
        printer.result({"partition_statistics_file": None if parts.file is None else parts.file.statistics_path})
        return
    done = opened.maintenance.compute_table_stats(columns=column, snapshot_id=snapshot)
    found = {opened.schema.names.get(one, str(one)): number for one, number in done.distinct_values.items()}
    path = None if done.file is None else done.file.statistics_path
    printer.result({"statistics_file": path, **{f"distinct {name}": number for name, number in found.items()}})
