"""`floeberg snapshots`: what happened to a table, as a timeline."""

from __future__ import annotations

from collections.abc import Mapping

from floeberg.cli.describe import moment
from floeberg.cli.options import LimitOption, TableArgument, with_shared_options
from floeberg.cli.output import Printer
from floeberg.cli.target import Target
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.snapshots.snapshot import Snapshot
from floeberg.storage.secret import redact_options

_CHANGES = (
    ("added-data-files", "added-records", "+{0} data files", " ({0} rows)"),
    ("deleted-data-files", "deleted-records", "-{0} data files", " ({0} rows)"),
    ("added-delete-files", None, "+{0} delete files", ""),
    ("removed-delete-files", None, "-{0} delete files", ""),
)


@with_shared_options
def snapshots(target: Target, printer: Printer, table: TableArgument, limit: LimitOption = None) -> None:
    """Show what happened to a table, the newest first. A filled dot is in the current snapshot's history.

    floeberg snapshots db.orders --limit 10

    floeberg snapshots db.orders --json | jq '.[].operation'
    """
    metadata = target.table(table).metadata
    newest_first = sorted(metadata.snapshots, key=lambda s: (s.timestamp_ms, s.sequence_number), reverse=True)
    shown = newest_first if limit is None else newest_first[:limit]
    current = set(metadata.ancestor_ids(metadata.current_snapshot_id))
    if printer.as_json:
        printer.json([_as_json(metadata, snapshot, current) for snapshot in shown])
        return
    if not newest_first:
        printer.line("no snapshots: nothing was ever written to this table")
    for snapshot in shown:
        _print(printer, metadata, snapshot, is_current=snapshot.snapshot_id in current)
    if len(shown) < len(newest_first):
        printer.line(f"… {len(newest_first) - len(shown)} older snapshots")


def _print(printer: Printer, metadata: TableMetadata, snapshot: Snapshot, *, is_current: bool) -> None:
    names = refs_of(metadata, snapshot.snapshot_id)
    head = f"{moment(snapshot.timestamp_ms):%Y-%m-%d %H:%M:%S}Z  {(snapshot.operation or '-').ljust(9)}"
    head += f"  {snapshot.snapshot_id}{'  ' + ', '.join(names) if names else ''}"
    printer.line(f"{'●' if is_current else '○'} {head}", style="bold" if names else "")
    for line in (_changes(snapshot.summary), _totals(snapshot.summary)):
        if line:
            printer.line(f"│   {line}", style="dim")


def refs_of(metadata: TableMetadata, snapshot_id: int) -> list[str]:
    """The branches and tags at a snapshot."""
    return [
        name if ref.is_branch else f"tag {name}"
        for name, ref in sorted(metadata.refs.items())
        if ref.snapshot_id == snapshot_id
    ]


def _changes(summary: Mapping[str, str]) -> str:
    parts = []
    for key, rows_key, text, rows_text in _CHANGES:
        if summary.get(key, "0") != "0":
            rows = summary.get(rows_key) if rows_key else None
            parts.append(text.format(summary[key]) + (rows_text.format(rows) if rows is not None else ""))
    return ", ".join(parts)


def _totals(summary: Mapping[str, str]) -> str:
    if "total-records" not in summary:
        return ""
    text = f"then {summary['total-records']} rows in {summary.get('total-data-files', '?')} data files"
    deletes = summary.get("total-delete-files", "0")
    return text if deletes == "0" else f"{text}, {deletes} delete files"


def _as_json(metadata: TableMetadata, snapshot: Snapshot, current: set[int]) -> dict[str, object]:
    return {
        "snapshot_id": snapshot.snapshot_id,
        "parent_id": snapshot.parent_snapshot_id,
        "sequence_number": snapshot.sequence_number,
        "committed_at": moment(snapshot.timestamp_ms),
        "operation": snapshot.operation,
        "refs": refs_of(metadata, snapshot.snapshot_id),
        "is_current_ancestor": snapshot.snapshot_id in current,
        "schema_id": snapshot.schema_id,
        "manifest_list": snapshot.manifest_list,
        "summary": redact_options(snapshot.summary),
    }
