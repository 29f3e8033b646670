"""`floeberg explain`: what a scan would read, and why not more."""

from __future__ import annotations

from dataclasses import asdict

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
def explain(
    target: Target,
    printer: Printer,
    table: TableArgument,
    where: WhereOption = None,
    snapshot: SnapshotOption = None,
    ref: RefOption = None,
    as_of: AsOfOption = None,
) -> None:
    """Show which manifests and files a condition leaves out, at each level, and which part of it does so.

    floeberg explain db.orders --where "ts >= '2024-05-01' AND country = 'NO'"
    """
    single(snapshot, ref, as_of)
    scan = target.table(table).scan(where=where, snapshot_id=snapshot, ref=ref, as_of=parse_time(as_of))
    explanation, plan = scan.explain(), scan.plan()
    if printer.as_json:
        read = {"files": len(plan), "rows": plan.record_count, "bytes": plan.size_in_bytes}
        printer.json({**asdict(explanation), "to_read": read})
        return
    for line in explanation.lines():
        printer.line(line)
    printer.line(f"to read: {len(plan)} files, {plan.record_count} rows, {plan.size_in_bytes} bytes")
