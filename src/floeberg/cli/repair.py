"""`floeberg repair`: repairs a table by explicit choice."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from floeberg.cli.options import TableArgument, with_shared_options
from floeberg.cli.output import Printer
from floeberg.cli.target import Target
from floeberg.spec.snapshots.refs import MAIN_BRANCH

ActionOption = Annotated[
    list[str] | None,
    typer.Option("--action", metavar="NAME", help="drop-data, drop-deletes, drop-duplicates, recompute-metrics, "
                 "renumber-rows, drop-statistics or restore. May be repeated."),
]  # fmt: skip
SnapshotOption = Annotated[
    int | None,
    typer.Option("--snapshot", metavar="ID", help="The snapshot to restore; the newest whole one by default."),
]
BranchOption = Annotated[str, typer.Option("--branch", metavar="NAME", help="The branch to repair.")]
RowsOption = Annotated[bool, typer.Option("--rows", help="Read every row, to find files that cannot be read.")]
YesOption = Annotated[bool, typer.Option("--yes", help="Do it; without it the command only says what it would do.")]


@with_shared_options
def repair(
    target: Target,
    printer: Printer,
    table: TableArgument,
    action: ActionOption = None,
    snapshot: SnapshotOption = None,
    branch: BranchOption = MAIN_BRANCH,
    rows: RowsOption = False,
    yes: YesOption = False,
) -> None:
    """Repair what check finds, by explicit choice, in one commit that can be rolled back. Only said without --yes.

    No file is deleted: entries of missing and broken files are dropped, wrong counts and bounds measured anew, or an older
    snapshot that is whole restored.

    floeberg repair db.orders --action recompute-metrics

    floeberg repair db.orders --action drop-data --action drop-duplicates --yes
    """
    opened = target.table(table)
    with printer.progress() as progress:
        done = opened.maintenance.repair(
            action or [], snapshot_id=snapshot, branch=branch, read_rows=rows, dry_run=not yes, progress=progress
        )
    if printer.as_json:
        printer.json(
            {
                "dry_run": done.dry_run,
                "snapshot_id_before": done.snapshot_id_before,
                "repairs": [asdict(one) for one in done.repairs],
                "remaining": [asdict(one) for one in done.remaining],
            }
        )
        return
    for one in done.repairs:
        printer.line(f"{one.action}: {one.location} {one.reason}")
    for left in done.remaining:
        printer.line(f"not repaired: {left.problem}: {left.location} {left.message}", style="yellow")
    if not done.repairs:
        printer.line("nothing to repair by what was chosen")
    elif done.dry_run:
        printer.line("nothing was changed; --yes repairs it")
    else:
        printer.line(f"repaired; before it branch {branch} was at snapshot {done.snapshot_id_before}")
