"""`floeberg maintain`: does what a table needs now, by its policy."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from floeberg.cli.options import TableArgument, with_shared_options
from floeberg.cli.output import Printer
from floeberg.cli.target import Target

YesOption = Annotated[bool, typer.Option("--yes", help="Do it; without it the command only says what it would do.")]


@with_shared_options
def maintain(target: Target, printer: Printer, table: TableArgument, yes: YesOption = False) -> None:
    """Do what a table needs now: compact, rewrite deletes and manifests, expire snapshots. Only said without --yes.

    The table's properties maintain.min-small-files, maintain.delete-ratio, maintain.max-delete-files and
    maintain.max-manifests, its target file size and history.expire properties decide.

    floeberg maintain db.orders

    floeberg maintain db.orders --yes
    """
    opened = target.table(table)
    with printer.progress() as progress:
        done = opened.maintenance.maintain(dry_run=not yes, progress=progress)
    if printer.as_json:
        printer.json({"dry_run": not yes, "actions": [asdict(action) for action in done.actions]})
        return
    for action in done.actions:
        printer.line(f"{action.name}: {action.reason}", "bold")
        before, after = asdict(action.before), asdict(action.after)
        for name, number in before.items():
            if yes and after[name] != number:
                printer.line(f"  {name}: {number} before, {after[name]} after")
    if not done.actions:
        printer.line("nothing to do")
