"""`floeberg compact`: rewrites data files in this process."""

from __future__ import annotations

from typing import Annotated

import typer

from floeberg.cli.options import TableArgument, WhereOption, with_shared_options
from floeberg.cli.output import Printer
from floeberg.cli.target import Target, pairs
from floeberg.spec.snapshots.refs import MAIN_BRANCH

StrategyOption = Annotated[
    str | None, typer.Option("--strategy", metavar="NAME", help="binpack (the default) or sort.")
]
OrderOption = Annotated[
    str | None,
    typer.Option("--sort-order", metavar="ORDER", help="Such as \"ts desc, id\" or \"zorder(a, b)\"; the table's by default."),
]  # fmt: skip
RewriteOption = Annotated[
    list[str] | None,
    typer.Option("--option", metavar="KEY=VALUE", help="An option of rewrite_data_files, such as min-input-files=2. May be "
                 "repeated."),
]  # fmt: skip
AllOption = Annotated[bool, typer.Option("--all", help="Rewrite every file, whatever its size: rewrite-all=true.")]
BranchOption = Annotated[str, typer.Option("--branch", metavar="NAME", help="The branch whose files are rewritten.")]


@with_shared_options
def compact(
    target: Target,
    printer: Printer,
    table: TableArgument,
    where: WhereOption = None,
    strategy: StrategyOption = None,
    sort_order: OrderOption = None,
    option: RewriteOption = None,
    all: AllOption = False,
    branch: BranchOption = MAIN_BRANCH,
) -> None:
    """Rewrite small data files, and those with many deletes, as files of the target size. No row changes.

    Writers may go on meanwhile. The old files stay until their snapshots expire.

    floeberg compact db.orders

    floeberg compact db.orders --where "day = '2026-05-01'" --sort-order "ts desc" --option min-input-files=2
    """
    opened = target.table(table)
    options = pairs(option or [], "--option")
    if all:
        options["rewrite-all"] = "true"
    with printer.progress() as progress:
        done = opened.maintenance.compact(
            where=where, strategy=strategy, sort_order=sort_order, options=options, branch=branch, progress=progress
        )
    printer.result(
        {
            "rewritten_data_files": done.rewritten_data_files,
            "added_data_files": done.added_data_files,
            "rewritten_bytes": done.rewritten_bytes,
            "added_bytes": done.added_bytes,
            "failed_data_files": done.failed_data_files,
            "removed_delete_files": done.removed_delete_files,
            "carried_deletes": done.carried_deletes,
        }
    )
