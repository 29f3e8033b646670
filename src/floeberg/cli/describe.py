"""`floeberg describe`: a table at a glance."""

from __future__ import annotations

from datetime import UTC, datetime

from floeberg.api.table import Table
from floeberg.cli.options import TableArgument, with_shared_options
from floeberg.cli.output import Printer
from floeberg.cli.schema import column_rows, field_json
from floeberg.cli.target import Target
from floeberg.spec.snapshots.manifest_entry import FileContent
from floeberg.spec.snapshots.snapshot import Snapshot
from floeberg.storage.secret import redact_options

_TOTALS = {
    "total-records": "rows written",
    "total-data-files": "data files",
    "total-files-size": "bytes",
    "total-delete-files": "delete files",
    "total-position-deletes": "position deletes",
    "total-equality-deletes": "equality deletes",
}


@with_shared_options
def describe(target: Target, printer: Printer, table: TableArgument) -> None:
    """Show a table at a glance: columns, partitioning, live rows, current snapshot, branches and properties.

    floeberg describe db.orders

    floeberg describe ./backup/orders --relocate s3://bucket/orders=./backup/orders
    """
    opened = target.table(table)
    if printer.as_json:
        printer.json(_as_json(opened))
        return
    metadata = opened.metadata
    printer.pairs(
        {
            "table": opened.name,
            "location": metadata.location,
            "metadata file": opened.metadata_location,
            "format version": metadata.format_version,
            "uuid": metadata.table_uuid,
            "last updated": moment(metadata.last_updated_ms),
            "partitioned by": _partitioning(opened) or "nothing",
            "sorted by": _sorting(opened) or "nothing",
            **_snapshot_rows(opened.current_snapshot),
            **_live_rows_text(opened),
            "snapshots": len(metadata.snapshots),
            "refs": ", ".join(f"{name} ({ref.type})" for name, ref in sorted(metadata.refs.items())) or None,
        }
    )
    printer.line()
    printer.table(
        ("id", "column", "type", "required", "comment"), column_rows(metadata.current_schema), numbers=("id",)
    )
    if metadata.properties:
        printer.line()
        printer.table(("property", "value"), sorted(redact_options(metadata.properties).items()))


def moment(timestamp_ms: int) -> datetime:
    """A recorded time, in UTC."""
    return datetime.fromtimestamp(timestamp_ms / 1000, UTC)


def _snapshot_rows(snapshot: Snapshot | None) -> dict[str, object]:
    if snapshot is None:
        return {"current snapshot": "none: the table is empty"}
    totals = {label: snapshot.summary[key] for key, label in _TOTALS.items() if key in snapshot.summary}
    return {
        "current snapshot": f"{snapshot.snapshot_id} ({snapshot.operation or '-'}, {moment(snapshot.timestamp_ms)})",
        "holds": ", ".join(f"{count} {label}" for label, count in totals.items()) or None,
    }


def live_rows(table: Table) -> int | None:
    """How many rows a scan gives, deletes applied; None when equality deletes would have to be compared with the data."""
    scan = table.scan()
    plan = scan.plan()
    if plan.has_deletes and any(
        delete.file.content is FileContent.EQUALITY_DELETES for task in plan for delete in task.deletes
    ):
        return None
    return scan.count()


def _live_rows_text(table: Table) -> dict[str, object]:
    if table.current_snapshot is None:
        return {}
    rows = live_rows(table)
    return {"live rows": "not known before equality deletes are applied: floeberg count" if rows is None else rows}


def _partitioning(table: Table) -> str:
    schema = table.schema
    parts = []
    for field in table.spec.fields:
        sources = ", ".join(schema.names.get(source_id, f"column {source_id}") for source_id in field.source_ids)
        parts.append(f"{field.transform}({sources}) as {field.name}")
    return ", ".join(parts)


def _sorting(table: Table) -> str:
    schema = table.schema
    parts = []
    for field in table.sort_order.fields:
        sources = ", ".join(schema.names.get(source_id, f"column {source_id}") for source_id in field.source_ids)
        parts.append(f"{field.transform}({sources}) {field.direction} {field.null_order}")
    return ", ".join(parts)


def _as_json(table: Table) -> dict[str, object]:
    metadata = table.metadata
    snapshot = table.current_snapshot
    return {
        "name": table.name,
        "location": metadata.location,
        "metadata_location": table.metadata_location,
        "format_version": metadata.format_version,
        "uuid": metadata.table_uuid,
        "last_updated": moment(metadata.last_updated_ms),
        "columns": [field_json(field) for field in metadata.current_schema.fields],
        "partition_by": _partitioning(table),
        "sort_by": _sorting(table),
        "current_snapshot_id": metadata.current_snapshot_id,
        "live_rows": live_rows(table),
        "summary": None if snapshot is None else redact_options(snapshot.summary),
        "refs": {name: {"type": str(ref.type), "snapshot_id": ref.snapshot_id} for name, ref in metadata.refs.items()},
        "properties": redact_options(metadata.properties),
    }
