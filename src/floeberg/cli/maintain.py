"""`floeberg maintain`: does what a table, or every table of a catalog, needs now, by its policy."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import asdict
from itertools import count
from typing import Annotated, Final

import typer

from floeberg.api.catalog_maintenance import TableMaintenance, maintain_tables
from floeberg.cli.main import FAILED
from floeberg.cli.options import with_shared_options
from floeberg.cli.output import Printer
from floeberg.cli.target import Target
from floeberg.effects.progress import Progress
from floeberg.effects.system import system_effects
from floeberg.errors import InvalidInput
from floeberg.maintenance.maintain import Maintained

OptionalTable = Annotated[
    str | None, typer.Argument(metavar="[TABLE]", help="db.table, or none with --all.", show_default=False)
]
AllOption = Annotated[bool, typer.Option("--all", help="Every table of the catalog.")]
EveryOption = Annotated[
    str | None, typer.Option("--every", metavar="TIME", help="Again and again with a pause, such as 30s, 10m or 1h.")
]
RoundsOption = Annotated[int | None, typer.Option("--rounds", metavar="N", help="With --every: end after N rounds.")]
YesOption = Annotated[bool, typer.Option("--yes", help="Do it; without it the command only says what it would do.")]
_UNIT_MS: Final = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


@with_shared_options
def maintain(
    target: Target,
    printer: Printer,
    table: OptionalTable = None,
    all: AllOption = False,
    every: EveryOption = None,
    rounds: RoundsOption = None,
    yes: YesOption = False,
) -> None:
    """Do what a table needs now: compact, rewrite deletes and manifests, expire snapshots. Only said without --yes.

    The table's properties maintain.min-small-files, maintain.delete-ratio, maintain.max-delete-files and
    maintain.max-manifests, its target file size and history.expire properties decide.

    floeberg maintain db.orders

    floeberg maintain db.orders --yes

    floeberg maintain --all --every 10m --yes

    A table that fails does not keep the others from their turn; the command then ends with 5.
    """
    if (table is None) is not all:
        raise InvalidInput("name one table, or all of a catalog with --all")
    pause_ms = None if every is None else _milliseconds(every)
    if rounds is not None and (pause_ms is None or rounds < 1):
        raise InvalidInput("--rounds is a number of 1 or more, beside --every")
    for number in count(1):
        has_failed = False
        for found in _round(target, printer, table, dry_run=not yes):
            _show(printer, found, dry_run=not yes)
            has_failed |= found.error is not None
        if pause_ms is None or number == rounds:
            break
        system_effects().sleeper.sleep_ms(pause_ms)
    if has_failed:
        raise typer.Exit(FAILED)


def _milliseconds(text: str) -> int:
    found = re.fullmatch(r"(\d+)([smhd])", text)
    if found is None or int(found[1]) == 0:
        raise InvalidInput(f"--every takes a number and s, m, h or d, such as 10m, not {text!r:.60}")
    return int(found[1]) * _UNIT_MS[found[2]]


def _round(target: Target, printer: Printer, table: str | None, *, dry_run: bool) -> Iterator[TableMaintenance]:
    """Each table as it is done."""
    with printer.progress() as progress:
        if table is not None:
            opened = target.table(table)
            done = opened.maintenance.maintain(dry_run=dry_run, progress=progress)
            yield TableMaintenance(table=opened.name, done=done)
            return
        yield from _all(target, dry_run=dry_run, progress=progress)


def _all(target: Target, *, dry_run: bool, progress: Progress) -> Iterator[TableMaintenance]:
    with target.open_catalog() as catalog:
        yield from maintain_tables(catalog, (), dry_run=dry_run, measure_reads=True, spark=None, progress=progress)


def _show(printer: Printer, found: TableMaintenance, *, dry_run: bool) -> None:
    if printer.as_json:
        printer.json(_document(found, dry_run=dry_run))
        return
    if found.done is None:
        printer.line(f"{found.table}: failed: {type(found.error).__name__}: {found.error}", "red")
    elif not found.done.actions:
        printer.line(f"{found.table}: nothing to do")
    else:
        _show_actions(printer, found.table, found.done, dry_run=dry_run)


def _show_actions(printer: Printer, table: str, done: Maintained, *, dry_run: bool) -> None:
    for action in done.actions:
        printer.line(f"{table}: {action.name}: {action.reason}", "bold")
        before, after = asdict(action.before), asdict(action.after)
        for name, number in before.items():
            if not dry_run and after[name] != number:
                printer.line(f"  {name}: {number} before, {after[name]} after")
    if done.read_ms_before is not None:
        printer.line(f"  read of the first rows: {done.read_ms_before} ms before, {done.read_ms_after} ms after")


def _document(found: TableMaintenance, *, dry_run: bool) -> dict[str, object]:
    if found.done is None:
        return {"table": found.table, "error": str(found.error)}
    return {
        "table": found.table,
        "dry_run": dry_run,
        "actions": [asdict(action) for action in found.done.actions],
        "read_ms_before": found.done.read_ms_before,
        "read_ms_after": found.done.read_ms_after,
    }
