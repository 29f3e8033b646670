"""`floeberg check`: whether a table is whole."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from floeberg.cli.main import FOUND_ERRORS
from floeberg.cli.options import TableArgument, with_shared_options
from floeberg.cli.output import Printer
from floeberg.cli.target import Target
from floeberg.errors import InvalidInput
from floeberg.maintenance.check import check_table
from floeberg.maintenance.check_report import Severity

FastOption = Annotated[
    bool, typer.Option("--fast", help="Only whether files are there and how long they are; nothing in them is read.")
]
RowsOption = Annotated[
    bool, typer.Option("--rows", help="Read every row of the current snapshot, branches and tags, and compare row ids.")
]
StrictOption = Annotated[bool, typer.Option("--strict", help="Exit with 1 for warnings too.")]
OnlyOption = Annotated[
    list[int] | None,
    typer.Option("--snapshot", metavar="ID", help="Only this snapshot, not all of them. May be repeated."),
]


@with_shared_options
def check(
    target: Target,
    printer: Printer,
    table: TableArgument,
    fast: FastOption = False,
    rows: RowsOption = False,
    strict: StrictOption = False,
    snapshot: OnlyOption = None,
) -> None:
    """Check that a table is whole. Nothing is changed.

    Every file must be there, as long as recorded, with the recorded rows, nulls and bounds; no file or row id twice in a
    snapshot; no delete without a file to apply to; deletion vectors that decode.

    Exits with 0 when there is no error, with 1 when there is one (--strict: or a warning).

    floeberg check db.orders

    floeberg check db.orders --fast --strict --json
    """
    if fast and rows:
        raise InvalidInput("--fast and --rows exclude each other")
    opened = target.table(table)
    with printer.progress() as progress:
        report = check_table(
            opened.metadata,
            opened._pointer.store_for,
            name=opened.name,
            snapshot_ids=snapshot or None,
            read_footers=not fast,
            read_rows=rows,
            progress=progress,
        )
    if printer.as_json:
        printer.json({**asdict(report), "ok": report.ok})
    else:
        for finding in sorted(report.findings, key=lambda found: found.severity is Severity.WARNING):
            style = "red" if finding.severity is Severity.ERROR else "yellow"
            printer.line(f"{finding.severity}: {finding.problem}: {finding.location} {finding.message}", style=style)
        printer.line(str(report))
    if not report.ok or (strict and report.findings):
        raise typer.Exit(FOUND_ERRORS)
