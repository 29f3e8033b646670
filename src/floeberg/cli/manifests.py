"""`floeberg manifests`: the manifests of a snapshot."""

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
from floeberg.cli.rows import row_dicts, single
from floeberg.cli.target import Target


@with_shared_options
def manifests(
    target: Target,
    printer: Printer,
    table: TableArgument,
    snapshot: SnapshotOption = None,
    ref: RefOption = None,
    as_of: AsOfOption = None,
) -> None:
    """List the manifests of a snapshot, with how many files each adds, keeps and deletes.

    floeberg manifests db.orders
    """
    single(snapshot, ref, as_of)
    found = target.table(table).inspect.manifests(snapshot_id=snapshot, ref=ref, as_of=parse_time(as_of))
    rows = list(row_dicts(iter(found.to_batches())))
    if printer.as_json:
        printer.json(rows)
        return
    numbers = ("bytes", "spec", "added", "existing", "deleted")
    printer.table(
        ("content", *numbers, "snapshot", "path"),
        [
            (
                kind := ("data", "delete")[row["content"]],
                row["length"],
                row["partition_spec_id"],
                *(row[f"{status}_{kind}_files_count"] for status in ("added", "existing", "deleted")),
                row["added_snapshot_id"],
                row["path"],
            )
            for row in rows
        ],
        numbers=numbers,
    )
