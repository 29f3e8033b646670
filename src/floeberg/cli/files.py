"""`floeberg files`: the files of a snapshot."""

from __future__ import annotations

from enum import StrEnum
from itertools import islice
from typing import Annotated

import typer

from floeberg.cli.options import (
    AsOfOption,
    LimitOption,
    RefOption,
    SnapshotOption,
    TableArgument,
    parse_time,
    with_shared_options,
)
from floeberg.cli.output import Printer
from floeberg.cli.rows import partition_text, row_dicts, single
from floeberg.cli.target import Target
from floeberg.errors import InvalidInput

CONTENTS = ("data", "position deletes", "equality deletes")


class Kind(StrEnum):
    """Which files."""

    ALL = "all"
    DATA = "data"
    DELETES = "deletes"


KindOption = Annotated[Kind, typer.Option("--content", help="Data files, delete files, or both.")]
HistoryOption = Annotated[bool, typer.Option("--all-snapshots", help="The files of every snapshot, not of one.")]
_TABLES = {Kind.ALL: "files", Kind.DATA: "data_files", Kind.DELETES: "delete_files"}


@with_shared_options
def files(
    target: Target,
    printer: Printer,
    table: TableArgument,
    content: KindOption = Kind.ALL,
    snapshot: SnapshotOption = None,
    ref: RefOption = None,
    as_of: AsOfOption = None,
    all_snapshots: HistoryOption = False,
    limit: LimitOption = None,
) -> None:
    """List the data and delete files of a snapshot. With --json, every column of the `files` metadata table.

    floeberg files db.orders --content deletes

    floeberg files db.orders --as-of 2024-05-01 --json
    """
    single(snapshot, ref, as_of)
    if all_snapshots and (snapshot is not None or ref is not None or as_of is not None):
        raise InvalidInput("--all-snapshots is over all of them; leave --snapshot, --ref and --as-of out")
    inspect = target.table(table).inspect
    name = f"all_{_TABLES[content]}" if all_snapshots else _TABLES[content]
    batches = inspect.batches(name, snapshot_id=snapshot, ref=ref, as_of=parse_time(as_of))
    rows = list(islice(row_dicts(batches), limit))
    if printer.as_json:
        printer.json(rows)
        return
    printer.table(
        ("content", "format", "rows", "bytes", "partition", "path"),
        [
            (
                CONTENTS[row["content"]],
                row["file_format"],
                row["record_count"],
                row["file_size_in_bytes"],
                partition_text(row.get("partition")),
                row["file_path"],
            )
            for row in rows
        ],
        numbers=("rows", "bytes"),
    )
