"""`floeberg rewrite-deletes`: rewrites delete files in this process."""

from __future__ import annotations

from typing import Annotated

import typer

from floeberg.cli.options import TableArgument, WhereOption, with_shared_options
from floeberg.cli.output import Printer
from floeberg.cli.target import Target, pairs
from floeberg.spec.snapshots.refs import MAIN_BRANCH

ConvertOption = Annotated[
    bool, typer.Option("--convert-equality", help="Make deletes by position of equality deletes first.")
]
DeleteOption = Annotated[
    list[str] | None,
    typer.Option("--option", metavar="KEY=VALUE", help="An option of rewrite_position_delete_files. May be repeated."),
]
BranchOption = Annotated[str, typer.Option("--branch", metavar="NAME", help="The branch whose deletes are rewritten.")]


@with_shared_options
def rewrite_deletes(
    target: Target,
    printer: Printer,
    table: TableArgument,
    convert_equality: ConvertOption = False,
    where: WhereOption = None,
    option: DeleteOption = None,
    branch: BranchOption = MAIN_BRANCH,
) -> None:
    """Merge small delete files, make deletion vectors of them, and drop those that delete nothing. No row changes.

    Deletion vectors are made on tables of format version 3.

    floeberg rewrite-deletes db.orders --convert-equality
    """
    opened = target.table(table)
    with printer.progress() as progress:
        done = opened.maintenance.rewrite_deletes(
            equality="convert" if convert_equality else "keep",
            where=where,
            options=pairs(option or [], "--option"),
            branch=branch,
            progress=progress,
        )
    printer.result(
        {
            "rewritten_delete_files": done.rewritten_delete_files,
            "added_delete_files": done.added_delete_files,
            "rewritten_bytes": done.rewritten_bytes,
            "added_bytes": done.added_bytes,
        }
    )
