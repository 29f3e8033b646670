"""`floeberg partitions`: what each partition holds."""

from __future__ import annotations

from floeberg.cli.options import (
    AsOfOption,
    RefOption,
    SnapshotOption,
    TableArgument,
    parse_time,
    with_shared_options,
)
from floeberg.cli.output import Printer
from floeberg.cli.rows import partition_text, row_dicts, single
from floeberg.cli.target import Target


@with_shared_options
def partitions(
    target: Target,
    printer: Printer,
    table: TableArgument,
    snapshot: SnapshotOption = None,
    ref: RefOption = None,
    as_of: AsOfOption = None,
) -> None:
    """List the partitions of a snapshot with their rows, files and deletes.

    floeberg partitions db.orders

    floeberg partitions db.orders --ref audit --json
    """
    single(snapshot, ref, as_of)
    found = target.table(table).inspect.partitions(snapshot_id=snapshot, ref=ref, as_of=parse_time(as_of))
    rows = list(row_dicts(iter(found.to_batches())))
    if printer.as_json:
        printer.json(rows)
        return
    numbers = ("spec", "rows", "files", "bytes", "position deletes", "equality deletes")
    printer.table(
        ("partition", *numbers, "last updated"),
        [
            (
                partition_text(row.get("partition")) or "(not partitioned)",
                row.get("spec_id", 0),
                row["record_count"],
                row["file_count"],
                row["total_data_file_size_in_bytes"],
                row["position_delete_record_count"],
                row["equality_delete_record_count"],
                row["last_updated_at"],
            )
            for row in rows
        ],
        numbers=numbers,
    )
