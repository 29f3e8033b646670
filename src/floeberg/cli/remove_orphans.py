"""`floeberg remove-orphans`: finds orphan files, and deletes them when told to."""

from __future__ import annotations

from typing import Annotated

import typer

from floeberg.cli.options import TableArgument, parse_time, with_shared_options
from floeberg.cli.output import Printer
from floeberg.cli.target import Target

OlderOption = Annotated[
    str | None,
    typer.Option("--older-than", metavar="TIME", help="Files from before then; three days ago by default."),
]
FolderOption = Annotated[
    str | None, typer.Option("--location", metavar="PATH", help="Only in this folder of the table.")
]
YesOption = Annotated[bool, typer.Option("--yes", help="Delete them; without it they are only listed.")]
ForceOption = Annotated[
    bool, typer.Option("--force", help="Also files younger than 24 hours, where nobody writes to the table.")
]


@with_shared_options
def remove_orphans(
    target: Target,
    printer: Printer,
    table: TableArgument,
    older_than: OlderOption = None,
    location: FolderOption = None,
    yes: YesOption = False,
    force: ForceOption = False,
) -> None:
    """Find files in a table's folder that nothing refers to, and delete them. Only listed without --yes.

    floeberg remove-orphans db.orders

    floeberg remove-orphans db.orders --yes
    """
    opened = target.table(table)
    with printer.progress() as progress:
        found = opened.maintenance.remove_orphans(
            older_than=parse_time(older_than), location=location, dry_run=not yes, force=force, progress=progress
        )
    if printer.as_json:
        printer.json({"dry_run": found.dry_run, "locations": list(found.locations), "left": list(found.left)})
        return
    for each in found.locations:
        printer.line(each)
    what = "would be deleted (--yes deletes them)" if found.dry_run else "deleted"
    printer.line(f"{len(found.locations) - len(found.left)} orphan files {what}", "bold")
